//! Decodes a captured frame into the fields that the analysis needs: addresses, ports, and TCP's header.

mod usual;

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv6Addr};

use fairport_tcp::{Flags, Timestamps};
use fairport_wire::Network as IpPacket;
use fairport_wire::{
    Captured, EtherType, EthernetFrame, Ipv4Packet, Ipv6Packet, OptionSet, SackList, TcpOption,
    TcpPacket, Transport, UdpDatagram, udp,
};

use usual::usual;

/// Supported link types, by the numbers of tcpdump's registry.
mod link {
    pub(super) const NULL: u16 = 0;
    pub(super) const ETHERNET: u16 = 1;
    pub(super) const RAW_OLD: [u16; 2] = [12, 14];
    pub(super) const RAW: u16 = 101;
    pub(super) const LOOP: u16 = 108;
    pub(super) const LINUX_COOKED: u16 = 113;
    pub(super) const IPV4: u16 = 228;
    pub(super) const IPV6: u16 = 229;
    pub(super) const LINUX_COOKED_2: u16 = 276;
}

const GRE: u8 = 47;
const VXLAN_PORT: u16 = 4789;
/// The protocol number of Ethernet in GRE.
const BRIDGED: u16 = 0x6558;
/// Maximum depth of tunnels within tunnels.
const MOST_TUNNELS: usize = 2;

/// Whether captures with this link type can be read.
pub fn is_known_link(link_type: u16) -> bool {
    use link::{ETHERNET, IPV4, IPV6, LINUX_COOKED, LINUX_COOKED_2, LOOP, NULL, RAW, RAW_OLD};
    let known = [
        NULL,
        ETHERNET,
        RAW,
        LOOP,
        LINUX_COOKED,
        IPV4,
        IPV6,
        LINUX_COOKED_2,
    ];
    known.contains(&link_type) || RAW_OLD.contains(&link_type)
}

/// Addresses, protocol and ports, as numbers that are fast to compare. IPv4 addresses are mapped to IPv6 (RFC 4291
/// 2.5.5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// address of the sender
    pub source: u128,
    /// address of the receiver
    pub destination: u128,
    /// source port and destination port
    pub ports: [u16; 2],
    /// protocol number of TCP or UDP
    pub protocol: u8,
}

impl Hash for Key {
    /// Hashes three words, because the derived implementation hashes byte by byte.
    #[inline]
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let folded = |address: u128| (address >> 64) as u64 ^ address as u64;
        let [from, to] = self.ports.map(u64::from);
        hasher.write_u64(folded(self.source));
        hasher.write_u64(folded(self.destination));
        hasher.write_u64(from << 32 | to << 8 | u64::from(self.protocol));
    }
}

impl Key {
    /// The key of the packets in the other direction.
    #[must_use]
    pub const fn reversed(self) -> Self {
        let [from, to] = self.ports;
        Self {
            source: self.destination,
            destination: self.source,
            ports: [to, from],
            protocol: self.protocol,
        }
    }
}

/// The address that a number in a [`Key`] represents.
pub fn address(number: u128) -> IpAddr {
    let mapped = Ipv6Addr::from_bits(number);
    mapped
        .to_ipv4_mapped()
        .map_or(IpAddr::V6(mapped), IpAddr::V4)
}

/// The fields of a packet that the analysis needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// addresses, protocol and ports
    pub key: Key,
    /// when it was captured, in ns of the capture's clock
    pub time_ns: u64,
    /// length of the frame in bytes, without its check sequence
    pub frame_bytes: u32,
    /// bytes of data
    pub payload: u32,
    /// sequence number of the first byte
    pub seq: u32,
    /// the next byte expected, if the flag ACK is set
    pub ack: u32,
    /// the receive window as on the wire
    pub window: u16,
    /// identification field of IPv4; 0 for IPv6
    pub identification: u16,
    /// time to live (remaining hops)
    pub ttl: u8,
    /// ECN codepoint
    pub ecn: u8,
    /// TCP's control bits; none for UDP
    pub flags: Flags,
    /// window scale in bits, on a SYN
    pub window_scale: Option<u8>,
    /// maximum segment size, on a SYN
    pub mss: Option<u16>,
    /// TCP's timestamps
    pub timestamps: Option<Timestamps>,
    /// SACK blocks
    pub sacks: SackList,
}

impl Packet {
    /// Length in sequence numbers.
    #[inline]
    pub fn sequence_length(&self) -> u32 {
        self.payload
            + u32::from(self.flags.contains(Flags::SYN))
            + u32::from(self.flags.contains(Flags::FIN))
    }
}

#[cfg(test)]
impl Packet {
    /// An ACK without data, from this port of host 1 to port 80 of host 2.
    pub(crate) fn bare(port: u16) -> Self {
        Self {
            key: Key {
                source: 1,
                destination: 2,
                ports: [port, 80],
                protocol: fairport_wire::tcp::PROTOCOL,
            },
            time_ns: 0,
            frame_bytes: 66,
            payload: 0,
            seq: 0,
            ack: 0,
            window: 0,
            identification: 0,
            ttl: 64,
            ecn: 0,
            flags: Flags::ACK,
            window_scale: None,
            mss: None,
            timestamps: None,
            sacks: SackList::default(),
        }
    }
}

/// Decodes a frame with this link type; with `tunnels`, the packet inside GRE and VXLAN. None if it is not TCP or UDP,
/// is a later fragment, or its headers were not captured.
#[inline]
pub fn decode(
    bytes: &[u8],
    length: u32,
    link_type: u16,
    time_ns: u64,
    tunnels: bool,
) -> Option<Packet> {
    if link_type == link::ETHERNET
        && let Some(packet) = usual(bytes, length, time_ns)
    {
        return Some(packet);
    }
    general(bytes, length, link_type, time_ns, tunnels)
}

/// Decodes layer by layer, whatever the layers are.
fn general(
    bytes: &[u8],
    length: u32,
    link_type: u16,
    time_ns: u64,
    tunnels: bool,
) -> Option<Packet> {
    let frame = Captured::first_of(bytes, length as usize);
    let mut network = if link_type == link::ETHERNET {
        ethernet(frame)?
    } else {
        other_link(frame, link_type)?
    };
    let mut transport = network.transport().ok()??;
    if tunnels {
        for _ in 0..MOST_TUNNELS {
            let Some(inner) = inside(&transport) else {
                break;
            };
            network = inner;
            transport = network.transport().ok()??;
        }
    }
    packet(&network, &transport, length, time_ns)
}

#[inline]
fn ethernet(frame: Captured<'_>) -> Option<IpPacket<'_>> {
    let frame = EthernetFrame::parse(frame).ok()?;
    IpPacket::parse(frame.ether_type(), frame.payload()).ok()
}

/// The data after the first `bytes` of a frame.
fn behind(frame: Captured<'_>, bytes: usize) -> Option<Captured<'_>> {
    let rest = frame.bytes().get(bytes..)?;
    Some(Captured::first_of(rest, frame.length().checked_sub(bytes)?))
}

fn typed(number: u16, packet: Captured<'_>) -> Option<IpPacket<'_>> {
    IpPacket::parse(EtherType::new(number)?, packet).ok()
}

/// The IP packet, with the version given by its first bits.
fn any_ip(packet: Captured<'_>) -> Option<IpPacket<'_>> {
    match packet.bytes().first()? >> 4 {
        4 => Ipv4Packet::parse(packet).ok().map(IpPacket::Ipv4),
        6 => Ipv6Packet::parse(packet).ok().map(IpPacket::Ipv6),
        _ => None,
    }
}

fn other_link(frame: Captured<'_>, link_type: u16) -> Option<IpPacket<'_>> {
    let half = |at: usize| {
        Some(u16::from_be_bytes([
            *frame.bytes().get(at)?,
            *frame.bytes().get(at + 1)?,
        ]))
    };
    match link_type {
        link::NULL | link::LOOP => any_ip(behind(frame, 4)?),
        link::RAW | link::IPV4 | link::IPV6 => any_ip(frame),
        raw if link::RAW_OLD.contains(&raw) => any_ip(frame),
        link::LINUX_COOKED => typed(half(14)?, behind(frame, 16)?),
        link::LINUX_COOKED_2 => typed(half(0)?, behind(frame, 20)?),
        _ => None,
    }
}

/// The packet inside a tunnel.
fn inside<'a>(transport: &Transport<'a>) -> Option<IpPacket<'a>> {
    match transport {
        Transport::Udp(udp) if udp.destination_port() == VXLAN_PORT => {
            ethernet(behind(udp.payload(), 8)?)
        }
        Transport::Other {
            protocol: GRE,
            payload,
        } => gre(*payload),
        _ => None,
    }
}

/// The packet inside GRE, with GRE's optional fields (RFC 2784, RFC 2890).
fn gre(payload: Captured<'_>) -> Option<IpPacket<'_>> {
    let [flags, version, high, low] = *payload.bytes().first_chunk::<4>()?;
    if version & 7 != 0 {
        return None;
    }
    let fields = (flags & 0xb0).count_ones() as usize;
    let inner = behind(payload, 4 + 4 * fields)?;
    match u16::from_be_bytes([high, low]) {
        BRIDGED => ethernet(inner),
        number => typed(number, inner),
    }
}

#[inline]
fn packet(
    network: &IpPacket<'_>,
    transport: &Transport<'_>,
    length: u32,
    time_ns: u64,
) -> Option<Packet> {
    let (source, destination, identification, ttl, ecn) = match network {
        IpPacket::Ipv4(ip) => (
            ip.source().to_ipv6_mapped().to_bits(),
            ip.destination().to_ipv6_mapped().to_bits(),
            ip.identification(),
            ip.ttl(),
            ip.ecn(),
        ),
        IpPacket::Ipv6(ip) => (
            ip.source().to_bits(),
            ip.destination().to_bits(),
            0,
            ip.hop_limit(),
            ip.ecn(),
        ),
        IpPacket::Other(..) => return None,
    };
    let mut packet = Packet {
        key: Key {
            source,
            destination,
            ports: [0, 0],
            protocol: udp::PROTOCOL,
        },
        time_ns,
        frame_bytes: length,
        payload: 0,
        seq: 0,
        ack: 0,
        window: 0,
        identification,
        ttl,
        ecn: ecn as u8,
        flags: Flags::NONE,
        window_scale: None,
        mss: None,
        timestamps: None,
        sacks: SackList::default(),
    };
    match transport {
        Transport::Tcp(tcp) => add_tcp(&mut packet, tcp),
        Transport::Udp(udp) => add_udp(&mut packet, udp),
        _ => return None,
    }
    Some(packet)
}

#[inline]
fn add_tcp(packet: &mut Packet, tcp: &TcpPacket<'_>) {
    packet.key.protocol = fairport_wire::tcp::PROTOCOL;
    packet.key.ports = [tcp.source_port(), tcp.destination_port()];
    packet.payload = tcp.payload_length() as u32;
    packet.seq = tcp.seq();
    packet.ack = tcp.ack();
    packet.window = tcp.window();
    packet.flags = tcp.flags();
    if tcp.header_bytes() == 20 {
        return;
    }
    if packet.flags.contains(Flags::SYN) {
        // options that the snap length cut off count as unknown
        let set = OptionSet::read(tcp.options()).unwrap_or_default();
        (packet.window_scale, packet.mss) = (set.window_scale, set.mss);
        packet.timestamps = set.timestamps;
        return;
    }
    for option in tcp.options() {
        match option {
            Ok(TcpOption::Timestamps(stamps)) => packet.timestamps = Some(stamps),
            Ok(TcpOption::Sack(blocks)) => packet.sacks = blocks,
            Ok(_) => {}
            Err(_) => return,
        }
    }
}

fn add_udp(packet: &mut Packet, udp: &UdpDatagram<'_>) {
    packet.key.ports = [udp.source_port(), udp.destination_port()];
    packet.payload = udp.payload().length() as u32;
}

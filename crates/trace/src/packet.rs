//! Decodes a captured frame into the fields that the analysis needs: addresses, ports, and TCP's header.

mod layers;
mod tunnels;
mod unread;
mod usual;

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv6Addr};

use fairport_tcp::{Flags, Timestamps};
use fairport_wire::Network as IpPacket;
use fairport_wire::{SackList, TcpOption, TcpPacket, Transport, UdpDatagram, udp};

use usual::usual;

pub(crate) use layers::is_known_link;
pub use unread::{Unread, UnreadCounts};

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
    /// Whether the sender is the end with the smaller address and port.
    #[inline]
    pub(crate) fn is_smaller_end(&self) -> bool {
        (self.source, self.ports[0]) <= (self.destination, self.ports[1])
    }

    /// The key that both directions of its connection share: that of the smaller end.
    pub(crate) fn of_connection(self) -> Self {
        if self.is_smaller_end() {
            self
        } else {
            self.reversed()
        }
    }

    /// Whether the addresses are of IPv6.
    #[inline]
    pub(crate) fn is_ipv6(&self) -> bool {
        self.source >> 32 != 0xffff
    }

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
    /// bytes of TCP's options, captured or not
    pub option_bytes: u8,
    /// whether the capture cut off options of TCP
    pub options_cut: bool,
    /// whether SACK blocks may be among these
    pub sacks_cut: bool,
    /// whether the capture has one packet for this segment and others behind it, which the captured host merged
    pub is_merged: bool,
}

impl Packet {
    /// A packet without data, options and control bits.
    #[inline]
    pub fn new(key: Key, time_ns: u64, frame_bytes: u32) -> Self {
        Self {
            key,
            time_ns,
            frame_bytes,
            payload: 0,
            seq: 0,
            ack: 0,
            window: 0,
            identification: 0,
            ttl: 0,
            ecn: 0,
            flags: Flags::NONE,
            window_scale: None,
            mss: None,
            timestamps: None,
            sacks: SackList::default(),
            option_bytes: 0,
            options_cut: false,
            sacks_cut: false,
            is_merged: false,
        }
    }

    /// Whether it is a tunnel's datagram, in which another packet may be.
    #[inline]
    pub fn is_tunnel(&self) -> bool {
        self.key.protocol == udp::PROTOCOL && tunnels::PORTS.contains(&self.key.ports[1])
    }

    /// The value of its sender's timestamp clock.
    #[inline]
    pub fn stamp(&self) -> Option<u32> {
        self.timestamps.map(|stamps| stamps.val)
    }

    /// Length in sequence numbers.
    #[inline]
    pub fn sequence_length(&self) -> u32 {
        self.payload
            + u32::from(self.flags.contains(Flags::SYN))
            + u32::from(self.flags.contains(Flags::FIN))
    }

    /// Whether it is an ACK that takes no sequence numbers.
    #[inline]
    pub fn is_pure_ack(&self) -> bool {
        self.flags.contains(Flags::ACK) && self.sequence_length() == 0
    }
}

#[cfg(test)]
impl Packet {
    /// An ACK without data, from this port of host 1 to port 80 of host 2.
    pub(crate) fn bare(port: u16) -> Self {
        let key = Key {
            source: 1,
            destination: 2,
            ports: [port, 80],
            protocol: fairport_wire::tcp::PROTOCOL,
        };
        Self {
            ttl: 64,
            flags: Flags::ACK,
            ..Self::new(key, 0, 66)
        }
    }
}

/// Decodes a frame with this link type; with `tunnels`, the packet inside a tunnel.
///
/// # Errors
/// [`Unread`] if it is not TCP or UDP, is a later fragment, or its headers were not captured.
#[inline]
pub fn decode(
    bytes: &[u8],
    length: u32,
    link_type: u16,
    time_ns: u64,
    tunnels: bool,
) -> Result<Packet, Unread> {
    if link_type == layers::ETHERNET
        && let Some(packet) = usual(bytes, length, time_ns)
    {
        return Ok(packet);
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
) -> Result<Packet, Unread> {
    let mut network = layers::network(bytes, length, link_type)?;
    let mut transport = layers::transport(&network)?;
    if tunnels {
        for _ in 0..tunnels::MOST_NESTED {
            let Some(inner) = tunnels::inside(&transport) else {
                break;
            };
            network = inner?;
            transport = layers::transport(&network)?;
        }
    }
    packet(&network, &transport, length, time_ns)
}

#[inline]
fn packet(
    network: &IpPacket<'_>,
    transport: &Transport<'_>,
    length: u32,
    time_ns: u64,
) -> Result<Packet, Unread> {
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
        IpPacket::Other(ether_type, _) => return Err(Unread::EtherType(ether_type.number())),
    };
    let key = Key {
        source,
        destination,
        ports: [0, 0],
        protocol: udp::PROTOCOL,
    };
    let mut packet = Packet {
        identification,
        ttl,
        ecn: ecn as u8,
        ..Packet::new(key, time_ns, length)
    };
    match transport {
        Transport::Tcp(tcp) => add_tcp(&mut packet, tcp),
        Transport::Udp(udp) => add_udp(&mut packet, udp),
        Transport::Other { protocol, .. } => return Err(Unread::Protocol(*protocol)),
        Transport::LaterFragment { .. } => return Err(Unread::LaterFragment),
    }
    Ok(packet)
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
    packet.option_bytes = (tcp.header_bytes() - fairport_wire::tcp::HEADER_BYTES) as u8;
    if packet.option_bytes == 0 {
        return;
    }
    let is_syn = packet.flags.contains(Flags::SYN);
    for option in tcp.options() {
        match option {
            Ok(TcpOption::Timestamps(stamps)) => packet.timestamps = Some(stamps),
            Ok(TcpOption::Sack(blocks)) => packet.sacks = blocks,
            Ok(TcpOption::WindowScale(bits)) if is_syn => packet.window_scale = Some(bits),
            Ok(TcpOption::Mss(mss)) if is_syn => packet.mss = Some(mss),
            Ok(_) => {}
            Err(error) => {
                packet.options_cut = error.is_truncated();
                packet.sacks_cut = packet.options_cut && !tcp.options().are_timestamps();
                return;
            }
        }
    }
}

fn add_udp(packet: &mut Packet, udp: &UdpDatagram<'_>) {
    packet.key.ports = [udp.source_port(), udp.destination_port()];
    packet.payload = udp.payload().length() as u32;
}

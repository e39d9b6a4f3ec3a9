//! From a frame to its IP packet and transport: Ethernet with VLAN tags, other links, and labels of MPLS.

use fairport_wire::Network as IpPacket;
use fairport_wire::ethernet::{HEADER_BYTES, TAG_BYTES};
use fairport_wire::{Captured, EtherType, Ipv4Packet, Ipv6Packet, TagKind, Transport};

use super::unread::Unread;

/// Supported link types, by the numbers of tcpdump's registry.
const NULL: u16 = 0;
pub(super) const ETHERNET: u16 = 1;
const RAW_OLD: [u16; 2] = [12, 14];
const RAW: u16 = 101;
const LOOP: u16 = 108;
const LINUX_COOKED: u16 = 113;
const IPV4: u16 = 228;
const IPV6: u16 = 229;
const LINUX_COOKED_2: u16 = 276;

/// Types of Ethernet for packets with labels (RFC 3032 5, RFC 5332).
const LABELLED: [u16; 2] = [0x8847, 0x8848];
/// Types of Ethernet and of PPP for a session of `PPPoE` and IP in it (RFC 2516 5, RFC 1332, RFC 5072), and the length of
/// the header up to the latter.
const PPPOE: u16 = 0x8864;
const IP_IN_PPP: [u16; 2] = [0x0021, 0x0057];
const PPPOE_BYTES: usize = 6;
/// Length of a label with its fields, in bytes.
const LABEL_BYTES: usize = 4;
const MOST_LABELS: usize = 16;
const CONTROL_WORD_BYTES: usize = 4;
/// The type that begins the tag of a port extender (IEEE 802.1BR 7), and the length of the tag.
const EXTENDER_TAG: u16 = 0x893f;
const EXTENDER_TAG_BYTES: usize = 8;

/// Whether captures with this link type can be read.
pub(crate) fn is_known_link(link_type: u16) -> bool {
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

/// The IP packet in a frame, or what else is there.
pub(super) fn network(bytes: &[u8], length: u32, link_type: u16) -> Result<IpPacket<'_>, Unread> {
    let frame = Captured::first_of(bytes, length as usize);
    match link_type {
        ETHERNET => ethernet(frame),
        NULL | LOOP => any_ip(behind(frame, 4)?),
        RAW | IPV4 | IPV6 => any_ip(frame),
        raw if RAW_OLD.contains(&raw) => any_ip(frame),
        LINUX_COOKED => numbered(half(frame, 14)?, behind(frame, 16)?),
        LINUX_COOKED_2 => numbered(half(frame, 0)?, behind(frame, 20)?),
        other => Err(Unread::Link(other)),
    }
}

/// The transport's header and data.
pub(super) fn transport<'a>(network: &IpPacket<'a>) -> Result<Transport<'a>, Unread> {
    match network {
        IpPacket::Other(ether_type, _) => Err(Unread::EtherType(ether_type.number())),
        ip => ip.transport()?.ok_or(Unread::Malformed),
    }
}

#[inline]
pub(super) fn ethernet(frame: Captured<'_>) -> Result<IpPacket<'_>, Unread> {
    let number = half(frame, HEADER_BYTES - 2)?;
    numbered(number, behind(frame, HEADER_BYTES)?)
}

/// The packet of the type with this number, behind any tags that the number begins. Linux's `any` shows tags so.
pub(super) fn numbered(mut number: u16, mut packet: Captured<'_>) -> Result<IpPacket<'_>, Unread> {
    loop {
        let tag_bytes = match number {
            EXTENDER_TAG => EXTENDER_TAG_BYTES,
            _ if TagKind::new(number).is_some() => TAG_BYTES,
            _ => return typed(EtherType::new(number).ok_or(Unread::Malformed)?, packet),
        };
        (number, packet) = (half(packet, tag_bytes - 2)?, behind(packet, tag_bytes)?);
    }
}

/// The packet of this type.
#[inline]
fn typed(ether_type: EtherType, packet: Captured<'_>) -> Result<IpPacket<'_>, Unread> {
    match ether_type.number() {
        number if LABELLED.contains(&number) => labelled(number, packet),
        PPPOE if IP_IN_PPP.contains(&half(packet, PPPOE_BYTES)?) => {
            any_ip(behind(packet, PPPOE_BYTES + 2)?)
        }
        _ => Ok(IpPacket::parse(ether_type, packet)?),
    }
}

/// The packet below labels. They do not say what it is: most often IP, which begins with its version, or Ethernet behind
/// the control word of a pseudowire, which begins with 0 (RFC 4385 3).
fn labelled(ether_type: u16, packet: Captured<'_>) -> Result<IpPacket<'_>, Unread> {
    let inner = below_labels(packet)?;
    match inner.bytes().first().map(|first| first >> 4) {
        None | Some(4 | 6) => any_ip(inner),
        Some(0) => behind(inner, CONTROL_WORD_BYTES).and_then(ethernet),
        Some(_) => Err(Unread::EtherType(ether_type)),
    }
}

/// The packet below the label at the bottom of the stack (RFC 3032 2.1).
fn below_labels(mut packet: Captured<'_>) -> Result<Captured<'_>, Unread> {
    for _ in 0..MOST_LABELS {
        let label: [u8; LABEL_BYTES] = first(packet)?;
        packet = behind(packet, LABEL_BYTES)?;
        if label[2] & 1 == 1 {
            return Ok(packet);
        }
    }
    Err(Unread::Malformed)
}

/// The IP packet, with the version given by its first bits.
pub(super) fn any_ip(packet: Captured<'_>) -> Result<IpPacket<'_>, Unread> {
    let [version] = first(packet)?;
    match version >> 4 {
        4 => Ok(IpPacket::Ipv4(Ipv4Packet::parse(packet)?)),
        6 => Ok(IpPacket::Ipv6(Ipv6Packet::parse(packet)?)),
        _ => Err(Unread::Malformed),
    }
}

/// The first bytes.
pub(super) fn first<const N: usize>(packet: Captured<'_>) -> Result<[u8; N], Unread> {
    packet
        .bytes()
        .first_chunk()
        .copied()
        .ok_or_else(|| lack_of(packet, N))
}

/// The number in the two bytes at this place.
pub(super) fn half(packet: Captured<'_>, at: usize) -> Result<u16, Unread> {
    Ok(u16::from_be_bytes(first(behind(packet, at)?)?))
}

/// The data after the first `bytes`.
pub(super) fn behind(packet: Captured<'_>, bytes: usize) -> Result<Captured<'_>, Unread> {
    let rest = packet.bytes().get(bytes..);
    let rest = rest.ok_or_else(|| lack_of(packet, bytes))?;
    Ok(Captured::first_of(rest, packet.length() - bytes))
}

/// Why these bytes are not in the capture of a packet.
#[cold]
fn lack_of(packet: Captured<'_>, bytes: usize) -> Unread {
    if packet.length() < bytes {
        Unread::Malformed
    } else {
        Unread::CutOff
    }
}

//! Packets inside packets: VXLAN, Geneve, GRE with ERSPAN, and IP in IP.

use fairport_wire::Network as IpPacket;
use fairport_wire::{Captured, Transport};

use super::layers::{any_ip, behind, ethernet, first, half, numbered};
use super::unread::{GRE, IPV4_IN_IP, IPV6_IN_IP, Unread};

/// Maximum depth of tunnels within tunnels.
pub(super) const MOST_NESTED: usize = 2;
/// The ports of tunnels in UDP.
pub(super) const PORTS: [u16; 4] = [VXLAN, VXLAN_OF_LINUX, VXLAN_OF_ACI, GENEVE];
const VXLAN: u16 = 4789;
/// Linux's default, which is older than the assigned port; and that of Cisco's ACI.
const VXLAN_OF_LINUX: u16 = 8472;
const VXLAN_OF_ACI: u16 = 48_879;
const GENEVE: u16 = 6081;
/// Protocol numbers in GRE and Geneve: Ethernet, and what a switch mirrors (draft-foschiano-erspan).
const BRIDGED: u16 = 0x6558;
const MIRRORED: u16 = 0x88be;
const MIRRORED_3: u16 = 0x22eb;
/// A bit of GRE's flags: the sequence number.
const NUMBERED: u8 = 0x10;

/// The packet inside a tunnel; None if this is not the packet of a tunnel.
pub(super) fn inside<'a>(transport: &Transport<'a>) -> Option<Result<IpPacket<'a>, Unread>> {
    match *transport {
        Transport::Udp(udp) => match udp.destination_port() {
            VXLAN | VXLAN_OF_LINUX | VXLAN_OF_ACI => {
                Some(behind(udp.payload(), 8).and_then(ethernet))
            }
            GENEVE => Some(geneve(udp.payload())),
            _ => None,
        },
        Transport::Other {
            protocol: GRE,
            payload,
        } => Some(gre(payload)),
        Transport::Other {
            protocol: IPV4_IN_IP | IPV6_IN_IP,
            payload,
        } => Some(any_ip(payload)),
        _ => None,
    }
}

/// The packet inside Geneve, after its options (RFC 8926 3.4).
fn geneve(payload: Captured<'_>) -> Result<IpPacket<'_>, Unread> {
    let [version_and_options] = first(payload)?;
    let options = 4 * usize::from(version_and_options & 0x3f);
    of_protocol(half(payload, 2)?, behind(payload, 8 + options)?)
}

/// The packet inside GRE, after GRE's optional fields (RFC 2784, RFC 2890).
fn gre(payload: Captured<'_>) -> Result<IpPacket<'_>, Unread> {
    let [flags, version, high, low] = first(payload)?;
    if version & 7 != 0 {
        return Err(Unread::Protocol(GRE));
    }
    let fields = (flags & 0xb0).count_ones() as usize;
    let inner = behind(payload, 4 + 4 * fields)?;
    match u16::from_be_bytes([high, low]) {
        // the first type of ERSPAN has no sequence number, and no header of its own
        MIRRORED if flags & NUMBERED == 0 => ethernet(inner),
        MIRRORED => behind(inner, 8).and_then(ethernet),
        MIRRORED_3 => {
            let has_more = first::<12>(inner)?[11] & 1 == 1;
            behind(inner, if has_more { 20 } else { 12 }).and_then(ethernet)
        }
        protocol => of_protocol(protocol, inner),
    }
}

fn of_protocol(protocol: u16, inner: Captured<'_>) -> Result<IpPacket<'_>, Unread> {
    match protocol {
        BRIDGED => ethernet(inner),
        number => numbered(number, inner),
    }
}

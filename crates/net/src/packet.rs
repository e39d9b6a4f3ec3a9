//! What travels: a header that the network reads at every hop, and an opaque content.

use crate::topology::PortId;

/// The bits of [`Packet::ecn`] that hold the ECN codepoint (RFC 3168 5).
pub(crate) const ECN_BITS: u8 = 0b11;
/// The codepoint of a packet that must not be marked.
pub(crate) const NOT_ECT: u8 = 0b00;
/// The codepoint of a packet that was marked: congestion experienced.
pub(crate) const CE: u8 = 0b11;

/// A packet: what the network looks at, and what it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<P: Copy> {
    /// what ports and links go by
    pub header: Header,
    /// what the hosts put in: a TCP segment in the simulator, a frame's handle in the switch
    pub content: P,
}

/// All that a packet shows on its way: 16 bytes, so that the headers of many thousand packets keep
/// to the cache next to the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Header {
    /// the flow it belongs to
    pub flow: u32,
    /// where its route goes on: an index into the [`crate::routing::Routes`] of the network,
    /// one further at every hop
    pub route: u32,
    /// the output port at the far end of the link that it is on, as the route says; the network
    /// fills it in, so that an arrival knows its port before it looks at the route
    pub output: PortId,
    /// size of the IP packet, bytes
    pub size_bytes: u16,
    /// ECN codepoint of the IP header (RFC 3168)
    pub ecn: u8,
    /// traffic class, for disciplines that distinguish classes
    pub class: u8,
}

const _: () = assert!(size_of::<Header>() == 16);

impl Header {
    /// What a discipline sees of it; it takes `frame_bytes` in a buffer.
    #[inline]
    pub(crate) fn view(&self, frame_bytes: u32, ingress_number: u16) -> PacketView {
        PacketView {
            frame_bytes,
            flow: self.flow,
            class: self.class,
            ecn: self.ecn,
            ingress_number,
        }
    }
}

/// An arriving packet, as far as a discipline may look at it.
#[derive(Clone, Copy, Debug)]
pub struct PacketView {
    /// what it takes in the buffer
    pub frame_bytes: u32,
    /// the flow it belongs to; both directions of a flow have the same number
    pub flow: u32,
    /// traffic class
    pub class: u8,
    /// ECN codepoint of its IP header
    pub ecn: u8,
    /// number of the port of the node through which it came in; of the host's own port where its
    /// route begins
    pub ingress_number: u16,
}

impl PacketView {
    /// Whether it may be marked: its codepoint is ECT(0), ECT(1) or already CE (RFC 3168 5).
    #[inline]
    pub fn is_ecn_capable(&self) -> bool {
        self.ecn & ECN_BITS != NOT_ECT
    }
}

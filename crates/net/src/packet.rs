//! A packet: a header that the network reads at every hop, and an opaque content.

use crate::topology::PortId;

/// The bits of [`Header::ecn`] that hold the ECN codepoint (RFC 3168 5).
pub(crate) const ECN_BITS: u8 = 0b11;
/// The codepoint of a packet that does not support ECN and must not be marked.
pub(crate) const NOT_ECT: u8 = 0b00;
/// The codepoint of a packet that was marked: congestion experienced.
pub(crate) const CE: u8 = 0b11;

/// A packet: the part that the network reads, and the part that it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<P: Copy> {
    /// the part that ports and links read
    pub header: Header,
    /// the part that hosts add: a TCP segment in the simulator, a frame's handle in the switch
    pub content: P,
}

/// Everything that a packet shows on its way. It has 16 bytes, so that the headers of many thousand packets fit into
/// the first-level cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Header {
    /// the flow that the packet belongs to
    pub flow: u32,
    /// where its route continues: an index into the network's [`crate::routing::Routes`], which grows by one per hop
    pub route: u32,
    /// the output port at the far end of its present link, from the route. The network fills it in, so that an arrival
    /// knows its port before it reads the route. A host leaves the default
    pub output: PortId,
    /// size of the IP packet in bytes
    pub size_bytes: u16,
    /// ECN codepoint of the IP header (RFC 3168)
    pub ecn: u8,
    /// traffic class, for disciplines that distinguish classes
    pub class: u8,
}

const _: () = assert!(size_of::<Header>() == 16);

impl Header {
    /// The part that a discipline sees. The packet takes `frame_bytes` in a buffer.
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

/// The hosts between which a packet travels, by number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Addresses {
    /// the host where its route begins
    pub source: u32,
    /// the host where its route ends
    pub destination: u32,
}

/// The part of an arriving packet that a discipline may read.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketView {
    /// bytes that it takes in the buffer
    pub frame_bytes: u32,
    /// the flow that it belongs to; both directions of a flow have the same number
    pub flow: u32,
    /// traffic class
    pub class: u8,
    /// ECN codepoint of its IP header
    pub ecn: u8,
    /// number of the node's port through which it came in; at the first hop, that of the host's own port
    pub ingress_number: u16,
}

impl PacketView {
    /// Whether it may be marked: its codepoint is ECT(0), ECT(1), or already CE (RFC 3168 5).
    #[inline]
    pub fn is_ecn_capable(&self) -> bool {
        self.ecn & ECN_BITS != NOT_ECT
    }
}

//! The packets that are under way, each at one place from injection to its end.
//!
//! A place that becomes free is the next to be filled, so the packets under way keep to as few cache
//! lines as there are packets, and those stay warm. A packet does not move from hop to hop: links and
//! queues are lists of places, and a hop rewrites the one line on which all is that a hop needs.

use fairport_units::Instant;

use crate::packet::{Header, Packet};
use crate::prefetch::prefetch;

/// A packet in the network: its index in the pool of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(u32);

impl Handle {
    /// The handle of the packet at this index.
    pub(crate) const fn at(index: usize) -> Self {
        Self(index as u32)
    }

    /// The index, for tables beside the pool.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a packet is on its link.
#[derive(Clone, Copy)]
pub(crate) struct LinkEntry {
    /// when the next node decides about it
    pub(crate) due: Instant,
    /// when it stops counting against the buffer's limit
    pub(crate) leaves: Instant,
    /// what it takes in the buffer
    pub(crate) frame_bytes: u32,
    /// the packet behind it, if there is one
    pub(crate) behind: Handle,
    /// that packet's `due`, so that nobody looks at its line before it is the first
    pub(crate) behind_due: Instant,
    /// and its `leaves`
    pub(crate) behind_leaves: Instant,
}

/// What a hop needs of a packet: one cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Transit {
    pub(crate) header: Header,
    pub(crate) entry: LinkEntry,
}

/// The packet, if there is one, will soon come near: fetches what a hop needs of it.
#[inline]
pub(crate) fn prefetch_transit(transits: &[Transit], handle: Handle) {
    if let Some(transit) = transits.get(handle.index()) {
        prefetch(transit);
    }
}

/// A content at the beginning of a cache line, so that it touches no more of them than it must.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Aligned<P: Copy>(P);

/// Storage for packets. After warm-up it never allocates.
///
/// Contents lie apart: hosts alone read them, where a packet begins and where it ends.
pub(crate) struct Pool<P: Copy> {
    /// By the index of their handles. Code that needs several of them takes this as a slice, so that its length
    /// is read once, not at each look.
    pub(crate) transits: Vec<Transit>,
    contents: Vec<Aligned<P>>,
    free: Vec<Handle>,
}

impl<P: Copy> Pool<P> {
    pub(crate) fn new() -> Self {
        Self {
            transits: Vec::new(),
            contents: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Stores the packet.
    #[expect(
        clippy::inline_always,
        reason = "the header is written field by field: one copied as a whole waits for its fields"
    )]
    #[inline(always)]
    pub(crate) fn put(&mut self, packet: &Packet<P>) -> Handle {
        if let Some(handle) = self.free.pop() {
            self.transits[handle.index()].header = packet.header;
            self.contents[handle.index()] = Aligned(packet.content);
            handle
        } else {
            self.transits.push(Transit {
                header: packet.header,
                entry: NOWHERE,
            });
            self.contents.push(Aligned(packet.content));
            Handle::at(self.transits.len() - 1)
        }
    }

    #[inline]
    pub(crate) fn get(&self, handle: Handle) -> Packet<P> {
        Packet {
            header: *self.header(handle),
            content: *self.content(handle),
        }
    }

    #[inline]
    pub(crate) fn content(&self, handle: Handle) -> &P {
        &self.contents[handle.index()].0
    }

    #[inline]
    pub(crate) fn header(&self, handle: Handle) -> &Header {
        &self.transits[handle.index()].header
    }

    #[inline]
    pub(crate) fn header_mut(&mut self, handle: Handle) -> &mut Header {
        &mut self.transits[handle.index()].header
    }

    /// The packet will soon be received.
    #[inline]
    pub(crate) fn prefetch_content(&self, handle: Handle) {
        prefetch(&self.contents[handle.index()]);
    }

    /// Frees the storage; the packet must not be asked for again.
    #[inline]
    pub(crate) fn release(&mut self, handle: Handle) {
        self.free.push(handle);
    }
}

/// The entry of a packet that is on no link yet.
const NOWHERE: LinkEntry = LinkEntry {
    due: Instant::ZERO,
    leaves: Instant::ZERO,
    frame_bytes: 0,
    behind: Handle(0),
    behind_due: Instant::ZERO,
    behind_leaves: Instant::ZERO,
};

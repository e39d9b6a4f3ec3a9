//! The packets in the network. Each keeps one place in the pool from its injection to its end.
//!
//! A place that becomes free is the next to be filled, so the packets use as few cache lines as possible, and these
//! stay in the cache. A packet does not move from hop to hop: links and queues are lists of places, and a hop rewrites
//! one cache line, which has everything that a hop needs.

use fairport_units::Instant;

use crate::packet::{Header, Packet};
use crate::prefetch::{prefetch, prefetch_at};

/// A packet in the network: its index in the pool. The default is for a field that is undefined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handle(u32);

impl Handle {
    /// The handle of the packet at this index.
    pub(crate) const fn at(index: usize) -> Self {
        Self(index as u32)
    }

    /// The index, for tables parallel to the pool.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A packet's entry in the list of its link.
#[derive(Clone, Copy, Default)]
pub(crate) struct LinkEntry {
    /// when it stops counting against the buffer's limit
    pub(crate) leaves: Instant,
    /// bytes that it takes in the buffer
    pub(crate) frame_bytes: u32,
    /// the packet behind it on the link, if there is one
    pub(crate) behind: Handle,
    /// when the next node decides about the packet behind; here, so that its cache line is not read before it comes first
    pub(crate) behind_due: Instant,
    /// the `leaves` of the packet behind
    pub(crate) behind_leaves: Instant,
}

/// What a hop needs of a packet: one cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Transit {
    pub(crate) header: Header,
    pub(crate) entry: LinkEntry,
}

/// Prefetches what a hop needs of a packet that will soon arrive. The handle may be undefined.
#[inline]
pub(crate) fn prefetch_transit(transits: &[Transit], handle: Handle) {
    prefetch_at(transits.as_ptr().wrapping_add(handle.index()));
}

/// A content that starts at a cache line, so that it spans as few lines as possible.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Aligned<P: Copy>(P);

/// Storage for packets. It never allocates after warm-up.
///
/// Contents are stored separately, because only hosts read them, at the beginning and at the end of a packet's path.
pub(crate) struct Pool<P: Copy> {
    /// Indexed by handle. Code that reads several entries takes this as a slice, so that its length is read only once.
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

    /// Stores a packet and returns its handle.
    #[inline(always)] // writes the header field by field: a copy of the whole would wait for its fields
    pub(crate) fn put(&mut self, packet: &Packet<P>) -> Handle {
        if let Some(handle) = self.free.pop() {
            self.transits[handle.index()].header = packet.header;
            self.contents[handle.index()] = Aligned(packet.content);
            handle
        } else {
            self.transits.push(Transit {
                header: packet.header,
                entry: LinkEntry::default(), // it is not on a link yet
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

    /// Prefetches the content of a packet that will soon be received.
    #[inline]
    pub(crate) fn prefetch_content(&self, handle: Handle) {
        prefetch(&self.contents[handle.index()]);
    }

    /// Frees a packet's place. Its handle must not be used again.
    #[inline]
    pub(crate) fn release(&mut self, handle: Handle) {
        self.free.push(handle);
    }
}

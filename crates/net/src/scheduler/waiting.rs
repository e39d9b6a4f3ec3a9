//! The packets that wait at ports with a scheduler; one table holds those of all ports.
//!
//! A packet's record has the same index as the packet in the pool, and takes one cache line. It holds what the
//! discipline may read, the packets before and behind it in its [`PacketFifo`], and the counts of its arrival. So
//! queues hold no packets, only their first and last one. However many queues a port has, a packet uses one cache line
//! from its arrival to its departure.
//!
//! [`PacketFifo`]: super::PacketFifo

use std::ops::{Index, IndexMut};

use fairport_units::Instant;

use crate::discipline::{PacketView, Reason};
use crate::observer::Counts;
use crate::pool::Handle;

/// A packet that waits at a port.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct Waiting {
    /// when it arrived
    pub arrived: Instant,
    /// the packet as it arrived
    pub packet: PacketView,
    /// whether the discipline marks it: its ECN codepoint becomes CE when it leaves
    pub marked: bool,
    /// whether it still waits; its record remains after it has left
    pub(crate) is_here: bool,
    /// the packets before and behind it in its queue
    pub(super) neighbours: [Handle; 2],
    /// the running counts at its arrival
    pub(crate) counts: Counts,
}

const _: () = assert!(size_of::<Waiting>() == 64);

/// All waiting packets, by their handles.
#[derive(Debug, Default)]
pub struct WaitingPackets {
    records: Vec<Waiting>,
    /// packets that were accepted and then dropped, and why; empty between two decisions of a discipline
    pub(crate) dropped: Vec<(Handle, Reason)>,
}

impl WaitingPackets {
    /// Records an arriving packet. It does not allocate once the table has reached its final size.
    #[inline]
    pub(crate) fn enter(
        &mut self,
        handle: Handle,
        arrived: Instant,
        packet: PacketView,
        counts: Counts,
    ) {
        if self.records.len() <= handle.index() {
            self.grow(handle);
        }
        // Fields are written one by one: if they were first put together on the stack and then copied, the copy would
        // have to wait for them.
        let waiting = &mut self.records[handle.index()];
        waiting.arrived = arrived;
        waiting.packet = packet;
        waiting.marked = false;
        waiting.is_here = true;
        waiting.counts = counts;
    }

    #[cold]
    fn grow(&mut self, handle: Handle) {
        self.records.resize(handle.index() + 1, Waiting::default());
    }

    /// Drops a packet that the scheduler which is being called had accepted, and has already removed from its queue. A
    /// scheduler that gives up a packet at another port of its switch leaves it to that port's scheduler, which drops
    /// it at its next call: each call changes the counts of its own port.
    #[inline]
    pub fn drop_queued(&mut self, handle: Handle, reason: Reason) {
        self.dropped.push((handle, reason));
    }

    /// The packets that wait now.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Handle> {
        let records = self.records.iter().enumerate();
        let here = records.filter(|(_, waiting)| waiting.is_here);
        here.map(|(index, _)| Handle::at(index))
    }
}

impl Index<Handle> for WaitingPackets {
    type Output = Waiting;

    #[inline]
    fn index(&self, handle: Handle) -> &Waiting {
        &self.records[handle.index()]
    }
}

impl IndexMut<Handle> for WaitingPackets {
    #[inline]
    fn index_mut(&mut self, handle: Handle) -> &mut Waiting {
        &mut self.records[handle.index()]
    }
}

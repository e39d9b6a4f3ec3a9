//! The packets that wait at ports with a scheduler, those of all ports in one room.
//!
//! A packet's record has the place that the packet has in the pool, and is one cache line: what its
//! discipline may look at, who is before and behind it in its [`PacketFifo`](super::fifo::PacketFifo), and the
//! counts of its arrival. So queues hold no packets, only the first and the last of theirs, and
//! however many queues a port has, a packet takes one line from its arrival to its departure.

use std::ops::{Index, IndexMut};

use fairport_units::Time;

use crate::discipline::{PacketView, Reason};
use crate::observer::Counts;
use crate::pool::Handle;

/// A packet that waits at a port.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Waiting {
    /// when it came
    pub(crate) arrived: Time,
    /// what it was when it came
    pub(crate) packet: PacketView,
    /// whether its discipline has marked it
    pub(crate) marked: bool,
    /// whether it is still there: a place is left behind
    pub(crate) is_here: bool,
    /// the number of the port of its node through which it came in
    pub(crate) ingress_number: u16,
    /// the one before it in its fifo, and the one behind it
    pub(super) neighbours: [Handle; 2],
    /// the running counts at its arrival
    pub(crate) counts: Counts,
}

const _: () = assert!(size_of::<Waiting>() == 64);

/// What is left behind in a place that nobody has.
const NOBODY: Waiting = Waiting {
    arrived: Time::ZERO,
    packet: PacketView {
        frame_bytes: 0,
        flow: 0,
        class: 0,
        ecn: 0,
    },
    marked: false,
    is_here: false,
    ingress_number: 0,
    neighbours: [Handle::at(0); 2],
    counts: Counts {
        port_arrival: 0,
        ingress_arrival: 0,
        flow_arrival: 0,
        port_accepted: 0,
    },
};

/// All packets that wait, by their handles.
#[derive(Debug, Default)]
pub(crate) struct WaitingPackets {
    places: Vec<Waiting>,
    /// packets that were accepted and are dropped all the same, and why; empty between a
    /// discipline's decisions
    pub(crate) lost: Vec<(Handle, Reason)>,
}

impl WaitingPackets {
    /// A packet comes in. Once it has been as full as it becomes it does not allocate.
    #[inline]
    pub(crate) fn enter(
        &mut self,
        handle: Handle,
        arrived: Time,
        packet: PacketView,
        ingress_number: u16,
        counts: Counts,
    ) {
        if self.places.len() <= handle.place() {
            self.grow(handle);
        }
        // One by one: put together on the stack first and copied from there, they would have to
        // wait for each other.
        let waiting = &mut self.places[handle.place()];
        waiting.arrived = arrived;
        waiting.packet = packet;
        waiting.marked = false;
        waiting.is_here = true;
        waiting.ingress_number = ingress_number;
        waiting.counts = counts;
    }

    #[cold]
    fn grow(&mut self, handle: Handle) {
        self.places.resize(handle.place() + 1, NOBODY);
    }

    /// Has a discipline's packet dropped that it had accepted.
    #[inline]
    pub(super) fn lose(&mut self, handle: Handle, reason: Reason) {
        self.lost.push((handle, reason));
    }

    /// The packets that are there.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Handle> {
        let places = self.places.iter().enumerate();
        let here = places.filter(|(_, waiting)| waiting.is_here);
        here.map(|(place, _)| Handle::at(place))
    }
}

impl Index<Handle> for WaitingPackets {
    type Output = Waiting;

    #[inline]
    fn index(&self, handle: Handle) -> &Waiting {
        &self.places[handle.place()]
    }
}

impl IndexMut<Handle> for WaitingPackets {
    #[inline]
    fn index_mut(&mut self, handle: Handle) -> &mut Waiting {
        &mut self.places[handle.place()]
    }
}

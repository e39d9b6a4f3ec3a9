//! The packets that wait at ports with a scheduler, those of all ports in one room.
//!
//! A packet's record has the place that the packet has in the pool, and is one cache line: what its
//! discipline may look at, who is before and behind it in its [`Lane`](super::lane::Lane), and the
//! counts of its arrival. So queues hold no packets, only the first and the last of theirs, and
//! however many queues a port has, a packet takes one line from its arrival to its departure.

use std::ops::{Index, IndexMut};

use fairport_units::Time;

use crate::discipline::{Candidate, Reason};
use crate::observer::Counts;
use crate::pool::Handle;

/// A packet that waits at a port.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Waiting {
    /// when it came
    pub(crate) arrived: Time,
    /// what it was when it came
    pub(crate) packet: Candidate,
    /// whether its discipline has marked it
    pub(crate) marked: bool,
    /// whether it is still there: a place is left behind
    pub(crate) is_here: bool,
    /// the one before it in its lane, and the one behind it
    pub(super) neighbours: [Handle; 2],
    /// the running counts at its arrival
    pub(crate) counts: Counts,
}

const _: () = assert!(size_of::<Waiting>() == 64);

impl Waiting {
    /// A packet that comes at `arrived`.
    #[inline]
    pub(crate) fn new(arrived: Time, packet: Candidate, counts: Counts) -> Self {
        Self {
            arrived,
            packet,
            marked: false,
            is_here: true,
            neighbours: [Handle::at(0); 2],
            counts,
        }
    }
}

/// All packets that wait, by their handles.
#[derive(Debug, Default)]
pub(crate) struct WaitingRoom {
    places: Vec<Waiting>,
    /// packets that were accepted and are dropped all the same, and why; empty between a
    /// discipline's decisions
    pub(crate) lost: Vec<(Handle, Reason)>,
}

impl WaitingRoom {
    /// A packet comes in. Once it has been as full as it becomes it does not allocate.
    #[inline]
    pub(crate) fn enter(&mut self, handle: Handle, waiting: Waiting) {
        let place = handle.place();
        if self.places.len() <= place {
            self.places.resize(
                place + 1,
                Waiting {
                    is_here: false,
                    ..waiting
                },
            );
        }
        self.places[place] = waiting;
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

impl Index<Handle> for WaitingRoom {
    type Output = Waiting;

    #[inline]
    fn index(&self, handle: Handle) -> &Waiting {
        &self.places[handle.place()]
    }
}

impl IndexMut<Handle> for WaitingRoom {
    #[inline]
    fn index_mut(&mut self, handle: Handle) -> &mut Waiting {
        &mut self.places[handle.place()]
    }
}

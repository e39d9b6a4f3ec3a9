//! The turns of FQ-CoDel's queues: new queues first, for one quantum, then old queues.

use super::super::PacketFifo;
use super::super::codel::Control;

/// Which list a queue is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Membership {
    None,
    New,
    Old,
}

/// A queue; it takes one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct FlowQueue {
    /// bytes left in the queue's turn
    pub(super) credits: i64,
    membership: Membership,
    /// the next queue in the same list
    next: u32,
    pub(super) fifo: PacketFifo,
    pub(super) control: Control,
}

impl FlowQueue {
    /// An empty queue that is in no list.
    pub(super) fn empty() -> Self {
        Self {
            credits: 0,
            membership: Membership::None,
            next: NONE,
            fifo: PacketFifo::default(),
            control: Control::new(),
        }
    }
}

/// A list of queues, linked through the queues; [`NONE`] ends it.
#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

const NONE: u32 = u32::MAX;

impl List {
    const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
    };

    #[inline]
    fn push(&mut self, index: u32, queues: &mut [FlowQueue]) {
        queues[index as usize].next = NONE;
        if self.first == NONE {
            self.first = index;
        } else {
            queues[self.last as usize].next = index;
        }
        self.last = index;
    }

    /// The queues of the list, in order.
    fn iter(self, queues: &[FlowQueue]) -> impl Iterator<Item = u32> {
        let some = |index: u32| (index != NONE).then_some(index);
        std::iter::successors(some(self.first), move |index| {
            some(queues[*index as usize].next)
        })
    }
}

/// The lists of queues that take turns.
#[derive(Clone, Debug)]
pub(super) struct Lists {
    /// queues that have just become active, which are served first, for one quantum
    new: List,
    old: List,
    quantum_bytes: u32,
}

impl Lists {
    /// Empty lists. Queues send `quantum_bytes` per turn.
    pub(super) fn new(quantum_bytes: u32) -> Self {
        Self {
            new: List::EMPTY,
            old: List::EMPTY,
            quantum_bytes,
        }
    }

    /// The queues of both lists, new ones first.
    pub(super) fn iter(&self, queues: &[FlowQueue]) -> impl Iterator<Item = u32> {
        self.new.iter(queues).chain(self.old.iter(queues))
    }

    /// Adds a queue to the new ones, unless it is on a list already.
    #[inline]
    pub(super) fn activate(&mut self, index: u32, queues: &mut [FlowQueue]) {
        let queue = &mut queues[index as usize];
        if queue.membership == Membership::None {
            queue.membership = Membership::New;
            queue.credits = i64::from(self.quantum_bytes);
            self.new.push(index, queues);
        }
    }

    /// The queue whose turn it is: the first with credits left. None if the lists are empty.
    #[inline]
    pub(super) fn turn(&mut self, queues: &mut [FlowQueue]) -> Option<u32> {
        loop {
            let index = match self.new.first {
                NONE => self.old.first,
                first => first,
            };
            let queue = queues.get_mut(index as usize)?;
            if queue.credits > 0 {
                return Some(index);
            }
            queue.credits += i64::from(self.quantum_bytes);
            self.move_on(index, Membership::Old, queues);
        }
    }

    /// Takes an empty queue off the lists. An empty new queue first joins the old ones, since a flow with one packet at
    /// a time would otherwise always be new.
    #[inline]
    pub(super) fn retire(&mut self, index: u32, queues: &mut [FlowQueue]) {
        let goes_to = match queues[index as usize].membership {
            Membership::New => Membership::Old,
            _ => Membership::None,
        };
        self.move_on(index, goes_to, queues);
    }

    /// Removes all queues from the lists, because all are empty.
    pub(super) fn clear(&mut self, queues: &mut [FlowQueue]) {
        for list in [&mut self.new, &mut self.old] {
            let mut index = list.first;
            while let Some(queue) = queues.get_mut(index as usize) {
                queue.control.found_empty();
                queue.membership = Membership::None;
                index = queue.next;
            }
            *list = List::EMPTY;
        }
    }

    /// Moves a queue from the front of its list to `to`.
    #[inline]
    fn move_on(&mut self, index: u32, to: Membership, queues: &mut [FlowQueue]) {
        let queue = &mut queues[index as usize];
        match queue.membership {
            Membership::New => self.new.first = queue.next,
            _ => self.old.first = queue.next,
        }
        queue.membership = to;
        if to == Membership::Old {
            self.old.push(index, queues);
        }
    }
}

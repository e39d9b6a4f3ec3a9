//! FQ-CoDel's queues that take turns: the new ones first, for one quantum, then the old ones.

use super::super::PacketFifo;
use super::super::codel::Control;

/// Which list a queue is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Membership {
    None,
    New,
    Old,
}

/// A queue: one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct FlowQueue {
    /// bytes that are left of its turn
    pub(super) credits: i64,
    membership: Membership,
    /// the queue behind it in its list
    next: u32,
    pub(super) fifo: PacketFifo,
    pub(super) control: Control,
}

impl FlowQueue {
    /// An empty queue, in no list.
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

/// A list of queues, linked through them; [`NONE`] ends it.
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

    /// Its queues from the first on.
    fn iter(self, queues: &[FlowQueue]) -> impl Iterator<Item = u32> {
        let some = |index: u32| (index != NONE).then_some(index);
        std::iter::successors(some(self.first), move |index| {
            some(queues[*index as usize].next)
        })
    }
}

/// The queues that take turns.
#[derive(Clone, Debug)]
pub(super) struct Lists {
    /// those that have just become active: served first, for one quantum
    new: List,
    old: List,
    quantum_bytes: u32,
}

impl Lists {
    /// Empty lists, whose queues send `quantum_bytes` per turn.
    pub(super) fn new(quantum_bytes: u32) -> Self {
        Self {
            new: List::EMPTY,
            old: List::EMPTY,
            quantum_bytes,
        }
    }

    /// The queues of both lists, the new ones first.
    pub(super) fn iter(&self, queues: &[FlowQueue]) -> impl Iterator<Item = u32> {
        self.new.iter(queues).chain(self.old.iter(queues))
    }

    /// A queue takes part from now on.
    #[inline]
    pub(super) fn activate(&mut self, index: u32, queues: &mut [FlowQueue]) {
        let queue = &mut queues[index as usize];
        if queue.membership == Membership::None {
            queue.membership = Membership::New;
            queue.credits = i64::from(self.quantum_bytes);
            self.new.push(index, queues);
        }
    }

    /// The queue whose turn it is: the first that has credits left; none when the lists are empty.
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

    /// An empty new queue first waits its turn among the old ones, or a flow of one packet at a
    /// time would always be new.
    #[inline]
    pub(super) fn retire(&mut self, index: u32, queues: &mut [FlowQueue]) {
        let goes_to = match queues[index as usize].membership {
            Membership::New => Membership::Old,
            _ => Membership::None,
        };
        self.move_on(index, goes_to, queues);
    }

    /// All queues are empty: they take part no longer.
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

    /// Takes a queue off the front of its list.
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

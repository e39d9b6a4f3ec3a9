//! A timing wheel of 1024 slots with a bitmap over them, and a heap for what lies beyond its
//! horizon: what the engine ordered its events by before the winner tree. It is exact: a slot's
//! entries are kept in order of time, and the slot's width changes the speed alone.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fairport_units::Time;

const SLOTS: usize = 1024;
const WORDS: usize = SLOTS / 64;
const NIL: u32 = u32::MAX;

/// A link in a slot's list.
#[derive(Clone, Copy)]
struct Node {
    time: Time,
    next: u32,
}

/// A priority queue of (time, id) with each id in it at most once.
pub(crate) struct TimingWheel {
    /// the earliest entry, or (NEVER, NIL)
    first: (Time, u32),
    /// log2 of a slot's width in ps
    shift: u32,
    /// all entries of the wheel lie in slots `current .. current + SLOTS`
    current: u64,
    /// the earliest slot of the overflow: never within the wheel's horizon
    overflow_slot: u64,
    /// a bit a slot
    occupied: [u64; WORDS],
    /// the first id of each slot's list
    heads: Box<[u32; SLOTS]>,
    nodes: Vec<Node>,
    overflow: BinaryHeap<Reverse<(Time, u32)>>,
}

impl TimingWheel {
    /// An empty queue for the ids `0..ids`, fastest when an entry is seldom further than
    /// `typical_span` ahead of the earliest.
    pub(crate) fn new(ids: usize, typical_span: Time) -> Self {
        // Twice as wide as the span asks for: fewer cache lines in turn outweigh longer lists.
        let width = (2 * typical_span.as_ps() / SLOTS as u64).max(1 << 12);
        Self {
            first: (Time::NEVER, NIL),
            shift: width.ilog2(),
            current: 0,
            overflow_slot: u64::MAX,
            occupied: [0; WORDS],
            heads: Box::new([NIL; SLOTS]),
            nodes: vec![
                Node {
                    time: Time::NEVER,
                    next: NIL
                };
                ids
            ],
            overflow: BinaryHeap::new(),
        }
    }

    /// Adds `id`, which must not be in the queue, at a time not before the last one popped.
    #[inline]
    pub(crate) fn insert(&mut self, time: Time, id: u32) {
        if time < self.first.0 {
            self.first = (time, id);
        }
        let slot = time.as_ps() >> self.shift;
        debug_assert!(slot >= self.current, "an event in the past");
        if slot - self.current < SLOTS as u64 {
            self.link(slot, time, id);
        } else {
            self.overflow_slot = self.overflow_slot.min(slot);
            self.overflow.push(Reverse((time, id)));
        }
    }

    /// Takes the earliest entry. Entries of the same time come in no particular order.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Time, u32)> {
        let (time, id) = self.first;
        if id == NIL {
            return None;
        }
        let slot = time.as_ps() >> self.shift;
        self.current = slot;
        if self.overflow_slot < slot + SLOTS as u64 {
            self.refill();
        }
        let index = slot as usize % SLOTS;
        debug_assert_eq!(self.heads[index], id);
        let next = self.nodes[id as usize].next;
        self.heads[index] = next;
        self.first = if next == NIL {
            self.occupied[index / 64] &= !(1 << (index % 64));
            self.search()
        } else {
            (self.nodes[next as usize].time, next)
        };
        Some((time, id))
    }

    /// Puts an entry into its slot's list, in order of time.
    #[inline]
    fn link(&mut self, slot: u64, time: Time, id: u32) {
        let index = slot as usize % SLOTS;
        let head = self.heads[index];
        if head == NIL {
            self.occupied[index / 64] |= 1 << (index % 64);
        }
        if head == NIL || time < self.nodes[head as usize].time {
            self.heads[index] = id;
            self.nodes[id as usize] = Node { time, next: head };
        } else {
            self.link_behind(head, time, id);
        }
    }

    fn link_behind(&mut self, head: u32, time: Time, id: u32) {
        let mut before = head;
        loop {
            let next = self.nodes[before as usize].next;
            if next == NIL || time < self.nodes[next as usize].time {
                self.nodes[before as usize].next = id;
                self.nodes[id as usize] = Node { time, next };
                return;
            }
            before = next;
        }
    }

    /// The earliest entry: the first occupied slot from `current` on, else the overflow's first.
    #[inline]
    fn search(&self) -> (Time, u32) {
        let start = self.current as usize % SLOTS;
        let mut word = start / 64;
        let mut here = self.occupied[word] & (!0 << (start % 64));
        // the words behind this one, then those before it, then this one's low bits
        let mut unseen = WORDS;
        while here == 0 {
            if unseen == 0 {
                return self
                    .overflow
                    .peek()
                    .map_or((Time::NEVER, NIL), |Reverse(first)| *first);
            }
            unseen -= 1;
            word = (word + 1) % WORDS;
            here = self.occupied[word];
        }
        let index = word * 64 + here.trailing_zeros() as usize;
        let id = self.heads[index];
        (self.nodes[id as usize].time, id)
    }

    /// Moves what has come within the horizon from the overflow into the wheel.
    #[cold]
    fn refill(&mut self) {
        while let Some(&Reverse((time, id))) = self.overflow.peek() {
            let slot = time.as_ps() >> self.shift;
            if slot >= self.current + SLOTS as u64 {
                self.overflow_slot = slot;
                return;
            }
            self.overflow.pop();
            self.link(slot, time, id);
        }
        self.overflow_slot = u64::MAX;
    }
}

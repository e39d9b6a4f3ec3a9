//! The event queue: which link's first packet arrives next.
//!
//! It is a timing wheel of 4096 slots, with a bitmap over the slots and another over the bitmap's words, and a heap for
//! entries beyond the wheel's horizon. It holds ids of links, never packets, and each id at most once, so it is as
//! large as the number of busy links. It is exact: a slot's links are kept in order of time. The width of a slot
//! changes only the speed, never the order. `cargo bench -p fairport-net` compares it with a binary heap, a 4-ary heap
//! and a winner tree.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::select_unpredictable;

use fairport_units::{Duration, Instant};

const SLOTS: usize = 4096;
const WORDS: usize = SLOTS / 64;
const NIL: u32 = u32::MAX;

/// A link in a slot's list.
#[derive(Clone, Copy)]
struct Node {
    time: Instant,
    next: u32,
    note: u32,
}

/// An entry, as a user of the queue sees it.
#[derive(Clone, Copy)]
struct Entry {
    time: Instant,
    id: u32,
    note: u32,
}

impl Entry {
    /// The earliest entry of an empty queue.
    const NONE: Self = Self {
        time: Instant::NEVER,
        id: NIL,
        note: 0,
    };

    /// The entry of `id` in the wheel.
    #[inline]
    fn new(nodes: &[Node], id: u32) -> Self {
        let Node { time, note, .. } = nodes[id as usize];
        Self { time, id, note }
    }
}

/// A priority queue of (time, id) with each id in it at most once.
pub struct EventQueue {
    /// the earliest entry, or [`Entry::NONE`]
    first: Entry,
    typical_span: Duration,
    /// log2 of a slot's width in ps
    shift: u32,
    /// all entries of the wheel lie in slots `current .. current + SLOTS`
    current: u64,
    /// the slot of the earliest overflow entry, which is never within the wheel's horizon
    overflow_slot: u64,
    /// one bit per slot: whether it has entries
    occupied: [u64; WORDS],
    /// one bit per word of `occupied`: whether any of its slots has entries
    busy: u64,
    /// the first id of each slot's list
    heads: [u32; SLOTS],
    nodes: Vec<Node>,
    /// entries beyond the horizon: (time, id, note)
    overflow: BinaryHeap<Reverse<(Instant, u32, u32)>>,
}

impl EventQueue {
    /// An empty queue for the ids `0..ids`. It is fastest if entries are rarely more than `typical_span` later than the
    /// earliest one.
    pub fn new(ids: usize, typical_span: Duration) -> Self {
        Self {
            first: Entry::NONE,
            typical_span,
            shift: shift(typical_span, 0),
            current: 0,
            overflow_slot: u64::MAX,
            occupied: [0; WORDS],
            busy: 0,
            heads: [NIL; SLOTS],
            nodes: vec![
                Node {
                    time: Instant::NEVER,
                    next: NIL,
                    note: 0,
                };
                ids
            ],
            overflow: BinaryHeap::new(),
        }
    }

    /// Sets the width of the slots that is fastest for about this many entries.
    pub fn fit(&mut self, entries: u32) {
        let shift = shift(self.typical_span, entries);
        if shift != self.shift {
            self.rebuild(shift);
        }
    }

    #[cold]
    fn rebuild(&mut self, shift: u32) {
        let mut entries = Vec::new();
        for index in 0..SLOTS {
            let mut id = std::mem::replace(&mut self.heads[index], NIL);
            while id != NIL {
                let Node { time, next, note } = self.nodes[id as usize];
                entries.push((time, id, note));
                id = next;
            }
        }
        entries.extend(self.overflow.drain().map(|Reverse(entry)| entry));
        (self.occupied, self.busy) = ([0; WORDS], 0);
        (self.first, self.overflow_slot) = (Entry::NONE, u64::MAX);
        self.current = (self.current << self.shift) >> shift;
        self.shift = shift;
        for (time, id, note) in entries {
            self.insert(time, id, note);
        }
    }

    /// The earliest time in the queue; [`Instant::NEVER`] when it is empty.
    #[inline]
    pub fn next_time(&self) -> Instant {
        self.first.time
    }

    /// Number of slots with entries. It is close to the number of entries within the horizon, unless these lie close
    /// together.
    pub fn occupied_slots(&self) -> u32 {
        self.occupied.iter().map(|word| word.count_ones()).sum()
    }

    /// The earliest entry's id and note.
    #[inline]
    pub fn next(&self) -> Option<(u32, u32)> {
        let Entry { id, note, .. } = self.first;
        (id != NIL).then_some((id, note))
    }

    /// A hint: the id and note of the entry that probably follows the earliest one. It is wrong if the next entry lies
    /// beyond the horizon, or if another is added before.
    #[inline]
    pub fn second(&self) -> Option<(u32, u32)> {
        let Entry { time, id, .. } = self.first;
        let behind = self.nodes.get(id as usize)?.next;
        let index = (time.as_ps() >> self.shift) as usize % SLOTS;
        let in_next_slot = self.heads[self.occupied_slot(index, !1 << (index % 64))];
        let id = select_unpredictable(behind == NIL, in_next_slot, behind);
        Some((id, self.nodes.get(id as usize)?.note))
    }

    /// Adds `id` at a time not before the last one popped. `id` must not be in the queue. `note` says what happens
    /// then, and is returned with the id.
    #[inline(always)]
    pub fn insert(&mut self, time: Instant, id: u32, note: u32) {
        if time < self.first.time {
            self.first = Entry { time, id, note };
        }
        let slot = time.as_ps() >> self.shift;
        debug_assert!(slot >= self.current, "an event in the past");
        if slot - self.current < SLOTS as u64 {
            self.link(slot, time, id, note);
        } else {
            self.overflow_slot = self.overflow_slot.min(slot);
            self.overflow.push(Reverse((time, id, note)));
            // of two that are due at once, the heap returns the one with the lower id first
            if time == self.first.time && id < self.first.id {
                self.first = Entry { time, id, note };
            }
        }
    }

    /// Removes the earliest entry and returns it, if it is before `end`. Entries at the same time come in no particular
    /// order. An entry at [`Instant::NEVER`] never comes.
    #[inline(always)]
    pub fn pop_before(&mut self, end: Instant) -> Option<(Instant, u32)> {
        let Entry { time, id, .. } = self.first;
        if time >= end {
            return None;
        }
        let slot = time.as_ps() >> self.shift;
        self.current = slot;
        if self.overflow_slot < slot + SLOTS as u64 {
            self.refill();
        }
        let index = slot as usize % SLOTS;
        debug_assert_eq!(self.heads[index], id);
        let nodes = &self.nodes[..];
        let next = nodes[id as usize].next;
        self.heads[index] = next;
        // whether a slot holds a second entry cannot be predicted, so there is no branch on it
        let word = index / 64;
        self.occupied[word] &= !(u64::from(next == NIL) << (index % 64));
        self.busy &= !(u64::from(self.occupied[word] == 0) << word);
        self.first = self.search(nodes, index);
        Some((time, id))
    }

    /// Puts an entry into its slot's list, in order of time.
    #[inline(always)]
    fn link(&mut self, slot: u64, time: Instant, id: u32, note: u32) {
        let index = slot as usize % SLOTS;
        let (word, bit) = (index / 64, 1 << (index % 64));
        // the bitmap is in the first-level cache, but the slot's head may not be: it is written without being read
        let is_free = self.occupied[word] & bit == 0;
        if is_free {
            self.occupied[word] |= bit;
            self.busy |= 1 << word;
            self.heads[index] = id;
            let next = NIL;
            self.nodes[id as usize] = Node { time, next, note };
        } else {
            self.link_beside(index, time, id, note);
        }
    }

    /// [`Self::link`] for a slot that has entries.
    #[inline(never)]
    fn link_beside(&mut self, index: usize, time: Instant, id: u32, note: u32) {
        let mut before = self.heads[index];
        if time < self.nodes[before as usize].time {
            self.heads[index] = id;
            let next = before;
            self.nodes[id as usize] = Node { time, next, note };
            return;
        }
        loop {
            let next = self.nodes[before as usize].next;
            if next == NIL || time < self.nodes[next as usize].time {
                self.nodes[before as usize].next = id;
                self.nodes[id as usize] = Node { time, next, note };
                return;
            }
            before = next;
        }
    }

    /// The earliest entry: that of the first slot with entries from `start` on, or the first of the overflow. `start`
    /// is the index of the current slot.
    ///
    /// How far away the next slot is cannot be predicted, so there is no branch on it.
    #[inline]
    fn search(&self, nodes: &[Node], start: usize) -> Entry {
        if self.busy == 0 {
            let first = self.overflow.peek();
            return first.map_or(Entry::NONE, |&Reverse((time, id, note))| Entry {
                time,
                id,
                note,
            });
        }
        let index = self.occupied_slot(start, !0 << (start % 64));
        Entry::new(nodes, self.heads[index])
    }

    /// The first slot with entries after `start`, if there is one. It is searched in the bits of `mask` of its word,
    /// then in the following words, the earlier words, and the low bits of its own word.
    #[inline]
    fn occupied_slot(&self, start: usize, mask: u64) -> usize {
        let here = start / 64;
        let ahead = self.occupied[here] & mask;
        let behind = (here + 1) % WORDS;
        let steps = self.busy.rotate_right(behind as u32).trailing_zeros() as usize;
        let word = select_unpredictable(ahead != 0, here, (behind + steps) % WORDS);
        let slots = select_unpredictable(ahead != 0, ahead, self.occupied[word]);
        (word * 64 + slots.trailing_zeros() as usize) % SLOTS
    }

    /// Moves entries that are now within the horizon from the overflow into the wheel.
    #[cold]
    fn refill(&mut self) {
        while let Some(&Reverse((time, id, note))) = self.overflow.peek() {
            let slot = time.as_ps() >> self.shift;
            if slot >= self.current + SLOTS as u64 {
                self.overflow_slot = slot;
                return;
            }
            self.overflow.pop();
            self.link(slot, time, id, note);
        }
        self.overflow_slot = u64::MAX;
    }
}

/// log2 of a slot's width in ps, for about this many entries.
///
/// With few entries, a wide horizon leaves few beyond it: four spans instead of two save 2 % on k = 4. With many,
/// entries share slots: on k = 8 with web search, four spans take 7 % more time than two, and one span 3 % less; on k =
/// 16, with four times as many entries, half a span saves another 2 %.
fn shift(typical_span: Duration, entries: u32) -> u32 {
    let half_spans = match entries {
        0..64 => 8,
        64..400 => 2,
        _ => 1,
    };
    let width = (typical_span / 2 * half_spans).as_ps() / SLOTS as u64;
    width.max(1 << 10).ilog2()
}

#[cfg(test)]
mod tests;

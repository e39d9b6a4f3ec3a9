//! The order of events: which link's head arrives next.
//!
//! A winner tree (a knock-out tournament; Knuth, The Art of Computer Programming 3, section 5.4.1)
//! with a leaf a link: an inner node holds the earlier of its two children, the root the earliest
//! of all. It holds ids of links, never packets (DESIGN 4.2). When a link's next head is due is
//! written into its leaf and played up to the root: as many steps as the tree is high, whatever
//! the times are, and no branch among them that a processor could guess wrong. So it is as fast
//! at 1.25 Mbit/s as at 100 Gbit/s. `cargo bench -p fairport-net` compares it with a timing wheel
//! and with heaps.

use fairport_units::Time;

/// A due time, counted from the queue's epoch, above an id: one number, so that a match in the
/// tournament is one comparison. Of one time the lower id comes first.
type Key = u64;

/// Nothing is due: later than any key.
const IDLE: Key = Key::MAX;

/// A priority queue of (time, id) with each id in it at most once.
pub struct EventQueue {
    /// The nodes below the root, two siblings a pair: first the leaves, in order of id, then their
    /// parents, then theirs. With n leaves the parent of node i is node n + i / 2.
    pairs: Vec<[Key; 2]>,
    leaves: usize,
    /// the root, taken apart
    first: (Time, u32),
    /// low bits of a key that are the id
    id_bits: u32,
    /// what times are counted from; it moves on when they no longer fit above the id
    epoch: Time,
}

impl EventQueue {
    /// An empty queue for the ids `0..ids`.
    pub fn new(ids: usize) -> Self {
        let leaves = ids.next_power_of_two();
        Self {
            pairs: vec![[IDLE; 2]; leaves - 1],
            leaves,
            first: (Time::NEVER, 0),
            id_bits: leaves.ilog2(),
            epoch: Time::ZERO,
        }
    }

    /// The earliest time in the queue; [`Time::NEVER`] when it is empty.
    #[inline]
    pub fn next_time(&self) -> Time {
        self.first.0
    }

    /// The earliest entry, the one of the lowest id if there are several.
    #[inline]
    pub fn first(&self) -> Option<(Time, u32)> {
        (self.first.0 != Time::NEVER).then_some(self.first)
    }

    /// Sets when `id` is due, not before the earliest entry; [`Time::NEVER`]: not at all.
    #[inline]
    pub fn set(&mut self, time: Time, id: u32) {
        let mut winner = self.key(time, id);
        let leaves = self.leaves;
        let mut node = id as usize;
        let pairs = self.pairs.as_mut_slice();
        while let Some(pair) = pairs.get_mut(node / 2) {
            pair[node % 2] = winner;
            winner = winner.min(pair[(node % 2) ^ 1]);
            node = leaves + node / 2;
        }
        self.first = self.entry(winner);
    }

    /// Sets when `id` is due, of which nothing was due so far.
    #[inline]
    pub fn insert(&mut self, time: Time, id: u32) {
        let key = self.key(time, id);
        let mut node = id as usize;
        // Up to where another is earlier: a step or two, seldom more.
        while let Some(pair) = self.pairs.get_mut(node / 2) {
            pair[node % 2] = key;
            if pair[(node % 2) ^ 1] < key {
                return;
            }
            node = self.leaves + node / 2;
        }
        self.first = (time, id);
    }

    #[inline]
    fn key(&mut self, time: Time, id: u32) -> Key {
        if time == Time::NEVER {
            return IDLE;
        }
        if !self.fits(time) {
            self.move_epoch(time);
        }
        (time - self.epoch).as_ps() << self.id_bits | Key::from(id)
    }

    #[inline]
    fn entry(&self, key: Key) -> (Time, u32) {
        let id = (key & !(Key::MAX << self.id_bits)) as u32;
        if key == IDLE {
            return (Time::NEVER, id);
        }
        (self.epoch + Time::from_ps(key >> self.id_bits), id)
    }

    /// Whether a time, counted from the epoch, fits above an id.
    #[inline]
    fn fits(&self, time: Time) -> bool {
        // one that is before the epoch wraps round and does not
        let since = time.as_ps().wrapping_sub(self.epoch.as_ps());
        since >> (Key::BITS - 1 - self.id_bits) == 0
    }

    /// Counts times from the earliest entry on, `time` among them.
    ///
    /// # Panics
    /// If the entries then lie too far apart: 20 hours with 128 ids, 2 minutes with 65 536.
    #[cold]
    fn move_epoch(&mut self, time: Time) {
        let before = std::mem::replace(&mut self.epoch, self.first.0.min(time));
        assert!(self.fits(time), "{time} is too far ahead of {}", self.epoch);
        for i in 0..self.pairs.as_flattened().len() {
            let key = self.pairs.as_flattened()[i];
            if key != IDLE {
                let due = before + Time::from_ps(key >> self.id_bits);
                assert!(self.fits(due), "{due} is too far ahead of {}", self.epoch);
                let id = key & !(Key::MAX << self.id_bits);
                self.pairs.as_flattened_mut()[i] = (due - self.epoch).as_ps() << self.id_bits | id;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Stream;

    /// Holds the queue against a list over `steps` random steps.
    fn agrees_with_a_list(largest_gap_ps: u64, steps: u32) {
        const IDS: u32 = 200;
        let mut stream = Stream::new(1, "test", largest_gap_ps);
        let mut queue = EventQueue::new(IDS as usize);
        let mut list: Vec<(Time, u32)> = Vec::new();
        let mut now = Time::ZERO;
        for _ in 0..steps {
            // squared, so that near and far both occur
            let far = stream.up_to(largest_gap_ps);
            let time = now + Time::from_ps(far.min(stream.up_to(largest_gap_ps)));
            let idle = |id: &u32| list.iter().all(|entry| entry.1 != *id);
            let first = list.iter().min().copied();
            match (stream.up_to(3), first) {
                (0 | 1, _) | (_, None) => {
                    let Some(id) = (0..IDS).filter(idle).nth(stream.up_to(9) as usize) else {
                        continue;
                    };
                    queue.insert(time, id);
                    list.push((time, id));
                }
                (2, Some((due, id))) => {
                    now = due;
                    queue.set(time.max(due), id); // the link's next head
                    list.retain(|entry| entry.1 != id);
                    list.push((time.max(due), id));
                }
                (_, Some((due, id))) => {
                    now = due;
                    queue.set(Time::NEVER, id);
                    list.retain(|entry| entry.1 != id);
                }
            }
            assert_eq!(queue.first(), list.iter().min().copied());
        }
    }

    #[test]
    fn its_first_is_the_earliest_and_of_one_time_the_lowest_id() {
        agrees_with_a_list(Time::from_us(100).as_ps(), 20_000);
        agrees_with_a_list(50, 20_000); // many ties
    }

    #[test]
    fn times_outgrow_a_key_and_stay_exact() {
        // 55 bits of time above the id of one of 200: 10 hours
        agrees_with_a_list(Time::from_secs(2 * 3600).as_ps(), 20_000);
    }

    #[test]
    fn an_empty_queue_has_no_first() {
        let mut queue = EventQueue::new(1);
        assert_eq!((queue.first(), queue.next_time()), (None, Time::NEVER));
        queue.insert(Time::from_secs(4000), 0);
        assert_eq!(queue.first(), Some((Time::from_secs(4000), 0)));
        queue.set(Time::NEVER, 0);
        assert_eq!((queue.first(), queue.next_time()), (None, Time::NEVER));
    }
}

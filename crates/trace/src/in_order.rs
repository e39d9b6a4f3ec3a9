//! Packets that a capture has a little out of order. An adapter with several queues, or several mirror sessions, may
//! write a packet before another one with an earlier timestamp.

use std::collections::BTreeMap;

/// Timestamps of several queues are out of order by less than this. More is a clock that was set.
const MOST_NS: u64 = 1_000_000;

/// Packets that wait until no earlier one can follow. As long as a capture is in order, none has to wait.
#[derive(Debug)]
pub(crate) struct InOrder<T> {
    /// the capture was seen to be out of order
    pub(crate) is_needed: bool,
    newest_ns: u64,
    added: u64,
    /// by time, and by place in the capture
    waiting: BTreeMap<(u64, u64), T>,
}

impl<T> InOrder<T> {
    pub(crate) fn new() -> Self {
        Self {
            is_needed: false,
            newest_ns: 0,
            added: 0,
            waiting: BTreeMap::new(),
        }
    }

    /// Decides from how much earlier a timestamp is than the newest one before it.
    #[inline]
    pub(crate) fn note(&mut self, back_ns: u64) {
        self.is_needed |= 0 < back_ns && back_ns < MOST_NS;
    }

    /// Adds the next packet of the capture.
    pub(crate) fn add(&mut self, time_ns: u64, packet: T) {
        self.newest_ns = self.newest_ns.max(time_ns);
        self.added += 1;
        self.waiting.insert((time_ns, self.added), packet);
    }

    /// The earliest packet, if no earlier one can follow.
    pub(crate) fn next(&mut self) -> Option<T> {
        let ((time_ns, _), _) = self.waiting.first_key_value()?;
        (self.newest_ns - time_ns >= MOST_NS).then(|| self.rest())?
    }

    /// The earliest packet.
    pub(crate) fn rest(&mut self) -> Option<T> {
        self.waiting.pop_first().map(|(_, packet)| packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_several_queues_come_in_order() {
        // of each millisecond, the packets of one queue after those of another
        let times = (0..10).flat_map(|ms| [0, 400, 800, 200, 600].map(|us| ms * 1000 + us));
        let mut order = InOrder::new();
        let mut found = Vec::new();
        for time_us in times {
            order.add(time_us * 1000, time_us);
            found.extend(std::iter::from_fn(|| order.next()));
        }
        found.extend(std::iter::from_fn(|| order.rest()));
        assert_eq!(found, (0..50).map(|place| place * 200).collect::<Vec<_>>());
    }

    #[test]
    fn packets_at_the_end_of_all_times_come_in_order() {
        let mut order = InOrder::new();
        for back_ns in [2 * MOST_NS, 5, 9] {
            order.add(u64::MAX - back_ns, back_ns);
        }
        assert_eq!((order.next(), order.next()), (Some(2 * MOST_NS), None));
        assert_eq!((order.rest(), order.rest()), (Some(9), Some(5)));
    }

    #[test]
    fn packets_of_equal_times_keep_their_order_and_a_clock_that_was_set_back_stays() {
        let mut order = InOrder::new();
        let mut found = Vec::new();
        for (place, time_ms) in [100, 100, 100, 200, 50, 51, 60].into_iter().enumerate() {
            order.add(time_ms * MOST_NS, place);
            found.extend(std::iter::from_fn(|| order.next()));
        }
        found.extend(std::iter::from_fn(|| order.rest()));
        assert_eq!(found, [0, 1, 2, 4, 5, 6, 3]);
        let needed = |back_ns| {
            let mut order = InOrder::<()>::new();
            order.note(back_ns);
            order.is_needed
        };
        assert_eq!([0, 1, MOST_NS].map(needed), [false, true, false]);
    }
}

//! How long a port with a shaper has been busy.

use std::collections::VecDeque;

use fairport_units::{Duration, Instant};

/// The spans in which packets were sent or waited for tokens. The port adds them in advance.
#[derive(Debug, Default)]
pub(crate) struct BusyTime {
    /// total length of the spans that were dropped from `spans`
    past: Duration,
    /// in order of time, with gaps between them
    spans: VecDeque<(Instant, Instant)>,
}

impl BusyTime {
    /// Adds a busy span from `begin`, which is not before the end of the last span, to `end`.
    pub(crate) fn add(&mut self, begin: Instant, end: Instant) {
        match self.spans.back_mut() {
            Some((_, last)) if *last == begin => *last = end,
            _ => self.spans.push_back((begin, end)),
        }
    }

    /// Drops spans that ended by `now`. Later calls must not ask for an earlier instant.
    pub(crate) fn forget(&mut self, now: Instant) {
        while let Some((begin, end)) = self.spans.front().copied()
            && end <= now
        {
            self.past += end - begin;
            self.spans.pop_front();
        }
    }

    /// How long the port was busy until `now`.
    pub(crate) fn until(&self, now: Instant) -> Duration {
        let part = |(begin, end): &(Instant, Instant)| (*end).min(now).saturating_sub(*begin);
        let parts = self.spans.iter().map(part);
        self.past + parts.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_counts_what_lies_before_now_whatever_was_forgotten() {
        let at = Instant::from_us;
        let mut busy = BusyTime::default();
        for (begin, end) in [(0, 5), (5, 7), (10, 12), (20, 30)] {
            busy.add(at(begin), at(end));
        }
        for forgotten in [0, 7, 11, 15] {
            busy.forget(at(forgotten));
            for (now, wanted) in [(15, 9), (22, 11), (100, 19)] {
                assert_eq!(busy.until(at(now)), Duration::from_us(wanted));
            }
        }
        assert_eq!(busy.spans.len(), 1);
    }
}

//! Ranges of sequence numbers after a point up to which everything is present.

/// The position with these low 32 bits that is nearest to a reference.
#[inline]
pub(crate) fn position(reference: u64, wire: u32) -> u64 {
    let distance = wire.wrapping_sub(reference as u32).cast_signed();
    reference.wrapping_add_signed(i64::from(distance))
}

/// The positions that have arrived: everything before `to`, and separate ranges beyond it, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrived {
    to: u64,
    beyond: Vec<(u64, u64)>,
}

/// Maximum number of ranges. If there are more, the first hole counts as filled.
const MOST: usize = 256;

impl Arrived {
    /// Everything before `to` has arrived.
    pub(crate) fn before(to: u64) -> Self {
        Self {
            to,
            beyond: Vec::new(),
        }
    }

    /// The first missing position.
    #[inline]
    pub(crate) fn to(&self) -> u64 {
        self.to
    }

    /// Adds a range. Returns how much of it is new.
    #[inline]
    pub(crate) fn add(&mut self, start: u64, end: u64) -> u64 {
        if start <= self.to && self.beyond.is_empty() {
            let new = end.saturating_sub(self.to);
            self.to = self.to.max(end);
            return new;
        }
        self.add_beyond(start, end)
    }

    fn add_beyond(&mut self, start: u64, end: u64) -> u64 {
        let start = start.max(self.to);
        if end <= start {
            return 0;
        }
        // the ranges that the new one touches
        let first = self.beyond.partition_point(|range| range.1 < start);
        let last = self.beyond.partition_point(|range| range.0 <= end);
        let mut whole = (start, end);
        let mut known = 0;
        for (from, to) in self.beyond.drain(first..last) {
            known += to.min(end).saturating_sub(from.max(start));
            whole = (whole.0.min(from), whole.1.max(to));
        }
        self.beyond.insert(first, whole);
        self.join_front();
        if self.beyond.len() > MOST {
            self.to = self.beyond[0].0;
            self.join_front();
        }
        end - start - known
    }

    fn join_front(&mut self) {
        while let Some((from, to)) = self.beyond.first().copied() {
            if from > self.to {
                return;
            }
            self.to = self.to.max(to);
            self.beyond.remove(0);
        }
    }

    /// Whether any position of a range has arrived.
    pub(crate) fn has_any(&self, start: u64, end: u64) -> bool {
        start < self.to
            || self
                .beyond
                .iter()
                .any(|range| range.0 < end && start < range.1)
    }

    /// Everything before `to` has arrived, whether seen or not. Returns how much of it had not.
    #[inline]
    pub(crate) fn advance(&mut self, to: u64) -> u64 {
        if to <= self.to {
            return 0;
        }
        let start = self.to;
        self.add(start, to)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_hole_is_filled_once() {
        let mut arrived = Arrived::before(100);
        assert_eq!(arrived.add(100, 200), 100);
        assert_eq!(arrived.add(300, 400), 100);
        assert_eq!(arrived.add(250, 350), 50);
        assert!(!arrived.has_any(200, 250) && arrived.has_any(240, 260));
        assert_eq!(arrived.add(150, 260), 50);
        assert_eq!(arrived.to(), 400);
        assert_eq!((arrived.advance(500), arrived.advance(450)), (100, 0));
    }

    proptest! {
        #[test]
        fn it_counts_as_a_set_of_bytes_does(ranges in prop::collection::vec((0_u64..200, 1_u64..30), 1..40)) {
            let mut arrived = Arrived::before(50);
            let mut bytes: BTreeSet<u64> = (0..50).collect();
            for (start, length) in ranges {
                let end = start + length;
                let any = (start..end).any(|byte| bytes.contains(&byte));
                prop_assert_eq!(arrived.has_any(start, end), any);
                let new = (start..end).filter(|byte| bytes.insert(*byte)).count() as u64;
                prop_assert_eq!(arrived.add(start, end), new);
                let first_missing = (0..1000).find(|byte| !bytes.contains(byte));
                prop_assert_eq!(Some(arrived.to()), first_missing);
            }
        }
    }
}

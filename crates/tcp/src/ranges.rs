//! A set of positions in the sequence space, kept as sorted disjoint ranges.
//!
//! The receiver keeps the data that arrived out of order in one, the sender the data that was SACKed. Nearly every
//! change is at the end of the set; in a window with very many holes, one elsewhere costs a binary search.

use std::collections::VecDeque;

/// Positions `start .. end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: u64,
    /// exclusive
    pub(crate) end: u64,
}

/// The set. Ranges do not overlap, and there is a gap between any two.
#[derive(Debug, Default)]
pub(crate) struct Ranges(VecDeque<Range>);

impl Ranges {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of positions in the set.
    pub(crate) fn len(&self) -> u64 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }

    /// The highest position plus one, or 0 for an empty set.
    pub(crate) fn end(&self) -> u64 {
        self.0.back().map_or(0, |range| range.end)
    }

    /// The lowest range.
    pub(crate) fn first(&self) -> Option<Range> {
        self.0.front().copied()
    }

    /// The start of the range that contains `position`, which must be in the set.
    pub(crate) fn start_of(&self, position: u64) -> u64 {
        let at = self.0.partition_point(|range| range.end <= position);
        self.0[at].start
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds `new` and calls `added(part, whole)`, in order, for every part of it that was not in the set yet. `whole`
    /// is the range that now contains `new`.
    #[inline]
    pub(crate) fn insert(&mut self, new: Range, mut added: impl FnMut(Range, Range)) {
        debug_assert!(new.start < new.end);
        match self.0.back_mut() {
            Some(last) if new.start < last.start => self.insert_between(new, added),
            Some(last) if new.start <= last.end => {
                let start = last.end;
                if start < new.end {
                    last.end = new.end;
                    let end = new.end;
                    added(Range { start, end }, *last);
                }
            }
            _ => {
                added(new, new);
                self.0.push_back(new);
            }
        }
    }

    /// Adds a range that begins before the end of the last one.
    #[inline(never)]
    fn insert_between(&mut self, new: Range, mut added: impl FnMut(Range, Range)) {
        // ranges first .. after overlap or touch the new one
        let first = self.0.partition_point(|range| range.end < new.start);
        let mut whole = new;
        let mut after = first;
        while let Some(&range) = self.0.get(after).filter(|range| range.start <= new.end) {
            whole.start = whole.start.min(range.start);
            whole.end = whole.end.max(range.end);
            after += 1;
        }
        let mut at = new.start;
        for index in first..after {
            let range = self.0[index];
            if at < range.start {
                added(
                    Range {
                        start: at,
                        end: range.start,
                    },
                    whole,
                );
            }
            at = at.max(range.end);
        }
        if at < new.end {
            added(
                Range {
                    start: at,
                    end: new.end,
                },
                whole,
            );
        }
        if after == first {
            self.0.insert(first, whole);
        } else {
            self.0[first] = whole;
            if after > first + 1 {
                self.0.drain(first + 1..after);
            }
        }
    }

    /// Removes everything below `position`, and the range that contains or begins at `position`. Returns the end of
    /// that range, or `position` if there is none.
    pub(crate) fn advance(&mut self, position: u64) -> u64 {
        let mut reached = position;
        while let Some(first) = self.0.front().filter(|range| range.start <= reached) {
            reached = reached.max(first.end);
            self.0.pop_front();
        }
        reached
    }

    /// Removes everything below `position`.
    pub(crate) fn remove_below(&mut self, position: u64) {
        while let Some(first) = self.0.front_mut() {
            if first.end > position {
                first.start = first.start.max(position);
                break;
            }
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn insert(set: &mut Ranges, start: u64, end: u64) -> Vec<(u64, u64)> {
        let mut added = Vec::new();
        set.insert(Range { start, end }, |part, _| {
            added.push((part.start, part.end));
        });
        added
    }

    #[test]
    fn only_what_is_new_is_reported() {
        let mut set = Ranges::default();
        assert_eq!(insert(&mut set, 10, 20), [(10, 20)]);
        assert_eq!(insert(&mut set, 10, 25), [(20, 25)]);
        assert_eq!(insert(&mut set, 40, 50), [(40, 50)]);
        assert_eq!(insert(&mut set, 5, 60), [(5, 10), (25, 40), (50, 60)]);
        assert_eq!(insert(&mut set, 5, 60), []);
        assert_eq!(set.0.len(), 1);
    }

    #[test]
    fn ranges_that_touch_become_one_wherever_they_are() {
        let mut set = Ranges::default();
        for (start, end) in [(0, 10), (20, 30), (40, 50)] {
            insert(&mut set, start, end);
        }
        assert_eq!(insert(&mut set, 10, 12), [(10, 12)]);
        assert_eq!(insert(&mut set, 18, 20), [(18, 20)]);
        assert_eq!(insert(&mut set, 50, 51), [(50, 51)]);
        let ranges: Vec<_> = set.0.iter().map(|it| (it.start, it.end)).collect();
        assert_eq!(ranges, [(0, 12), (18, 30), (40, 51)]);
    }

    #[test]
    fn the_set_knows_its_end_and_its_size_until_it_is_cleared() {
        let mut set = Ranges::default();
        assert_eq!((set.end(), set.len(), set.is_empty()), (0, 0, true));
        insert(&mut set, 20, 30);
        insert(&mut set, 5, 8);
        assert_eq!((set.end(), set.len(), set.is_empty()), (30, 13, false));
        set.clear();
        assert_eq!((set.end(), set.len(), set.is_empty()), (0, 0, true));
    }

    #[test]
    fn what_is_below_a_position_is_removed() {
        for (position, left) in [
            (9, &[(10, 20), (30, 40)][..]),
            (10, &[(10, 20), (30, 40)]),
            (11, &[(11, 20), (30, 40)]),
            (19, &[(19, 20), (30, 40)]),
            (20, &[(30, 40)]),
            (39, &[(39, 40)]),
            (40, &[]),
            (99, &[]),
        ] {
            let mut set = Ranges::default();
            insert(&mut set, 10, 20);
            insert(&mut set, 30, 40);
            set.remove_below(position);
            let ranges: Vec<_> = set.0.iter().map(|it| (it.start, it.end)).collect();
            assert_eq!(ranges, left, "{position}");
        }
    }

    proptest! {
        #[test]
        fn it_is_the_set_that_it_stands_for(
            steps in prop::collection::vec((0u64..200, 1u64..30, any::<bool>()), 1..80)
        ) {
            let mut set = Ranges::default();
            let mut model = std::collections::BTreeSet::new();
            let mut floor = 0;
            for (start, length, advance) in steps {
                if advance {
                    let expected = if start < floor { floor } else {
                        let mut at = start;
                        model.retain(|&p| p >= start);
                        while model.remove(&at) { at += 1; }
                        at
                    };
                    if start >= floor {
                        floor = set.advance(start);
                        prop_assert_eq!(floor, expected);
                    }
                } else if start >= floor {
                    let new: Vec<u64> = (start..start + length).filter(|&p| model.insert(p)).collect();
                    let added: Vec<u64> = insert(&mut set, start, start + length)
                        .into_iter().flat_map(|(a, b)| a..b).collect();
                    prop_assert_eq!(added, new);
                }
                let held: Vec<u64> = set.0.iter().flat_map(|r| r.start..r.end).collect();
                prop_assert_eq!(held, model.iter().copied().collect::<Vec<_>>());
                prop_assert!(set.0.iter().zip(set.0.iter().skip(1)).all(|(a, b)| a.end < b.start));
            }
        }
    }
}

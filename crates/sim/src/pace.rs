//! Whether the domains of a run go on at once or on one thread: whichever takes less time, found by trying.
//!
//! The run is the same either way. Two threads that wait for each other every few microseconds are of use while each has a
//! core for itself; where other programs want the cores as well, they wait for each other most of the time.

/// A try of the other way is this part of a slice: some 5 ms, as what it needs first, a thread and what is in the caches,
/// takes up to a millisecond.
pub(crate) const TRY_PART: u64 = 8;
/// Slices before the other way is tried; twice as many after each try in vain. One try may fall into a bad moment, so
/// the first follow soon.
const SLICES_BETWEEN_TRIES: u32 = 2;
/// So much does one slice count for its way: a single one that was disturbed changes nothing unless by much.
const WEIGHT: f64 = 0.25;

/// How fast each way is.
#[derive(Debug)]
pub(crate) struct Pace {
    /// chosen by the caller, once and for all
    fixed: Option<bool>,
    at_once: bool,
    /// on one thread and at once: a moving average, from the last try on; unknown before
    s_per_hop: [Option<f64>; 2],
    slices: u32,
    next_try: u32,
    between_tries: u32,
}

impl Default for Pace {
    /// At once at first: a run is cut where that is expected to be faster.
    fn default() -> Self {
        Self {
            fixed: None,
            at_once: true,
            s_per_hop: [None; 2],
            slices: 0,
            next_try: 1,
            between_tries: SLICES_BETWEEN_TRIES,
        }
    }
}

impl Pace {
    /// A pace that is chosen for all of the run.
    pub(crate) fn fixed(at_once: bool) -> Self {
        Self {
            fixed: Some(at_once),
            ..Self::default()
        }
    }

    /// Whether the next slice is at once, and whether it is a try.
    pub(crate) fn next(&mut self) -> (bool, bool) {
        if let Some(at_once) = self.fixed {
            return (at_once, false);
        }
        let tries = self.slices == self.next_try;
        self.slices += 1;
        (self.at_once ^ tries, tries)
    }

    /// A slice took so long per packet-hop.
    pub(crate) fn note(&mut self, at_once: bool, is_try: bool, s_per_hop: f64) {
        let average = &mut self.s_per_hop[usize::from(at_once)];
        let before = average.filter(|_| !is_try).unwrap_or(s_per_hop);
        *average = Some(before + WEIGHT * (s_per_hop - before));
        let [Some(alone), Some(together)] = self.s_per_hop else {
            return;
        };
        let was = std::mem::replace(&mut self.at_once, together < alone);
        let has_changed = was != self.at_once;
        if has_changed {
            self.between_tries = SLICES_BETWEEN_TRIES;
        } else if is_try {
            self.between_tries = self.between_tries.saturating_mul(2);
        }
        if has_changed || is_try {
            self.next_try = self.slices.saturating_add(self.between_tries);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of slices at once, where each way takes so long per packet-hop.
    fn share_at_once(slices: u32, alone: f64, together: f64) -> f64 {
        let mut pace = Pace::default();
        let mut at_once = 0;
        for _ in 0..slices {
            let (way, is_try) = pace.next();
            at_once += u32::from(way);
            pace.note(way, is_try, if way { together } else { alone });
        }
        f64::from(at_once) / f64::from(slices)
    }

    #[test]
    fn a_fixed_pace_tries_nothing() {
        for at_once in [false, true] {
            let mut pace = Pace::fixed(at_once);
            for _ in 0..100 {
                assert_eq!(pace.next(), (at_once, false));
                // however much faster the other way is said to be
                pace.note(at_once, false, 8.0);
                pace.note(!at_once, true, 1.0);
            }
        }
    }

    #[test]
    fn the_faster_way_is_found_and_kept() {
        assert!(share_at_once(1000, 2.0, 1.0) > 0.98);
        assert!(share_at_once(1000, 1.0, 2.0) < 0.02);
    }

    /// Which slices are at once, where those take so long per packet-hop and those on one thread 2.
    fn ways(slices: u32, together: impl Fn(u32) -> f64) -> Vec<bool> {
        let mut pace = Pace::default();
        let mut slice = |number| {
            let (way, is_try) = pace.next();
            pace.note(way, is_try, if way { together(number) } else { 2.0 });
            way
        };
        (0..slices).map(&mut slice).collect()
    }

    fn count(ways: &[bool]) -> usize {
        ways.iter().filter(|at_once| **at_once).count()
    }

    #[test]
    fn a_machine_that_becomes_busy_is_noticed_at_once() {
        let ways = ways(100, |slice| if slice < 50 { 1.0 } else { 8.0 });
        assert!(count(&ways[..50]) > 44);
        // tried again after 2, 4, 8 and 16 slices
        assert!(count(&ways[51..]) < 6);
    }

    #[test]
    fn one_slice_that_is_disturbed_changes_nothing() {
        let disturbed = |slice| if slice % 20 == 10 { 3.0 } else { 1.0 };
        assert!(count(&ways(1000, disturbed)) > 980);
    }

    #[test]
    fn a_moment_in_which_the_machine_is_busy_is_forgotten_soon() {
        let ways = ways(1000, |slice| if slice == 500 { 100.0 } else { 1.0 });
        assert!(count(&ways[..500]) > 490);
        assert_eq!(count(&ways[501..505]), 2);
    }
}

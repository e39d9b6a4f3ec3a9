//! Chooses whether the domains of a run advance in parallel (`at_once`) or on one thread. Both ways are tried, and the
//! faster one is used.
//!
//! The results are the same either way. Two threads that wait for each other every few microseconds pay off while each
//! has a core to itself. If other programs need the cores as well, the threads spend most of their time waiting.

/// A trial of the other way lasts this fraction of a slice (one eighth). That is about 5 ms, because starting a thread
/// and filling the caches takes up to a millisecond.
pub(crate) const TRY_PART: u64 = 8;
/// Slices before the other way is tried again; doubled after each trial that changes nothing. A trial may fall into a
/// moment in which the machine is busy, so the first trials come soon after each other.
const SLICES_BETWEEN_TRIES: u32 = 2;
/// Weight of one slice in its way's moving average: a single slow slice changes the choice only if it was very slow.
const WEIGHT: f64 = 0.25;

/// How fast each way is, and which one is used.
#[derive(Debug)]
pub(crate) struct ThreadChoice {
    /// the caller's choice for the whole run, if there is one
    fixed: Option<bool>,
    /// whether slices run in parallel, trials aside
    at_once: bool,
    /// moving averages on one thread and in parallel; a trial restarts the average of its way
    s_per_hop: [Option<f64>; 2],
    slices: u32,
    next_try: u32,
    between_tries: u32,
}

impl Default for ThreadChoice {
    /// In parallel at first: a run is cut into regions only if that is expected to be faster.
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

impl ThreadChoice {
    /// A choice that is fixed for the whole run.
    pub(crate) fn fixed(at_once: bool) -> Self {
        Self {
            fixed: Some(at_once),
            ..Self::default()
        }
    }

    /// Whether the next slice runs in parallel, and whether it is a trial.
    pub(crate) fn next(&mut self) -> (bool, bool) {
        if let Some(at_once) = self.fixed {
            return (at_once, false);
        }
        let tries = self.slices == self.next_try;
        self.slices += 1;
        (self.at_once ^ tries, tries)
    }

    /// Records how long a slice took per packet-hop, and chooses the way of the next ones.
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

    /// The share of slices in parallel, if a packet-hop takes `alone` on one thread and `together` in parallel.
    fn share_at_once(slices: u32, alone: f64, together: f64) -> f64 {
        let mut choice = ThreadChoice::default();
        let mut at_once = 0;
        for _ in 0..slices {
            let (way, is_try) = choice.next();
            at_once += u32::from(way);
            choice.note(way, is_try, if way { together } else { alone });
        }
        f64::from(at_once) / f64::from(slices)
    }

    #[test]
    fn a_fixed_choice_tries_nothing() {
        for at_once in [false, true] {
            let mut choice = ThreadChoice::fixed(at_once);
            for _ in 0..100 {
                assert_eq!(choice.next(), (at_once, false));
                // even if the other way is much faster
                choice.note(at_once, false, 8.0);
                choice.note(!at_once, true, 1.0);
            }
        }
    }

    #[test]
    fn the_faster_way_is_found_and_kept() {
        assert!(share_at_once(1000, 2.0, 1.0) > 0.98);
        assert!(share_at_once(1000, 1.0, 2.0) < 0.02);
    }

    /// Which slices run in parallel, if a packet-hop takes `together` in these and 2 on one thread.
    fn ways(slices: u32, together: impl Fn(u32) -> f64) -> Vec<bool> {
        let mut choice = ThreadChoice::default();
        let mut slice = |number| {
            let (way, is_try) = choice.next();
            choice.note(way, is_try, if way { together(number) } else { 2.0 });
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

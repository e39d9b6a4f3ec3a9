//! Whether the domains of a run go on at once or on one thread: whichever takes less time, found by trying.
//!
//! The run is the same either way. Two threads that wait for each other every few microseconds are of use while each has a
//! core for itself; where other programs want the cores as well, they wait for each other most of the time.

/// A try of the other way is a small part of a slice.
pub(crate) const TRY_PART: u64 = 8;
/// Slices before the other way is tried again; twice as many after each try in vain. One try may fall into a bad
/// moment, so the first follow soon.
const SLICES_BETWEEN_TRIES: u32 = 2;

/// How fast each way is.
#[derive(Debug)]
pub(crate) struct Pace {
    /// chosen by the caller, once and for all
    fixed: Option<bool>,
    at_once: bool,
    /// of the last slice on one thread and at once; unknown before
    s_per_hop: [Option<f64>; 2],
    slices: u32,
    next_try: u32,
    between_tries: u32,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            fixed: None,
            at_once: false,
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
        self.s_per_hop[usize::from(at_once)] = Some(s_per_hop);
        let [Some(alone), Some(together)] = self.s_per_hop else {
            return;
        };
        let was = std::mem::replace(&mut self.at_once, together < alone);
        if is_try {
            self.between_tries = if was == self.at_once {
                self.between_tries.saturating_mul(2)
            } else {
                SLICES_BETWEEN_TRIES
            };
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
    fn the_faster_way_is_found_and_kept() {
        assert!(share_at_once(1000, 2.0, 1.0) > 0.98);
        assert!(share_at_once(1000, 1.0, 2.0) < 0.02);
    }

    #[test]
    fn a_machine_that_becomes_busy_is_noticed_at_once() {
        let mut pace = Pace::default();
        let mut ways = Vec::new();
        for slice in 0..100 {
            let (way, is_try) = pace.next();
            let together = if slice < 50 { 1.0 } else { 8.0 };
            pace.note(way, is_try, if way { together } else { 2.0 });
            ways.push(way);
        }
        assert!(ways[10..50].iter().filter(|at_once| **at_once).count() > 36);
        // tried again after 2, 4, 8 and 16 slices
        assert!(ways[51..].iter().filter(|at_once| **at_once).count() < 6);
    }
}

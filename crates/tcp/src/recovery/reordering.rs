//! Properties of the path, learned from arrivals: its smallest round-trip time, and how late segments arrive
//! (`tcp_min_rtt`, `tcp_check_sack_reordering`).

use fairport_units::{Duration, Instant};

/// SACKed segments that count as a loss while no reordering was seen (`tcp_reordering`), and the maximum of this number
/// (`tcp_max_reordering`).
pub(crate) const DUP_THRESH: u64 = 3;
const DUP_THRESH_MAX: u64 = 300;
/// Half of the time for which a smallest round-trip time is kept: 300 s (`tcp_min_rtt_wlen`).
const HALF_MEMORY: Duration = Duration::from_secs(150);

/// The smallest round-trip time of the last 150 to 300 s.
#[derive(Clone, Copy, Debug)]
struct MinRtt {
    since: Instant,
    now: Duration,
    before: Duration,
}

impl MinRtt {
    #[inline]
    fn sample(&mut self, now: Instant, rtt: Duration) {
        if now.saturating_sub(self.since) > HALF_MEMORY {
            self.before = self.now;
            self.now = rtt;
            self.since = now;
        }
        self.now = self.now.min(rtt);
    }
}

/// Reordering on the path.
#[derive(Debug)]
pub(crate) struct Reordering {
    min_rtt: MinRtt,
    seen: u64,
    degree: u64,
}

impl Reordering {
    /// No reordering seen yet. `rtt` is the round-trip time that the handshake measured.
    pub(super) fn new(rtt: Option<Duration>) -> Self {
        Self {
            min_rtt: MinRtt {
                since: Instant::ZERO,
                now: rtt.unwrap_or(Duration::NEVER),
                before: Duration::NEVER,
            },
            seen: 0,
            degree: DUP_THRESH,
        }
    }

    /// The smallest round-trip time; [`Duration::NEVER`] before the first.
    #[inline]
    pub(crate) fn min_rtt(&self) -> Duration {
        self.min_rtt.now.min(self.min_rtt.before)
    }

    /// A segment that was sent only once was delivered, after `rtt` if that is known.
    #[inline]
    pub(super) fn on_delivery(&mut self, now: Instant, rtt: Option<Duration>) {
        if let Some(rtt) = rtt {
            self.min_rtt.sample(now, rtt);
        }
    }

    /// A segment arrived `segments` later than segments that were sent after it.
    pub(super) fn on_late(&mut self, segments: u64) {
        self.seen += 1;
        self.degree = self.degree.max(segments).min(DUP_THRESH_MAX);
    }

    /// Duplicate ACKs without SACK showed that a segment arrived `segments` late (`tcp_check_reno_reordering`).
    pub(super) fn set_degree(&mut self, segments: u64) {
        self.seen += 1;
        self.degree = segments.min(DUP_THRESH_MAX);
    }

    /// A timeout occurred although enough segments were SACKed for fast retransmit, so the degree of reordering was
    /// overestimated (`tcp_enter_loss`).
    pub(super) fn doubt(&mut self) {
        self.degree = self.degree.min(DUP_THRESH);
    }

    /// How often a segment arrived late.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// By how many segments a segment may be late without counting as lost (`tcpi_reordering`).
    pub(crate) fn degree(&self) -> u64 {
        self.degree
    }

    /// Whether the window also grows for data that is SACKed above a hole. It does if segments often arrive late
    /// (`tcp_may_raise_cwnd`).
    pub(crate) fn raises_on_sack(&self) -> bool {
        self.degree > DUP_THRESH
    }
}

#[cfg(test)]
mod tests {
    use super::super::undo::Before;
    use super::super::{Recovery, State};
    use super::*;
    use crate::settings::Settings;

    #[test]
    fn the_smallest_round_trip_is_forgotten_after_300_seconds() {
        let rtt = Duration::from_ms(40);
        let mut it = Reordering::new(Some(rtt));
        for s in 1..=320 {
            it.on_delivery(Instant::from_secs(s), Some(rtt * 2));
        }
        assert_eq!(it.min_rtt(), rtt * 2);
    }

    /// `minmax_running_min`, with two halves: a minimum is kept for 150 to 300 s.
    #[test]
    fn a_smallest_round_trip_holds_for_150_s_at_least() {
        let ms = Duration::from_ms;
        let mut it = Reordering::new(None);
        assert_eq!(it.min_rtt(), Duration::NEVER);
        for (s, rtt, smallest) in [
            (1, Some(50), 50),
            (2, Some(40), 40),
            (3, None, 40),
            (4, Some(60), 40),
            (150, Some(60), 40),
            // the second half begins, and the first is remembered
            (151, Some(60), 40),
            (301, Some(55), 40),
            // the third half begins, and the minimum is that of the second
            (302, Some(70), 55),
            (303, Some(65), 55),
            (453, Some(80), 65),
        ] {
            it.on_delivery(Instant::from_secs(s), rtt.map(ms));
            assert_eq!(it.min_rtt(), ms(smallest), "after {s} s");
        }
    }

    /// `tcp_check_sack_reordering`: the degree only grows, up to 300. `tcp_check_reno_reordering` sets it, and
    /// `tcp_enter_loss` resets it to 3.
    #[test]
    fn the_degree_of_reordering_is_what_came_latest_up_to_300() {
        let mut it = Reordering::new(None);
        assert_eq!((it.degree(), it.seen(), it.raises_on_sack()), (3, 0, false));
        for (segments, degree) in [(2, 3), (3, 3), (5, 5), (4, 5), (299, 299), (1000, 300)] {
            it.on_late(segments);
            assert_eq!(it.degree(), degree, "{segments} late");
        }
        assert_eq!((it.seen(), it.raises_on_sack()), (6, true));
        it.set_degree(4);
        assert_eq!((it.degree(), it.seen(), it.raises_on_sack()), (4, 7, true));
        it.set_degree(400);
        assert_eq!(it.degree(), 300);
        it.doubt();
        assert_eq!((it.degree(), it.seen(), it.raises_on_sack()), (3, 8, false));
        it.set_degree(2);
        it.doubt();
        assert_eq!(it.degree(), 2);
    }

    /// Linux: `icsk_ca_state != TCP_CA_Loss || undo_marker`.
    #[test]
    fn lateness_shows_reordering_after_a_timeout_unless_that_was_undone() {
        let mut it = Recovery::new(&Settings::preset("linux-6").unwrap(), true, 0, None);
        assert!(it.believes_lateness());
        it.undo.begin(1, 0, Before::default());
        it.state = State::Loss;
        assert!(it.believes_lateness());
        it.undo.take_back();
        assert!(!it.believes_lateness());
    }
}

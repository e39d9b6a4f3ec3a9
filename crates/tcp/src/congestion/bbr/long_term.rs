//! The rate that a policer lets through, once there are signs of one (Flach et al., SIGCOMM 2016):
//! two stretches of rounds with much loss and the same rate of delivery. Pacing at their mean for 48
//! rounds spares the losses that probing would cost.

use fairport_units::Duration;

use super::bandwidth::{Bandwidth, UNIT_GAIN};
use crate::delivery_rate::{RateSample, Totals};

/// Rounds of a stretch, at least; four times as many at most.
const ROUNDS_MIN: u32 = 4;
/// Share of what was delivered that is lost at least, in 256ths: 20 %.
const LOSS_MIN: u64 = 50;
/// Relative difference of two rates that are the same: 1/8.
const SAME_WITHIN: u64 = UNIT_GAIN / 8;
/// Rounds for which the rate is used.
const ROUNDS_OF_USE: u32 = 48;
/// The shortest stretch.
const STRETCH_MIN: Duration = Duration::from_ms(1);

/// The facts of an ACK that the estimator needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signs {
    pub(super) totals: Totals,
    pub(super) losses: bool,
    pub(super) app_limited: bool,
    /// a round trip begins
    pub(super) round_starts: bool,
    /// the bandwidth is being probed
    pub(super) probes: bool,
}

impl Signs {
    pub(super) fn of(sample: &RateSample, round_starts: bool, probes: bool) -> Self {
        Self {
            totals: sample.totals,
            losses: sample.newly_lost > 0,
            app_limited: sample.app_limited,
            round_starts,
            probes,
        }
    }
}

/// What follows from an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PolicerChange {
    None,
    /// the rate is used from now on
    Found,
    /// it has been used for long enough
    Expired,
}

/// The estimator.
#[derive(Debug)]
pub(super) struct LongTerm {
    /// two rates that differ by less are the same: 4 kbit/s
    close: Bandwidth,
    samples: bool,
    rounds: u32,
    /// when the stretch began
    from: Totals,
    /// rate of the last stretch
    rate: Bandwidth,
    used: bool,
}

impl LongTerm {
    pub(super) fn new(close: Bandwidth) -> Self {
        Self {
            close,
            samples: false,
            rounds: 0,
            from: Totals::default(),
            rate: Bandwidth::ZERO,
            used: false,
        }
    }

    /// The policed rate, where there is one.
    #[inline]
    pub(super) fn rate(&self) -> Option<Bandwidth> {
        self.used.then_some(self.rate)
    }

    fn begin(&mut self, totals: Totals) {
        self.from = totals;
        self.rounds = 0;
    }

    /// Starts from scratch.
    pub(super) fn reset(&mut self, totals: Totals) {
        self.rate = Bandwidth::ZERO;
        self.used = false;
        self.samples = false;
        self.begin(totals);
    }

    /// `bbr_lt_bw_sampling`
    pub(super) fn on_ack(&mut self, signs: Signs) -> PolicerChange {
        if self.used {
            return self.grow_old(signs);
        }
        if !self.samples {
            // from the first loss on: before it the policer lets bursts through
            if !signs.losses {
                return PolicerChange::None;
            }
            self.begin(signs.totals);
            self.samples = true;
        }
        if signs.app_limited {
            self.reset(signs.totals);
            return PolicerChange::None;
        }
        self.rounds += u32::from(signs.round_starts);
        if self.rounds > 4 * ROUNDS_MIN {
            self.reset(signs.totals);
            return PolicerChange::None;
        }
        // a stretch ends with a loss, as it began: with no tokens left
        if self.rounds < ROUNDS_MIN || !signs.losses {
            return PolicerChange::None;
        }
        let lost = signs.totals.lost - self.from.lost;
        let delivered = signs.totals.delivered - self.from.delivered;
        let lossy = delivered > 0 && lost * UNIT_GAIN >= LOSS_MIN * delivered;
        let took = signs
            .totals
            .delivered_at
            .saturating_sub(self.from.delivered_at);
        if !lossy || took < STRETCH_MIN {
            return PolicerChange::None;
        }
        self.end(Bandwidth::of(delivered, took), signs.totals)
    }

    fn grow_old(&mut self, signs: Signs) -> PolicerChange {
        if signs.probes && signs.round_starts {
            self.rounds += 1;
            if self.rounds >= ROUNDS_OF_USE {
                self.reset(signs.totals);
                return PolicerChange::Expired;
            }
        }
        PolicerChange::None
    }

    /// A stretch with much loss ends.
    fn end(&mut self, rate: Bandwidth, totals: Totals) -> PolicerChange {
        let apart = rate.difference(self.rate);
        let known = self.rate > Bandwidth::ZERO;
        if known && (apart <= self.close || apart.is_within(SAME_WITHIN, self.rate)) {
            self.rate = rate.mean(self.rate);
            self.used = true;
            self.rounds = 0;
            return PolicerChange::Found;
        }
        self.rate = rate;
        self.begin(totals);
        PolicerChange::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A policer that delivers `delivered` a round of 100 ms and drops `lost`, for `rounds` rounds.
    struct Path {
        totals: Totals,
        estimator: LongTerm,
    }

    impl Path {
        fn new() -> Self {
            Self {
                totals: Totals::default(),
                estimator: LongTerm::new(Bandwidth::ZERO),
            }
        }

        fn round(&mut self, delivered: u64, lost: u64) -> PolicerChange {
            self.totals.delivered += delivered;
            self.totals.lost += lost;
            self.totals.delivered_at += Duration::from_ms(100);
            self.estimator.on_ack(Signs {
                totals: self.totals,
                losses: lost > 0,
                app_limited: false,
                round_starts: true,
                probes: true,
            })
        }
    }

    #[test]
    fn two_lossy_stretches_at_the_same_rate_are_a_policer() {
        let mut path = Path::new();
        // the first loss begins a stretch in its round, which counts; the fourth round ends it
        let changes: Vec<PolicerChange> = (0..8).map(|_| path.round(100, 30)).collect();
        assert!(changes[..7].iter().all(|it| *it == PolicerChange::None));
        assert_eq!(changes[7], PolicerChange::Found);
        // the first stretch: 300 segments in 300 ms
        assert_eq!(
            path.estimator.rate(),
            Some(Bandwidth::of(1000, Duration::from_secs(1)))
        );
        for _ in 0..47 {
            assert_eq!(path.round(100, 0), PolicerChange::None);
        }
        assert_eq!(path.round(100, 0), PolicerChange::Expired);
        assert_eq!(path.estimator.rate(), None);
    }

    #[test]
    fn losses_below_a_fifth_and_rates_that_differ_are_none() {
        let mut path = Path::new();
        for _ in 0..100 {
            assert_eq!(path.round(100, 19), PolicerChange::None);
        }
        let mut path = Path::new();
        for number in 0..100 {
            let delivered = if number / 4 % 2 == 0 { 100 } else { 150 };
            assert_eq!(path.round(delivered, 60), PolicerChange::None);
        }
    }

    #[test]
    fn a_gap_of_the_application_begins_anew() {
        let mut path = Path::new();
        for _ in 0..6 {
            path.round(100, 30);
        }
        path.estimator.on_ack(Signs {
            totals: path.totals,
            losses: true,
            app_limited: true,
            round_starts: false,
            probes: true,
        });
        for _ in 0..7 {
            assert_eq!(path.round(100, 30), PolicerChange::None);
        }
    }
}

//! The rate that a policer lets through (Flach et al., SIGCOMM 2016). A policer is assumed when two consecutive
//! intervals both have heavy loss and the same delivery rate. BBR then paces at their mean for 48 rounds, which avoids
//! the losses that probing would cause.

use fairport_units::{Duration, Instant};

use super::bandwidth::{Bandwidth, UNIT_GAIN};
use crate::delivery_rate::{RateSample, Totals};

/// Minimum length of an interval in rounds; its maximum is four times as many.
const ROUNDS_MIN: u32 = 4;
/// Minimum share of lost to delivered data in an interval, in 256ths: 20 %.
const LOSS_MIN: u64 = 50;
/// Relative difference up to which two rates count as the same: 1/8.
const SAME_WITHIN: u64 = UNIT_GAIN / 8;
/// Rounds for which the policed rate is used.
const ROUNDS_OF_USE: u32 = 48;
/// Minimum duration of an interval.
const STRETCH_MIN: Duration = Duration::from_ms(1);

/// The facts of an ACK that the estimator needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signs {
    pub(super) totals: Totals,
    pub(super) losses: bool,
    pub(super) app_limited: bool,
    /// a round trip begins with this ACK
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

fn ms(at: Instant) -> u64 {
    at.as_ps() / Duration::from_ms(1).as_ps()
}

/// What changed because of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PolicerChange {
    None,
    /// the policed rate is used from now on
    Found,
    /// the policed rate has been used for 48 rounds
    Expired,
}

/// The estimator of a policer's rate.
#[derive(Debug)]
pub(super) struct LongTerm {
    /// absolute difference up to which two rates count as the same: 4 kbit/s
    close: Bandwidth,
    samples: bool,
    rounds: u32,
    /// the connection's totals when the present interval began
    from: Totals,
    /// delivery rate of the last interval
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

    /// The policed rate, if one was found.
    #[inline]
    pub(super) fn rate(&self) -> Option<Bandwidth> {
        self.used.then_some(self.rate)
    }

    fn begin(&mut self, totals: Totals) {
        self.from = totals;
        self.rounds = 0;
    }

    /// Forgets everything and starts again.
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
            // the first interval starts with the first loss: before it the policer lets bursts through
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
        // an interval ends with a loss, as it began: at both ends the policer has no tokens left
        if self.rounds < ROUNDS_MIN || !signs.losses {
            return PolicerChange::None;
        }
        let lost = signs.totals.lost - self.from.lost;
        let delivered = signs.totals.delivered - self.from.delivered;
        let lossy = delivered > 0 && lost * UNIT_GAIN >= LOSS_MIN * delivered;
        // the kernel's clock for this has ticks of a millisecond, which matters where round trips are shorter
        let took = ms(signs.totals.delivered_at) - ms(self.from.delivered_at);
        let took = Duration::from_ms(took);
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

    /// Ends an interval with heavy loss and the delivery rate `rate`.
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

    /// A policed path: rounds of 100 ms, each of which delivers and drops some segments.
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
        // the first loss begins an interval in its round, which counts; the fourth round ends it
        let changes: Vec<PolicerChange> = (0..8).map(|_| path.round(100, 30)).collect();
        assert!(changes[..7].iter().all(|it| *it == PolicerChange::None));
        assert_eq!(changes[7], PolicerChange::Found);
        // the first interval: 300 segments in 300 ms
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
    fn a_sample_with_a_loss_or_several_is_a_sign() {
        for (lost, sign) in [(0, false), (1, true), (2, true)] {
            let sample = RateSample {
                newly_delivered: 0,
                newly_lost: lost,
                delivered: 0,
                interval: None,
                prior_delivered: 0,
                app_limited: false,
                rtt: None,
                ack_delayed: false,
                totals: Totals::default(),
                prior_in_flight: 0,
                in_flight: 0,
                next_departure: Instant::ZERO,
            };
            assert_eq!(Signs::of(&sample, false, false).losses, sign);
        }
    }

    /// Runs two intervals of `rounds` rounds, in which only the last round of each has losses.
    fn is_found(close: Bandwidth, rounds: u64, rates: [u64; 2], lost: u64) -> bool {
        let mut path = Path::new();
        path.estimator.close = close;
        // nothing counts before the first loss
        for _ in 0..50 {
            path.round(10, 0);
        }
        // the loss that begins the first interval, in a round that counts
        path.round(0, 1);
        let mut found = PolicerChange::None;
        for (number, rate) in rates.into_iter().enumerate() {
            let rest = if number == 0 { rounds - 2 } else { rounds - 1 };
            for _ in 0..rest {
                assert_eq!(path.round(rate, 0), PolicerChange::None);
            }
            found = path.round(rate, lost);
        }
        found == PolicerChange::Found
    }

    #[test]
    fn a_stretch_has_four_to_sixteen_rounds() {
        for (rounds, found) in [(4, true), (16, true), (17, false), (20, false)] {
            let lost = 100 * rounds;
            assert_eq!(is_found(Bandwidth::ZERO, rounds, [100, 100], lost), found);
        }
    }

    /// The limit is 50/256.
    #[test]
    fn a_fifth_of_what_is_delivered_has_to_be_lost() {
        for (lost, found) in [(199, false), (200, true), (201, true)] {
            // 4 rounds of 256 segments deliver 1024, and the limit is 200 of these
            let mut path = Path::new();
            path.round(0, 1);
            for _ in 0..3 {
                path.round(256, 0);
            }
            path.round(256, lost);
            let rate = path.estimator.rate > Bandwidth::ZERO;
            assert_eq!(rate, found, "{lost}");
        }
    }

    #[test]
    fn rates_are_the_same_within_an_eighth_or_4_kbit() {
        let per_second = |amount| Bandwidth::of(amount, Duration::from_secs(1));
        // the first interval delivers only three times `first`, because its first round is the loss's; its rate is
        // still `first` per 100 ms
        for (close, first, second, found) in [
            (0, 80, 89, true),
            (0, 80, 91, false),
            (0, 80, 70, true),
            (0, 80, 69, false),
            (111, 80, 91, true),
            (109, 80, 91, false),
            (5000, 80, 500, true),
        ] {
            assert_eq!(
                is_found(per_second(close), 8, [first, second], 10_000),
                found,
                "{first} and {second} within {close}"
            );
        }
        // the first rate of all has no earlier rate to be compared with
        let mut path = Path::new();
        path.estimator.close = per_second(5000);
        for _ in 0..4 {
            assert_eq!(path.round(10, 10), PolicerChange::None);
        }
    }

    #[test]
    fn rounds_that_deliver_nothing_do_not_end_a_stretch() {
        let mut path = Path::new();
        for _ in 0..6 {
            path.round(0, 30);
        }
        assert_eq!(path.estimator.from.lost, 30);
        path.round(100, 30);
        assert_eq!(path.estimator.from.lost, 210);
    }

    #[test]
    fn a_stretch_takes_a_millisecond_at_least() {
        for (us, ends) in [(999, false), (1000, true), (1001, true)] {
            let mut path = Path::new();
            path.round(0, 1);
            path.estimator.rounds = 4;
            path.totals.delivered += 100;
            path.totals.lost += 100;
            path.totals.delivered_at += Duration::from_us(us);
            path.estimator.on_ack(Signs {
                totals: path.totals,
                losses: true,
                app_limited: false,
                round_starts: false,
                probes: true,
            });
            assert_eq!(path.estimator.rate > Bandwidth::ZERO, ends, "{us} us");
        }
    }

    #[test]
    fn a_rate_grows_old_by_rounds_of_probing_alone() {
        let mut path = Path::new();
        while path.estimator.rate().is_none() {
            path.round(100, 30);
        }
        for (round_starts, probes) in [(true, false), (false, true), (false, false)] {
            for _ in 0..100 {
                let signs = Signs {
                    totals: path.totals,
                    losses: false,
                    app_limited: false,
                    round_starts,
                    probes,
                };
                assert_eq!(path.estimator.on_ack(signs), PolicerChange::None);
            }
        }
        assert!(path.estimator.rate().is_some());
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

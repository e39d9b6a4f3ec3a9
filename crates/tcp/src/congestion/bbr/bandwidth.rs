//! A bandwidth, and the largest bandwidth of the last rounds (Linux's `lib/win_minmax.c`, after Kathleen Nichols).

use fairport_units::Duration;

/// Fractional bits of a gain: gains are in 256ths.
pub(super) const GAIN_SHIFT: u32 = 8;
/// A gain of 1.
pub(super) const UNIT_GAIN: u64 = 1 << GAIN_SHIFT;

/// Fractional bits of a bandwidth, as in the kernel (`BW_SCALE`). At ten segments per second a step is half a percent.
const SHIFT: u32 = 24;
const PS_PER_US: u128 = 1_000_000;
const US_PER_S: u128 = 1_000_000;

/// Amount in the window's unit per microsecond, in steps of 2^-24.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bandwidth(u64);

impl Bandwidth {
    pub(super) const ZERO: Self = Self(0);

    /// The bandwidth that delivers `amount` in `time`, which must not be zero.
    pub(super) fn of(amount: u64, time: Duration) -> Self {
        let scaled = (u128::from(amount) << SHIFT) * PS_PER_US / u128::from(time.as_ps());
        Self(scaled.min(u128::from(u64::MAX)) as u64)
    }

    /// The amount that it delivers in `time`, rounded down.
    pub(super) fn amount(self, time: Duration) -> u64 {
        let scaled = u128::from(self.0) * u128::from(time.as_ps());
        ((scaled / PS_PER_US) >> SHIFT).min(u128::from(u64::MAX)) as u64
    }

    /// The amount that it delivers in `time` at a gain, rounded up.
    pub(super) fn amount_at(self, gain: u64, time: Duration) -> u64 {
        let scaled = u128::from(self.0) * u128::from(time.as_ps()) / PS_PER_US;
        let gained = (scaled * u128::from(gain)) >> GAIN_SHIFT;
        gained.div_ceil(1 << SHIFT).min(u128::from(u64::MAX)) as u64
    }

    /// The bandwidth times a gain.
    pub(super) fn times(self, gain: u64) -> Self {
        let gained = (u128::from(self.0) * u128::from(gain)) >> GAIN_SHIFT;
        Self(gained.min(u128::from(u64::MAX)) as u64)
    }

    /// Bytes per second at a gain, where a full segment is `segment_bytes` of data and `unit` of the window.
    pub(super) fn bytes_per_second(self, gain: u64, segment_bytes: u64, unit: u64) -> u64 {
        let scaled = u128::from(self.0) * u128::from(segment_bytes) / u128::from(unit);
        let gained = (scaled * u128::from(gain) * US_PER_S) >> (GAIN_SHIFT + SHIFT);
        gained.min(u128::from(u64::MAX)) as u64
    }

    /// The mean of two bandwidths.
    pub(super) fn mean(self, other: Self) -> Self {
        Self(self.0.midpoint(other.0))
    }

    /// Whether it is at most `share`/256 of `other`.
    pub(super) fn is_within(self, share: u64, other: Self) -> bool {
        u128::from(self.0) << GAIN_SHIFT <= u128::from(share) * u128::from(other.0)
    }

    pub(super) fn difference(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }
}

/// A bandwidth sample and the round in which it was taken.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    round: u64,
    value: Bandwidth,
}

/// The largest sample of the last `length` rounds. It keeps the best three samples, so that when the best one expires,
/// the best one since then takes its place.
#[derive(Debug)]
pub(super) struct WindowedMax {
    length: u64,
    best: [Sample; 3],
}

impl WindowedMax {
    pub(super) fn new(length: u64) -> Self {
        Self {
            length,
            best: [Sample::default(); 3],
        }
    }

    #[inline]
    pub(super) fn get(&self) -> Bandwidth {
        self.best[0].value
    }

    pub(super) fn update(&mut self, round: u64, value: Bandwidth) {
        let sample = Sample { round, value };
        let [first, second, third] = &mut self.best;
        if value >= first.value || round - third.round > self.length {
            self.best = [sample; 3];
            return;
        }
        if value >= second.value {
            (*second, *third) = (sample, sample);
        } else if value >= third.value {
            *third = sample;
        }
        let age = round - first.round;
        if age > self.length {
            (*first, *second, *third) = (*second, *third, sample);
            if round - first.round > self.length {
                (*first, *second, *third) = (*second, *third, sample);
            }
        } else if second.round == first.round && age > self.length / 4 {
            // a quarter of the window has passed without a second best: take this sample
            (*second, *third) = (sample, sample);
        } else if third.round == second.round && age > self.length / 2 {
            *third = sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bandwidth(segments_per_second: u64) -> Bandwidth {
        Bandwidth::of(segments_per_second, Duration::from_secs(1))
    }

    /// The filter's maximum over 10 rounds after each sample, one sample per round starting with round 1.
    fn filtered(samples: &[u64]) -> Vec<Bandwidth> {
        let mut filter = WindowedMax::new(10);
        (1..)
            .zip(samples)
            .map(|(round, value)| {
                filter.update(round, bandwidth(*value));
                filter.get()
            })
            .collect()
    }

    #[test]
    fn the_largest_of_ten_rounds_by_hand() {
        // 100 in round 1 is the maximum through round 11; then the best sample since, 90 in round 4, replaces it, and
        // later 80 does
        let mut samples = vec![100, 50, 50, 90, 50, 50, 50, 80, 50, 50, 50, 50, 50, 50];
        samples.extend([50; 6]);
        let filtered = filtered(&samples);
        for (index, expected) in [(0, 100), (3, 100), (10, 100), (11, 90), (13, 90)] {
            assert_eq!(filtered[index], bandwidth(expected), "round {}", index + 1);
        }
        assert_eq!(filtered[14], bandwidth(80), "round 15");
        assert_eq!(filtered[19], bandwidth(50), "round 20");
    }

    /// `minmax_subwin_update` with a window of 8 rounds. Samples in the first quarter after a maximum are forgotten,
    /// the second best comes from the second quarter, and the third best from the second half.
    #[test]
    fn the_next_best_come_from_the_second_quarter_and_the_second_half_of_the_window() {
        let after = |samples: &[(u64, u64)]| {
            let mut filter = WindowedMax::new(8);
            for (round, value) in samples {
                filter.update(*round, bandwidth(*value));
            }
            filter.get()
        };
        let falling = [(0, 100), (1, 50), (2, 40), (3, 30), (4, 20), (5, 10)];
        let with = |more: &[(u64, u64)]| after(&[&falling[..], more].concat());
        assert_eq!(with(&[(8, 1)]), bandwidth(100));
        assert_eq!(with(&[(9, 1)]), bandwidth(30));
        assert_eq!(with(&[(9, 1), (11, 1)]), bandwidth(30));
        assert_eq!(with(&[(9, 1), (12, 1)]), bandwidth(10));
        // the best two may expire together
        assert_eq!(with(&[(11, 1)]), bandwidth(30));
        assert_eq!(with(&[(12, 1)]), bandwidth(10));
        assert_eq!(with(&[(13, 1)]), bandwidth(10));
        // all three expire together
        assert_eq!(with(&[(14, 1)]), bandwidth(1));
        assert_eq!(after(&[(1, 100), (9, 5)]), bandwidth(100));
        assert_eq!(after(&[(1, 100), (10, 5)]), bandwidth(5));
    }

    #[test]
    fn a_share_is_of_256() {
        for (share, of, within) in [
            (32, 80, true),
            (31, 80, false),
            (33, 80, true),
            (0, 80, false),
        ] {
            assert_eq!(bandwidth(10).is_within(share, bandwidth(of)), within);
        }
        assert!(bandwidth(0).is_within(0, bandwidth(0)));
    }

    #[test]
    fn more_is_believed_at_once_and_less_after_ten_rounds() {
        let mut samples = vec![10, 20, 40];
        samples.extend([30; 12]);
        let filtered = filtered(&samples);
        assert_eq!(filtered[..3], [10, 20, 40].map(bandwidth));
        assert_eq!(filtered[12], bandwidth(40));
        assert_eq!(filtered[13], bandwidth(30));
    }

    #[test]
    fn a_bandwidth_by_a_time_is_an_amount() {
        let ten_mbit = Bandwidth::of(1000, Duration::from_ms(1200));
        assert_eq!(ten_mbit.amount(Duration::from_ms(40)), 33);
        assert_eq!(ten_mbit.amount_at(UNIT_GAIN, Duration::from_ms(40)), 34);
        assert_eq!(ten_mbit.amount_at(2 * UNIT_GAIN, Duration::from_ms(40)), 67);
        // 833 1/3 segments of 1448 bytes per second, rounded down to 13981 / 2^24 per microsecond
        assert_eq!(ten_mbit.bytes_per_second(UNIT_GAIN, 1448, 1), 1_206_665);
    }
}

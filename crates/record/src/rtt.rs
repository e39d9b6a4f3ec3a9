//! Round-trip times: minimum, mean, maximum, and a histogram with bins about 1 % wide.

use fairport_units::Duration;

/// Summary of the RTT samples of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttSummary {
    samples: u64,
    min: Duration,
    max: Duration,
    /// Sum of the samples. It needs more than 64 bits: half a minute of 1 Gbit/s with a delay of 8 s would fill them.
    sum_ps: u128,
}

impl RttSummary {
    /// No samples yet.
    pub const EMPTY: Self = Self {
        samples: 0,
        min: Duration::NEVER,
        max: Duration::ZERO,
        sum_ps: 0,
    };

    /// Adds a sample.
    #[inline]
    pub fn add(&mut self, rtt: Duration) {
        self.samples += 1;
        self.min = self.min.min(rtt);
        self.max = self.max.max(rtt);
        self.sum_ps += u128::from(rtt.as_ps());
    }

    /// The summary of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            samples: self.samples + other.samples,
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            sum_ps: self.sum_ps + other.sum_ps,
        }
    }

    /// The smallest sample in s; NaN if there are none.
    pub fn min_s(&self) -> f64 {
        self.or_nan(self.min)
    }

    /// The largest sample in s; NaN if there are none.
    pub fn max_s(&self) -> f64 {
        self.or_nan(self.max)
    }

    /// The mean in s; NaN if there are no samples.
    pub fn mean_s(&self) -> f64 {
        self.sum_ps as f64 / 1e12 / self.samples as f64
    }

    fn or_nan(&self, of: Duration) -> f64 {
        if self.samples == 0 {
            f64::NAN
        } else {
            of.as_secs_f64()
        }
    }
}

impl Default for RttSummary {
    fn default() -> Self {
        Self::EMPTY
    }
}

/// What is recorded of the RTT samples of a watched flow, in addition to their summary.
#[derive(Default)]
pub(crate) struct WatchedRtt {
    /// samples of the measurement
    pub(crate) histogram: RttHistogram,
    /// samples since the last row of the series
    pub(crate) interval: RttSummary,
}

/// Bins per octave, as a power of two: each is 2^-7 = 0.8 % of the octave's start wide.
const BINS_LOG2: u32 = 7;
/// 2^19 ps is about half a microsecond. Shorter samples go into the first bin.
const FIRST_OCTAVE: u32 = 19;
/// 2^46 ps is about 70 s. Longer samples go into the last bin.
const LAST_OCTAVE: u32 = 45;
/// bins per octave
const BINS: usize = 1 << BINS_LOG2;

/// Counts of RTT samples in logarithmic octaves, each divided into 128 equal bins.
///
/// The samples of a flow mostly lie in a few octaves, so memory is taken only for those between the least and the
/// largest.
#[derive(Clone, Debug, Default)]
pub struct RttHistogram {
    /// the first bin that is in memory: that of an octave's start
    first: usize,
    /// counts of the bins from `first` on; empty without samples, for example in a region that takes none of this flow
    counts: Vec<u32>,
    /// bins that were full and began anew, with their counts: at 10 Gbit/s, a flow without a queue on its way fills one
    /// in 1.5 hours
    full: Vec<(u16, u32)>,
}

impl RttHistogram {
    /// Adds a sample.
    #[inline]
    pub fn add(&mut self, rtt: Duration) {
        let ps = rtt
            .as_ps()
            .clamp(1 << FIRST_OCTAVE, (1 << (LAST_OCTAVE + 1)) - 1);
        let octave = ps.ilog2();
        let within = (ps >> (octave - BINS_LOG2)) & (BINS as u64 - 1);
        let bin = (u64::from(octave - FIRST_OCTAVE) << BINS_LOG2) | within;
        self.count(bin as usize, 1);
    }

    #[inline]
    fn count(&mut self, bin: usize, samples: u32) {
        let count = self.counts.get_mut(bin.wrapping_sub(self.first));
        match count.and_then(|count| Some((count.checked_add(samples)?, count))) {
            Some((sum, count)) => *count = sum,
            None => self.make_room(bin, samples),
        }
    }

    /// Counts samples of a bin that is not in memory, or that is full.
    #[cold]
    fn make_room(&mut self, bin: usize, samples: u32) {
        let octave = bin - bin % BINS;
        if self.counts.is_empty() {
            self.first = octave;
        }
        let before = self.first.saturating_sub(octave);
        self.counts.splice(..0, std::iter::repeat_n(0, before));
        self.first -= before;
        let end = octave + BINS - self.first;
        self.counts.resize(self.counts.len().max(end), 0);
        let count = &mut self.counts[bin - self.first];
        if let Some(sum) = count.checked_add(samples) {
            *count = sum;
        } else {
            self.full.push((bin as u16, *count));
            *count = samples;
        }
    }

    /// Adds the samples of another histogram.
    pub fn absorb(&mut self, other: &Self) {
        self.full.extend(&other.full);
        for (bin, more) in other.filled() {
            self.count(bin, more);
        }
    }

    /// Removes all samples.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        self.full.clear();
    }

    /// Bins with samples, and the counts in memory.
    fn filled(&self) -> impl Iterator<Item = (usize, u32)> {
        let counts = (self.first..).zip(self.counts.iter().copied());
        counts.filter(|(_, samples)| *samples > 0)
    }

    /// The bins with samples: (middle of the bin in s, number of samples).
    pub fn bins(&self) -> impl Iterator<Item = (f64, u64)> {
        self.filled().map(|(bin, n)| {
            let full = self.full.iter().filter(|(it, _)| usize::from(*it) == bin);
            let samples = full.fold(u64::from(n), |sum, (_, n)| sum + u64::from(*n));
            let octave = FIRST_OCTAVE + (bin as u32 >> BINS_LOG2);
            let within = (bin % BINS) as u64;
            let width = 1_u64 << (octave - BINS_LOG2);
            let middle = (1_u64 << octave) + within * width + width / 2;
            (Duration::from_ps(middle).as_secs_f64(), samples)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_is_within_one_percent_of_its_samples() {
        for us in [1_u64, 3, 50, 420, 740, 1_999, 250_000, 60_000_000] {
            let mut histogram = RttHistogram::default();
            histogram.add(Duration::from_us(us));
            let (middle, samples) = histogram.bins().next().unwrap();
            assert_eq!(samples, 1);
            assert!(
                (middle / (us as f64 * 1e-6) - 1.0).abs() < 0.01,
                "{us} us in {middle} s"
            );
        }
    }

    #[test]
    fn a_histogram_without_samples_takes_those_of_another() {
        let (mut own, mut other) = (RttHistogram::default(), RttHistogram::default());
        other.add(Duration::from_us(1));
        other.absorb(&RttHistogram::default());
        own.absorb(&other);
        own.absorb(&other);
        let samples: Vec<u64> = own.bins().map(|(_, samples)| samples).collect();
        assert_eq!(samples, [2]);
    }

    #[test]
    fn a_bin_is_named_by_its_middle() {
        let mut histogram = RttHistogram::default();
        histogram.add(Duration::from_us(1));
        // the octave that starts at 2^19 ps has bins of 2^12 ps: 10^6 ps are in the bin that starts at 2^19 + 116 *
        // 2^12
        let (middle, _) = histogram.bins().next().unwrap();
        assert!((middle * 1e12 - 1_001_472.0).abs() < 0.5, "{middle}");
    }

    #[test]
    fn a_summary_has_the_extremes_and_the_mean() {
        let mut summary = RttSummary::EMPTY;
        assert!(summary.min_s().is_nan() && summary.mean_s().is_nan() && summary.max_s().is_nan());
        for ms in [3, 1, 8] {
            summary.add(Duration::from_ms(ms));
        }
        assert_eq!((summary.min_s(), summary.max_s()), (0.001, 0.008));
        assert!((summary.mean_s() - 0.004).abs() < 1e-12);
    }

    #[test]
    fn many_long_round_trips_have_the_right_mean() {
        let long = Duration::from_secs(10_000_000);
        let mut summary = RttSummary::EMPTY;
        for _ in 0..3 {
            summary.add(long);
        }
        let both = summary.and(summary);
        assert_eq!((summary.mean_s(), both.mean_s()), (1e7, 1e7));
    }

    #[test]
    fn what_two_histograms_hold_is_together_in_one() {
        let (mut one, mut other) = (RttHistogram::default(), RttHistogram::default());
        one.add(Duration::from_ms(2));
        for ms in [2, 2, 5] {
            other.add(Duration::from_ms(ms));
        }
        one.absorb(&other);
        let counts: Vec<u64> = one.bins().map(|(_, samples)| samples).collect();
        assert_eq!(counts, [3, 1]);
    }

    #[test]
    fn a_bin_counts_more_than_32_bits_hold() {
        let mut histogram = RttHistogram::default();
        histogram.add(Duration::from_us(50));
        for _ in 0..33 {
            histogram.absorb(&histogram.clone());
        }
        let counts: Vec<u64> = histogram.bins().map(|(_, samples)| samples).collect();
        assert_eq!(counts, [1 << 33]);
    }

    #[test]
    fn memory_is_taken_for_the_octaves_of_the_samples() {
        let octaves = |samples_us: &[u64]| {
            let mut histogram = RttHistogram::default();
            for us in samples_us {
                histogram.add(Duration::from_us(*us));
            }
            assert_eq!(histogram.bins().count(), samples_us.len());
            histogram.counts.len() / BINS
        };
        // 2^26 ps = 67.1 us
        assert_eq!(octaves(&[]), 0);
        assert_eq!(octaves(&[100]), 1);
        assert_eq!(octaves(&[70, 133]), 1);
        assert_eq!(octaves(&[100, 200]), 2);
        assert_eq!(octaves(&[200, 1_000, 100]), 4);
    }

    #[test]
    fn what_is_out_of_range_is_counted_at_the_edge() {
        let mut histogram = RttHistogram::default();
        histogram.add(Duration::ZERO);
        histogram.add(Duration::NEVER);
        assert_eq!(histogram.bins().count(), 2);
    }
}

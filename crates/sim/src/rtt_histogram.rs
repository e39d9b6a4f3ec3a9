//! A histogram of round-trip times with bins about 1 % wide.

use fairport_units::Time;

/// Bins an octave: a bin is 2^-7 = 0.8 % of its octave's start wide.
const BINS_LOG2: u32 = 7;
/// 2^19 ps is about half a microsecond; what is shorter falls into the first bin.
const FIRST_OCTAVE: u32 = 19;
/// 2^46 ps is about 70 s; what is longer falls into the last bin.
const LAST_OCTAVE: u32 = 45;
const BINS: usize = ((LAST_OCTAVE - FIRST_OCTAVE + 1) << BINS_LOG2) as usize;

/// Counts of RTT samples in logarithmic octaves, each cut into 128 equal bins.
#[derive(Clone)]
pub(crate) struct RttHistogram {
    counts: Vec<u32>,
}

impl RttHistogram {
    pub(crate) fn new() -> Self {
        Self {
            counts: vec![0; BINS],
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, rtt: Time) {
        let ps = rtt
            .as_ps()
            .clamp(1 << FIRST_OCTAVE, (1 << (LAST_OCTAVE + 1)) - 1);
        let octave = ps.ilog2();
        let within = (ps >> (octave - BINS_LOG2)) & ((1 << BINS_LOG2) - 1);
        let bin = (u64::from(octave - FIRST_OCTAVE) << BINS_LOG2) | within;
        self.counts[bin as usize] += 1;
    }

    pub(crate) fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// The bins that hold samples: (middle in s, samples).
    pub(crate) fn bins(&self) -> impl Iterator<Item = (f64, u64)> {
        let filled = self.counts.iter().enumerate().filter(|(_, n)| **n > 0);
        filled.map(|(bin, n)| {
            let octave = FIRST_OCTAVE + (bin as u32 >> BINS_LOG2);
            let within = bin as u64 & ((1 << BINS_LOG2) - 1);
            let width = 1_u64 << (octave - BINS_LOG2);
            let middle = (1_u64 << octave) + within * width + width / 2;
            (Time::from_ps(middle).as_secs_f64(), u64::from(*n))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_is_within_one_percent_of_its_samples() {
        for us in [1_u64, 3, 50, 420, 740, 1_999, 250_000, 60_000_000] {
            let mut histogram = RttHistogram::new();
            histogram.add(Time::from_us(us));
            let (middle, samples) = histogram.bins().next().unwrap();
            assert_eq!(samples, 1);
            assert!(
                (middle / (us as f64 * 1e-6) - 1.0).abs() < 0.01,
                "{us} us in {middle} s"
            );
        }
    }

    #[test]
    fn what_is_out_of_range_is_counted_at_the_edge() {
        let mut histogram = RttHistogram::new();
        histogram.add(Time::ZERO);
        histogram.add(Time::NEVER);
        assert_eq!(histogram.bins().count(), 2);
    }
}

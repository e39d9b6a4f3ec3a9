//! A histogram of one flow's round-trip times that stores only the bins with samples, because a capture may have many
//! thousand flows.

/// Bins per octave, as a power of two: each is 2^-7 = 0.8 % of the octave's start wide.
const BINS_LOG2: u32 = 7;

/// Counts of samples, by bin, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    bins: Vec<(u16, u32)>,
}

impl Histogram {
    /// Adds a sample.
    #[inline]
    pub(crate) fn add(&mut self, ns: u64) {
        let bin = bin(ns);
        let place = self.bins.partition_point(|(known, _)| *known < bin);
        match self.bins.get_mut(place) {
            Some((known, samples)) if *known == bin => *samples += 1,
            _ => self.bins.insert(place, (bin, 1)),
        }
    }

    /// Reads data that the next sample needs; see [`Tracker::warm`](super::Tracker::warm).
    #[inline]
    pub(crate) fn warm(&self) -> u32 {
        let middle = self.bins.get(self.bins.len() / 2);
        middle.map_or(0, |(_, samples)| *samples)
    }

    /// The bins with samples: (middle of the bin in s, number of samples).
    pub(crate) fn bins(&self) -> impl Iterator<Item = (f64, u64)> {
        self.bins.iter().map(|(bin, samples)| {
            let octave = u32::from(*bin) >> BINS_LOG2;
            let within = u64::from(*bin) & ((1 << BINS_LOG2) - 1);
            let start = (1_u64 << octave) as f64;
            let width = start / f64::from(1 << BINS_LOG2);
            let middle_ns = start + (within as f64 + 0.5) * width;
            (middle_ns / 1e9, u64::from(*samples))
        })
    }
}

#[inline]
fn bin(ns: u64) -> u16 {
    let ns = ns.max(1);
    let octave = ns.ilog2();
    let within = (u128::from(ns - (1 << octave)) << BINS_LOG2) >> octave;
    (octave << BINS_LOG2) as u16 | within as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_is_within_one_percent_of_its_samples() {
        for ns in [200, 1_000, 420_000, 1_999_999, 250_000_000, 60_000_000_000] {
            let mut histogram = Histogram::default();
            histogram.add(ns);
            histogram.add(ns);
            let (middle_s, samples) = histogram.bins().next().unwrap();
            assert_eq!((samples, histogram.bins().count()), (2, 1));
            assert!((middle_s * 1e9 / ns as f64 - 1.0).abs() < 0.01, "{ns}");
        }
    }

    #[test]
    fn bins_are_in_order() {
        let mut histogram = Histogram::default();
        for ns in [900_000, 100, 5_000, 900_000, 0, u64::MAX] {
            histogram.add(ns);
        }
        let middles: Vec<f64> = histogram.bins().map(|(middle, _)| middle).collect();
        assert!(middles.is_sorted() && middles.len() == 5);
    }
}

//! Random sizes. Computations that affect results use integers or libm.

use fairport_net::stream::Stream;

/// The probability 1, in parts of 10^9, in which a CDF's probabilities are given.
pub(crate) const CERTAIN_PPB: u64 = 1_000_000_000;

/// A distribution of sizes by its CDF, linear between its points.
#[derive(Clone, Debug)]
pub(crate) struct Cdf {
    /// values in units, each with the probability of at most this value in parts of 10^9
    points: Vec<(u64, u64)>,
    /// bytes per unit; 1 if values are bytes
    unit_bytes: u64,
}

impl Cdf {
    /// A distribution whose points rise in both coordinates and end with probability 1.
    pub(crate) fn new(points: Vec<(u64, u64)>, unit_bytes: u64) -> Self {
        Self { points, unit_bytes }
    }

    /// The mean of what [`Self::draw`] gives, in bytes. The probability below the first point counts as its value.
    pub(crate) fn mean_bytes(&self) -> f64 {
        let mean = |low: u64, high: u64| {
            // what would be rounded to 0 is drawn as 1
            let raised = if low > 0 {
                0.0
            } else {
                1.0 / (2 * high).max(1) as f64
            };
            (low + high) as f64 / 2.0 + raised
        };
        let (first, below) = self.points[0];
        let steps = self.points.windows(2).map(|pair| {
            let [(low, from), (high, to)] = [pair[0], pair[1]];
            (to - from) as f64 * mean(low, high)
        });
        let sum = below as f64 * mean(first, first) + steps.sum::<f64>();
        sum / CERTAIN_PPB as f64 * self.unit_bytes as f64
    }

    /// Draws a size in bytes: a whole number of units, and at least one.
    pub(crate) fn draw(&self, stream: &mut Stream) -> u64 {
        /// fractional bits of a part of 10^9
        const FRACTION_BITS: u32 = 48;
        let uniform = u128::from(stream.up_to((1 << FRACTION_BITS) - 1));
        let place = uniform * u128::from(CERTAIN_PPB);
        let above = |point: &(u64, u64)| place < u128::from(point.1) << FRACTION_BITS;
        let next = self.points.iter().position(above);
        let next = next.expect("the last point is certain");
        let (high, to) = self.points[next];
        let units = if next == 0 {
            high
        } else {
            let (low, from) = self.points[next - 1];
            let past = place - (u128::from(from) << FRACTION_BITS);
            let step = u128::from(to - from) << FRACTION_BITS;
            // rounded to the nearest unit, which preserves the mean
            low + ((past * u128::from(high - low) + step / 2) / step) as u64
        };
        units.max(1) * self.unit_bytes
    }
}

/// A Pareto distribution that is cut off at `min` and `max`, with `shape` in thousandths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundedPareto {
    pub(crate) min: u64,
    pub(crate) max: u64,
    pub(crate) shape_milli: u32,
}

impl BoundedPareto {
    /// Draws a value, rounded to the nearest integer.
    pub(crate) fn draw(self, stream: &mut Stream) -> u64 {
        let shape = f64::from(self.shape_milli) / 1000.0;
        // its CDF (1 - (L/x)^a) / (1 - (L/H)^a), inverted
        let cut = 1.0 - libm::pow(self.min as f64 / self.max as f64, shape);
        let value = self.min as f64 * libm::pow(1.0 - stream.unit() * cut, -1.0 / shape);
        (libm::round(value) as u64).clamp(self.min, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEB_SEARCH_PERCENT: [(u64, u64); 12] = [
        (0, 0),
        (10_000, 15),
        (20_000, 20),
        (30_000, 30),
        (50_000, 40),
        (80_000, 53),
        (200_000, 60),
        (1_000_000, 70),
        (2_000_000, 80),
        (5_000_000, 90),
        (10_000_000, 97),
        (30_000_000, 100),
    ];

    fn cdf(percent: &[(u64, u64)]) -> Cdf {
        let points = percent.iter().map(|(x, p)| (*x, p * 10_000_000)).collect();
        Cdf::new(points, 1)
    }

    #[test]
    fn web_search_has_a_mean_of_1_711_250_bytes_and_its_samples_have_it_too() {
        let sizes = cdf(&WEB_SEARCH_PERCENT);
        assert!((sizes.mean_bytes() - 1_711_250.0).abs() < 1e-4);
        let mut stream = Stream::new(1, "test", 0);
        let n = 200_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let size = sizes.draw(&mut stream) as f64;
            sum += size;
            squares += size * size;
        }
        let mean = sum / f64::from(n);
        let error = ((squares / f64::from(n) - mean * mean) / f64::from(n)).sqrt();
        assert!((mean - 1_711_250.0).abs() < 4.0 * error, "{mean} ± {error}");
    }

    #[test]
    fn the_quantiles_of_the_samples_are_the_points_of_the_cdf() {
        let sizes = cdf(&WEB_SEARCH_PERCENT);
        let mut stream = Stream::new(2, "test", 0);
        let draws: Vec<u64> = (0..100_000).map(|_| sizes.draw(&mut stream)).collect();
        for (size, percent) in WEB_SEARCH_PERCENT {
            let below = draws.iter().filter(|draw| **draw <= size).count() as f64 / 1e5;
            let p = percent as f64 / 100.0;
            assert!((below - p).abs() < 4.0 * (p * (1.0 - p) / 1e5).sqrt() + 1e-5);
        }
    }

    #[test]
    fn sizes_in_packets_are_whole_packets() {
        let half = CERTAIN_PPB / 2;
        let sizes = Cdf::new(vec![(1, half), (3, CERTAIN_PPB)], 1460);
        assert!((sizes.mean_bytes() - 1.5 * 1460.0).abs() < 1e-9);
        let mut stream = Stream::new(3, "test", 0);
        let mut counts = [0_u32; 4];
        for _ in 0..80_000 {
            let size = sizes.draw(&mut stream);
            assert_eq!(size % 1460, 0);
            counts[(size / 1460) as usize] += 1;
        }
        // half are 1; of the other half a quarter rounds to 1, a half to 2, and a quarter to 3
        for (count, expected) in counts.into_iter().zip([0, 50_000, 20_000, 10_000]) {
            assert!(count.abs_diff(expected) < 600, "{counts:?}");
        }
    }

    #[test]
    fn a_size_of_zero_counts_as_the_one_unit_that_is_drawn() {
        let half = CERTAIN_PPB / 2;
        // half are 0; of the other half a tenth rounds to 0
        let sizes = Cdf::new(vec![(0, half), (5, CERTAIN_PPB)], 1);
        let mut stream = Stream::new(5, "test", 0);
        let n = 200_000;
        let sum: u64 = (0..n).map(|_| sizes.draw(&mut stream)).sum();
        let mean = sum as f64 / f64::from(n);
        assert!((sizes.mean_bytes() - 1.8).abs() < 1e-9);
        // four standard errors
        assert!(
            (mean - 1.8).abs() < 4.0 * 1.4 / f64::from(n).sqrt(),
            "{mean}"
        );
    }

    #[test]
    fn objects_of_the_web_have_a_mean_of_21_packets() {
        let sizes = BoundedPareto {
            min: 4,
            max: 200_000,
            shape_milli: 1200,
        };
        let mut stream = Stream::new(4, "test", 0);
        let n = 2_000_000;
        let draws: Vec<u64> = (0..n).map(|_| sizes.draw(&mut stream)).collect();
        let mean = draws.iter().sum::<u64>() as f64 / f64::from(n);
        // facts 4.1: 21.24; the tail makes one standard error about 0.2
        assert!((mean - 21.24).abs() < 0.8, "{mean}");
        let median_p = draws.iter().filter(|draw| **draw <= 7).count() as f64 / f64::from(n);
        // P(x < 7.5) = 1 - (4 / 7.5)^1.2
        assert!((median_p - 0.5297).abs() < 0.002, "{median_p}");
    }
}

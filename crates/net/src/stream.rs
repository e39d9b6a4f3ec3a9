//! Random numbers: one named stream per component, all derived from the run's seed.

use fairport_units::Duration;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// One component's own sequence of random numbers (xoshiro256++, seeded through `SplitMix64`).
///
/// Streams of different components are independent: an additional draw by one host does not change the numbers of any
/// other component.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream of the `index`-th `component` in a run with this `seed`.
    pub fn new(seed: u64, component: &str, index: u64) -> Self {
        let mut state = SplitMix64::seed_from_u64(seed).next_u64();
        for byte in component.bytes() {
            state = SplitMix64::seed_from_u64(state ^ u64::from(byte)).next_u64();
        }
        Self(Xoshiro256PlusPlus::seed_from_u64(
            state ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        ))
    }

    /// Uniform over 0..=`max`.
    #[inline]
    pub fn up_to(&mut self, max: u64) -> u64 {
        // Multiply-shift: its bias of max / 2^64 is far too small to show in any run.
        ((u128::from(self.0.next_u64()) * (u128::from(max) + 1)) >> 64) as u64
    }

    /// A span uniform over zero up to `max`, which is included.
    #[inline]
    pub fn span_up_to(&mut self, max: Duration) -> Duration {
        Duration::from_ps(self.up_to(max.as_ps()))
    }

    /// An exponentially distributed span. The logarithm is libm's, because the platform's own may differ in the last
    /// bit.
    #[inline]
    pub fn exponential(&mut self, mean: Duration) -> Duration {
        Duration::from_ps((-libm::log(self.unit()) * mean.as_ps() as f64) as u64)
    }

    /// Uniform over -`max`..=`max`.
    pub fn symmetric(&mut self, max: u32) -> i32 {
        (i128::from(self.up_to(2 * u64::from(max))) - i128::from(max)) as i32
    }

    /// Uniform over (0, 1].
    pub fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_seed_component_and_index_only() {
        let draw = |seed, component, index| Stream::new(seed, component, index).up_to(u64::MAX - 1);
        assert_eq!(draw(1, "host", 0), draw(1, "host", 0));
        assert_ne!(draw(1, "host", 0), draw(2, "host", 0));
        assert_ne!(draw(1, "host", 0), draw(1, "port", 0));
        assert_ne!(draw(1, "host", 0), draw(1, "host", 1));
    }

    #[test]
    fn a_symmetric_draw_stays_within_its_bounds_and_reaches_both_signs() {
        let mut stream = Stream::new(7, "clock", 0);
        let draws: Vec<i32> = (0..1000).map(|_| stream.symmetric(100)).collect();
        assert!(draws.iter().all(|d| (-100..=100).contains(d)));
        assert!(draws.iter().any(|d| *d < -50) && draws.iter().any(|d| *d > 50));
    }
}

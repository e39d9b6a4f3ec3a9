//! How late frames leave: a histogram of the time from when a frame was due until it was sent.

use std::time::Duration;

/// Buckets per doubling.
const STEPS: usize = 8;
/// Number of doublings, of which the lags below 8 ns count as one: up to 2^38 ns, more than four minutes.
const DOUBLINGS: usize = 36;

/// Lags in ns, in buckets of an eighth of a doubling. A quantile is exact to 12 %.
#[derive(Clone, Debug)]
pub struct LagHistogram {
    counts: [u64; STEPS * DOUBLINGS],
    total: u64,
    largest_ns: u64,
}

impl Default for LagHistogram {
    fn default() -> Self {
        Self {
            counts: [0; STEPS * DOUBLINGS],
            total: 0,
            largest_ns: 0,
        }
    }
}

impl LagHistogram {
    /// Adds a frame that left `lag_ns` late.
    #[inline]
    pub fn add(&mut self, lag_ns: u64) {
        self.counts[bucket(lag_ns)] += 1;
        self.total += 1;
        self.largest_ns = self.largest_ns.max(lag_ns);
    }

    /// Number of frames.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The longest lag.
    pub fn largest(&self) -> Duration {
        Duration::from_nanos(self.largest_ns)
    }

    /// The lag that a `share` of all frames did not exceed; zero without frames.
    pub fn quantile(&self, share: f64) -> Duration {
        let rank = (share * self.total as f64).ceil() as u64;
        let mut below = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            below += count;
            if below >= rank && below > 0 {
                return Duration::from_nanos(upper_bound(bucket).min(self.largest_ns));
            }
        }
        self.largest()
    }
}

/// The bucket of a lag. Lags below 8 ns have one bucket each; above that, each doubling has eight.
#[inline]
fn bucket(lag_ns: u64) -> usize {
    if lag_ns < STEPS as u64 {
        return lag_ns as usize;
    }
    let doubling = lag_ns.ilog2() as usize;
    let step = (lag_ns >> (doubling - 3)) as usize & (STEPS - 1);
    ((doubling - 2) * STEPS + step).min(STEPS * DOUBLINGS - 1)
}

/// The largest lag of a bucket, in ns.
fn upper_bound(bucket: usize) -> u64 {
    if bucket < STEPS {
        return bucket as u64;
    }
    let doubling = bucket / STEPS + 2;
    let step = (bucket % STEPS) as u64;
    ((STEPS as u64 + step + 1) << (doubling - 3)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lag_lies_in_its_bucket() {
        for lag in (0..2000).chain([12_304, 131_072, 4_000_000, 50_000_000]) {
            let bucket = bucket(lag);
            assert!(lag <= upper_bound(bucket), "{lag}");
            assert!(bucket == 0 || lag > upper_bound(bucket - 1), "{lag}");
        }
    }

    #[test]
    fn a_quantile_is_exact_to_an_eighth() {
        let mut lags = LagHistogram::default();
        for lag in 1..=100_000 {
            lags.add(lag);
        }
        for (share, exact) in [(0.5, 50_000.0), (0.99, 99_000.0), (0.999, 99_900.0)] {
            let found = lags.quantile(share).as_nanos() as f64;
            assert!((found / exact - 1.0).abs() < 0.125, "{share}: {found}");
        }
        assert_eq!(lags.largest(), Duration::from_micros(100));
    }

    #[test]
    fn without_frames_there_is_no_lag() {
        assert_eq!(LagHistogram::default().quantile(0.99), Duration::ZERO);
    }
}

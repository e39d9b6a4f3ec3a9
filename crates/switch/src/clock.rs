//! The time of the run, from the machine's clocks.
//!
//! The run uses the monotonic clock. The kernel's timestamps use the time of day, which may be corrected during the
//! run, so the difference between the two clocks is measured repeatedly.

use std::time::{Instant as Monotonic, SystemTime, UNIX_EPOCH};

use fairport_units::{Duration, Instant};

/// How often the difference between the two clocks is measured.
const SYNCHRONISED_EVERY: Duration = Duration::from_ms(10);

/// Largest time between the readings of both clocks if nothing interrupted them.
const UNDISTURBED: Duration = Duration::from_ns(500);
/// Maximum number of attempts to read both without interruption.
const READINGS: u32 = 5;

/// Time since the start of a run.
pub(crate) struct Clock {
    start: Monotonic,
    /// time of day at the start of the run, in ns
    start_of_day_ns: u64,
    synchronised_at: Instant,
}

impl Clock {
    /// The clock of a run that starts now.
    pub(crate) fn start() -> Self {
        let mut clock = Self {
            start: Monotonic::now(),
            start_of_day_ns: 0,
            synchronised_at: Instant::ZERO,
        };
        clock.synchronise();
        clock
    }

    /// The present time.
    #[inline]
    pub(crate) fn now(&mut self) -> Instant {
        let now = self.elapsed();
        if now - self.synchronised_at > SYNCHRONISED_EVERY {
            self.synchronise();
        }
        now
    }

    #[inline]
    fn elapsed(&self) -> Instant {
        Instant::from_ns(self.start.elapsed().as_nanos() as u64)
    }

    /// Reads both clocks, and again if something interrupted the two readings.
    #[cold]
    fn synchronise(&mut self) {
        for _ in 0..READINGS {
            let before = self.elapsed();
            let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
            let now = self.elapsed();
            let elapsed_ns = (before - Instant::ZERO + (now - before) / 2).as_ps() / 1000;
            let day_ns = since_1970.map_or(0, |time| time.as_nanos() as u64);
            self.start_of_day_ns = day_ns.saturating_sub(elapsed_ns);
            self.synchronised_at = now;
            if now - before < UNDISTURBED {
                break;
            }
        }
    }

    /// Converts a time of day in ns to the run's time; zero for times before the run.
    #[inline]
    pub(crate) fn at_time_of_day(&self, ns: u64) -> Instant {
        Instant::from_ns(ns.saturating_sub(self.start_of_day_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_of_this_moment_is_this_moment() {
        let mut clock = Clock::start();
        std::thread::sleep(std::time::Duration::from_millis(25));
        let now = clock.now();
        let stamp = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("after 1970");
        let stamped = clock.at_time_of_day(stamp.as_nanos() as u64);
        assert!(now >= Instant::from_ms(25));
        let apart = stamped.max(now) - stamped.min(now);
        assert!(
            apart < Duration::from_ms(5),
            "a busy machine, but not that busy"
        );
    }
}

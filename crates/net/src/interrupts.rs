//! Interrupt moderation: an adapter interrupts its host at most once in an interval.
//!
//! A packet that comes long after the last interrupt raises one at once. Packets that come sooner wait for the next
//! one, and reach the host together. This is the throttling of Intel's adapters (`InterruptThrottleRate` of the e1000
//! driver, `ethtool -C ... rx-usecs` with later ones).

use fairport_units::{Duration, Instant};

/// The interrupts of one adapter.
#[derive(Clone, Debug)]
pub(crate) struct Interrupts {
    /// the shortest time between two of them; 0: every packet raises one
    interval: Duration,
    /// the latest one, which may be still to come
    latest: Option<Instant>,
}

impl Interrupts {
    /// Interrupts that are at least `interval` apart.
    pub(crate) fn new(interval: Duration) -> Self {
        Self {
            interval,
            latest: None,
        }
    }

    /// The interrupt with which the packet that reaches the adapter at `at` reaches the host. Calls are in order of
    /// time.
    #[inline]
    pub(crate) fn next(&mut self, at: Instant) -> Instant {
        if self.interval == Duration::ZERO {
            return at;
        }
        let interrupt = match self.latest {
            Some(latest) if at <= latest => latest,
            Some(latest) => at.max(latest + self.interval),
            None => at,
        };
        self.latest = Some(interrupt);
        interrupt
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn us(microseconds: u64) -> Instant {
        Instant::from_us(microseconds)
    }

    #[test]
    fn packets_of_one_interval_reach_the_host_together() {
        let mut interrupts = Interrupts::new(Duration::from_us(50));
        // full frames at 1 Gbit/s come every 12 us; after a pause of more than an interval one comes at once
        let arrivals = [100, 112, 124, 136, 148, 160, 172, 300, 310];
        let handed = arrivals.map(|at| interrupts.next(us(at)));
        let expected = [100, 150, 150, 150, 150, 200, 200, 300, 350];
        assert_eq!(handed, expected.map(us));
    }

    #[test]
    fn the_first_packet_of_a_run_does_not_wait_even_at_its_beginning() {
        let mut interrupts = Interrupts::new(Duration::from_us(50));
        assert_eq!(interrupts.next(us(0)), us(0));
        assert_eq!(interrupts.next(us(0)), us(0));
        assert_eq!(interrupts.next(us(1)), us(50));
    }

    proptest! {
        #[test]
        fn no_packet_waits_longer_than_an_interval_and_no_two_interrupts_are_closer(
            interval in 0_u64..1000,
            gaps in prop::collection::vec(0_u64..500, 1..200),
        ) {
            let mut interrupts = Interrupts::new(Duration::from_ps(interval));
            let mut at = Instant::ZERO;
            let mut last = None;
            for gap in gaps {
                at += Duration::from_ps(gap);
                let handed = interrupts.next(at);
                prop_assert!(handed >= at && handed - at <= Duration::from_ps(interval));
                if let Some(last) = last {
                    prop_assert!(handed == last || handed - last >= Duration::from_ps(interval));
                    prop_assert!(handed >= last);
                }
                last = Some(handed);
            }
        }
    }
}

//! The timestamp clock (RFC 7323 5.4): simulated time in ticks of the stack's granularity.

use fairport_units::{Duration, Instant};

/// Turns times into timestamp values.
///
/// A tick is the setting `clock_granularity_ps`: 1 us in `linux-2.6` (kernels of that era used jiffies; kernels since
/// 6.7 offer microseconds), 1 ms in `rfc`. At 1 us the clock wraps after 71 minutes, so longer runs with PAWS (the
/// setting `paws`) need a longer tick. Round-trip times are measured from the exact times of sending; the timestamp
/// option serves only where Karn's rule forbids that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimestampClock {
    /// one tick, in ps
    tick: u64,
    /// 2^64 / tick, rounded down; multiplying by it replaces a division per segment
    reciprocal: u64,
}

impl TimestampClock {
    pub(crate) fn new(tick: Duration) -> Self {
        Self {
            tick: tick.as_ps(),
            reciprocal: u64::MAX / tick.as_ps(),
        }
    }

    /// One tick.
    pub(crate) fn tick(&self) -> Duration {
        Duration::from_ps(self.tick)
    }

    /// The timestamp value at `now`. Values start at 1, because an echo of 0 means "no timestamp".
    #[inline]
    pub(crate) fn value(&self, now: Instant) -> u32 {
        let now = now.as_ps();
        let below = ((u128::from(now) * u128::from(self.reciprocal)) >> 64) as u64;
        let ticks = below + u64::from(now - below * self.tick >= self.tick);
        (ticks as u32).wrapping_add(1)
    }

    /// The time since `echoed` was sent to the peer, at least one tick; none if that value was never sent.
    pub(crate) fn since(&self, now: Instant, echoed: u32) -> Option<Duration> {
        if echoed == 0 {
            return None;
        }
        let ticks = self.value(now).wrapping_sub(echoed).max(1);
        let run = now - Instant::ZERO;
        u64::from(ticks)
            .checked_mul(self.tick)
            .map(Duration::from_ps)
            .filter(|span| *span <= run + self.tick())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_more_for_every_tick_of_time() {
        for tick in [1, 3, 1_000_000, 4_000_000_000] {
            let clock = TimestampClock::new(Duration::from_ps(tick));
            for ticks in [0, 1, 2, 999, 4_000_000] {
                let at = Instant::from_ps(tick * ticks);
                assert_eq!(u64::from(clock.value(at)), ticks + 1);
                if tick * ticks > 0 {
                    let just_before = Instant::from_ps(tick * ticks - 1);
                    assert_eq!(
                        u64::from(clock.value(just_before)),
                        (ticks * tick - 1) / tick + 1
                    );
                }
            }
        }
    }

    #[test]
    fn an_echo_within_a_tick_counts_as_a_tick_and_one_from_the_future_as_none() {
        let tick = Duration::from_us(1);
        let clock = TimestampClock::new(tick);
        assert_eq!(clock.tick(), tick);
        assert_eq!(clock.since(Instant::ZERO, 1), Some(tick));
        let now = Instant::from_us(100);
        assert_eq!(clock.since(now, clock.value(now)), Some(tick));
        assert_eq!(clock.since(now, 1), Some(tick * 100));
        assert_eq!(clock.since(now, clock.value(now) + 1), None);
        assert_eq!(clock.since(now, u32::MAX), None);
    }

    #[test]
    fn an_echo_tells_the_time_since_across_the_wrap() {
        let clock = TimestampClock::new(Duration::from_us(1));
        let sent = Instant::from_us(u64::from(u32::MAX) - 5);
        let echoed = clock.value(sent);
        assert_eq!(
            clock.since(sent + Duration::from_us(20), echoed),
            Some(Duration::from_us(20))
        );
        assert_eq!(clock.since(sent, 0), None);
    }
}

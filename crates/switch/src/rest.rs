//! Decides when the switch sleeps. Frames that are due must not wait for it, and other programs must not starve.
//!
//! A wake-up takes tens of microseconds, so the switch stays awake shortly before something is due. If the kernel gives
//! it a whole processor ([`Class::Deadline`]), nothing more is needed. A `SCHED_FIFO` thread that never sleeps is
//! stopped for 50 ms of each second without interruption, and no frame leaves in that time. So the switch sleeps
//! voluntarily, in short pieces between frames. About half of a piece of 40 us is spent on context switches. Sleeping
//! for a quarter of the time keeps the kernel from stopping it (measured with compilers on both processors; a total of
//! 7 % was not enough).
//!
//! On a virtual machine, the timer that wakes it is sometimes 1 to 2 ms late, because the processor has halted. (All
//! stalls measured at 1 Gbit/s were of that length.) If such a delay is not tolerated, the switch stays awake for that
//! long before something is due. An arriving frame wakes it in time.

use fairport_units::{Duration, Instant};

use crate::realtime::Class;

/// How long before something is due the switch stays awake.
const AWAKE: Duration = Duration::from_us(60);
/// The same, while it has slept too little: a busy processor wakes up quickly.
const AWAKE_IN_DEBT: Duration = Duration::from_us(20);
/// The same, if the timer must not be late.
const AWAKE_IN_TIME: Duration = Duration::from_ms(2);
/// Shorter sleeps do not help other programs.
const SHORTEST_SLEEP: Duration = Duration::from_us(10);
/// The period over which the share of sleep is measured.
const PERIOD: Duration = Duration::from_ms(20);
/// One part of this many should be sleep.
const ONE_IN: u64 = 4;

/// How much the switch has slept recently.
pub(crate) struct Rest {
    /// the kernel stops the thread if it does not sleep
    is_stopped: bool,
    /// how long before something is due it stays awake
    awake: Duration,
    since: Instant,
    slept: Duration,
}

impl Rest {
    /// For a thread of this class that has not slept yet. Frames may be late by up to `tolerated`.
    pub(crate) fn new(class: Class, tolerated: Duration) -> Self {
        let is_urgent = class == Class::Deadline && tolerated < AWAKE_IN_TIME;
        Self {
            is_stopped: class == Class::Fifo,
            awake: if is_urgent { AWAKE_IN_TIME } else { AWAKE },
            since: Instant::ZERO,
            slept: Duration::ZERO,
        }
    }

    /// How long to sleep if the next frame is due after `left`. None: stay awake.
    pub(crate) fn sleep(&self, now: Instant, left: Duration) -> Option<Duration> {
        let is_owed = self.is_stopped && self.slept.as_ps() * ONE_IN < (now - self.since).as_ps();
        let awake = if is_owed { AWAKE_IN_DEBT } else { self.awake };
        let sleep = left.saturating_sub(awake);
        (sleep > SHORTEST_SLEEP).then_some(sleep)
    }

    /// Records a sleep.
    pub(crate) fn slept(&mut self, from: Instant, to: Instant) {
        if to - self.since > PERIOD {
            self.since = from;
            self.slept = Duration::ZERO;
        }
        self.slept += to - from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Instant {
        Instant::from_us(us)
    }

    #[test]
    fn it_stays_awake_shortly_before_something_is_due() {
        let mut rest = Rest::new(Class::Fifo, Duration::from_us(100));
        rest.slept(us(0), us(1_000));
        assert_eq!(rest.sleep(us(1_000), Duration::from_us(60)), None);
        let sleep = rest.sleep(us(1_000), Duration::from_us(500));
        assert_eq!(sleep, Some(Duration::from_us(440)));
    }

    #[test]
    fn what_slept_too_little_sleeps_in_shorter_gaps() {
        let mut rest = Rest::new(Class::Fifo, Duration::from_us(100));
        rest.slept(us(0), us(100));
        // 100 us are more than a quarter of 300 us, but less than a quarter of 1000 us
        assert_eq!(rest.sleep(us(300), Duration::from_us(60)), None);
        let sleep = rest.sleep(us(1_000), Duration::from_us(60));
        assert_eq!(sleep, Some(Duration::from_us(40)));
        assert_eq!(rest.sleep(us(1_000), Duration::from_us(30)), None);
    }

    #[test]
    fn what_may_have_a_processor_stays_awake() {
        let rest = Rest::new(Class::Deadline, Duration::from_ms(10));
        assert_eq!(rest.sleep(us(1_000), Duration::from_us(60)), None);
        assert!(rest.sleep(us(1_000), Duration::from_us(100)).is_some());
    }

    #[test]
    fn what_must_not_be_late_wakes_long_before() {
        let rest = Rest::new(Class::Deadline, Duration::from_us(131));
        assert_eq!(rest.sleep(us(1_000), Duration::from_us(2_000)), None);
        let sleep = rest.sleep(us(1_000), Duration::from_us(8_000));
        assert_eq!(sleep, Some(Duration::from_us(6_000)));
    }

    #[test]
    fn old_sleep_does_not_count() {
        let mut rest = Rest::new(Class::Fifo, Duration::from_us(100));
        rest.slept(us(0), us(19_000));
        rest.slept(us(30_000), us(30_010));
        assert!(rest.sleep(us(31_000), Duration::from_us(60)).is_some());
    }
}

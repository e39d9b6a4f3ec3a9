//! Points in time in integer picoseconds: the present, deadlines, starts and ends.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

use crate::Duration;

/// A point in time, counted from the start of the run in integer picoseconds.
///
/// An instant that does not fit is [`Instant::NEVER`], and a difference below zero panics, in
/// release builds too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
#[repr(transparent)]
pub struct Instant(u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// An instant later than any event, for the deadline of a timer that is not armed.
    pub const NEVER: Self = Self(u64::MAX);

    /// Picoseconds after the start of the run.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// Nanoseconds after the start of the run.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns.saturating_mul(1_000))
    }

    /// Microseconds after the start of the run.
    pub const fn from_us(us: u64) -> Self {
        Self(us.saturating_mul(1_000_000))
    }

    /// Milliseconds after the start of the run.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000_000))
    }

    /// Whole seconds after the start of the run.
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(1_000_000_000_000))
    }

    /// In picoseconds after the start of the run.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// In seconds after the start of the run, for tables and figures. Never compute a result from it.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// `self - earlier`, or the empty span if `earlier` is later than `self`.
    #[must_use]
    pub const fn saturating_sub(self, earlier: Self) -> Duration {
        Duration::from_ps(self.0.saturating_sub(earlier.0))
    }

    /// The first instant after `now` that is a whole number of `interval`s after `self`, or `self` if that is itself
    /// after `now`.
    #[must_use]
    pub fn next_after(self, now: Self, interval: Duration) -> Self {
        if self.0 > now.0 {
            return self;
        }
        let passed = (now.0 - self.0) / interval.as_ps();
        self + interval * passed.saturating_add(1)
    }

    /// The instant that is `span` earlier, or the start of the run if that is later.
    #[must_use]
    pub const fn earlier_by(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span.as_ps()))
    }

    /// The last tick at or before this instant, of a clock with one `tick` after another from the start of the run.
    #[must_use]
    pub const fn last_tick(self, tick: Duration) -> Self {
        Self(self.0 - self.0 % tick.as_ps())
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    #[inline]
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.as_ps()))
    }
}

impl AddAssign<Duration> for Instant {
    #[inline]
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub for Instant {
    type Output = Duration;
    #[inline]
    fn sub(self, earlier: Self) -> Duration {
        assert!(self.0 >= earlier.0, "time went back");
        Duration::from_ps(self.0 - earlier.0)
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    #[inline]
    fn sub(self, span: Duration) -> Self {
        assert!(
            self.0 >= span.as_ps(),
            "an instant before the start of the run"
        );
        Self(self.0 - span.as_ps())
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Duration::from_ps(self.0), f)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_stays_never_and_does_not_wrap() {
        assert_eq!(Instant::NEVER + Duration::from_us(1), Instant::NEVER);
        let mut deadline = Instant::from_ps(u64::MAX - 1);
        deadline += Duration::from_ps(5);
        assert_eq!(deadline, Instant::NEVER);
        // 213.5 days fit
        assert_eq!(Instant::from_secs(214 * 86_400), Instant::NEVER);
        assert_eq!(Instant::from_ns(u64::MAX / 1000 + 1), Instant::NEVER);
        assert!(Instant::from_ns(u64::MAX / 1000) < Instant::NEVER);
    }

    #[test]
    fn between_two_instants_lies_a_span() {
        let (sent, acknowledged) = (Instant::from_us(5), Instant::from_us(12));
        let rtt: Duration = acknowledged - sent;
        assert_eq!(rtt, Duration::from_us(7));
        assert_eq!(sent + rtt, acknowledged);
        assert_eq!(acknowledged - rtt, sent);
        assert_eq!(sent.saturating_sub(acknowledged), Duration::ZERO);
        assert_eq!(acknowledged.earlier_by(rtt), sent);
        assert_eq!(sent.earlier_by(rtt), Instant::ZERO);
    }

    #[test]
    fn what_happens_at_intervals_happens_next_after_now() {
        let (first, interval) = (Instant::from_us(10), Duration::from_us(4));
        let next = |now| first.next_after(Instant::from_us(now), interval);
        assert_eq!(next(9), first);
        assert_eq!(next(10), Instant::from_us(14));
        assert_eq!(next(17), Instant::from_us(18));
        assert_eq!(next(18), Instant::from_us(22));
        let late = Instant::ZERO.next_after(Instant::NEVER, Duration::from_ps(1));
        assert_eq!(late, Instant::NEVER);
    }

    #[test]
    fn a_clock_with_ticks_shows_the_last_one() {
        let tick = Duration::from_us(4);
        for (now, shown) in [(0, 0), (3, 0), (4, 4), (11, 8)] {
            assert_eq!(
                Instant::from_us(now).last_tick(tick),
                Instant::from_us(shown)
            );
        }
        let exact = Instant::from_ps(123);
        assert_eq!(exact.last_tick(Duration::from_ps(1)), exact);
    }

    #[test]
    #[should_panic(expected = "time went back")]
    fn a_span_between_instants_is_not_below_zero() {
        let _ = Instant::from_us(1) - Instant::from_us(2);
    }

    #[test]
    #[should_panic(expected = "an instant before the start of the run")]
    fn no_instant_is_before_the_start_of_the_run() {
        let _ = Instant::from_us(1) - Duration::from_us(2);
    }
}

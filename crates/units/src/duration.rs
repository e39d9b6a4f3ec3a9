//! Spans of time in integer picoseconds: delays, intervals, timeouts, round-trip times.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

use serde::{Deserialize, Serialize};

/// A span of time in integer picoseconds.
///
/// A sum or a product that does not fit is [`Duration::NEVER`], and a difference below zero panics,
/// in release builds too.
///
/// 64 bits hold 213 days; one bit on a 10 Gbit/s link lasts 100 ps, so no rate in use needs finer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
#[repr(transparent)]
pub struct Duration(u64);

impl Duration {
    /// The empty span.
    pub const ZERO: Self = Self(0);
    /// A span longer than any run, for a limit that is never reached or a span that is not known yet.
    pub const NEVER: Self = Self(u64::MAX);

    /// From picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// From nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns.saturating_mul(1_000))
    }

    /// From microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us.saturating_mul(1_000_000))
    }

    /// From milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000_000))
    }

    /// From whole seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(1_000_000_000_000))
    }

    /// In picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// In seconds, for tables and figures. Never compute a result from it.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// `self - shorter`, or zero if `shorter` is the longer span.
    #[must_use]
    pub const fn saturating_sub(self, shorter: Self) -> Self {
        Self(self.0.saturating_sub(shorter.0))
    }
}

impl Add for Duration {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Duration {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Self::add)
    }
}

impl Sub for Duration {
    type Output = Self;
    #[inline]
    fn sub(self, shorter: Self) -> Self {
        assert!(self.0 >= shorter.0, "a span below zero");
        Self(self.0 - shorter.0)
    }
}

impl SubAssign for Duration {
    #[inline]
    fn sub_assign(&mut self, shorter: Self) {
        *self = *self - shorter;
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    #[inline]
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Duration {
    type Output = Self;
    #[inline]
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ps = self.0;
        if *self == Self::NEVER {
            write!(f, "never")
        } else if ps >= 1_000_000_000_000 {
            write!(f, "{} s", ps as f64 / 1e12)
        } else if ps >= 1_000_000_000 {
            write!(f, "{} ms", ps as f64 / 1e9)
        } else {
            write!(f, "{} us", ps as f64 / 1e6)
        }
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_of_spans_stays_never_and_does_not_wrap() {
        assert_eq!(Duration::NEVER + Duration::from_us(1), Duration::NEVER);
        let mut timeout = Duration::from_ps(u64::MAX - 1);
        timeout += Duration::from_ps(5);
        assert_eq!(timeout, Duration::NEVER);
        assert_eq!(Duration::from_secs(1 << 20) * (1 << 20), Duration::NEVER);
    }

    #[test]
    #[should_panic(expected = "a span below zero")]
    fn a_difference_of_spans_is_not_below_zero() {
        let _ = Duration::from_us(1) - Duration::from_us(2);
    }

    #[test]
    fn a_saturating_difference_of_spans_is_zero_at_least() {
        let (short, long) = (Duration::from_us(1), Duration::from_us(3));
        assert_eq!(short.saturating_sub(long), Duration::ZERO);
        assert_eq!(long.saturating_sub(short), Duration::from_us(2));
    }

    #[test]
    fn the_unit_of_the_text_follows_the_size() {
        assert_eq!(Duration::from_ns(1_500).to_string(), "1.5 us");
        assert_eq!(Duration::from_us(1_500).to_string(), "1.5 ms");
        assert_eq!(Duration::from_ms(1_500).to_string(), "1.5 s");
        assert_eq!(Duration::NEVER.to_string(), "never");
    }
}

//! Link rates, and the exact time that a frame takes on a link.

use serde::{Deserialize, Serialize};

use crate::Duration;

/// A rate in bit/s. The rate of a link is greater than zero.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Rate(u64);

impl Rate {
    /// From bit/s.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// In bit/s.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// The time that `bytes` take at this rate, rounded down; [`Duration::NEVER`] if it does not fit, as at a rate of
    /// zero.
    #[inline]
    pub fn time_of(self, bytes: u64) -> Duration {
        let ps = (u128::from(bytes) * 8_000_000_000_000).checked_div(u128::from(self.0));
        let ps = ps.and_then(|ps| u64::try_from(ps).ok());
        ps.map_or(Duration::NEVER, Duration::from_ps)
    }
}

/// Converts bytes to time on a link, and carries the rounding remainder over to the next frame.
///
/// The time of a byte is kept in units of 2^-32 ps. At 1 Gbit/s, ten seconds of back-to-back frames are off by less
/// than one picosecond in total, whatever the clock error.
#[derive(Clone, Debug)]
pub struct Serializer {
    /// time of a byte, in 2^-32 ps
    byte: u64,
    /// remainder of the last frame, in 2^-32 ps; below 2^32
    remainder: u64,
}

impl Serializer {
    /// A link of `rate` whose clock runs fast by `clock_error_ppb` parts in 10^9 (slow if it is negative). IEEE 802.3
    /// allows ±100 ppm.
    ///
    /// # Panics
    /// If `rate` is below 2 kbit/s: the time of a byte would not fit into the fixed-point format.
    pub fn new(rate: Rate, clock_error_ppb: i32) -> Self {
        let real_nano_bps =
            u128::from(rate.as_bps()) * (1_000_000_000_i64 + i64::from(clock_error_ppb)) as u128;
        assert!(real_nano_bps > 0, "a link needs a rate above zero");
        let byte = ((8_000_000_000_000_u128 * 1_000_000_000) << 32) / real_nano_bps;
        let byte = u64::try_from(byte).expect("a link's rate is at least 2 kbit/s");
        Self { byte, remainder: 0 }
    }

    /// The time that `bytes` take on the link in total, rounded down. The remainder is not carried.
    pub fn time_of(&self, bytes: u64) -> Duration {
        Duration::from_ps(((u128::from(self.byte) * u128::from(bytes)) >> 32) as u64)
    }

    /// The time that the next `bytes` take on the link. Carries the remainder over.
    #[inline]
    pub fn take(&mut self, bytes: u32) -> Duration {
        let fine = u128::from(self.byte) * u128::from(bytes) + u128::from(self.remainder);
        self.remainder = fine as u64 & 0xffff_ffff;
        Duration::from_ps((fine >> 32) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_frame_with_its_framing_takes_12_304_ns_at_1_gbit() {
        // 1500 + 14 + 4 + 8 + 12 bytes, 8 ns each
        let mut link = Serializer::new(Rate::from_bps(1_000_000_000), 0);
        assert_eq!(link.take(1538), Duration::from_ns(12_304));
    }

    #[test]
    fn a_time_that_does_not_fit_is_never() {
        let slow = Rate::from_bps(2_000);
        assert_eq!(slow.time_of(1), Duration::from_ms(4));
        // 213 days at 2 kbit/s are 4.6 GB
        assert_eq!(slow.time_of(4_000_000_000), Duration::from_secs(16_000_000));
        assert_eq!(slow.time_of(5_000_000_000), Duration::NEVER);
        assert_eq!(Rate::default().time_of(1), Duration::NEVER);
        assert_eq!(Rate::from_bps(u64::MAX).time_of(1), Duration::ZERO);
    }

    #[test]
    fn an_odd_rate_does_not_drift() {
        // at 3 Mbit/s a byte takes 2,666,666.67 ps; 3 million bytes take exactly 8 s
        let mut link = Serializer::new(Rate::from_bps(3_000_000), 0);
        let total: u64 = (0..3000).map(|_| link.take(1000).as_ps()).sum();
        assert!(Duration::from_secs(8).as_ps() - total <= 1, "{total}");
    }

    #[test]
    fn a_clock_100_ppm_fast_gains_a_microsecond_in_ten_milliseconds() {
        let mut exact = Serializer::new(Rate::from_bps(1_000_000_000), 0);
        let mut fast = Serializer::new(Rate::from_bps(1_000_000_000), 100_000);
        let sent = |link: &mut Serializer| (0..1250).map(|_| link.take(1000).as_ps()).sum::<u64>();
        let gained = sent(&mut exact) - sent(&mut fast);
        assert!((999_000..=1_000_000).contains(&gained), "{gained} ps");
    }
}

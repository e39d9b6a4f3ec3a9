//! Shared by BIC and CUBIC: how Linux before 3.13 corrected for counting ACKs instead of segments, and how long an
//! increase rate is kept.

use fairport_units::Duration;

/// How long a computed increase rate is kept while the window does not change: HZ/32.
pub(super) const RATE_HOLDS: Duration = Duration::from_ps(31_250_000_000);

/// Linux's running estimate of segments per ACK: sixteenths of a segment, smoothed by 1/16.
#[derive(Clone, Debug)]
pub(super) struct AckRatio(u32);

impl AckRatio {
    /// Fractional bits of the estimate: sixteenths.
    pub(super) const SHIFT: u32 = 4;

    pub(super) fn new() -> Self {
        Self(2 << Self::SHIFT)
    }

    /// Takes in an ACK of `segments` segments.
    #[inline]
    pub(super) fn sample(&mut self, segments: u32) {
        // as in the kernel, the ratio settles where its whole part equals the sample
        let ratio = self.0 + segments.min(u32::from(u16::MAX));
        self.0 = ratio - (self.0 >> Self::SHIFT);
    }

    /// Converts a count of segments into a count of ACKs.
    pub(super) fn correct(&self, count: u64) -> u64 {
        (count << Self::SHIFT) / u64::from(self.0.max(1))
    }
}

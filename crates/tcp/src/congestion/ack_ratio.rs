//! What BIC and CUBIC have in common: how Linux before 3.13 corrected for counting ACKs instead of
//! segments, and for how long an increase rate holds.

use fairport_units::Duration;

/// How long an increase rate holds while the window stays the same: HZ/32.
pub(super) const RATE_HOLDS: Duration = Duration::from_ps(31_250_000_000);

/// Linux's running estimate of segments per ACK: sixteenths of a segment, smoothed by 1/16.
#[derive(Clone, Debug)]
pub(super) struct AckRatio(u32);

impl AckRatio {
    /// Sixteenths.
    pub(super) const SHIFT: u32 = 4;

    pub(super) fn new() -> Self {
        Self(2 << Self::SHIFT)
    }

    /// An ACK acknowledged so many segments.
    #[inline]
    pub(super) fn sample(&mut self, segments: u32) {
        // as in the kernel, the ratio settles where its whole part equals the sample
        let ratio = self.0 + segments.min(u32::from(u16::MAX));
        self.0 = ratio - (self.0 >> Self::SHIFT);
    }

    /// A number of segments as a number of ACKs.
    pub(super) fn correct(&self, count: u64) -> u64 {
        (count << Self::SHIFT) / u64::from(self.0.max(1))
    }
}

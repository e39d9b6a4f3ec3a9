//! Round-trip times as seen by a tap in the middle: the time to one end and back, and the time to the other end and
//! back.
//!
//! Each is measured by the first packet that echoes a timestamp (RFC 7323), by the handshake, and towards the receiver
//! by the ACK of a segment that was sent only once (Karn).

/// Number of timestamps whose first appearance is remembered.
const STAMPS: usize = 8;

/// The time from the tap to an end and back.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Leg {
    /// smoothed in the same way as TCP smooths samples (RFC 6298 2.3)
    smoothed_ns: Option<f64>,
    /// mean deviation of the samples
    deviation_ns: f64,
    /// values of this end's clock and when they were first seen; a time of 0 means that an echo has been seen
    stamps: [(u32, u64); STAMPS],
    newest: u8,
    has_stamp: bool,
}

impl Leg {
    /// Reads the times of the first and the last timestamp in the list.
    #[inline]
    pub(crate) fn stamped_ns(&self) -> u64 {
        self.stamps[0].1 ^ self.stamps[STAMPS - 1].1
    }

    /// A packet from this end carries `value` of its clock.
    #[inline]
    pub(crate) fn stamp(&mut self, value: u32, now_ns: u64) {
        let (newest, _) = self.stamps[usize::from(self.newest)];
        if !self.has_stamp || value.wrapping_sub(newest).cast_signed() > 0 {
            self.has_stamp = true;
            self.newest = (self.newest + 1) % STAMPS as u8;
            self.stamps[usize::from(self.newest)] = (value, now_ns);
        }
    }

    /// The other end echoes `value`. Returns the time since it was first seen, if this is its first echo.
    #[inline]
    pub(crate) fn echoed(&mut self, value: u32, now_ns: u64) -> Option<u64> {
        let newest = usize::from(self.newest);
        for back in 0..STAMPS {
            let stamp = &mut self.stamps[(newest + STAMPS - back) % STAMPS];
            if stamp.0 == value {
                let seen_ns = std::mem::take(&mut stamp.1);
                return (seen_ns > 0).then(|| now_ns.saturating_sub(seen_ns));
            }
            if value.wrapping_sub(stamp.0).cast_signed() > 0 {
                return None;
            }
        }
        None
    }

    /// Adds a sample of the time to this end and back. An end without data to send may answer late, so a sample counts
    /// for at most twice the typical value.
    #[inline]
    pub(crate) fn add(&mut self, sample_ns: u64) {
        let sample = sample_ns as f64;
        self.smoothed_ns = Some(match self.smoothed_ns {
            None => sample,
            Some(smoothed) => {
                let error = sample.min(2.0 * smoothed) - smoothed;
                self.deviation_ns += (error.abs() - self.deviation_ns) / 4.0;
                smoothed + error / 8.0
            }
        });
    }

    /// The mean deviation of the time, smoothed in the same way.
    #[inline]
    pub(crate) fn deviation_ns(&self) -> u64 {
        self.deviation_ns as u64
    }

    /// The newest value of this end's clock.
    #[inline]
    pub(crate) fn newest_stamp(&self) -> Option<u32> {
        self.has_stamp
            .then_some(self.stamps[usize::from(self.newest)].0)
    }

    /// The typical time. None without samples.
    #[inline]
    pub(crate) fn typical_ns(&self) -> Option<u64> {
        self.smoothed_ns.map(|smoothed| smoothed as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_echo_of_a_stamp_is_a_sample() {
        let mut leg = Leg::default();
        leg.stamp(7, 1_000);
        leg.stamp(7, 1_500);
        leg.stamp(8, 2_000);
        assert_eq!(leg.echoed(7, 4_000), Some(3_000));
        assert_eq!(leg.echoed(7, 5_000), None);
        assert_eq!(leg.echoed(8, 5_000), Some(3_000));
        assert_eq!(leg.echoed(9, 6_000), None);
    }

    #[test]
    fn a_clock_that_wraps_goes_on() {
        let mut leg = Leg::default();
        leg.stamp(u32::MAX, 10);
        leg.stamp(0, 20);
        assert_eq!(
            (leg.echoed(u32::MAX, 30), leg.echoed(0, 50)),
            (Some(20), Some(30))
        );
    }

    #[test]
    fn a_late_answer_counts_for_twice_what_is_typical() {
        let mut leg = Leg::default();
        assert_eq!(leg.typical_ns(), None);
        leg.add(800);
        leg.add(1_000_000);
        assert_eq!(leg.typical_ns(), Some(900));
    }
}

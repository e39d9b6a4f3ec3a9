//! The window: twice the product of bandwidth and smallest round-trip time, plus what the hosts need to keep sending
//! while ACKs are late.

use fairport_units::Instant;

use super::bandwidth::{Bandwidth, UNIT_GAIN};
use super::{Bbr, Mode, Window};
use crate::delivery_rate::RateSample;
use crate::recovery::State;

/// Smallest window in segments: two flights of two segments, since a receiver acknowledges every second one.
pub(super) const WINDOW_MIN: u64 = 4;
/// The window while no round-trip time is known, in segments.
const WINDOW_INITIAL: u64 = 10;
/// Segments delivered before the window is limited: the kernel counts the SYN as one more.
const WINDOW_UNLIMITED: u64 = WINDOW_INITIAL - 1;
/// Pacing rate in bytes per second below which segments are sent one at a time: 1.2 Mbit/s.
const SINGLE_BELOW: u64 = 150_000;
/// A burst takes 1/1024 s at the pacing rate, within limits in bytes and in segments (`bbr_tso_segs_goal`).
const BURST_SHIFT: u32 = 10;
const BURST_BYTES_MAX: u64 = 65_536 - 1 - 320;
const BURST_SEGMENTS_MAX: u64 = 127;

impl Bbr {
    /// Size of a burst on a host with segmentation offload, in the window's unit.
    fn quantum(&self) -> u64 {
        let least = if self.pace.rate < SINGLE_BELOW { 1 } else { 2 };
        let bytes = (self.pace.rate >> BURST_SHIFT).min(BURST_BYTES_MAX);
        (bytes / self.segment_bytes).clamp(least, BURST_SEGMENTS_MAX) * self.unit
    }

    /// The product of bandwidth, gain and smallest round-trip time, in whole segments.
    fn product(&self, bandwidth: Bandwidth, gain: u64) -> u64 {
        match self.min_rtt.value {
            Some(rtt) => bandwidth.amount_at(gain, rtt).next_multiple_of(self.unit),
            None => WINDOW_INITIAL * self.unit,
        }
    }

    /// Adds what the hosts hold: three bursts, rounded up to an even number of segments for delayed ACKs.
    fn with_bursts(&self, amount: u64) -> u64 {
        let whole = (amount + 3 * self.quantum()).next_multiple_of(2 * self.unit);
        let probes = self.mode == Mode::ProbeBandwidth && self.cycle.phase == 0;
        whole + if probes { 2 * self.unit } else { 0 }
    }

    /// Target for the data in flight at a bandwidth and a gain.
    pub(super) fn flight(&self, bandwidth: Bandwidth, gain: u64) -> u64 {
        self.with_bursts(self.product(bandwidth, gain))
    }

    /// The part of `in_flight` that is still in the network when the pacer releases the next segment.
    pub(super) fn in_network(&self, now: Instant, in_flight: u64, next_departure: Instant) -> u64 {
        let delivered = self.estimate().amount(next_departure.saturating_sub(now));
        let burst = if self.pace.gain > UNIT_GAIN {
            self.quantum()
        } else {
            0
        };
        (in_flight + burst).saturating_sub(delivered)
    }

    /// `bbr_set_cwnd`
    pub(super) fn set_window(&mut self, window: &mut Window, state: State, sample: &RateSample) {
        let newly = sample.newly_delivered;
        if newly > 0 && !self.recover(window, state, sample) {
            let target = self.target();
            if self.full_pipe.reached {
                window.cwnd = (window.cwnd + newly).min(target);
            } else if window.cwnd < target || sample.totals.delivered < WINDOW_UNLIMITED * self.unit
            {
                window.cwnd += newly;
            }
            window.cwnd = window.cwnd.max(WINDOW_MIN * self.unit);
        }
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(WINDOW_MIN * self.unit);
        }
    }

    pub(super) fn target(&self) -> u64 {
        let estimate = self.estimate();
        let mut target = self.product(estimate, self.pace.window_gain);
        if self.full_pipe.reached {
            target += self.aggregation.allowance(estimate);
        }
        self.with_bursts(target)
    }

    /// In the first round of a recovery, sends only as much as is delivered. When the recovery ends, restores the
    /// window. Returns true in that first round (`bbr_set_cwnd_to_recover_or_restore`).
    fn recover(&mut self, window: &mut Window, state: State, sample: &RateSample) -> bool {
        let kept = sample.in_flight + sample.newly_delivered;
        if sample.newly_lost > 0 {
            window.cwnd = window.cwnd.saturating_sub(sample.newly_lost).max(self.unit);
        }
        if state == State::Fast && self.recovery.state != State::Fast {
            self.recovery.conserves = true;
            self.round.end = sample.totals.delivered;
            window.cwnd = kept;
        } else if self.recovery.state != State::Open && state == State::Open {
            window.cwnd = window.cwnd.max(self.recovery.window_before);
            self.recovery.conserves = false;
        }
        self.recovery.state = state;
        if self.recovery.conserves {
            window.cwnd = window.cwnd.max(kept);
        }
        self.recovery.conserves
    }
}

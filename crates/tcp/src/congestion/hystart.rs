//! HyStart (Ha and Rhee 2011) as Linux has it: slow start ends when the round-trip time grows, or
//! when the train of ACKs of one round is longer than half of the smallest round-trip time. This is not the HyStart++ of
//! RFC 9406, which goes on in a slower slow start, has other limits and no trains.
//!
//! Since 5.6 the kernel adds an allowance for segmentation offload: short flights begin with small bursts, and the time
//! that larger bursts take to build up is not queueing delay.

use fairport_units::{Duration, Instant};

use super::{AckSample, Setup, Window};
use crate::decision::DecisionCause;
use crate::settings::Pacing;

/// Window in segments below which HyStart does not end slow start.
const LOW_WINDOW: u64 = 16;
/// Samples at the beginning of a round that are compared by their minimum.
const MIN_SAMPLES: u32 = 8;
/// How much the delay must grow: an eighth of the smallest round-trip time, within these limits.
const DELAY_MIN: Duration = Duration::from_ms(4);
const DELAY_MAX: Duration = Duration::from_ms(16);
/// ACKs closer than this belong to one train.
const TRAIN_GAP: Duration = Duration::from_ms(2);
/// Allowance for bursts in a train: four times `GSO_MAX_SIZE` at the pacing rate, at most 1 ms.
const BURSTS_BYTES: u64 = 4 * 65_536;
const BURSTS_MAX: Duration = Duration::from_ms(1);

/// What the allowance for bursts depends on.
#[derive(Clone, Copy, Debug)]
struct AckDelay {
    /// payload of a segment, in bytes
    segment_bytes: u64,
    /// segments are paced, which spreads a train by as much as half a round trip
    paced: bool,
}

#[derive(Debug)]
pub(super) struct HyStart {
    /// none: as in kernels before 5.6
    ack_delay: Option<AckDelay>,
    found: bool,
    /// the round ends when this position is acknowledged
    round_end: u64,
    round_start: Instant,
    last_ack: Instant,
    /// smallest of the round's first samples, and their number
    rtt: Duration,
    samples: u32,
}

impl HyStart {
    pub(super) fn new(setup: &Setup<'_>) -> Self {
        let settings = setup.settings;
        Self {
            ack_delay: settings.hystart_ack_delay.then(|| AckDelay {
                segment_bytes: u64::from(setup.segment_bytes),
                paced: settings.pacing != Pacing::Off,
            }),
            found: false,
            round_end: 0,
            round_start: Instant::ZERO,
            last_ack: Instant::ZERO,
            rtt: Duration::NEVER,
            samples: 0,
        }
    }

    /// A timeout: slow start may end again. The round that begins now lasts until all that was sent before is repaired.
    pub(super) fn on_timeout(&mut self, now: Instant, nxt: u64) {
        self.found = false;
        self.begin_round(now, nxt);
    }

    /// `bictcp_hystart_reset`
    fn begin_round(&mut self, now: Instant, nxt: u64) {
        self.round_end = nxt;
        self.round_start = now;
        self.last_ack = now;
        self.rtt = Duration::NEVER;
        self.samples = 0;
    }

    /// Whether slow start ends with this ACK, and why. It ends only once.
    pub(super) fn ends_slow_start(
        &mut self,
        window: &Window,
        rtt: Duration,
        delay_min: Duration,
        sample: &AckSample,
    ) -> Option<DecisionCause> {
        if self.found {
            return None;
        }
        if sample.una > self.round_end {
            self.begin_round(sample.now, sample.nxt);
        }
        if window.segments() < LOW_WINDOW {
            return None;
        }
        // call both: each updates its own state
        let train = self.train_is_long(window, delay_min, sample);
        let delay = self.delay_grew(rtt, delay_min);
        self.found = train || delay;
        if train {
            Some(DecisionCause::HystartTrain)
        } else {
            delay.then_some(DecisionCause::HystartDelay)
        }
    }

    fn train_is_long(&mut self, window: &Window, delay_min: Duration, sample: &AckSample) -> bool {
        let now = sample.now;
        if now.saturating_sub(self.last_ack) > TRAIN_GAP {
            return false;
        }
        self.last_ack = now;
        let limit = match self.ack_delay {
            None => delay_min / 2,
            Some(it) => {
                let limit = delay_min + it.of_bursts(window, sample.srtt);
                if it.paced { limit } else { limit / 2 }
            }
        };
        now.saturating_sub(self.round_start) > limit
    }

    fn delay_grew(&mut self, rtt: Duration, delay_min: Duration) -> bool {
        self.rtt = self.rtt.min(rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        let growth = (delay_min / 8).clamp(DELAY_MIN, DELAY_MAX);
        self.rtt > delay_min + growth
    }
}

impl AckDelay {
    /// The time that the allowed bursts take at the pacing rate of slow start, which is 200 % of the window per round
    /// trip (`hystart_ack_delay`).
    fn of_bursts(self, window: &Window, srtt: Option<Duration>) -> Duration {
        let rate_bytes = 2 * window.segments() * self.segment_bytes;
        let srtt = srtt.unwrap_or(Duration::ZERO).as_ps();
        let span = u128::from(srtt) * u128::from(BURSTS_BYTES) / u128::from(rate_bytes.max(1));
        Duration::from_ps(u64::try_from(span).unwrap_or(u64::MAX)).min(BURSTS_MAX)
    }
}

#[cfg(test)]
mod tests;

//! The smallest round-trip time. If it has not been seen for ten seconds, the flight shrinks to four segments for a
//! moment to measure it. Flows that do so at the same time see the path without a queue.

use fairport_units::{Duration, Instant};

use super::window::WINDOW_MIN;
use super::{Bbr, Mode, Window};
use crate::decision::DecisionCause;
use crate::delivery_rate::RateSample;

/// How long a smallest round-trip time stays valid.
const MIN_RTT_LASTS: Duration = Duration::from_secs(10);
/// How long the flight is kept small to measure it.
const PROBE_RTT_LASTS: Duration = Duration::from_ms(200);

impl Bbr {
    pub(super) fn update_min_rtt(
        &mut self,
        now: Instant,
        window: &mut Window,
        sample: &RateSample,
    ) {
        let expired = self.is_past(now, self.min_rtt.at + MIN_RTT_LASTS);
        if let Some(rtt) = sample.rtt {
            // an equal one does not count (since 5.10): on a steady path the probe would never come
            let lower = self.min_rtt.value.is_none_or(|known| rtt < known);
            if lower || (expired && !sample.ack_delayed) {
                self.min_rtt.value = Some(rtt);
                self.min_rtt.at = now.last_tick(self.min_rtt.tick);
            }
        }
        if expired && !self.restarts && self.mode != Mode::ProbeRtt {
            let cause = DecisionCause::MinRttExpired;
            self.enter(window, now, Mode::ProbeRtt, cause);
            self.keep_window(window);
            self.min_rtt.probe_end = None;
        }
        self.min_rtt.is_probed = self.mode == Mode::ProbeRtt;
        if self.min_rtt.is_probed {
            self.hold_small(now, window, sample);
        }
        self.restarts &= sample.delivered == 0;
    }

    /// Whether the clock shows a later tick than `end`, which is one of its ticks (`after(tcp_jiffies32, ..)`).
    fn is_past(&self, now: Instant, end: Instant) -> bool {
        now >= end + self.min_rtt.tick
    }

    /// Keeps the flight small for 200 ms and at least one round.
    fn hold_small(&mut self, now: Instant, window: &mut Window, sample: &RateSample) {
        if self.min_rtt.probe_end.is_some() {
            self.min_rtt.probe_round_done |= self.round.starts;
            if self.min_rtt.probe_round_done {
                self.end_probe_rtt(now, window);
            }
        } else if sample.in_flight <= WINDOW_MIN * self.unit {
            self.min_rtt.probe_end = Some(now.last_tick(self.min_rtt.tick) + PROBE_RTT_LASTS);
            self.min_rtt.probe_round_done = false;
            self.round.end = sample.totals.delivered;
        }
    }

    /// Lets the flight grow again, unless the 200 ms are not over.
    pub(super) fn end_probe_rtt(&mut self, now: Instant, window: &mut Window) {
        if self
            .min_rtt
            .probe_end
            .is_none_or(|end| !self.is_past(now, end))
        {
            return;
        }
        self.min_rtt.at = now.last_tick(self.min_rtt.tick);
        let mode = if self.full_pipe.reached {
            Mode::ProbeBandwidth
        } else {
            Mode::Startup
        };
        self.enter(window, now, mode, DecisionCause::MinRttMeasured);
        window.cwnd = window.cwnd.max(self.recovery.window_before);
    }
}

//! The congestion window, its threshold, and the growth rules that algorithms share.

use fairport_units::Instant;

use super::AckSample;
use crate::decision::{Decision, DecisionCause, DecisionKind};
use crate::recovery::State;
use crate::report::Events;
use crate::settings::{Settings, WindowUnit};

/// The congestion window and the slow-start threshold, in segments or bytes ([`Self::unit`]).
#[derive(Clone, Debug)]
#[repr(C)] // what every ACK reads comes first, what waits to be passed on last
pub struct Window {
    /// The congestion window.
    pub cwnd: u64,
    /// The slow-start threshold; `u64::MAX` before the first loss.
    pub ssthresh: u64,
    /// one full segment: 1, or its bytes
    unit: u64,
    /// data acknowledged since the last increase in congestion avoidance, in the window's unit
    count: u64,
    /// the part of the present ACK that slow start did not use to reach the threshold
    left: u64,
    /// the most by which one ACK grows the window in slow start
    abc_limit: u64,
    /// the initial window
    initial: u64,
    /// payload of a full segment
    segment_bytes: u16,
    /// grow by the data acknowledged (RFC 3465), not by the number of ACKs
    abc: bool,
    /// number of decisions in `pending`
    waiting: u8,
    pending: Pending,
}

/// Decisions that were made and not yet passed to [`Events`]. They wait here until the present event has been handled,
/// so that algorithms need no access to the listener and nothing is allocated.
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// the window when the first of them was made
    cwnd_before: u64,
    /// when the first of them was made; never: at the time of the present event
    at: Instant,
    list: [(DecisionKind, DecisionCause); Pending::MOST],
}

impl Pending {
    const MOST: usize = 4;

    const NONE: Self = Self {
        cwnd_before: 0,
        at: Instant::NEVER,
        list: [(DecisionKind::Custom, DecisionCause::Custom); Self::MOST],
    };
}

/// Full segments by which one ACK may grow the window under ABC, in the slow start after a timeout (RFC 3465 2.3).
/// Applies only if there is a limit at all.
const ABC_LIMIT_AFTER_TIMEOUT: u64 = 1;

/// The smallest threshold, in segments (RFC 5681 equation 4).
const LEAST_THRESHOLD: u64 = 2;

impl Window {
    /// The initial window, for segments with `segment_bytes` of payload.
    pub fn new(settings: &Settings, segment_bytes: u16) -> Self {
        let unit = match settings.window_unit {
            WindowUnit::Segments => 1,
            WindowUnit::Bytes => u64::from(segment_bytes),
        };
        let initial = u64::from(settings.initial_window_segments) * unit;
        Self {
            cwnd: initial,
            ssthresh: u64::MAX,
            unit,
            initial,
            abc_limit: match settings.abc_limit_segments {
                0 => u64::MAX,
                limit => u64::from(limit) * unit,
            },
            count: 0,
            left: u64::MAX,
            segment_bytes,
            abc: settings.abc,
            waiting: 0,
            pending: Pending::NONE,
        }
    }

    /// One full segment in the window's unit: 1, or its bytes.
    #[inline]
    pub fn unit(&self) -> u64 {
        self.unit
    }

    /// The initial window, in the window's unit.
    pub fn initial(&self) -> u64 {
        self.initial
    }

    /// The window in whole segments.
    #[inline]
    pub fn segments(&self) -> u64 {
        if self.unit == 1 {
            self.cwnd
        } else {
            self.cwnd / self.unit
        }
    }

    /// Converts an amount in the window's unit into bytes of payload.
    pub fn bytes(&self, amount: u64) -> u64 {
        match self.unit {
            1 => amount.saturating_mul(u64::from(self.segment_bytes)),
            _ => amount,
        }
    }

    /// Whether the window is below the threshold. RFC 5681 allows either algorithm when both are equal; this is
    /// congestion avoidance here. Linux before 3.13 ran slow start.
    #[inline]
    pub fn is_in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// NewReno's growth (RFC 5681 3.1): slow start, then one segment per window of data.
    #[inline]
    pub fn grow_as_newreno(&mut self, ack: &AckSample) {
        if ack.may_grow() && !self.slow_start(ack) {
            self.grow_one_per(self.cwnd, ack);
        }
    }

    /// Grows the window for an ACK in slow start: by one segment (RFC 5681 3.1), or under ABC by the data acknowledged,
    /// within a limit. Returns false in congestion avoidance. If one ACK crosses the threshold and there is no limit,
    /// what remains of it counts in congestion avoidance (`tcp_slow_start`).
    #[inline]
    pub fn slow_start(&mut self, ack: &AckSample) -> bool {
        if !self.is_in_slow_start() {
            return false;
        }
        let before = self.cwnd;
        if self.abc {
            let limit = match ack.state {
                State::Loss if self.abc_limit < u64::MAX => ABC_LIMIT_AFTER_TIMEOUT * self.unit,
                _ => self.abc_limit,
            };
            let grown = self.cwnd + ack.acked.min(limit);
            self.cwnd = grown.min(self.ssthresh);
        } else {
            self.cwnd += self.unit;
        }
        if self.cwnd >= self.ssthresh {
            self.publish(
                ack.now,
                DecisionKind::SlowStartEnd,
                DecisionCause::Threshold,
            );
            let used = self.cwnd - before;
            if self.abc && self.abc_limit == u64::MAX && used < ack.acked {
                self.left = ack.acked - used;
                return false;
            }
        }
        true
    }

    /// The part of an ACK that counts in congestion avoidance.
    #[inline]
    pub(super) fn counted(&self, ack: &AckSample) -> u64 {
        ack.acked.min(self.left)
    }

    /// Congestion avoidance: grows by one segment for every `every` of acknowledged data, in the window's unit. The
    /// part of the ACK that slow start used does not count. Without ABC each ACK counts as a full segment, and the
    /// window grows on the ACK after the last counted one, as in Linux before 3.13.
    ///
    /// # Panics
    /// If `every` is 0: the window would grow without end.
    #[inline]
    pub fn grow_one_per(&mut self, every: u64, ack: &AckSample) {
        if !self.abc {
            if self.count >= every {
                self.cwnd += self.unit;
                self.count = 0;
            } else {
                self.count += self.unit;
            }
            return;
        }
        if self.count >= every {
            // counted while `every` was larger; it is worth one segment, as in Linux
            self.count = 0;
            self.cwnd += self.unit;
        }
        self.count += self.counted(ack);
        self.left = u64::MAX;
        while self.count >= every {
            assert!(every > 0, "the window would grow without end");
            self.count -= every;
            self.cwnd += self.unit;
        }
    }

    /// Sets the slow-start threshold, at least two segments (RFC 5681 equation 4).
    pub fn lower_threshold(&mut self, ssthresh: u64) {
        self.ssthresh = ssthresh.max(LEAST_THRESHOLD * self.unit);
        self.count = 0;
    }

    /// Sets the window to one segment, at a timeout.
    pub(super) fn collapse(&mut self) {
        self.cwnd = self.unit;
        self.count = 0;
    }

    /// Raises the threshold to at least three quarters of the present window, because that much was in use
    /// (`tcp_current_ssthresh`).
    pub(super) fn remember_in_threshold(&mut self) {
        self.ssthresh = self.ssthresh.max(self.cwnd / 2 + self.cwnd / 4);
    }

    /// Publishes a decision that was made at `now`; it appears in the table `decisions`. Call it before the window
    /// changes. Up to four decisions are kept per event, and more are dropped.
    pub fn publish(&mut self, now: Instant, what: DecisionKind, cause: DecisionCause) {
        if self.waiting == 0 {
            self.pending.at = now;
        }
        self.note(what, cause);
    }

    /// Publishes a decision that is made at the present event.
    pub(super) fn note(&mut self, what: DecisionKind, cause: DecisionCause) {
        let pending = &mut self.pending;
        if self.waiting == 0 {
            pending.cwnd_before = self.cwnd;
        }
        if let Some(free) = pending.list.get_mut(usize::from(self.waiting)) {
            *free = (what, cause);
            self.waiting += 1;
        }
    }

    /// Whether decisions wait to be passed on.
    #[inline]
    pub(super) fn has_pending(&self) -> bool {
        self.waiting > 0
    }

    /// Passes the waiting decisions on, with the window as it is now.
    #[cold]
    #[inline(never)]
    pub(super) fn pass_pending(&mut self, now: Instant, events: &mut impl Events) {
        let pending = std::mem::replace(&mut self.pending, Pending::NONE);
        let waiting = std::mem::take(&mut self.waiting);
        for (what, cause) in pending.list.into_iter().take(waiting.into()) {
            let decision = self.decision(what, cause, pending.cwnd_before);
            events.decision(now.min(pending.at), decision);
        }
    }

    /// A decision that changed the window from `cwnd_before` to what it is now.
    pub(crate) fn decision(
        &self,
        what: DecisionKind,
        cause: DecisionCause,
        cwnd_before: u64,
    ) -> Decision {
        Decision {
            what,
            cause,
            cwnd_before_bytes: self.bytes(cwnd_before),
            cwnd_after_bytes: self.bytes(self.cwnd),
            ssthresh_bytes: self.bytes(self.ssthresh),
        }
    }
}

#[cfg(test)]
mod tests;

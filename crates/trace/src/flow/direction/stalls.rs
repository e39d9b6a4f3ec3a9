//! Silences of a sender: the stalls, by cause, and the pauses of a sender that is paced.

use super::Direction;
use crate::flow::report::Cause;

/// Shorter silences are not stalls.
const SHORTEST_STALL_NS: u64 = 1_000_000;

impl Direction {
    /// The time since the sender's last segment or the last ACK for it passed.
    #[inline]
    pub(super) fn quiet_ns(&self, now: u64) -> u64 {
        now.saturating_sub(self.last_sent_ns.max(self.acks.last_ns))
    }

    /// Notes how long this sender waits between an ACK and new data, or between two segments. A paced one, with no window
    /// to fill, may wait for longer than a round trip. After longer silences it had nothing to send.
    #[inline]
    pub(super) fn note_pause(&mut self, now: u64) {
        let silence = self.quiet_ns(now);
        let is_pause = self.una < self.next && silence as f64 <= 4.0 * self.srtt_ns;
        self.timer.note_pause(if is_pause { silence } else { 0 });
    }

    /// Adds the silence of this sender before `now` to the stalls, by cause.
    #[inline]
    pub(super) fn note_silence(&mut self, now: u64, by_timer: bool) {
        let silence = now.saturating_sub(self.last_sent_ns);
        if silence < SHORTEST_STALL_NS || (silence as f64) < 2.0 * self.srtt_ns {
            return;
        }
        let is_full = self.window.bytes().is_some_and(|window| {
            self.next + u64::from(self.counts.mss) > self.una + u64::from(window)
        });
        let cause = if by_timer {
            Cause::Timeout
        } else if self.counts.segments <= 1 {
            return; // no data was sent before
        } else if self.window.closed_ns() > self.last_sent_ns || (is_full && self.una < self.next) {
            Cause::Window
        } else if self.acks.has_any && self.una == self.next {
            Cause::Idle
        } else {
            Cause::Network
        };
        self.counts.stalled_ns[cause as usize] += silence;
        self.counts.stalls[cause as usize] += 1;
    }
}

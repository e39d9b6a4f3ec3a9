//! Whether the retransmission timer expired: it is not seen, but the silence before it is.

use fairport_tcp::Flags;

use super::Direction;
use crate::flow::events::Seen;
use crate::flow::report::Expiry;

/// If there is no sample of the round-trip time, a silence of this length indicates a timeout.
const UNKNOWN_RTT_NS: u64 = 3_000_000;

/// The sender's retransmission timer, and what shows that it expired.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timer {
    /// when it was last started
    started_ns: u64,
    /// expiries since the last progress
    in_a_row: u32,
    /// the first segment that was missing, at the receiver or at the tap, and when it was last sent again
    head: (u64, u64),
    /// when an ACK first showed that a segment sent after the head had arrived before it
    overtaken_ns: u64,
    /// recent silences before new data, the longest
    pause_ns: u64,
}

impl Timer {
    #[inline]
    pub(super) fn start(&mut self, now: u64) {
        self.started_ns = now;
    }

    /// An ACK acknowledges new data.
    #[inline]
    pub(super) fn on_progress(&mut self, now: u64) {
        self.started_ns = now;
        self.in_a_row = 0;
    }

    /// The first missing segment is sent again.
    pub(super) fn note_head(&mut self, start: u64, now: u64) {
        self.head = (start, now);
    }

    /// If the segment at `una` was sent again, and no ACK has shown since that a later one has arrived: when it was sent.
    pub(super) fn head_sent_ns(&self, una: u64) -> Option<u64> {
        let (start, sent_ns) = self.head;
        (start == una && self.overtaken_ns <= sent_ns).then_some(sent_ns)
    }

    /// An ACK shows that a segment sent after the head has arrived.
    pub(super) fn note_overtaken(&mut self, now: u64) {
        self.overtaken_ns = now;
    }

    /// New data passes after a silence of this length. The memory of earlier ones decays.
    #[inline]
    pub(super) fn note_pause(&mut self, silence: u64) {
        let recent = self.pause_ns - self.pause_ns / 8;
        self.pause_ns = recent.max(silence);
    }
}

impl Direction {
    /// Whether this segment was sent again because the retransmission timer expired. It must be the first outstanding
    /// one. In addition, either nothing had passed for a long time, or it had been sent again long before and was lost
    /// again while ACKs for other segments kept arriving. If these ACKs show that segments have arrived that were sent
    /// after it, the sender knows at once that it is lost (RFC 8985 6.2), and waits for no timer.
    pub(super) fn is_by_timer(
        &self,
        seen: &Seen<'_>,
        start: u64,
        other_leg_ns: Option<u64>,
    ) -> bool {
        if seen.packet.flags.contains(Flags::SYN) {
            return true;
        }
        if start > self.una.max(self.arrived.to()) {
            return false;
        }
        let now = seen.time_ns;
        let silence = self.quiet_ns(now);
        let answer_ns = self.longest_answer_ns(other_leg_ns);
        let (head, head_ns) = self.timer.head;
        let known_ns = head_ns.max(self.timer.overtaken_ns);
        if !self.acks.has_any {
            // what the sender learns by ACKs is not seen, and the round trip is that of the handshake
            return silence >= 2 * answer_ns;
        }
        silence >= answer_ns || (head == start && now.saturating_sub(known_ns) >= 2 * answer_ns)
    }

    pub(super) fn expire(&mut self, now: u64, start: u64) -> Expiry {
        let since_ns = if self.acks.has_any {
            self.timer.started_ns
        } else {
            self.last_sent_ns
        };
        let expiry = Expiry {
            since_ns,
            at_ns: now,
            backoff: self.timer.in_a_row,
            seq: start as u32,
        };
        self.timer.in_a_row += 1;
        self.counts.timeouts += 1;
        self.counts.timeout_ns += now.saturating_sub(since_ns);
        self.recover = self.next;
        self.timer.start(now);
        expiry
    }

    /// A segment that is sent again after a longer silence than this was triggered by a timer, not by an ACK. A sender
    /// reacts to an ACK within one round trip. The timer waits for longer than that (RFC 6298 2.3), although ACKs that
    /// do not restart it may arrive in the meantime.
    fn longest_answer_ns(&self, other_leg_ns: Option<u64>) -> u64 {
        let own = self.leg.typical_ns();
        let round_trip = match (own, other_leg_ns) {
            _ if self.srtt_ns > 0.0 => self.srtt_ns as u64,
            (Some(own), Some(other)) => own + other,
            (Some(one), None) | (None, Some(one)) => 2 * one,
            (None, None) => UNKNOWN_RTT_NS,
        };
        // an ACK that passes here takes this time to the sender and back
        let spread = 4 * self.leg.deviation_ns();
        (round_trip + spread.max(round_trip / 4)).max(2 * self.timer.pause_ns)
    }
}

//! Whether the retransmission timer expired: it is not seen, but the silence before it is.

use fairport_tcp::Flags;

use super::Half;
use crate::flow::events::Seen;
use crate::flow::report::Expiry;

/// If there is no sample of the round-trip time, a silence of this length indicates a timeout.
const UNKNOWN_RTT_NS: u64 = 3_000_000;

impl Half {
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
        let silence = now.saturating_sub(self.last_sent_ns.max(self.last_ack_ns));
        let answer_ns = self.longest_answer_ns(other_leg_ns);
        let (head, head_ns) = self.head;
        let known_ns = head_ns.max(self.overtaken_ns);
        if !self.has_acks {
            // what the sender learns by ACKs is not seen, and the round trip is that of the handshake
            return silence >= 2 * answer_ns;
        }
        silence >= answer_ns || (head == start && now.saturating_sub(known_ns) >= 2 * answer_ns)
    }

    pub(super) fn expire(&mut self, now: u64, start: u64) -> Expiry {
        let since_ns = if self.has_acks {
            self.timer_ns
        } else {
            self.last_sent_ns
        };
        let expiry = Expiry {
            since_ns,
            at_ns: now,
            backoff: self.in_a_row,
            seq: start as u32,
        };
        self.in_a_row += 1;
        self.counts.timeouts += 1;
        self.counts.timeout_ns += now.saturating_sub(since_ns);
        self.recover = self.next;
        self.timer_ns = now;
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
        (round_trip + spread.max(round_trip / 4)).max(2 * self.pause_ns)
    }
}

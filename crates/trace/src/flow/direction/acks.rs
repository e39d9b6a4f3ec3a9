//! The effects of the other end's acknowledgements.

use super::Direction;
use super::outstanding::Sent;
use crate::flow::events::{Ack, AckOutcome};

/// The ACKs that were seen so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Acks {
    pub(super) has_any: bool,
    has_sacks: bool,
    /// when the last one passed the tap
    pub(super) last_ns: u64,
    /// ACKs in a row that repeated the last one
    duplicates: u32,
    /// segments that were sent again and that the last ACK covers beyond the first outstanding one: the arrival of the
    /// first was enough for it, so these had arrived before if that ACK is repeated for them
    doubtful: u64,
}

impl Direction {
    /// Processes an acknowledgement by the other end.
    #[inline]
    pub(crate) fn on_ack(&mut self, ack: &Ack) -> AckOutcome {
        let mut outcome = AckOutcome::default();
        if !self.is_known {
            return outcome;
        }
        let now = ack.time_ns;
        let to = self.position(ack.to);
        self.window.note(ack, &mut self.counts);
        if to > self.next || to < self.base {
            // acknowledges data that nobody saw, or data that was sent before the capture began
            if to > self.next && to - self.next < 1 << 30 {
                outcome.unseen_bytes = self.arrived.advance(to);
                self.counts.unseen_bytes += outcome.unseen_bytes;
                self.counts.delivered_bytes += outcome.unseen_bytes;
                self.order.note_early(self.next, to, now);
                (self.next, self.una) = (to, to);
                self.sent.advance(to);
                self.outstanding.clear();
                self.acks.has_any = true;
            }
            return outcome;
        }
        self.acks.has_any = true;
        self.acks.has_sacks |= ack.sacks[0].is_some() || ack.sacks_cut;
        self.acks.last_ns = self.acks.last_ns.max(now);
        self.find_spurious(ack, to);
        if to > self.una {
            outcome.rtt_ns = self.acknowledge(ack, to);
            self.acks.duplicates = 0;
            outcome.unseen_bytes = self.arrived.advance(to);
            self.counts.unseen_bytes += outcome.unseen_bytes;
            self.counts.delivered_bytes += outcome.unseen_bytes;
        } else if to == self.una && !ack.has_data {
            self.on_repeated_ack(ack);
        }
        outcome
    }

    /// Processes an ACK that repeats the one before it.
    fn on_repeated_ack(&mut self, ack: &Ack) {
        if !self.acks.has_sacks {
            // a receiver answers each segment that it has twice at once (RFC 9293 3.10.7.4)
            self.counts.spurious += std::mem::take(&mut self.acks.doubtful);
        }
        if self.una < self.next {
            self.note_overtaking(ack);
            self.acks.duplicates += 1;
            self.counts.duplicate_acks += 1;
        }
    }

    /// Removes the acknowledged segments. Returns the time since the last of them passed, if all were sent once and
    /// none was missing.
    #[inline]
    fn acknowledge(&mut self, ack: &Ack, to: u64) -> Option<u64> {
        self.una = to;
        self.timer.on_progress(ack.time_ns);
        let mut last: Option<Sent> = None;
        let mut is_clean = self.acks.duplicates == 0 && ack.sacks[0].is_none();
        self.acks.doubtful = 0;
        while let Some(one) = self.outstanding.pop_before(to) {
            is_clean &= !one.is_retransmission;
            self.acks.doubtful += u64::from(one.is_retransmission && last.is_some());
            last = Some(one);
        }
        let last = last.filter(|_| is_clean)?;
        Some(ack.time_ns.saturating_sub(last.time_ns))
    }

    /// Notes the first ACK that shows the arrival of a segment sent after the first outstanding one was sent again.
    fn note_overtaking(&mut self, ack: &Ack) {
        let Some(sent_ns) = self.timer.head_sent_ns(self.una) else {
            return;
        };
        let mut arrived = ack.sacks.into_iter().flatten();
        let is_overtaken = arrived.any(|(from, until)| {
            let sacked = (self.position(from), self.position(until));
            self.outstanding.has_newer(sacked, sent_ns)
        });
        if is_overtaken {
            self.timer.note_overtaken(ack.time_ns);
        }
    }

    /// Counts retransmissions as needless if the receiver says that it already had the data, or answers the original.
    fn find_spurious(&mut self, ack: &Ack, to: u64) {
        if let [Some((from, until)), second] = ack.sacks {
            let (from, until) = (self.position(from), self.position(until));
            let second = second.map(|(from, until)| (self.position(from), self.position(until)));
            let is_duplicate =
                until <= to || second.is_some_and(|second| second.0 <= from && until <= second.1);
            if is_duplicate && from < until {
                self.counts.duplicate_sacks += 1;
                self.counts.spurious += self.retransmissions.count_twice(from, until);
                return;
            }
        }
        let una = self.una;
        self.counts.spurious += u64::from(
            self.retransmissions
                .is_answer_to_original(una, to, ack.echo),
        );
    }

    /// Adds a sample of the full round trip.
    #[inline]
    pub(crate) fn add_rtt(&mut self, rtt_ns: u64) {
        let sample = rtt_ns as f64;
        self.srtt_ns = match self.srtt_ns {
            0.0 => sample,
            srtt => srtt + (sample - srtt) / 8.0,
        };
    }
}

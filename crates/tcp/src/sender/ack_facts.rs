//! Collects the facts of an ACK for loss recovery and congestion control, and puts it on the scoreboard.

use fairport_units::{Duration, Instant};

use super::Sender;
use crate::recovery::{AckFacts, Dsack, NewData};
use crate::report::Events;
use crate::scoreboard::Acked;
use crate::segment::{Flags, SackBlock, Segment};
use crate::seq;

impl Sender {
    /// Puts the ACK on the scoreboard and collects its facts.
    #[inline]
    pub(super) fn collect(
        &mut self,
        facts: &mut AckFacts,
        segment: &Segment,
        window_changed: bool,
        events: &mut impl Events,
    ) {
        let is_marked = self.ecn.is_some() && segment.flags.contains(Flags::ECE);
        facts.marked = is_marked && facts.ack >= facts.from;
        facts.echoed = segment.options.timestamps().map(|it| it.ecr);
        if self.recovery.asks_for_new_data() {
            facts.new_data = NewData {
                unsent: self.has_unsent(),
                fits: self.peer.room(self.board.nxt()) > 0,
            };
        }
        if self.recovery.tracks_deliveries() {
            self.collect_deliveries(facts, segment, events);
        } else {
            self.collect_amounts(facts, segment, events);
        }
        facts.is_duplicate = !facts.advances
            && !facts.newly_sacked
            && !window_changed
            && segment.sequence_length() == 0;
    }

    /// Collects what the ACK acknowledges and SACKs.
    #[expect(clippy::inline_always, reason = "the hot path of a sender")]
    #[inline(always)]
    pub(super) fn collect_amounts(
        &mut self,
        facts: &mut AckFacts,
        segment: &Segment,
        events: &mut impl Events,
    ) {
        if facts.advances {
            let acked = self.remove_acknowledged(facts);
            facts.rtt = facts.rtt.or_else(|| self.echoed_rtt(facts.now, segment));
            self.note_rtt(facts.now, facts.rtt, facts.ack, events);
            if self.rto.samples_sack && facts.once {
                // congestion control uses the round-trip time of the segment delivered last (`ca_rtt_us`)
                let last = acked.sent_last.map(|sent| facts.since(sent));
                facts.rtt = last.or(facts.rtt);
            }
            facts.segments = self.recovery.newly_delivered(&self.board, acked.segments);
            let counted = u64::from(acked.segments - facts.segments);
            facts.delivered = acked.amount.saturating_sub(counted * self.board.unit());
        }
        if self.recovery.uses_sack() && segment.options.has_sacks() {
            facts.newly_sacked = self.mark_sacked(segment);
        }
    }

    /// Collects what the ACK acknowledges on a board that is
    /// [undisturbed](crate::scoreboard::Scoreboard::is_undisturbed).
    #[expect(clippy::inline_always, reason = "the hot path of a sender")]
    #[inline(always)]
    pub(super) fn collect_in_order(
        &mut self,
        facts: &mut AckFacts,
        segment: &Segment,
        events: &mut impl Events,
    ) {
        let now = facts.now;
        let (acked, last) = self.board.ack_in_order(facts.ack);
        self.rto.timeouts = 0;
        facts.segments = acked.segments;
        facts.delivered = acked.amount;
        facts.rtt = match acked.sent {
            Some(sent) => Some(facts.since(sent)),
            None => self.echoed_rtt(now, segment),
        };
        self.note_rtt(now, facts.rtt, facts.ack, events);
        if let Some(last) = last {
            let rtt = facts.since(last);
            self.recovery.on_delivery(now, rtt);
            if self.rto.samples_sack {
                // congestion control uses the round-trip time of the segment delivered last (`ca_rtt_us`)
                facts.rtt = Some(rtt);
            }
        }
    }

    /// Collects what the ACK acknowledges and SACKs, and which transmissions arrived.
    #[inline(never)]
    fn collect_deliveries(
        &mut self,
        facts: &mut AckFacts,
        segment: &Segment,
        events: &mut impl Events,
    ) {
        let now = facts.now;
        let left = self.board.outstanding() - self.board.sacked();
        // a duplicate of what this ACK acknowledges shows lateness only before that is removed from the scoreboard
        // (`tcp_sacktag_write_queue` precedes `tcp_clean_rtx_queue`)
        let acknowledged = if facts.advances {
            self.duplicate_sack(facts, segment)
                .filter(|it| it.end <= facts.ack)
        } else {
            None
        };
        let trusted = now.earlier_by(self.recovery.reordering().min_rtt());
        // the kernel does not use the echoed timestamp, as RFC 8985 6.2 step 2 does; the echo of an ACK above a gap is
        // older than the SACKed data
        let since = self.clock.since(now, facts.echoed.unwrap_or(0));
        let echoed_at = since.map(|since| now.earlier_by(since));
        let highest = self
            .board
            .begin_ack(echoed_at.map_or(trusted, |at| trusted.min(at + self.clock.tick())));
        if facts.advances {
            let acked = self.remove_acknowledged(facts);
            facts.segments = acked.segments;
        }
        self.board.trust(trusted);
        facts.newly_sacked = self.mark_sacked(segment);
        let arrived = self.board.arrived(highest);
        facts.arrived = Some(arrived);
        if self.rto.samples_sack {
            facts.sack_rtt = arrived
                .sacked
                .map(|(first, last)| (facts.since(first), facts.since(last)));
        }
        if facts.advances || facts.sack_rtt.is_some() {
            self.sample_rtt(facts, segment, events);
        }
        facts.delivered = left - (self.board.outstanding() - self.board.sacked());
        match self.board.unit() {
            // as in the kernel, data that was SACKed before is not delivered again
            1 => facts.segments = facts.delivered as u32,
            unit if !facts.advances => facts.segments = facts.delivered.div_ceil(unit) as u32,
            _ => {}
        }
        let reported = acknowledged.or_else(|| self.duplicate_sack(facts, segment));
        let retransmits = self.counters.retransmits;
        facts.dsack = reported.filter(|it| self.recovery.believes(it.segments, retransmits));
        if facts.dsack.is_some() && self.recovery.counts_duplicates() {
            facts.delivered += self.board.unit();
            facts.segments += 1;
        }
    }

    /// Removes acknowledged data from the scoreboard.
    #[expect(clippy::inline_always, reason = "the hot path of a sender")]
    #[inline(always)]
    fn remove_acknowledged(&mut self, facts: &mut AckFacts) -> Acked {
        let acked = self.board.ack(facts.ack);
        facts.acked = acked.amount;
        facts.once = !acked.retransmitted;
        facts.rtt = acked
            .sent
            .filter(|_| facts.once)
            .map(|sent| facts.since(sent));
        self.rto.timeouts = 0;
        acked
    }

    /// Takes the round-trip time that the ACK shows: of acknowledged data (Karn's rule), otherwise of SACKed data,
    /// otherwise by the echoed timestamp (`tcp_ack_update_rtt`).
    #[inline]
    fn sample_rtt(&mut self, facts: &mut AckFacts, segment: &Segment, events: &mut impl Events) {
        let now = facts.now;
        if facts.rtt.is_none() {
            facts.rtt = match facts.sack_rtt {
                Some((first, _)) => Some(first),
                None => self.echoed_rtt(now, segment),
            };
        }
        self.note_rtt(now, facts.rtt, facts.ack, events);
        if self.rto.samples_sack {
            // congestion control uses the round-trip time of the segment delivered last (`ca_rtt_us`)
            let acked = facts.arrived.and_then(|it| it.sent_once);
            let acked = acked.filter(|_| facts.once).map(|sent| facts.since(sent));
            facts.rtt = facts.sack_rtt.map(|(_, last)| last).or(acked).or(facts.rtt);
        }
    }

    /// Updates the timeout with the round-trip time that the ACK shows.
    #[inline]
    fn note_rtt(
        &mut self,
        now: Instant,
        rtt: Option<Duration>,
        ack: u64,
        events: &mut impl Events,
    ) {
        match rtt {
            Some(rtt) => {
                self.rtt.sample(now, rtt, ack, self.board.nxt());
                events.rtt_sample(now, rtt);
            }
            None => self.rtt.no_sample(),
        }
    }

    /// Processes the SACK blocks. Returns true if they report anything new.
    fn mark_sacked(&mut self, segment: &Segment) -> bool {
        let mut new = false;
        for block in segment.options.sacks() {
            new |= self.board.sack(block);
        }
        new
    }

    /// The duplicate that the first block reports, if it lies below the ACK or within the second block (RFC 2883 4.1,
    /// 4.2; `tcp_check_dsack`).
    fn duplicate_sack(&self, facts: &AckFacts, segment: &Segment) -> Option<Dsack> {
        let ack = facts.ack;
        let mut blocks = segment.options.sacks();
        let position = |block: SackBlock| {
            let start = seq::unwrap(ack, block.start);
            (start, seq::unwrap(ack, block.end))
        };
        let (start, end) = position(blocks.next()?);
        let duplicate = start < ack
            || blocks
                .next()
                .map(position)
                .is_some_and(|(from, to)| from <= start && end <= to);
        if !duplicate || start >= end || start < self.stream.start || end > self.board.nxt() {
            return None;
        }
        let segments = (end - start).div_ceil(u64::from(self.stream.payload));
        Some(Dsack {
            late_by: self.board.repeated_late_by(start),
            of_resent: end <= facts.from || self.board.was_resent(start),
            end,
            segments: segments.min(u64::from(u32::MAX)) as u32,
        })
    }

    /// The round-trip time by the timestamps option (RFC 7323 4). If a segment was retransmitted, the echo shows which
    /// transmission is acknowledged.
    #[cold]
    fn echoed_rtt(&self, now: Instant, segment: &Segment) -> Option<Duration> {
        let timestamps = segment.options.timestamps()?;
        self.clock.since(now, timestamps.ecr)
    }
}

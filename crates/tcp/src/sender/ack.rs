//! What an ACK does: it goes on the scoreboard, its facts go to loss recovery, the window grows or
//! falls, and the timers are set again (Linux: `tcp_ack`).

use fairport_units::{Duration, Instant};

use super::Sender;
use crate::congestion::AckSample;
use crate::recovery::{AckFacts, Change, Detected, Dsack, Look, NewData, Outcome, State};
use crate::report::Events;
use crate::scoreboard::Acked;
use crate::segment::{Flags, SackBlock, Segment};
use crate::seq;
use crate::timers::Timers;

impl Sender {
    /// Takes in the acknowledgement, the window and the SACK blocks of a segment, and passes on what
    /// is decided. False if it acknowledges what was not sent.
    #[inline]
    pub(crate) fn on_ack(
        &mut self,
        timers: &mut Timers,
        now: Instant,
        segment: &Segment,
        events: &mut impl Events,
    ) -> bool {
        let una = self.board.una();
        let ack = seq::unwrap(una, segment.ack);
        if ack > self.board.nxt() {
            return false;
        }
        let mere_data = ack == una && self.is_mere_data(segment);
        if mere_data && self.before_ack.is_none() && self.ecn.is_none() {
            self.peer.update(segment, ack, false);
            return true;
        }
        self.on_news(timers, now, segment, ack, mere_data, events)
    }

    /// The same for an acknowledgement up to `ack` that may say anything.
    #[inline(never)] // what comes with mere data stays short
    fn on_news(
        &mut self,
        timers: &mut Timers,
        now: Instant,
        segment: &Segment,
        ack: u64,
        mere_data: bool,
        events: &mut impl Events,
    ) -> bool {
        // what was decided while sending is passed on before this ACK changes the window
        self.pass_decisions(now, events);
        if self.before_ack.is_some() {
            self.note_before_ack();
        }
        let is_valid = self.take_ack_of(timers, now, segment, ack, mere_data, events);
        if is_valid {
            self.after_ack(now);
            self.pass_decisions(now, events);
        }
        is_valid
    }

    /// The same for an acknowledgement up to `ack`, unless nobody asks for more than the window of
    /// `mere_data`.
    #[inline]
    fn take_ack_of(
        &mut self,
        timers: &mut Timers,
        now: Instant,
        segment: &Segment,
        ack: u64,
        mere_data: bool,
        events: &mut impl Events,
    ) -> bool {
        let una = self.board.una();
        let old = ack < una;
        if old && !(self.is_recent(ack) && self.reads_old_acks(segment)) {
            return self.is_recent(ack);
        }
        if self.ecn.is_some() && !old {
            self.on_echo(ack, segment.flags);
        }
        let window_changed = old || self.peer.update(segment, ack, ack > una);
        if mere_data {
            return true;
        }
        if ack > una && !segment.options.has_sacks() && self.expects_plain_acks() {
            self.take_plain_ack(timers, now, segment, ack, events);
            return true;
        }
        let mut facts = AckFacts::new(now, una, ack);
        self.take_in(&mut facts, segment, window_changed, events);
        let detected = self.recover(&mut facts, events);
        if old {
            if let Some(wait) = detected.wait {
                self.await_reordering(timers, now, wait);
            }
            return true;
        }
        self.adjust_window(&facts, &detected);
        if let Some(wait) = detected.wait {
            self.await_reordering(timers, now, wait);
        } else if facts.advances || self.is_overtaken(&facts) {
            self.wait_on(timers, now);
        }
        true
    }

    /// Whether an ACK of new data without SACK blocks is [`Self::take_plain_ack`]'s.
    #[inline]
    fn expects_plain_acks(&self) -> bool {
        self.recovery.is_unconcerned(&self.board) && self.ecn.is_none()
    }

    /// What is left of the long way where loss recovery has nothing to do, which is so for most ACKs by far. In
    /// debug builds it is asked all the same.
    #[inline]
    fn take_plain_ack(
        &mut self,
        timers: &mut Timers,
        now: Instant,
        segment: &Segment,
        ack: u64,
        events: &mut impl Events,
    ) {
        let mut facts = AckFacts::new(now, self.board.una(), ack);
        self.take_in_amounts(&mut facts, segment, events);
        let look = self.look(&facts);
        let (recovery, board) = (&mut self.recovery, &mut self.board);
        debug_assert_eq!(recovery.on_ack(board, &facts), Outcome::default());
        debug_assert_eq!(recovery.detect(board, look), Detected::default());
        debug_assert!(!recovery.grows_last() && !recovery.reduces_gradually());
        self.grow(&facts, State::Open);
        self.wait_on(timers, now);
    }

    /// Waits anew for what is still outstanding.
    #[inline]
    fn wait_on(&mut self, timers: &mut Timers, now: Instant) {
        if self.board.is_empty() {
            timers.stop_retransmission();
        } else if !self.await_tail(timers, now, now) {
            // RFC 6298 5.3
            self.restart_timer(timers, now);
        }
    }

    /// Whether what the ACK SACKs was sent before the first segment was last sent, which is so no sign that
    /// that is lost: its timer starts again (`tcp_clean_rtx_queue`).
    #[inline]
    fn is_overtaken(&self, facts: &AckFacts) -> bool {
        let since = |sent: Instant| facts.now - sent;
        facts
            .sack_rtt
            .is_some_and(|(first, _)| self.board.head_sent().is_some_and(|it| first > since(it)))
    }

    /// The window after the ACK: a mark begins to reduce it, what was delivered lets it grow, and a
    /// reduction under way goes on.
    #[inline]
    fn adjust_window(&mut self, facts: &AckFacts, detected: &Detected) {
        if facts.marked {
            self.count_marked(facts.delivered);
            if self.recovery.state() == State::Open {
                self.enter_cwr();
            }
        }
        if self.recovery.grows_last()
            && (facts.advances
                || (facts.newly_sacked && self.recovery.reordering().raises_on_sack()))
        {
            self.grow(facts, self.recovery.state());
        } else if facts.sack_rtt.is_some() {
            let sample = self.ack_sample(facts, self.recovery.state());
            self.congestion.on_sack_rtt(&sample);
        }
        self.reduce_window_by(facts.delivered, facts.advances && detected.lost == 0);
    }

    /// Whether a segment that acknowledges nothing new is of no interest here at all: it carries data to an
    /// endpoint that has nothing outstanding.
    #[inline]
    fn is_mere_data(&self, segment: &Segment) -> bool {
        segment.payload > 0
            && self.board.is_empty()
            && !segment.options.has_sacks()
            && !segment.flags.contains(Flags::ECE)
    }

    /// Whether an acknowledgement below `SND.UNA` can still be under way (RFC 5961 5.2).
    #[cold]
    fn is_recent(&self, ack: u64) -> bool {
        let una = self.board.una();
        ack + self.peer.largest().min(una - self.stream.start) >= una
    }

    /// Whether an acknowledgement that was overtaken is of interest: its SACK blocks alone count, and the
    /// window stays (`old_ack` of `tcp_ack`).
    #[cold]
    fn reads_old_acks(&self, segment: &Segment) -> bool {
        segment.options.has_sacks() && self.recovery.tracks_deliveries()
    }

    /// Loss recovery: how the ACK changes the episode under way, and what it shows to be lost.
    #[inline]
    fn recover(&mut self, facts: &mut AckFacts, events: &mut impl Events) -> Detected {
        let before = self.recovery.state();
        let outcome = self.recovery.on_ack(&mut self.board, facts);
        facts.delivered += outcome.delivered * self.board.unit();
        if outcome.probe_repaired {
            self.reduce_for_probe(facts.now, events);
        }
        if let Some(cause) = outcome.reordering_window {
            self.report_reordering_window(facts.now, cause, events);
        }
        if before == State::Open {
            self.leave_cwr();
        }
        if outcome.change != Change::None {
            self.change_episode(facts.now, outcome.change, events);
        }
        if facts.advances && !self.recovery.grows_last() {
            // the RFCs' order: an ACK counts by the state that it finds
            let undone = matches!(outcome.change, Change::Undone { .. });
            self.grow(facts, if undone { State::Open } else { before });
        }
        if outcome.waits {
            return Detected::default();
        }
        let look = self.look(facts);
        let detected = self.recovery.detect(&mut self.board, look);
        if let Some(cause) = detected.enters {
            self.enter_recovery(facts.now, cause, facts.marked, events);
        }
        detected
    }

    #[inline]
    fn look(&self, facts: &AckFacts) -> Look {
        Look {
            now: facts.now,
            advances: facts.advances,
            srtt: self.rtt.srtt(),
            newly_sacked: facts.newly_sacked,
            idle: !facts.new_data.unsent,
        }
    }

    /// Puts the ACK on the scoreboard and collects what it says.
    #[inline]
    fn take_in(
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
            self.take_in_deliveries(facts, segment, events);
        } else {
            self.take_in_amounts(facts, segment, events);
        }
        facts.is_duplicate = !facts.advances
            && !facts.newly_sacked
            && !window_changed
            && segment.sequence_length() == 0;
    }

    /// What the ACK acknowledges and SACKs.
    #[expect(clippy::inline_always, reason = "the hot path of a sender")]
    #[inline(always)]
    fn take_in_amounts(
        &mut self,
        facts: &mut AckFacts,
        segment: &Segment,
        events: &mut impl Events,
    ) {
        if facts.advances {
            let acked = self.take_ack(facts);
            facts.rtt = facts.rtt.or_else(|| self.echoed_rtt(facts.now, segment));
            self.note_rtt(facts.now, facts.rtt, facts.ack, events);
            facts.segments = self.recovery.newly_delivered(&self.board, acked.segments);
            let counted = u64::from(acked.segments - facts.segments);
            facts.delivered = acked.amount.saturating_sub(counted * self.board.unit());
        }
        if self.recovery.uses_sack() && segment.options.has_sacks() {
            facts.newly_sacked = self.take_sacks(segment);
        }
    }

    /// The same, and which transmissions arrived.
    #[inline(never)]
    fn take_in_deliveries(
        &mut self,
        facts: &mut AckFacts,
        segment: &Segment,
        events: &mut impl Events,
    ) {
        let now = facts.now;
        let left = self.board.outstanding() - self.board.sacked();
        let trusted = now.earlier_by(self.recovery.reordering().min_rtt());
        // RFC 8985 6.2 step 2 looks at the echo as well, which the kernel does not; that of an ACK
        // above a gap is older than what is SACKed
        let since = self.clock.since(now, facts.echoed.unwrap_or(0));
        let echoed_at = since.map(|since| now.earlier_by(since));
        let highest = self
            .board
            .begin_ack(echoed_at.map_or(trusted, |at| trusted.min(at + self.clock.tick())));
        if facts.advances {
            let acked = self.take_ack(facts);
            facts.segments = acked.segments;
        }
        self.board.trust(trusted);
        facts.newly_sacked = self.take_sacks(segment);
        let arrived = self.board.arrived(highest);
        facts.arrived = Some(arrived);
        if self.rto.samples_sack {
            facts.sack_rtt = arrived
                .sacked
                .map(|(first, last)| (now - first, now - last));
        }
        if facts.advances || facts.sack_rtt.is_some() {
            self.sample_rtt(facts, segment, events);
        }
        facts.delivered = left - (self.board.outstanding() - self.board.sacked());
        match self.board.unit() {
            // as the kernel counts: what was SACKed before is not delivered again
            1 => facts.segments = facts.delivered as u32,
            unit if !facts.advances => facts.segments = facts.delivered.div_ceil(unit) as u32,
            _ => {}
        }
        facts.dsack = self.duplicate_sack(facts.ack, segment);
        if facts.dsack.is_some() && self.recovery.counts_duplicates() {
            facts.delivered += self.board.unit();
            facts.segments += 1;
        }
    }

    /// Takes what is acknowledged off the scoreboard.
    #[expect(clippy::inline_always, reason = "the hot path of a sender")]
    #[inline(always)]
    fn take_ack(&mut self, facts: &mut AckFacts) -> Acked {
        let acked = self.board.ack(facts.ack);
        facts.acked = acked.amount;
        facts.once = !acked.retransmitted;
        facts.rtt = acked
            .sent
            .filter(|_| facts.once)
            .map(|sent| facts.now - sent);
        self.rto.timeouts = 0;
        acked
    }

    /// Takes the round-trip time that the ACK shows: of what it acknowledges (Karn's rule), or else of what
    /// it SACKs, or else by the timestamp that it echoes (`tcp_ack_update_rtt`).
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
            // congestion control sees that of what was delivered last (`ca_rtt_us`)
            let acked = facts.arrived.and_then(|it| it.sent_once);
            let acked = acked.filter(|_| facts.once).map(|sent| now - sent);
            facts.rtt = facts.sack_rtt.map(|(_, last)| last).or(acked).or(facts.rtt);
        }
    }

    /// The round-trip time that the ACK shows goes into the timeout.
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

    /// Takes in the SACK blocks; true if they report anything new.
    fn take_sacks(&mut self, segment: &Segment) -> bool {
        let mut new = false;
        for block in segment.options.sacks() {
            new |= self.board.sack(block);
        }
        new
    }

    /// The first block reports a duplicate if it is below the ACK or within the second (RFC 2883
    /// 4.1, 4.2; `tcp_check_dsack`).
    fn duplicate_sack(&self, ack: u64, segment: &Segment) -> Option<Dsack> {
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
        let believed = self.recovery.believes(segments, self.counters.retransmits);
        believed.then(|| Dsack {
            late_by: self.board.repeated_late_by(start),
            end,
            segments: segments.min(u64::from(u32::MAX)) as u32,
        })
    }

    /// What the timestamps option says of a round trip (RFC 7323 4): where a segment was
    /// retransmitted, the echo shows which transmission is acknowledged.
    #[cold]
    fn echoed_rtt(&self, now: Instant, segment: &Segment) -> Option<Duration> {
        let timestamps = segment.options.timestamps()?;
        self.clock.since(now, timestamps.ecr)
    }

    /// Reports an ACK to congestion control, which may let the window grow. `state` is that of loss
    /// recovery.
    #[expect(clippy::inline_always, reason = "the hot path of a sender")]
    #[inline(always)]
    fn grow(&mut self, facts: &AckFacts, state: State) {
        let sample = self.ack_sample(facts, state);
        self.congestion.on_ack(&sample);
        self.note_growth(facts.now);
    }

    #[inline]
    fn ack_sample(&self, facts: &AckFacts, state: State) -> AckSample {
        AckSample {
            now: facts.now,
            acked: facts.delivered,
            segments: facts.segments,
            marked: self.marked_of(facts.delivered),
            rtt: facts.rtt,
            srtt: self.rtt.srtt(),
            una: self.board.una(),
            nxt: self.board.nxt(),
            state,
            limited: self.is_window_limited() && !self.is_reduced(self.board.una()),
        }
    }
}

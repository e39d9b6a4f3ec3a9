//! The effects of an ACK: it goes on the scoreboard (`ack_facts`), its facts go to loss recovery, the window grows or
//! falls, and the timers are set again (Linux: `tcp_ack`).

use fairport_units::Instant;

use super::Sender;
use crate::congestion::AckSample;
use crate::recovery::{AckFacts, Change, Detected, Look, Outcome, State};
use crate::report::Events;
use crate::segment::{Flags, Segment};
use crate::seq;
use crate::timers::{Timer, Timers};

impl Sender {
    /// Processes the acknowledgement, the window and the SACK blocks of a segment, and passes decisions on. Returns
    /// false if the segment acknowledges data that was not sent.
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
        self.on_ack_in_full(timers, now, segment, ack, mere_data, events)
    }

    /// Processes an ACK that may change more than the peer's window.
    #[inline(never)] // keeps the path of pure data segments short
    fn on_ack_in_full(
        &mut self,
        timers: &mut Timers,
        now: Instant,
        segment: &Segment,
        ack: u64,
        mere_data: bool,
        events: &mut impl Events,
    ) -> bool {
        // pass on what was decided while sending, before this ACK changes the window
        self.pass_decisions(now, events);
        if self.before_ack.is_some() {
            self.note_before_ack();
        }
        // congestion control does not learn of other ACKs (`no_queue` and `old_ack` in `tcp_ack`)
        let awaited = !self.board.is_empty() && ack >= self.board.una();
        let is_valid = self.process_ack(timers, now, segment, ack, mere_data, events);
        if is_valid {
            if awaited && self.follows_acks() {
                self.after_ack(now);
            }
            self.pass_decisions(now, events);
        }
        is_valid
    }

    /// Processes an acknowledgement up to `ack`. With `mere_data`, only the peer's window is of interest.
    #[expect(
        clippy::inline_always,
        reason = "the hot path: every ACK, and one caller"
    )]
    #[inline(always)]
    fn process_ack(
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
        let size = self.peer.size();
        let is_newer = old || self.peer.update(segment, ack, ack > una);
        // to Linux, an ACK that may change the window is no duplicate (`tcp_may_update_window`)
        let window_changed = is_newer && (self.recovery.grows_last() || self.peer.size() != size);
        let echoes = self.ecn.is_some() && !old;
        if mere_data {
            if echoes {
                self.on_echo(ack, segment.flags, 0);
            }
            return true;
        }
        let is_plain = ack > una && !segment.options.has_sacks() && self.ecn.is_none();
        if is_plain && self.process_usual(timers, now, segment, ack, events) {
            return true;
        }
        let mut facts = AckFacts::new(now, una, ack);
        self.collect(&mut facts, segment, window_changed, events);
        if echoes {
            self.on_echo(ack, segment.flags, facts.delivered);
        }
        let detected = self.recover(&mut facts, events);
        self.note_delivered(&facts);
        if !old {
            self.adjust_window(&facts, &detected);
        }
        match detected.wait {
            Some(wait) => self.await_reordering(timers, now, wait),
            None if !old => self.restart_after(timers, &facts),
            None => {}
        }
        true
    }

    /// Processes an ACK of new data without SACK blocks and without ECE, unless it concerns loss recovery. It leaves out
    /// the steps that would change nothing; debug builds check that.
    #[expect(clippy::inline_always, reason = "the usual case, and one caller")]
    #[inline(always)]
    fn process_usual(
        &mut self,
        timers: &mut Timers,
        now: Instant,
        segment: &Segment,
        ack: u64,
        events: &mut impl Events,
    ) -> bool {
        let mut facts = AckFacts::new(now, self.board.una(), ack);
        if self.recovery.is_unconcerned(&self.board) {
            self.collect_amounts(&mut facts, segment, events);
            debug_assert!(!self.recovery.grows_last() && !self.recovery.reduces_gradually());
            self.note_delivered(&facts);
        } else if self.expects_times_only() {
            self.collect_in_order(&mut facts, segment, events);
        } else {
            return false;
        }
        let look = self.look(&facts);
        let (recovery, board) = (&mut self.recovery, &mut self.board);
        debug_assert_eq!(recovery.on_ack(board, &facts), Outcome::default());
        debug_assert_eq!(recovery.detect(board, look), Detected::default());
        self.grow(&facts, State::Open);
        self.restart_timers(timers, now);
        true
    }

    /// Whether an ACK of new data without SACK blocks and without ECE only gives loss recovery a round-trip time. This
    /// is the usual case if deliveries are tracked.
    #[inline]
    fn expects_times_only(&self) -> bool {
        self.board.is_undisturbed()
            && self.recovery.asks_for_times_only()
            && self.before_ack.is_none()
    }

    /// Restarts the timers after an ACK, if it changes what they wait for.
    #[inline]
    fn restart_after(&mut self, timers: &mut Timers, facts: &AckFacts) {
        if facts.advances || self.is_overtaken(facts) {
            self.restart_timers(timers, facts.now);
        } else if timers.is_running(Timer::Persist) {
            // the peer's window is closed, and the peer is there (`tcp_ack_probe`)
            self.await_window_again(timers, facts.now);
        }
    }

    /// Restarts the timers for the data that is still outstanding.
    #[inline]
    fn restart_timers(&mut self, timers: &mut Timers, now: Instant) {
        if self.board.is_empty() {
            timers.stop_retransmission();
        } else if !self.await_tail(timers, now, now) {
            // RFC 6298 5.3
            self.restart_timer(timers, now);
        }
    }

    /// Whether all newly SACKed data was sent before the first segment was last sent. It is then no sign that this
    /// segment is lost, and its timer restarts (`tcp_clean_rtx_queue`).
    #[inline]
    fn is_overtaken(&self, facts: &AckFacts) -> bool {
        facts.sack_rtt.is_some_and(|(first, _)| {
            self.board
                .head_sent()
                .is_some_and(|it| first > facts.since(it))
        })
    }

    /// Changes the window after the ACK: a mark starts a reduction, delivered data lets the window grow, and a
    /// reduction in progress continues.
    #[inline]
    fn adjust_window(&mut self, facts: &AckFacts, detected: &Detected) {
        if facts.marked && self.recovery.state() == State::Open {
            self.enter_cwr();
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

    /// Whether a segment that acknowledges nothing new only carries data, to an endpoint that has nothing outstanding.
    #[inline]
    fn is_mere_data(&self, segment: &Segment) -> bool {
        segment.payload > 0
            && self.board.is_empty()
            && !segment.options.has_sacks()
            && !segment.flags.contains(Flags::ECE)
    }

    /// Whether the segment acknowledges what was acknowledged before, and announces nothing new.
    #[cold]
    pub(crate) fn is_duplicate(&self, segment: &Segment) -> bool {
        let una = self.board.una();
        segment.ack == seq::wire(una) && !self.peer.is_newer(segment, una, false)
    }

    /// Whether an acknowledgement below `SND.UNA` may still be in the network (RFC 5961 5.2).
    #[cold]
    fn is_recent(&self, ack: u64) -> bool {
        let una = self.board.una();
        ack + self.peer.largest().min(una - self.stream.start) >= una
    }

    /// Whether an acknowledgement that was overtaken is processed. Only its SACK blocks count then, and the window does
    /// not change (`old_ack` in `tcp_ack`).
    #[cold]
    fn reads_old_acks(&self, segment: &Segment) -> bool {
        segment.options.has_sacks() && self.recovery.tracks_deliveries()
    }

    /// Loss recovery: the ACK changes the present episode, and may show losses.
    #[inline]
    fn recover(&mut self, facts: &mut AckFacts, events: &mut impl Events) -> Detected {
        let before = self.recovery.state();
        let outcome = self.recovery.on_ack(&mut self.board, facts);
        if outcome.delivered > 0 {
            // the kernel counts a duplicate ACK after congestion control has seen the totals (`tcp_add_reno_sack`)
            let delivered = outcome.delivered * self.board.unit();
            facts.delivered += delivered;
            self.count_delivered(delivered, facts.marked);
        }
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
            // as in the RFCs, an ACK counts in the state before it
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
        facts.marked &= !outcome.ignores_mark;
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

    /// Reports an ACK to congestion control, which may let the window grow. `state` is the state of loss recovery.
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

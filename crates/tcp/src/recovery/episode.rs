//! Episodes of recovery: how an ACK changes the present one, and where one begins (`tcp_fastretrans_alert`,
//! `tcp_process_loss`, `tcp_enter_recovery`, `tcp_enter_loss`).

use fairport_units::Instant;

use super::duplicates::Earlier;
use super::reordering::DUP_THRESH;
use super::tlp::TailProbe;
use super::undo::Before;
use super::{AckFacts, Change, Detection, Dsack, Outcome, Recovery, State, frto};
use crate::decision::DecisionCause;
use crate::scoreboard::Scoreboard;

impl Recovery {
    /// Handles an ACK: what it means for the present episode, before losses are looked for.
    #[inline]
    pub(crate) fn on_ack(&mut self, board: &mut Scoreboard, ack: &AckFacts) -> Outcome {
        if self.tracks_deliveries {
            self.note_deliveries(board, ack);
        }
        let repaired = self.probe.as_mut().is_some_and(|it| it.on_ack(ack));
        let probe_repaired = repaired && self.state == State::Open;
        if ack.marked {
            self.undo.prove();
        }
        let earlier = Earlier {
            state: self.state,
            is_complete: board.una() >= self.point,
            counted: match &self.detection {
                Detection::Emulated(it) => it.sacked(),
                _ => 0,
            },
        };
        let late = earlier.state == State::Fast
            && !earlier.is_complete
            && ack.advances
            && self.undo.is_original(ack.echoed);
        if late && self.is_era_of_rack() {
            // `tcp_try_undo_partial`
            let acked = ack.acked.div_ceil(board.unit());
            self.note_late(acked + board.segments_to_highest_sacked());
        }
        let waits = late && board.retransmitted() > 0;
        self.waits = waits;
        let change = match self.state {
            State::Open if !self.undo.all_duplicates() => Change::None,
            _ if waits => Change::None,
            _ => self.advance(board, ack),
        };
        let delivered = if self.uses_sack() {
            0
        } else {
            self.count_duplicates(board, ack, earlier)
        };
        Outcome {
            delivered,
            waits,
            ignores_mark: late && matches!(change, Change::Undone { .. }),
            probe_repaired,
            change,
            reordering_window: self.window_changed.take(),
        }
    }

    /// Notes what arrived, in which order, and what arrived twice.
    #[inline]
    fn note_deliveries(&mut self, board: &mut Scoreboard, ack: &AckFacts) {
        // what this ACK shows of reordering counts from the next ACK on
        let reorders = self.reordering.seen() > 0;
        if let Some(arrived) = &ack.arrived {
            let since = |sent: Option<Instant>| sent.map(|sent| ack.since(sent));
            self.reordering
                .on_delivery(ack.now, since(arrived.sent_once));
            if let (Detection::Rack(rack), Some(rtt)) = (&mut self.detection, since(arrived.sent)) {
                rack.on_delivery(rtt);
            }
            if arrived.late_by > 0 && self.believes_lateness() {
                self.note_late(arrived.late_by);
            }
        }
        if let Some(dsack) = &ack.dsack {
            self.note_dsack(board, dsack, reorders);
        }
        if let Detection::Rack(rack) = &mut self.detection
            && rack.is_asking()
            && rack.on_ack(ack.now, board.newest_arrived())
        {
            self.window_changed = Some(DecisionCause::Dsack);
        }
    }

    /// Whether segments that arrive late show reordering. They do not after a timeout that was undone
    /// (`tcp_sacktag_write_queue`).
    pub(super) fn believes_lateness(&self) -> bool {
        self.state != State::Loss || self.undo.is_recorded()
    }

    /// Whether lateness is counted in outstanding segments, as in kernels with RACK.
    pub(super) fn is_era_of_rack(&self) -> bool {
        matches!(self.detection, Detection::Rack(_) | Detection::Emulated(_))
    }

    #[cold]
    fn note_late(&mut self, segments: u64) {
        self.reordering.on_late(segments);
        match &mut self.detection {
            Detection::Sack(it) => it.on_reordering(),
            Detection::Rack(_) if self.reordering.seen() == 1 => {
                self.window_changed = Some(DecisionCause::Reordering);
            }
            _ => {}
        }
    }

    #[cold]
    fn note_dsack(&mut self, board: &mut Scoreboard, dsack: &Dsack, reorders: bool) {
        self.dsacked += u64::from(dsack.segments);
        if dsack.late_by > 0 && self.believes_lateness() {
            self.note_late(dsack.late_by);
        }
        // what the network delivered twice says nothing about retransmissions (`tcp_sacktag_one`)
        if dsack.of_resent {
            self.undo.on_duplicate(dsack.end, dsack.segments);
        }
        let of_probe = self
            .probe
            .as_ref()
            .is_some_and(|it| it.is_answer(dsack.end));
        if let Detection::Rack(rack) = &mut self.detection
            && !of_probe
            && reorders
        {
            rack.on_needless();
            board.disturb();
        }
    }

    /// Decides whether the ACK ends the present episode (`tcp_fastretrans_alert`).
    fn advance(&mut self, board: &mut Scoreboard, ack: &AckFacts) -> Change {
        let complete = board.una() >= self.point;
        // without SACK the kernel has forgotten by then whether anything was sent again (`tcp_packet_delayed`)
        let unknown = complete && self.undo.is_untouched() && !self.uses_sack();
        let sign = self.undo.sign(ack.echoed).filter(|_| !unknown);
        match (self.state, sign) {
            (State::Open, _) => self.take_back_duplicates(board),
            (State::Fast, _) if self.is_held(board) => {
                sign.map_or(Change::None, |cause| self.take_back(board, false, cause))
            }
            (State::Fast, None) if complete => {
                let recorded = self.undo.is_recorded();
                self.complete();
                if recorded {
                    Change::Recovered
                } else {
                    Change::Repaired
                }
            }
            (State::Fast, Some(cause)) if complete => {
                self.reopen();
                self.take_back(board, false, cause)
            }
            (State::Fast, _)
                if ack.advances
                    && self.undo.is_original(ack.echoed)
                    && board.retransmitted() == 0 =>
            {
                // while a retransmission is in the network, more segments may turn out late (`tcp_try_undo_partial`)
                self.state = State::Open;
                self.retransmit_now = false;
                if !matches!(self.detection, Detection::Emulated(_)) {
                    self.reopen();
                }
                self.take_back(board, true, DecisionCause::Timestamps)
            }
            (State::Fast, Some(DecisionCause::Dsack)) => {
                self.reopen();
                self.take_back_duplicates(board)
            }
            (State::Fast, _) => Change::None,
            (State::Loss, _) => self.repair_timeout(board, ack, complete, sign),
        }
    }

    /// Decides whether the timeout under repair was needless, or is repaired now (`tcp_process_loss`).
    fn repair_timeout(
        &mut self,
        board: &mut Scoreboard,
        ack: &AckFacts,
        complete: bool,
        sign: Option<DecisionCause>,
    ) -> Change {
        let mut needless = sign.filter(|_| ack.advances);
        if needless.is_none()
            && let Some(frto) = &mut self.frto
        {
            let evidence = frto::Evidence::new(ack, self.point, complete, board.nxt());
            if frto.on_ack(evidence) {
                needless = Some(DecisionCause::Frto);
            }
            if frto.prefers_new() {
                // the episode also covers what is sent from now on
                self.point = board.nxt();
            }
        }
        let held = self.is_held(board);
        // without SACK, the state lasts until all data sent before the timeout is acknowledged
        let lasts = matches!(self.detection, Detection::Emulated(_))
            && needless.is_some_and(|cause| cause != DecisionCause::Frto);
        match (needless, sign) {
            (Some(cause), _) => {
                if !held && !lasts {
                    self.reopen();
                }
                self.take_back(board, true, cause)
            }
            (None, Some(cause)) if complete => {
                if !held {
                    self.reopen();
                }
                self.take_back(board, false, cause)
            }
            (None, None) if complete && !held => {
                self.complete();
                Change::Repaired
            }
            _ => Change::None,
        }
    }

    /// Undoes a needless reduction. `nothing_lost`: segments that were marked lost are not lost either.
    fn take_back(
        &mut self,
        board: &mut Scoreboard,
        nothing_lost: bool,
        cause: DecisionCause,
    ) -> Change {
        if nothing_lost {
            board.unmark_lost();
        }
        if let Some(frto) = &mut self.frto {
            // without SACK the state after a timeout may last, and F-RTO with it (`tcp_try_undo_loss`)
            if self.state == State::Loss {
                frto.lost_first();
            } else {
                frto.give_up();
            }
        }
        board.look_again();
        Change::Undone {
            before: self.undo.take_back(),
            cause,
        }
    }

    /// Undoes a reduction because duplicate SACKs reported every retransmission (`tcp_try_undo_dsack`).
    fn take_back_duplicates(&mut self, board: &mut Scoreboard) -> Change {
        if let Detection::Rack(rack) = &mut self.detection {
            rack.on_dsack_undo();
        }
        self.take_back(board, false, DecisionCause::Dsack)
    }

    /// Everything that the episode covers is acknowledged, and nothing shows that it was needless.
    fn complete(&mut self) {
        if let Detection::Rack(rack) = &mut self.detection
            && rack.on_recovered()
        {
            self.window_changed = Some(DecisionCause::NoReordering);
        }
        self.reopen();
    }

    /// Ends the episode.
    fn reopen(&mut self) {
        self.state = State::Open;
        self.retransmit_now = false;
        match &mut self.detection {
            Detection::DuplicateAcks(it) => it.reset(),
            Detection::Emulated(it) => it.reset(),
            Detection::Sack(_) | Detection::Rack(_) => {}
        }
    }

    /// Starts fast recovery. `before` is the window before it falls. `needed`: a mark requires the reduction, even if
    /// nothing turns out to be lost.
    pub(crate) fn enter_fast(&mut self, board: &mut Scoreboard, before: Before, needed: bool) {
        self.begin_episode(board, before, board.any_resent());
        if needed {
            self.undo.prove();
        }
        self.state = State::Fast;
        self.point = board.nxt();
        self.retransmit_now = true;
        if let Detection::DuplicateAcks(it) = &mut self.detection {
            it.enter(board);
        }
    }

    /// The present episode continues a reduction for a mark. It ends where that would have ended, and its first
    /// retransmission waits for the window, because PRR forces one only at the beginning of a reduction.
    pub(crate) fn continue_reduction(&mut self, point: u64) {
        self.point = point;
        self.retransmit_now = false;
    }

    /// A timeout: every segment that is not SACKed is lost. `lowered` is the window before the timeout, if the timeout
    /// lowers the threshold. `further`: this is not the first timeout of its series.
    pub(crate) fn enter_loss(
        &mut self,
        board: &mut Scoreboard,
        now: Instant,
        lowered: Option<Before>,
        further: bool,
    ) {
        self.waits = false;
        let resent = board.any_resent();
        if !self.is_era_of_rack() {
            self.begin_lowered(board, lowered, resent);
        }
        if let Some(frto) = &mut self.frto {
            frto.begin(self.state == State::Open || further);
        }
        if self.state == State::Open && board.sacked_segments() >= DUP_THRESH {
            self.reordering.doubt();
        }
        match &mut self.detection {
            Detection::DuplicateAcks(it) => {
                board.mark_all_lost();
                it.reset();
            }
            Detection::Emulated(it) => {
                board.mark_all_lost();
                it.reset();
            }
            Detection::Sack(_) => board.mark_all_lost(),
            Detection::Rack(rack) => board.mark_timed_out(now, rack.rtt()),
        }
        if self.is_era_of_rack() {
            // retransmissions that are lost now need not turn out to be duplicates (`tcp_enter_loss`, since 4.19)
            self.begin_lowered(board, lowered, resent);
        }
        self.state = State::Loss;
        self.point = board.nxt();
        self.retransmit_now = self.is_era_of_rack();
    }

    /// The SYN timed out: without SACK the state after it lasts until data from `una` on is acknowledged.
    pub(crate) fn hold_after_syn(&mut self, una: u64) {
        if matches!(self.detection, Detection::Emulated(_)) {
            (self.state, self.point) = (State::Loss, una);
        }
    }

    /// Begins the episode of a timeout, if that `lowered` the threshold. `resent`: a retransmission was in the network.
    fn begin_lowered(&mut self, board: &Scoreboard, lowered: Option<Before>, resent: bool) {
        match lowered {
            Some(before) => self.begin_episode(board, before, resent),
            None => self.forget_probe(),
        }
    }

    fn begin_episode(&mut self, board: &Scoreboard, before: Before, resent: bool) {
        let again = board.retransmitted().div_ceil(board.unit()) as u32;
        let probes = self.probe.as_ref().map_or(0, TailProbe::repeated);
        if !resent {
            self.undo.forget_stamp();
        }
        self.undo.begin(board.una(), again + probes, before);
        self.forget_probe();
    }

    pub(super) fn forget_probe(&mut self) {
        if let Some(probe) = &mut self.probe {
            probe.forget();
        }
    }
}

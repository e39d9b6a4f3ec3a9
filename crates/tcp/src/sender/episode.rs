//! Changes of the window by loss recovery. An episode begins for a loss, a mark or a probe's answer; it reduces the
//! window; it ends, or was needless (`tcp_enter_recovery`, `tcp_enter_cwr`, `tcp_cwnd_reduction`,
//! `tcp_undo_cwnd_reduction`).

use fairport_units::Instant;

use super::Sender;
use crate::decision::{DecisionCause, DecisionKind};
use crate::recovery::reduction::ReductionSample;
use crate::recovery::undo::Before;
use crate::recovery::{Change, State};
use crate::report::Events;

impl Sender {
    /// The present window and threshold.
    pub(super) fn present_window(&self) -> Before {
        let window = self.congestion.window();
        Before {
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
        }
    }

    /// Reports a decision, with the window `before` it and the present window.
    #[cold]
    pub(super) fn report_decision(
        &self,
        now: Instant,
        what: DecisionKind,
        cause: DecisionCause,
        before: Before,
        events: &mut impl Events,
    ) {
        let window = self.congestion.window();
        events.decision(now, window.decision(what, cause, before.cwnd));
    }

    /// Reports that RACK's reordering window changed.
    #[cold]
    pub(super) fn report_reordering_window(
        &self,
        now: Instant,
        cause: DecisionCause,
        events: &mut impl Events,
    ) {
        let what = DecisionKind::ReorderingWindow;
        self.report_decision(now, what, cause, self.present_window(), events);
    }

    /// Starts fast recovery (`tcp_enter_recovery`). The window falls at once, or with each ACK from now on. `marked`:
    /// the ACK carries a mark, so the reduction is needed even if nothing turns out to be lost.
    #[cold]
    pub(super) fn enter_recovery(
        &mut self,
        now: Instant,
        cause: DecisionCause,
        marked: bool,
        events: &mut impl Events,
    ) {
        let before = self.present_window();
        let under_way = self.end_cwr();
        let needed = marked || under_way.is_some();
        self.recovery.enter_fast(&mut self.board, before, needed);
        self.counters.fast_recoveries += 1;
        if let Some(point) = under_way {
            // the reduction for a mark continues
            self.recovery.continue_reduction(point);
            if self.congestion.reduces_after_mark() {
                self.congestion.reduce_threshold();
            }
        } else {
            self.reduce_window();
            if self.recovery.begin_reduction(before.cwnd) {
                self.congestion.set_recovery_window(before.cwnd);
            }
        }
        if self.congestion.sets_window() && self.recovery.reduces_gradually() {
            // only the kernel's own reduction makes room for a segment (`tcp_cwnd_reduction`)
            self.recovery.obey_window();
        }
        self.report_decision(now, DecisionKind::EnterRecovery, cause, before, events);
    }

    /// Reduces the window because a tail loss probe repaired a loss that nothing else shows (RFC 8985 7.4.2).
    #[cold]
    pub(super) fn reduce_for_probe(&mut self, now: Instant, events: &mut impl Events) {
        let before = self.present_window();
        self.end_cwr();
        self.reduce_window();
        let cause = DecisionCause::TailLossProbe;
        self.report_decision(now, DecisionKind::EnterRecovery, cause, before, events);
    }

    /// Applies the end of an episode, or its undoing.
    #[cold]
    pub(super) fn change_episode(
        &mut self,
        now: Instant,
        change: Change,
        events: &mut impl Events,
    ) {
        let present = self.present_window();
        let (what, cause) = match change {
            Change::None => return,
            Change::Recovered => {
                self.end_reduction();
                (DecisionKind::LeaveRecovery, DecisionCause::Acknowledged)
            }
            Change::Repaired => (DecisionKind::LeaveRecovery, DecisionCause::Acknowledged),
            Change::Undone { before, cause } => {
                if let Some(Before { cwnd, ssthresh }) = before {
                    self.congestion.undo(cwnd, ssthresh);
                    if ssthresh > present.ssthresh {
                        self.withdraw_cwr();
                    }
                }
                (DecisionKind::Undo, cause)
            }
        };
        self.report_decision(now, what, cause, present, events);
    }

    /// Lowers the window, or the threshold, as congestion control reacts to a loss.
    fn reduce_window(&mut self) {
        self.queue_cwr();
        let window = self.congestion.window();
        // not if the window was reduced for a mark before, unless an undo has restored it since
        let reduced = window.cwnd == window.ssthresh && self.is_reduced(self.board.una());
        if reduced && !self.congestion.reduces_after_mark() {
            return;
        }
        let before = self.congestion.window().cwnd;
        self.congestion.on_loss();
        self.begin_epoch(before);
    }

    /// An epoch of payload sizing begins: the window fell from `before`, for a loss or a mark.
    pub(super) fn begin_epoch(&mut self, before: u64) {
        if let Some(sizing) = &mut self.policies.sizing {
            sizing.on_loss(before, self.congestion.window().ssthresh);
        }
    }

    /// A mark arrived: starts to reduce the window to the threshold, if this stack does so gradually (`tcp_enter_cwr`).
    #[cold]
    pub(super) fn enter_cwr(&mut self) {
        if self.is_in_cwr() || !self.recovery.reduces_gradually() {
            return;
        }
        let before = self.congestion.window().cwnd;
        self.congestion.reduce_for_mark();
        self.begin_epoch(before);
        self.recovery.begin_cwr(before);
        self.begin_cwr();
    }

    /// Sets the window after each ACK of a gradual reduction, in fast recovery and after a mark.
    #[inline]
    pub(super) fn reduce_window_by(&mut self, delivered: u64, clean: bool) {
        if (self.recovery.state() == State::Fast || self.is_in_cwr())
            && self.recovery.reduces_gradually()
        {
            self.reduce_gradually(delivered, clean);
        }
    }

    fn reduce_gradually(&mut self, delivered: u64, clean: bool) {
        let window = self.congestion.window();
        let sample = ReductionSample {
            delivered,
            clean,
            in_flight: self.recovery.in_flight(&self.board),
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
            least: self.congestion.least_window(),
            unit: window.unit(),
        };
        if let Some(cwnd) = self.recovery.reduced_window(&sample) {
            self.congestion.set_recovery_window(cwnd);
        }
    }

    /// Completes a reduction.
    pub(super) fn end_reduction(&mut self) {
        let window = self.congestion.window();
        let cwnd = self.recovery.final_window(window.cwnd, window.ssthresh);
        self.congestion.set_recovery_window(cwnd);
    }

    /// Whether a timeout lowers the threshold. It does not if this window of data has lowered it before
    /// (`tcp_enter_loss`).
    pub(super) fn timeout_lowers_threshold(&self) -> bool {
        match self.recovery.state() {
            State::Open => !self.is_in_cwr() || self.board.una() >= self.cwr_point(),
            State::Loss => self.rto.timeouts == 0,
            State::Fast => self.recovery.is_held(&self.board),
        }
    }
}

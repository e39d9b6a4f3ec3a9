//! Where loss recovery changes the window: an episode begins, for a loss, a mark or a probe's answer;
//! the window is reduced in it; it ends, or was needless (`tcp_enter_recovery`, `tcp_enter_cwr`,
//! `tcp_cwnd_reduction`, `tcp_undo_cwnd_reduction`).

use fairport_units::Instant;

use super::Sender;
use crate::decision::{Decision, DecisionCause, DecisionKind};
use crate::recovery::reduction::ReductionSample;
use crate::recovery::undo::Before;
use crate::recovery::{Change, State};
use crate::report::Events;

impl Sender {
    /// The window as it is.
    pub(super) fn present_window(&self) -> Before {
        let window = self.congestion.window();
        Before {
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
        }
    }

    /// Reports a decision, with the window as it was `before` and as it is.
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
        events.decision(
            now,
            Decision {
                what,
                cause,
                cwnd_before_bytes: self.bytes(before.cwnd),
                cwnd_after_bytes: self.bytes(window.cwnd),
                ssthresh_bytes: self.bytes(window.ssthresh),
            },
        );
    }

    /// RACK's reordering window has changed.
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

    /// Fast recovery begins (`tcp_enter_recovery`). The window falls at once, or is reduced with each
    /// ACK from now on. `marked`: a mark came with the ACK, so the reduction is called for whatever
    /// becomes of the losses.
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
            // the reduction for a mark goes on, and is over when it would have been
            self.recovery.set_point(point);
            if self.congestion.reduces_after_mark() {
                self.congestion.reduce_threshold();
            }
        } else {
            self.reduce_window();
            if self.recovery.begin_reduction(before.cwnd) {
                self.congestion.set_recovery_window(before.cwnd);
            }
        }
        self.report_decision(now, DecisionKind::EnterRecovery, cause, before, events);
    }

    /// A tail loss probe repaired a loss that nothing else shows (RFC 8985 7.4.2).
    #[cold]
    pub(super) fn reduce_for_probe(&mut self, now: Instant, events: &mut impl Events) {
        let before = self.present_window();
        self.end_cwr();
        self.reduce_window();
        let cause = DecisionCause::TailLossProbe;
        self.report_decision(now, DecisionKind::EnterRecovery, cause, before, events);
    }

    /// The episode ends, or was needless.
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
                }
                (DecisionKind::Undo, cause)
            }
        };
        self.report_decision(now, what, cause, present, events);
    }

    /// The congestion control's answer to a loss.
    fn reduce_window(&mut self) {
        self.queue_cwr();
        let window = self.congestion.window();
        // unless an undo has taken the reduction back meanwhile
        let reduced = window.cwnd == window.ssthresh && self.is_reduced(self.board.una());
        if reduced && !self.congestion.reduces_after_mark() {
            return;
        }
        let before = self.congestion.window().cwnd;
        self.congestion.on_loss();
        self.begin_epoch(before);
    }

    /// The window has fallen from `before`, for a loss or a mark.
    pub(super) fn begin_epoch(&mut self, before: u64) {
        if let Some(sizing) = &mut self.policies.sizing {
            sizing.on_loss(before, self.congestion.window().ssthresh);
        }
    }

    /// A mark: the window is reduced to the threshold gradually, where that is how it falls
    /// (`tcp_enter_cwr`).
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

    /// In fast recovery and after a mark, the reduction says how large the window is after each ACK.
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

    /// The reduction is complete.
    pub(super) fn end_reduction(&mut self) {
        let window = self.congestion.window();
        let cwnd = self.recovery.final_window(window.cwnd, window.ssthresh);
        self.congestion.set_recovery_window(cwnd);
    }

    /// Whether a timeout lowers the threshold: not twice in a window (`tcp_enter_loss`).
    pub(super) fn timeout_lowers_threshold(&self) -> bool {
        match self.recovery.state() {
            State::Open => !self.is_in_cwr() || self.board.una() >= self.cwr_point(),
            State::Loss => self.rto.timeouts == 0,
            State::Fast => self.recovery.is_held(&self.board),
        }
    }
}

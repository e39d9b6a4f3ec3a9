//! Where an episode begins, for a loss, a mark or a timeout, and how the window comes down in it
//! (`tcp_enter_recovery`, `tcp_enter_cwr`, `tcp_enter_loss`, `tcp_cwnd_reduction`).

use fairport_units::Time;

use super::super::Sender;
use super::Repair;
use crate::recovery::State;
use crate::recovery::reduction::ReductionSample;
use crate::recovery::tlp::TailProbe;
use crate::recovery::undo::Before;

impl Sender {
    /// `tcp_enter_recovery`; for a mark that came with it, or before, the reduction is called for
    /// whatever becomes of the losses.
    pub(super) fn enter_fast(&mut self, repair: &mut Repair, marked: bool) {
        let before = self.present_window();
        self.begin_episode(repair, before);
        let reduces = self.end_cwr();
        if marked || reduces.is_some() {
            repair.undo.prove();
        }
        self.recovery.enter_fast(&mut self.board);
        self.counters.fast_recoveries += 1;
        if let Some(point) = reduces {
            // goes on, and is over when that would have been
            self.recovery.set_point(point);
            if self.congestion.halves_on_loss() {
                self.congestion.reduce_threshold();
            }
            return;
        }
        self.reduce_window();
        if let Some(reduction) = &mut repair.reduction {
            // the window comes down by and by
            self.congestion.set_recovery_window(before.cwnd);
            reduction.begin(before.cwnd);
        }
    }

    /// A mark: the window comes down to the threshold by and by (`tcp_enter_cwr`).
    pub(super) fn enter_cwr(&mut self, repair: &mut Repair) {
        let Some(reduction) = &mut repair.reduction else {
            return;
        };
        if self.is_in_cwr() {
            return;
        }
        let before = self.congestion.window().cwnd;
        self.congestion.reduce_for_mark();
        self.begin_epoch(before);
        reduction.begin(before);
        self.begin_cwr();
        repair.undo.forget();
        if let Some(probe) = &mut repair.probe {
            probe.forget();
        }
    }

    fn begin_episode(&mut self, repair: &mut Repair, before: Before) {
        let unit = self.board.unit();
        let again = self.board.retransmitted().div_ceil(unit) as u32;
        let probes = repair.probe.as_ref().map_or(0, TailProbe::repeated);
        repair.undo.begin(self.board.una(), again + probes, before);
        if let Some(probe) = &mut repair.probe {
            probe.forget();
        }
    }

    /// In fast recovery and after a mark, the reduction says how large the window is after each ACK.
    #[inline]
    pub(super) fn reduce_by(&mut self, repair: &mut Repair, delivered: u64, clean: bool) {
        if self.recovery.state() == State::Fast || self.is_in_cwr() {
            self.come_down(repair, delivered, clean);
        }
    }

    fn come_down(&mut self, repair: &mut Repair, delivered: u64, clean: bool) {
        let window = self.congestion.window();
        let sample = ReductionSample {
            delivered,
            clean,
            in_flight: self.board.pipe(),
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
            least: self.congestion.least_window(),
            unit: window.unit(),
        };
        let reduction = repair.reduction.as_mut();
        if let Some(cwnd) = reduction.and_then(|it| it.window(&sample)) {
            self.congestion.set_recovery_window(cwnd);
        }
    }

    /// The window has come down.
    pub(in crate::sender) fn end_reduction(&mut self, repair: &Repair) {
        let window = self.congestion.window();
        let cwnd = match &repair.reduction {
            Some(it) => it.end(window.cwnd, window.ssthresh),
            None => window.ssthresh,
        };
        self.congestion.set_recovery_window(cwnd);
    }

    /// Whether a timeout lowers the threshold: not twice in a window (`tcp_enter_loss`).
    pub(in crate::sender) fn timeout_lowers_threshold(&self) -> bool {
        if self.repair.is_none() {
            return self.timeouts == 0 && self.recovery.state() != State::Fast;
        }
        match self.recovery.state() {
            State::Open => !self.is_in_cwr() || self.board.una() >= self.cwr_point(),
            State::Loss => self.timeouts == 0,
            State::Fast => false,
        }
    }

    /// A timeout with the window as it was `before`, if that was lowered now.
    pub(in crate::sender) fn enter_loss_repaired(
        &mut self,
        repair: &mut Repair,
        now: Time,
        before: Option<Before>,
    ) {
        if let Some(before) = before {
            self.begin_episode(repair, before);
        } else if let Some(probe) = &mut repair.probe {
            probe.forget();
        }
        if let Some(frto) = &mut repair.frto {
            frto.begin(self.recovery.state() == State::Open || self.timeouts > 0);
        }
        if repair.by_time {
            self.board
                .mark_overdue_lost(now, repair.rack.timed_out_span());
        } else {
            self.board.mark_all_lost();
        }
        self.recovery.enter_loss_marked(&self.board);
        self.end_cwr();
        let flying = self.board.pipe();
        self.congestion.set_window(flying + self.board.unit());
    }
}

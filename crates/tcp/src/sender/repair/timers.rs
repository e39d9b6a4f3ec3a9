//! The timers of loss recovery that stand in for the retransmission timer: for the tail's probe, and
//! for segments that may be late.

use fairport_units::Time;

use super::super::Sender;
use super::Repair;
use crate::recovery::State;
use crate::scoreboard::Chunk;
use crate::timers::{Timer, Timers};

impl Sender {
    /// Waits for an ACK of the tail before it is probed, where there is no sign of loss
    /// (`tcp_schedule_loss_probe`), but not longer than a timeout from `rto_start`. False if no probe
    /// is called for.
    pub(super) fn await_tail(
        &mut self,
        timers: &mut Timers,
        repair: &Repair,
        now: Time,
        rto_start: Time,
    ) -> bool {
        let Some(probe) = &repair.probe else {
            return false;
        };
        let board = &self.board;
        if board.is_empty()
            || self.recovery.state() != State::Open
            || board.sacked() > 0
            || board.has_lost()
        {
            return false;
        }
        let rto = self.rtt.rto();
        let timeout = match self.rtt.srtt() {
            Some(srtt) => probe.timeout(srtt, board.segments() == 1),
            None => rto,
        };
        let mut deadline = now.saturating_add(timeout);
        let rto_end = rto_start.saturating_add(rto);
        if rto_end > now {
            deadline = deadline.min(rto_end);
        }
        timers.start_until(Timer::TailProbe, now, deadline);
        true
    }

    pub(super) fn await_reordering(&mut self, timers: &mut Timers, now: Time, wait: Time) {
        let wait = wait.saturating_add(self.timer_slack).min(self.rtt.rto());
        timers.start(Timer::Reordering, now, wait);
    }

    /// The retransmission timer runs again: for what is left of it, if another timer stood in
    /// (`tcp_rearm_rto`).
    pub(super) fn restart_timer(&mut self, timers: &mut Timers, now: Time) {
        let rto = self.rtt.rto();
        let stood_in = timers.is_running(Timer::TailProbe) || timers.is_running(Timer::Reordering);
        match self.board.head_sent() {
            Some(sent) if stood_in => {
                let deadline = sent.saturating_add(rto).max(now + Time::from_us(1));
                timers.start_until(Timer::Retransmission, sent, deadline);
            }
            _ => timers.start(Timer::Retransmission, now, rto),
        }
    }

    /// The tail is to be probed, unless a probe is out already.
    pub(in crate::sender) fn on_tail_timer(&mut self, timers: &mut Timers, now: Time) {
        let probe = self.repair.as_mut().and_then(|it| it.probe.as_mut());
        match probe {
            Some(probe) if !probe.is_out() => {
                probe.due = true;
                self.probe = true;
                timers.start(Timer::Retransmission, now, self.rtt.rto());
            }
            _ => self.restart_timer(timers, now),
        }
    }

    /// The probe of the tail, if it is due: new data whatever the congestion window says, or else
    /// the last segment again (RFC 8985 7.3).
    pub(in crate::sender) fn tail_probe(
        &mut self,
        timers: &mut Timers,
        now: Time,
    ) -> Option<Chunk> {
        let mut repair = self.repair.take()?;
        let mut sent = None;
        if let Some(probe) = &mut repair.probe
            && std::mem::take(&mut probe.due)
            && !self.board.is_empty()
        {
            let new = self.next_whatever_nagle();
            if let Some(chunk) = new {
                self.send_new(timers, now, chunk);
            }
            sent = new.or_else(|| {
                let again = self.board.repeat_last(now)?;
                self.counters.segments_sent += 1;
                self.counters.retransmits += 1;
                Some(again)
            });
            if sent.is_some() {
                probe.on_sent(self.board.nxt(), new.is_none());
            }
        }
        self.repair = Some(repair);
        sent
    }

    /// What may have been late is late now (`tcp_rack_reo_timeout`).
    pub(in crate::sender) fn on_reordering_timer(&mut self, timers: &mut Timers, now: Time) {
        let Some(mut repair) = self.repair.take() else {
            return;
        };
        self.board.look_again();
        let state = self.recovery.state();
        let (lost, wait) = self.find_losses(&mut repair, now, false);
        if lost > 0 && state != State::Fast {
            let unit = self.board.unit();
            self.reduce_by(&mut repair, unit, false);
        }
        match wait {
            Some(wait) => self.await_reordering(timers, now, wait),
            None => self.restart_timer(timers, now),
        }
        self.repair = Some(repair);
    }
}

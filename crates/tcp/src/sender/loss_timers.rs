//! The timers that replace the retransmission timer: for probes of the tail, and for segments that may be late.

use fairport_units::{Duration, Instant};

use super::Sender;
use crate::decision::{DecisionCause, DecisionKind};
use crate::recovery::{Look, State};
use crate::report::Events;
use crate::scoreboard::Chunk;
use crate::timers::{Timer, Timers};

impl Sender {
    /// Starts the timer for a probe of the tail, if there is no sign of loss (`tcp_schedule_loss_probe`). It fires at
    /// the latest one timeout after `rto_start`. Returns false if no probe is needed.
    #[inline]
    pub(super) fn await_tail(
        &mut self,
        timers: &mut Timers,
        now: Instant,
        rto_start: Instant,
    ) -> bool {
        let Some(probe) = self.recovery.probe() else {
            return false;
        };
        let board = &self.board;
        // while the window falls for a mark, the kernel's state says nothing of SACKed segments
        let is_disturbed = (board.sacked() > 0 || board.has_lost()) && !self.is_in_cwr();
        // after an undo: it was not a probe that repeated the first segment (`tcp_try_keep_open`)
        let is_disturbed = is_disturbed || (board.any_resent() && !probe.is_out());
        if self.recovery.state() != State::Open || is_disturbed {
            return false;
        }
        let rto = self.rtt.rto();
        let timeout = probe.timeout(self.rtt.srtt(), board.segments() == 1);
        let rto_end = rto_start + rto;
        let timeout = if rto_end > now {
            timeout.min(rto_end - now)
        } else {
            timeout
        };
        self.start_timer(timers, Timer::TailProbe, now, timeout);
        true
    }

    /// Starts a timer that waits for the pacer first, in whole ticks (`tcp_reset_xmit_timer`).
    #[inline]
    pub(super) fn start_timer(
        &self,
        timers: &mut Timers,
        timer: Timer,
        now: Instant,
        span: Duration,
    ) {
        timers.start(timer, now, span + self.pacing_delay(timers, now));
    }

    #[inline]
    fn pacing_delay(&self, timers: &Timers, now: Instant) -> Duration {
        let pacer = self.policies.pacer.as_ref();
        pacer.map_or(Duration::ZERO, |it| timers.whole_ticks(it.delay(now)))
    }

    pub(super) fn await_reordering(&self, timers: &mut Timers, now: Instant, wait: Duration) {
        let wait = (wait + self.rto.slack).min(self.rtt.rto());
        timers.start(Timer::Reordering, now, wait);
    }

    /// Restarts the retransmission timer. If another timer had replaced it, only its remaining time is left
    /// (`tcp_rearm_rto`).
    #[inline]
    pub(super) fn restart_timer(&mut self, timers: &mut Timers, now: Instant) {
        if timers.is_running(Timer::TailProbe) || timers.is_running(Timer::Reordering) {
            self.resume_timer(timers, now);
        } else {
            self.start_timer(timers, Timer::Retransmission, now, self.rtt.rto());
        }
    }

    /// Starts the retransmission timer again after another timer had replaced it.
    fn resume_timer(&self, timers: &mut Timers, now: Instant) {
        let rto = self.rtt.rto();
        match self.board.head_sent() {
            Some(sent) => {
                let end = (sent + rto).max(now + Duration::from_us(1));
                let span = end - now + self.pacing_delay(timers, now);
                timers.restart(Timer::Retransmission, now, span, sent);
            }
            None => self.start_timer(timers, Timer::Retransmission, now, rto),
        }
    }

    /// Makes the next poll probe the tail, unless a probe was already sent, or the peer has withdrawn the window that the
    /// tail lies in.
    pub(super) fn on_tail_timer(
        &mut self,
        timers: &mut Timers,
        now: Instant,
        events: &mut impl Events,
    ) {
        let withdrawn = self.board.segments() > 1 && self.peer.room(self.board.last_start()) == 0;
        match self.recovery.probe_mut() {
            Some(probe) if !probe.is_out() && !withdrawn => {
                probe.due = true;
                self.persist.due = true;
                self.start_timer(timers, Timer::Retransmission, now, self.rtt.rto());
                let present = self.present_window();
                let (what, cause) = (DecisionKind::TailLossProbe, DecisionCause::ProbeTimer);
                self.report_decision(now, what, cause, present, events);
            }
            _ => self.restart_timer(timers, now),
        }
    }

    /// The probe of the tail, if one is due: new data whatever the congestion window allows, otherwise the last segment
    /// again (RFC 8985 7.3).
    pub(super) fn tail_probe(&mut self, timers: &mut Timers, now: Instant) -> Option<Chunk> {
        let probe = self.recovery.probe_mut()?;
        if !std::mem::take(&mut probe.due) || self.board.is_empty() {
            return None;
        }
        let new = self.next_whatever_nagle();
        if let Some(chunk) = new {
            self.send_unwatched(timers, now, chunk);
            self.count_in_reduction(chunk);
        }
        let sent = new.or_else(|| {
            let again = self.board.repeat_last(now)?;
            self.note_sent(now);
            self.counters.segments_sent += 1;
            self.counters.retransmits += 1;
            Some(again)
        })?;
        let nxt = self.board.nxt();
        if let Some(probe) = self.recovery.probe_mut() {
            probe.on_sent(nxt, new.is_none());
        }
        Some(sent)
    }

    /// The time for segments that might be late is over (`tcp_rack_reo_timeout`).
    pub(super) fn on_reordering_timer(
        &mut self,
        timers: &mut Timers,
        now: Instant,
        events: &mut impl Events,
    ) {
        self.board.look_again();
        let look = Look {
            now,
            srtt: self.rtt.srtt(),
            advances: false,
            newly_sacked: false,
            idle: false,
        };
        let detected = self.recovery.detect(&mut self.board, look);
        if detected.lost > 0 && self.recovery.state() != State::Fast {
            self.enter_recovery(now, DecisionCause::Rack, false, events);
            self.reduce_window_by(self.board.unit(), false);
        }
        self.restart_timer(timers, now);
    }
}

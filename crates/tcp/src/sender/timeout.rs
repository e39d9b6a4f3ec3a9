//! Expiry of a timer: a retransmission timeout, or a probe of the peer's closed window.

use fairport_units::{Duration, Instant};

use super::Sender;
use crate::decision::DecisionKind;
use crate::report::{Events, Timeout, TimeoutCause};
use crate::seq;
use crate::settings::Settings;
use crate::timers::{Expired, Timer, Timers};

/// The timeouts of a connection, and their settings.
#[derive(Clone, Copy, Debug)]
pub(super) struct RtoSeries {
    /// consecutive timeouts without progress of `SND.UNA`
    pub(super) timeouts: u32,
    /// timeouts of the handshake before the timeout begins to double
    pub(super) linear_timeouts: u64,
    /// the timer restarts when the first outstanding segment is sent again
    pub(super) restarts_on_head: bool,
    /// newly SACKed data gives a round-trip time
    pub(super) samples_sack: bool,
    /// added to the timer of late segments, as the kernel does
    pub(super) slack: Duration,
}

impl RtoSeries {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            timeouts: 0,
            linear_timeouts: 0,
            restarts_on_head: settings.rto_restarts_on_retransmit,
            samples_sack: settings.sack_rtt,
            slack: settings.timer_slack_ps,
        }
    }
}

impl Sender {
    /// The SYN or SYN-ACK is sent: starts the timer for its answer, unless it is running.
    pub(crate) fn await_handshake(&mut self, timers: &mut Timers, now: Instant) {
        if !timers.is_running(Timer::Handshake) {
            timers.start(Timer::Handshake, now, self.rtt.rto());
        }
    }

    /// The handshake measured a round-trip time.
    pub(crate) fn handshake_rtt(&mut self, now: Instant, rtt: Duration) {
        self.rtt
            .sample(now, rtt, self.stream.start, self.stream.start);
    }

    /// The SYN was sent again: takes the round-trip time from the echoed timestamp.
    pub(crate) fn handshake_echo(&mut self, now: Instant, echoed: u32) {
        if let Some(rtt) = self.clock.since(now, echoed) {
            self.handshake_rtt(now, rtt);
        }
    }

    /// The connection is closed: no timer fires any more.
    pub(crate) fn abort(&mut self) {
        self.policies.pacer = None;
        self.policies.small_queue = None;
    }

    /// Handles the timers that are due. Returns true if the segment of the handshake is to be sent again.
    pub(crate) fn on_timer(
        &mut self,
        timers: &mut Timers,
        now: Instant,
        events: &mut impl Events,
    ) -> bool {
        if timers.deadline(Timer::SmallQueue) <= now {
            timers.stop(Timer::SmallQueue);
        }
        let Some(expired) = timers.expired(now) else {
            return false;
        };
        match expired.timer {
            Timer::Persist => {
                self.note_timer(now);
                self.persist.due = true;
                self.persist.probes += 1;
                self.await_window_again(timers, now);
                false
            }
            Timer::Handshake => {
                self.report(expired, now, TimeoutCause::Syn, events);
                if self.counters.timeouts > self.rto.linear_timeouts {
                    self.rtt.back_off();
                }
                timers.stop_retransmission();
                true
            }
            Timer::TailProbe => {
                self.on_tail_timer(timers, now, events);
                false
            }
            Timer::Reordering => {
                self.note_timer(now);
                self.on_reordering_timer(timers, now, events);
                false
            }
            Timer::Retransmission => {
                self.note_timer(now);
                self.on_timeout(timers, now, expired, events);
                false
            }
            Timer::DelayedAck | Timer::ReceiveOffload | Timer::Pacing | Timer::SmallQueue => {
                unreachable!("this timer has a slot of its own")
            }
        }
    }

    /// A retransmission timeout (RFC 6298 5.4 to 5.7): the window falls to one segment, everything that is not SACKed
    /// counts as lost, and the timeout doubles.
    #[cold]
    fn on_timeout(
        &mut self,
        timers: &mut Timers,
        now: Instant,
        expired: Expired,
        events: &mut impl Events,
    ) {
        let cause = if self.board.head_retransmitted() {
            TimeoutCause::LostRetransmit
        } else if self.recovery.saw_duplicates(&self.board) {
            TimeoutCause::FewDupAcks
        } else {
            TimeoutCause::Tail
        };
        self.report(expired, now, cause, events);
        let lowers_threshold = self.timeout_lowers_threshold();
        let before = self.present_window();
        let nxt = self.board.nxt();
        self.congestion.on_timeout(lowers_threshold, now, nxt);
        self.queue_cwr();
        if let Some(sizing) = &mut self.policies.sizing {
            let after = self.congestion.window().cwnd;
            if lowers_threshold {
                sizing.on_loss(before.cwnd, after);
            } else {
                sizing.on_further_loss(after);
            }
        }
        let lowered = lowers_threshold.then_some(before);
        self.recovery
            .enter_loss(&mut self.board, now, lowered, self.rto.timeouts > 0);
        self.end_cwr();
        self.congestion
            .set_window(self.board.pipe() + self.board.unit());
        self.report_all_lost(now);
        self.report_decision(now, DecisionKind::Rto, cause.into(), before, events);
        // in a closed window it does not count (`tcp_retransmit_timer`)
        self.rto.timeouts += u32::from(self.peer.size() > 0);
        self.rtt.back_off();
        timers.start(Timer::Retransmission, now, self.rtt.rto());
    }

    fn report(
        &mut self,
        expired: Expired,
        now: Instant,
        cause: TimeoutCause,
        events: &mut impl Events,
    ) {
        let seq = match cause {
            TimeoutCause::Syn => self.stream.start - 1,
            _ => self.board.una(),
        };
        self.counters.timeouts += 1;
        self.counters.timeout_period += now - expired.since;
        events.timeout(Timeout {
            start: expired.since,
            end: now,
            rto: expired.deadline - expired.since,
            backoff: self.rtt.backoff(),
            seq: seq::wire(seq),
            cause,
        });
    }
}

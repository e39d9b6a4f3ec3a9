//! Congestion control: how large the window is. One file per algorithm.
//!
//! [`controller`] defines what an algorithm is and [`window`] what it changes. [`algorithm`] lists the algorithms of
//! this crate, and [`custom`] adds others from outside. This file has what the sender calls. Loss recovery decides what
//! is sent again.

mod ack_ratio;
#[macro_use] // `ask!` and `change!`
mod algorithm;
mod bbr;
mod bic;
mod controller;
mod cube_root;
mod cubic;
mod custom;
mod dctcp;
mod hystart;
#[cfg(test)]
mod models;
mod newreno;
mod window;

use fairport_units::{Duration, Instant};

use self::algorithm::Algorithm;
use self::custom::Checked;
use crate::decision::{DecisionCause, DecisionKind};
use crate::delivery_rate::{RateSample, Totals};
use crate::report::Events;
use crate::settings::Settings;

pub use self::algorithm::CongestionControl;
pub use self::controller::{AckSample, Controller, EcnAck, Setup, Start};
pub use self::custom::{ControllerFactory, Controllers, Custom};
pub use self::window::Window;

/// The window and the algorithm that changes it.
#[derive(Debug)]
pub(crate) struct Congestion {
    window: Window,
    algorithm: Algorithm,
}

impl Congestion {
    /// The congestion control of a connection whose full segments have `segment_bytes` of payload.
    pub(crate) fn new(settings: &Settings, segment_bytes: u16) -> Self {
        let window = Window::new(settings, segment_bytes);
        let algorithm = Algorithm::new(&Setup {
            settings,
            segment_bytes,
            unit: window.unit(),
        });
        Self { window, algorithm }
    }

    /// The handshake is complete.
    pub(crate) fn on_established(&mut self, start: &Start) {
        change!(self, |it, window| it.on_established(window, start));
    }

    /// The SYN had to be sent again, so the window starts with one segment (RFC 5681 3.1; Linux allows one lost SYN).
    pub(crate) fn start_with_one_segment(&mut self) {
        self.window.cwnd = self.window.unit();
    }

    #[inline]
    pub(crate) fn window(&self) -> &Window {
        &self.window
    }

    /// An ACK acknowledged new data.
    #[inline(never)] // the growth of all algorithms
    pub(crate) fn on_ack(&mut self, sample: &AckSample) {
        change!(self, |it, window| it.on_ack(window, sample));
    }

    /// An ACK arrived and the algorithm wants rate samples.
    pub(crate) fn on_rate_sample(&mut self, sample: &AckSample, rate: &RateSample) {
        change!(self, |it, window| it.on_rate_sample(window, sample, rate));
    }

    /// Fast recovery starts: the window falls to the share that the algorithm keeps.
    ///
    /// The share is taken of the window, and not of the flight size as in RFC 5681. A window that is not used does not
    /// grow, so the two differ only by limited transmit, which RFC 3042 does not count.
    pub(crate) fn on_loss(&mut self) {
        self.reduce_threshold();
        self.set_recovery_window(self.window.ssthresh);
    }

    /// Lowers the threshold for a loss. The window follows gradually.
    pub(crate) fn reduce_threshold(&mut self) {
        self.note_end_of_slow_start(DecisionCause::Loss);
        change!(self, |it, window| it.on_loss(window));
    }

    /// ECE arrived: the window falls at once.
    pub(crate) fn on_mark(&mut self) {
        self.reduce_for_mark();
        self.set_recovery_window(self.window.ssthresh);
    }

    /// ECE arrived: the threshold falls (RFC 3168 6.1.2).
    pub(crate) fn reduce_for_mark(&mut self) {
        self.note_end_of_slow_start(DecisionCause::Mark);
        self.window
            .note(DecisionKind::EcnReduction, DecisionCause::Mark);
        change!(self, |it, window| it.on_mark(window));
    }

    fn note_end_of_slow_start(&mut self, cause: DecisionCause) {
        if self.window.is_in_slow_start() && !self.sets_window() {
            self.window.note(DecisionKind::SlowStartEnd, cause);
        }
    }

    /// A timeout: the window falls to one segment. The `first` timeout of a series also lowers the threshold, unless
    /// fast recovery has just done so (Linux; RFC 5681 would use the flight size again).
    pub(crate) fn on_timeout(&mut self, first: bool, now: Instant, nxt: u64) {
        if first {
            change!(self, |it, window| it.on_loss(window));
        }
        self.window.collapse();
        change!(self, |it, window| it.on_timeout(window, now, nxt));
    }

    /// A timeout has marked the outstanding data lost, and the algorithm wants rate samples.
    pub(crate) fn on_all_lost(&mut self, now: Instant, totals: Totals) {
        change!(self, |it, window| it.on_all_lost(window, now, totals));
    }

    /// Sets the window at a timeout.
    pub(crate) fn set_window(&mut self, cwnd: u64) {
        self.window.cwnd = cwnd;
    }

    /// Sets the window in fast recovery, during a gradual reduction or at its end.
    pub(crate) fn set_recovery_window(&mut self, cwnd: u64) {
        // a loss that set no threshold leaves the window (`tcp_end_cwnd_reduction`)
        if !self.sets_window() && cwnd < u64::MAX {
            self.window.cwnd = cwnd;
        }
    }

    /// The smallest window that rate halving may reach (`tcp_cwnd_min`).
    pub(crate) fn least_window(&self) -> u64 {
        ask!(&self.algorithm, it => it.least_window(&self.window))
    }

    /// A reduction was needless: window and threshold are raised to at least their values before it
    /// (`tcp_undo_cwnd_reduction`, `tcp_reno_undo_cwnd`).
    pub(crate) fn undo(&mut self, cwnd: u64, ssthresh: u64) {
        ask!(&mut self.algorithm, it => it.on_undo());
        if !self.sets_window() {
            self.window.cwnd = self.window.cwnd.max(cwnd);
        }
        self.window.ssthresh = self.window.ssthresh.max(ssthresh);
    }

    /// The SACK blocks of an ACK gave a round-trip time.
    pub(crate) fn on_sack_rtt(&mut self, ack: &AckSample) {
        change!(self, |it, window| it.on_sack_rtt(window, ack));
    }

    /// Data is sent after nothing was outstanding for `idle`.
    pub(crate) fn on_idle(&mut self, now: Instant, idle: Duration) {
        ask!(&mut self.algorithm, it => it.on_idle(now, idle));
    }

    /// The first segment was sent after the application had nothing to send, and nothing else is in flight.
    pub(crate) fn on_resume(&mut self, now: Instant) {
        change!(self, |it, window| it.on_resume(window, now));
    }

    /// For the length of a timeout only `used` of the window was used: half of the unused rest is given up. The initial
    /// window counts as used.
    pub(crate) fn reduce_unused(&mut self, now: Instant, used: u64) {
        let used = used.max(self.window.initial());
        if used < self.window.cwnd {
            self.window.publish(
                now,
                DecisionKind::UnusedWindow,
                DecisionCause::ApplicationLimited,
            );
            self.window.remember_in_threshold();
            self.window.cwnd = self.window.cwnd.midpoint(used);
        }
    }

    /// Nothing was sent for `halvings` timeouts: the window is halved as often, but not below the initial window.
    pub(crate) fn reduce_idle(&mut self, now: Instant, halvings: u64) {
        let window = &mut self.window;
        let least = window.initial().min(window.cwnd);
        let halved = window.cwnd.checked_shr(halvings.min(64) as u32);
        let cwnd = halved.unwrap_or(0).max(least);
        if cwnd < window.cwnd {
            window.publish(now, DecisionKind::IdleRestart, DecisionCause::Idle);
        }
        window.remember_in_threshold();
        window.cwnd = cwnd;
    }

    /// Both sides use ECN.
    pub(crate) fn use_ecn(&mut self) {
        ask!(&mut self.algorithm, it => it.use_ecn());
    }

    /// An ACK arrived at a sender that uses ECN. [`Self::on_ack`] is called later.
    pub(crate) fn on_ecn_ack(&mut self, ack: &EcnAck) {
        ask!(&mut self.algorithm, it => it.on_ecn_ack(ack));
    }

    /// See [`Controller::reduces_after_mark`].
    pub(crate) fn reduces_after_mark(&self) -> bool {
        ask!(&self.algorithm, it => it.reduces_after_mark())
    }

    /// See [`Controller::needs_ecn`].
    pub(crate) fn needs_ecn(&self) -> bool {
        ask!(&self.algorithm, it => it.needs_ecn())
    }

    /// See [`Controller::sets_window`].
    #[inline]
    pub(crate) fn sets_window(&self) -> bool {
        ask!(&self.algorithm, it => it.sets_window())
    }

    /// See [`Controller::wants_rate_samples`].
    pub(crate) fn wants_rate_samples(&self) -> bool {
        ask!(&self.algorithm, it => it.wants_rate_samples())
    }

    /// See [`Controller::is_probing_rtt`].
    pub(crate) fn is_probing_rtt(&self) -> bool {
        ask!(&self.algorithm, it => it.is_probing_rtt())
    }

    /// See [`Controller::pacing_rate`].
    #[inline]
    pub(crate) fn pacing_rate(&self) -> Option<u64> {
        match &self.algorithm {
            Algorithm::Custom(it) => it.pacing_rate(),
            other => ask!(other, it => it.pacing_rate()),
        }
    }

    /// Whether decisions wait to be passed on.
    #[inline]
    pub(crate) fn has_decisions(&self) -> bool {
        self.window.has_pending()
    }

    /// Passes on the decisions made since the last call.
    pub(crate) fn pass_decisions(&mut self, now: Instant, events: &mut impl Events) {
        self.window.pass_pending(now, events);
    }
}

#[cfg(test)]
mod tests;

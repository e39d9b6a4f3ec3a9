//! CUBIC (RFC 9438; Ha, Rhee and Xu 2008) with the constants and the integer arithmetic of Linux
//! (`tcp_cubic.c`): time in 1/1024 s, C = 410/1024, beta = 717/1024.
//!
//! A stack that counts ACKs (ABC off) corrects the rate by the measured segments per ACK, as the kernel did before
//! 3.13. A stack that counts segments does not, as in later kernels.
//!
//! Unlike in Linux, the cube root is exact ([`super::cube_root`]).
//!
//! As in Linux, and unlike RFC 9438: the Reno-friendly window keeps its slow growth once it has reached the window
//! before the loss (4.3), an undo restores neither the last maximum nor the epoch (4.9), and before the first loss the
//! window grows by at least 5 % per round trip.

use fairport_units::{Duration, Instant};

use super::ack_ratio::{AckRatio, RATE_HOLDS};
use super::cube_root::cube_root;
use super::hystart::HyStart;
use super::{AckSample, Controller, Setup, Window};
use crate::decision::DecisionKind;
use crate::recovery::State;

/// beta in 1024ths: 0.7
const BETA: u64 = 717;
const BETA_SCALE: u64 = 1024;
/// C in 1024ths: 0.4
const C: u64 = 410;
/// time is in 2^-10 s
const TIME_SHIFT: u32 = 10;
/// 1/C in units of time cubed; K is the cube root of this times the distance
const CUBE_FACTOR: u64 = (1 << (10 + 3 * TIME_SHIFT)) / C;
/// eighths of a window of data to be acknowledged before the TCP-friendly window grows by one segment: 8 (1 + beta) / 3
/// (1 - beta)
const FRIENDLY_SCALE: u64 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);
/// at least one segment more for every 20 acknowledged, before the first loss
const COUNT_BEFORE_LOSS: u64 = 20;
/// the window grows by at most half of itself per round trip
const COUNT_MIN: u64 = 2;
/// round-trip times this soon after a loss are not used as the path's delay
const DELAY_QUIET: Duration = Duration::from_secs(1);
/// largest time from the plateau that is used, in 2^-10 s: 256 s, where the cubic function is 6.7 million segments away
const OFFSET_MAX: u64 = 1 << 18;

/// A period of growth after a loss, as the cubic function of time.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    begin: Instant,
    /// height of the plateau, in segments
    origin: u64,
    /// time from the beginning to the plateau, in 2^-10 s
    k: u64,
}

impl Epoch {
    /// A period that begins with a window of `cwnd` segments, below or above `last_max`.
    fn new(begin: Instant, cwnd: u64, last_max: u64) -> Self {
        Self {
            begin,
            origin: last_max.max(cwnd),
            k: cube_root(CUBE_FACTOR * last_max.saturating_sub(cwnd)),
        }
    }

    /// W(t) = C (t - K)^3 + `W_max`, in segments, at `elapsed` after the beginning.
    fn target(&self, elapsed: Duration) -> u64 {
        let t = ((u128::from(elapsed.as_ps()) << TIME_SHIFT) / 1_000_000_000_000) as u64;
        let offset = t.abs_diff(self.k).min(OFFSET_MAX);
        let distance =
            ((u128::from(C) * u128::from(offset).pow(3)) >> (10 + 3 * TIME_SHIFT)) as u64;
        if t < self.k {
            self.origin.saturating_sub(distance)
        } else {
            self.origin + distance
        }
    }
}

#[derive(Debug)]
pub(super) struct Cubic {
    fast_convergence: bool,
    counts_acks: bool,
    /// tick of the clock that the growth reads; 1 ps if that clock is exact
    tick: Duration,
    shifts_when_idle: bool,
    hystart: Option<HyStart>,
    ack_ratio: AckRatio,
    /// the last maximum in segments; 0: none since the start or the last timeout
    last_max: u64,
    /// none until congestion avoidance starts after a loss
    epoch: Option<Epoch>,
    /// smallest round-trip time; zero: none yet
    delay_min: Duration,
    /// one full segment in the window's unit
    unit: u64,
    /// data acknowledged that is not yet counted in `friendly`, in the window's unit
    acked: u64,
    /// the window that Reno would have now, in segments
    friendly: u64,
    /// window for which `every` was computed, and when
    at_cwnd: u64,
    at: Instant,
    /// data acknowledged per segment of growth, in the window's unit
    every: u64,
}

impl Cubic {
    pub(super) fn new(setup: &Setup<'_>) -> Self {
        let settings = setup.settings;
        Self {
            fast_convergence: settings.fast_convergence,
            counts_acks: !settings.abc,
            tick: settings.clock_tick_ps.max(Duration::from_ps(1)),
            shifts_when_idle: settings.cubic_idle_shift,
            hystart: settings.hystart.then(|| HyStart::new(setup)),
            ack_ratio: AckRatio::new(),
            last_max: 0,
            epoch: None,
            delay_min: Duration::ZERO,
            unit: setup.unit,
            acked: 0,
            friendly: 0,
            at_cwnd: 0,
            at: Instant::ZERO,
            every: 0,
        }
    }

    /// Takes in the ACK's round-trip time, which may end slow start.
    #[inline]
    fn note_rtt(&mut self, window: &mut Window, ack: &AckSample) {
        let Some(rtt) = ack.rtt else { return };
        if self
            .epoch
            .is_some_and(|epoch| ack.now.saturating_sub(epoch.begin) < DELAY_QUIET)
        {
            return;
        }
        if self.delay_min == Duration::ZERO || rtt < self.delay_min {
            self.delay_min = rtt;
        }
        if let Some(hystart) = &mut self.hystart
            && window.is_in_slow_start()
            && let Some(cause) = hystart.ends_slow_start(window, rtt, self.delay_min, ack)
        {
            window.publish(ack.now, DecisionKind::SlowStartEnd, cause);
            window.ssthresh = window.cwnd;
        }
    }

    /// Segments (or ACKs, where these are counted) after which the window grows by one.
    fn segments_per_increase(&mut self, cwnd: u64, now: Instant, acked: u64) -> u64 {
        let epoch = *self.epoch.get_or_insert_with(|| {
            self.acked = acked;
            self.friendly = cwnd;
            Epoch::new(now, cwnd, self.last_max)
        });
        let delay = self.delay_min.as_ps().div_ceil(self.tick.as_ps());
        let target = epoch.target(now.saturating_sub(epoch.begin) + self.tick * delay);
        let mut every = if target > cwnd {
            cwnd / (target - cwnd)
        } else {
            100 * cwnd // on the plateau: almost no growth
        };
        if self.last_max == 0 {
            every = every.min(COUNT_BEFORE_LOSS);
        }
        self.limited(cwnd, every)
    }

    fn limited(&mut self, cwnd: u64, every: u64) -> u64 {
        let mut every = every.min(self.friendly_limit(cwnd));
        if self.counts_acks {
            every = self.ack_ratio.correct(every);
        }
        every.max(COUNT_MIN)
    }

    /// Limit that keeps CUBIC at least as fast as Reno with the same beta (RFC 9438 4.3).
    fn friendly_limit(&mut self, cwnd: u64) -> u64 {
        let step = ((cwnd * FRIENDLY_SCALE) >> 3) * self.unit;
        if step > 0 && self.acked > step {
            let grown = (self.acked - 1) / step;
            self.friendly += grown;
            self.acked -= grown * step;
        }
        if self.friendly > cwnd {
            cwnd / (self.friendly - cwnd)
        } else {
            u64::MAX
        }
    }
}

impl Controller for Cubic {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        if self.counts_acks && ack.state == State::Open {
            self.ack_ratio.sample(ack.segments);
        }
        self.note_rtt(window, ack);
        if !ack.may_grow() || window.slow_start(ack) {
            return;
        }
        let acked = if self.counts_acks {
            self.unit
        } else {
            window.counted(ack)
        };
        self.acked += acked;
        let now = ack.now.last_tick(self.tick);
        if self.at_cwnd == window.cwnd && now.saturating_sub(self.at) <= RATE_HOLDS {
            // a reduction to the same window does not end this; the next epoch begins later
        } else if self.epoch.is_some() && self.at == now && !self.counts_acks {
            // the cubic function is evaluated once per tick (since 3.19)
            let every = self.every / self.unit;
            self.every = self.limited(window.segments(), every) * self.unit;
        } else {
            self.at_cwnd = window.cwnd;
            self.at = now;
            self.every = self.segments_per_increase(window.segments(), now, acked) * self.unit;
        }
        window.grow_one_per(self.every, ack);
    }

    fn on_sack_rtt(&mut self, window: &mut Window, ack: &AckSample) {
        self.note_rtt(window, ack);
    }

    /// See [`super::bic::Bic::on_loss`].
    fn on_loss(&mut self, window: &mut Window) {
        let cwnd = window.segments();
        self.epoch = None;
        self.last_max = if cwnd < self.last_max && self.fast_convergence {
            cwnd * (BETA_SCALE + BETA) / (2 * BETA_SCALE)
        } else {
            cwnd
        };
        window.lower_threshold(cwnd * BETA / BETA_SCALE * window.unit());
    }

    /// A timeout forgets everything (`bictcp_reset`).
    fn on_timeout(&mut self, _window: &mut Window, now: Instant, nxt: u64) {
        self.ack_ratio = AckRatio::new();
        self.last_max = 0;
        self.epoch = None;
        self.at_cwnd = 0;
        self.delay_min = Duration::ZERO;
        if let Some(hystart) = &mut self.hystart {
            hystart.on_timeout(now, nxt);
        }
    }

    /// Idle time does not count as time of growth (`bictcp_cwnd_event`).
    fn on_idle(&mut self, now: Instant, idle: Duration) {
        if self.shifts_when_idle
            && let Some(epoch) = &mut self.epoch
        {
            let sent = now.earlier_by(idle).last_tick(self.tick);
            let rested = now.last_tick(self.tick) - sent;
            epoch.begin = (epoch.begin + rested).min(now);
        }
    }
}

#[cfg(test)]
mod tests;

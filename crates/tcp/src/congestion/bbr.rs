//! BBR v1 (Cardwell et al., ACM Queue 14(5), 2016) as in Linux (`tcp_bbr.c`). It models the path by the largest recent
//! delivery rate and the smallest round-trip time. The model says how fast to send and how much may be in flight; a
//! loss alone changes neither.
//!
//! Startup paces at 2/ln 2 of the bandwidth until the bandwidth stops growing. Drain then removes the queue that
//! startup has built. After that the gain cycles through eight phases, which probe for more bandwidth and drain the
//! probe's queue. When the smallest round-trip time is ten seconds old, the flight shrinks to four segments to measure
//! it again.
//!
//! Differences from the kernel: times are exact, not in microseconds. Only the ten seconds and the probe that follows
//! them are in ticks (jiffies), if the stack's clock has ticks.

mod aggregation;
mod bandwidth;
mod long_term;
mod probe_rtt;
mod state;
mod window;

use std::cmp::Ordering;

use fairport_units::{Duration, Instant};

use self::aggregation::Aggregation;
use self::bandwidth::{Bandwidth, UNIT_GAIN, WindowedMax};
use self::long_term::{LongTerm, PolicerChange, Signs};
use self::state::{Cycle, FullPipe, MinRtt, Mode, Pace, Recovery, Round};
use super::{AckSample, Controller, Setup, Start, Window};
use crate::decision::{DecisionCause, DecisionKind};
use crate::delivery_rate::{RateSample, Totals};
use crate::random::Random;
use crate::recovery::State;

/// Separates this random sequence from others with the same seed ([`Random::new`]).
const PURPOSE: u64 = 3;

/// 2/ln 2: the smallest gain with which the rate doubles each round.
const HIGH_GAIN: u64 = UNIT_GAIN * 2885 / 1000 + 1;
/// The inverse of `HIGH_GAIN`, which drains startup's queue in one round.
const DRAIN_GAIN: u64 = UNIT_GAIN * 1000 / 2885;
/// Gain of the window. It leaves room for delayed ACKs.
const WINDOW_GAIN: u64 = UNIT_GAIN * 2;
/// Gains of the cycle's phases: probe for more, drain, then cruise.
const CYCLE: [u64; 8] = [
    UNIT_GAIN * 5 / 4,
    UNIT_GAIN * 3 / 4,
    UNIT_GAIN,
    UNIT_GAIN,
    UNIT_GAIN,
    UNIT_GAIN,
    UNIT_GAIN,
    UNIT_GAIN,
];
/// Rounds over which the maximum of the bandwidth is taken: a cycle and two more.
const BANDWIDTH_ROUNDS: u64 = CYCLE.len() as u64 + 2;
/// Startup counts a round as full if the bandwidth grew by less than a quarter in it; three such rounds end startup.
const FULL_GROWTH: u64 = UNIT_GAIN * 5 / 4;
const FULL_ROUNDS: u32 = 3;
/// Pacing rate as a share of the bandwidth, in percent: below 100, so that the queue shrinks on average.
const PACED_PERCENT: u64 = 99;
/// Used while no round-trip time is known.
const NOMINAL_RTT: Duration = Duration::from_ms(1);
/// Two policed rates that differ by less than this, in bytes per second, count as the same: 4 kbit/s.
const POLICED_SAME: u64 = 500;

/// The state of one sender. Amounts are in the window's unit.
#[derive(Debug)]
pub(super) struct Bbr {
    /// a full segment, in the window's unit and in bytes
    unit: u64,
    segment_bytes: u64,
    random: Random,
    mode: Mode,
    bandwidth: WindowedMax,
    round: Round,
    min_rtt: MinRtt,
    /// sending has started again after the application had nothing to send
    restarts: bool,
    full_pipe: FullPipe,
    cycle: Cycle,
    long_term: LongTerm,
    aggregation: Aggregation,
    recovery: Recovery,
    pace: Pace,
    totals: Totals,
}

impl Bbr {
    pub(super) fn new(setup: &Setup<'_>) -> Self {
        let unit = setup.unit;
        let segment_bytes = u64::from(setup.segment_bytes);
        let same_s = Duration::from_secs(PACED_PERCENT * segment_bytes);
        Self {
            unit,
            segment_bytes,
            random: Random::new(0, PURPOSE),
            mode: Mode::Startup,
            bandwidth: WindowedMax::new(BANDWIDTH_ROUNDS),
            round: Round::default(),
            min_rtt: MinRtt {
                tick: setup.settings.clock_tick_ps.max(Duration::from_ps(1)),
                ..MinRtt::default()
            },
            restarts: false,
            full_pipe: FullPipe::default(),
            cycle: Cycle::default(),
            long_term: LongTerm::new(Bandwidth::of(POLICED_SAME * 100 * unit, same_s)),
            aggregation: Aggregation::default(),
            recovery: Recovery::default(),
            pace: Pace::default(),
            totals: Totals::default(),
        }
    }

    /// Saves the window before a recovery or a probe of the round-trip time reduces it; it is restored afterwards.
    fn keep_window(&mut self, window: &Window) {
        let good = self.recovery.state == State::Open && self.mode != Mode::ProbeRtt;
        self.recovery.window_before = if good {
            window.cwnd
        } else {
            self.recovery.window_before.max(window.cwnd)
        };
    }

    /// Estimate of the path's bandwidth: the largest recent rate, or the rate of a policer.
    fn estimate(&self) -> Bandwidth {
        self.long_term
            .rate()
            .unwrap_or_else(|| self.bandwidth.get())
    }

    fn update_bandwidth(&mut self, window: &mut Window, now: Instant, sample: &RateSample) {
        self.round.starts = false;
        let Some(interval) = sample.interval else {
            return;
        };
        if sample.prior_delivered >= self.round.end {
            self.round.end = sample.totals.delivered;
            self.round.number += 1;
            self.round.starts = true;
            self.recovery.conserves = false;
        }
        let probes = self.mode == Mode::ProbeBandwidth;
        self.detect_policer(window, now, Signs::of(sample, self.round.starts, probes));
        let measured = Bandwidth::of(sample.delivered, interval);
        // a lower rate, measured while the application had less to send, says nothing about the path
        if !sample.app_limited || measured >= self.bandwidth.get() {
            self.bandwidth.update(self.round.number, measured);
        }
        if sample.newly_delivered > 0 {
            if self.round.starts {
                self.aggregation.on_round();
            }
            let (at, newly) = (sample.totals.delivered_at, sample.newly_delivered);
            let estimate = self.estimate();
            self.aggregation
                .on_ack(at, newly, estimate, window.cwnd, self.unit);
        }
    }

    fn detect_policer(&mut self, window: &mut Window, now: Instant, signs: Signs) {
        let cause = match self.long_term.on_ack(signs) {
            PolicerChange::None => return,
            PolicerChange::Found => {
                self.pace.gain = UNIT_GAIN;
                DecisionCause::PolicerFound
            }
            PolicerChange::Expired => {
                self.begin_cycle();
                DecisionCause::PolicerExpired
            }
        };
        window.publish(now, DecisionKind::BbrPolicer, cause);
    }

    /// Changes the mode and publishes the reason.
    fn enter(&mut self, window: &mut Window, now: Instant, mode: Mode, cause: DecisionCause) {
        let what = match mode {
            Mode::Startup => DecisionKind::BbrStartup,
            Mode::Drain => DecisionKind::BbrDrain,
            Mode::ProbeBandwidth => DecisionKind::BbrProbeBandwidth,
            Mode::ProbeRtt => DecisionKind::BbrProbeRtt,
        };
        window.publish(now, what, cause);
        self.mode = mode;
        if mode == Mode::ProbeBandwidth {
            self.begin_cycle();
        }
    }

    /// Starts the cycle at a random phase, but not at the one that drains.
    fn begin_cycle(&mut self) {
        self.cycle.phase = CYCLE.len() - 1 - self.random.up_to(CYCLE.len() as u64 - 2) as usize;
        self.next_phase();
    }

    fn next_phase(&mut self) {
        self.cycle.phase = (self.cycle.phase + 1) % CYCLE.len();
        self.cycle.since = self.totals.delivered_at;
    }

    /// Moves to the next phase when the present one is over. A phase lasts one round trip. A probe lasts longer, until
    /// the flight has reached its target or something is lost; the phase that drains ends early once the queue is gone.
    fn update_phase(&mut self, now: Instant, sample: &RateSample) {
        if self.mode != Mode::ProbeBandwidth {
            return;
        }
        let spent = self.totals.delivered_at.saturating_sub(self.cycle.since);
        let full_length = self.min_rtt.value.is_some_and(|rtt| spent > rtt);
        let max = self.bandwidth.get();
        let flying = || self.in_network(now, sample.prior_in_flight, sample.next_departure);
        let over = match self.pace.gain.cmp(&UNIT_GAIN) {
            Ordering::Equal => full_length,
            Ordering::Greater => {
                full_length
                    && (sample.newly_lost > 0 || flying() >= self.flight(max, self.pace.gain))
            }
            Ordering::Less => full_length || flying() <= self.flight(max, UNIT_GAIN),
        };
        if over {
            self.next_phase();
        }
    }

    fn find_full_pipe(&mut self, sample: &RateSample) {
        if self.full_pipe.reached || !self.round.starts || sample.app_limited {
            return;
        }
        let max = self.bandwidth.get();
        if max >= self.full_pipe.bandwidth.times(FULL_GROWTH) {
            self.full_pipe.bandwidth = max;
            self.full_pipe.rounds = 0;
            return;
        }
        self.full_pipe.rounds += 1;
        self.full_pipe.reached = self.full_pipe.rounds >= FULL_ROUNDS;
    }

    fn drain(&mut self, now: Instant, window: &mut Window, sample: &RateSample) {
        if self.mode == Mode::Startup && self.full_pipe.reached {
            self.enter(window, now, Mode::Drain, DecisionCause::PipeFull);
            window.ssthresh = self.flight(self.bandwidth.get(), UNIT_GAIN);
        }
        if self.mode == Mode::Drain {
            let flying = self.in_network(now, sample.in_flight, sample.next_departure);
            if flying <= self.flight(self.bandwidth.get(), UNIT_GAIN) {
                let cause = DecisionCause::QueueDrained;
                self.enter(window, now, Mode::ProbeBandwidth, cause);
            }
        }
    }

    fn update_gains(&mut self) {
        (self.pace.gain, self.pace.window_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth if self.long_term.rate().is_some() => (UNIT_GAIN, WINDOW_GAIN),
            Mode::ProbeBandwidth => (CYCLE[self.cycle.phase], WINDOW_GAIN),
            Mode::ProbeRtt => (UNIT_GAIN, UNIT_GAIN),
        };
    }

    /// Sets the pacing rate before anything is measured: the first window per round trip, times the gain.
    fn set_first_rate(&mut self, cwnd: u64, rtt: Option<Duration>) {
        self.pace.saw_rtt = rtt.is_some();
        let over = rtt.unwrap_or(NOMINAL_RTT).max(Duration::from_us(1));
        self.pace.rate = self.paced(Bandwidth::of(cwnd, over), HIGH_GAIN);
    }

    /// Sets the pacing rate. It only rises until the pipe is full.
    fn set_rate(&mut self, gain: u64) {
        let rate = self.paced(self.estimate(), gain);
        if self.full_pipe.reached || rate > self.pace.rate {
            self.pace.rate = rate;
        }
    }

    /// Pacing rate for a bandwidth and a gain, in bytes per second.
    fn paced(&self, bandwidth: Bandwidth, gain: u64) -> u64 {
        let rate = bandwidth.bytes_per_second(gain, self.segment_bytes, self.unit);
        (u128::from(rate) * u128::from(PACED_PERCENT) / 100) as u64
    }
}

impl Controller for Bbr {
    fn on_established(&mut self, window: &mut Window, start: &Start) {
        self.random = Random::new(start.seed, PURPOSE);
        self.min_rtt.value = start.rtt;
        self.min_rtt.at = start.now.last_tick(self.min_rtt.tick);
        self.aggregation.restart(start.now);
        self.totals.delivered_at = start.now;
        self.long_term.reset(self.totals);
        self.set_first_rate(window.cwnd, start.rtt);
    }

    /// Does nothing: BBR works with rate samples only.
    #[inline]
    fn on_ack(&mut self, _window: &mut Window, _ack: &AckSample) {}

    /// `bbr_main`
    fn on_rate_sample(&mut self, window: &mut Window, ack: &AckSample, rate: &RateSample) {
        self.totals = rate.totals;
        self.update_bandwidth(window, ack.now, rate);
        self.update_phase(ack.now, rate);
        self.find_full_pipe(rate);
        self.drain(ack.now, window, rate);
        self.update_min_rtt(ack.now, window, rate);
        self.update_gains();
        if !self.pace.saw_rtt && ack.srtt.is_some() {
            self.set_first_rate(window.cwnd, ack.srtt);
        }
        self.set_rate(self.pace.gain);
        self.set_window(window, ack.state, rate);
    }

    fn on_loss(&mut self, window: &mut Window) {
        self.keep_window(window);
    }

    /// A timeout counts as the end of a round with a loss.
    fn on_all_lost(&mut self, window: &mut Window, now: Instant, totals: Totals) {
        self.totals = totals;
        self.recovery.state = State::Loss;
        self.full_pipe.bandwidth = Bandwidth::ZERO;
        let signs = Signs {
            totals: self.totals,
            losses: true,
            app_limited: false,
            round_starts: true,
            probes: self.mode == Mode::ProbeBandwidth,
        };
        self.detect_policer(window, now, signs);
    }

    /// Forgets what a needless recovery seemed to show.
    fn on_undo(&mut self) {
        self.full_pipe.bandwidth = Bandwidth::ZERO;
        self.full_pipe.rounds = 0;
        self.long_term.reset(self.totals);
    }

    fn on_resume(&mut self, window: &mut Window, now: Instant) {
        self.restarts = true;
        self.aggregation.restart(now);
        match self.mode {
            Mode::ProbeBandwidth => self.set_rate(UNIT_GAIN),
            Mode::ProbeRtt => self.end_probe_rtt(now, window),
            Mode::Startup | Mode::Drain => {}
        }
    }

    #[inline]
    fn sets_window(&self) -> bool {
        true
    }

    fn wants_rate_samples(&self) -> bool {
        true
    }

    fn is_probing_rtt(&self) -> bool {
        self.min_rtt.is_probed
    }

    #[inline]
    fn pacing_rate(&self) -> Option<u64> {
        Some(self.pace.rate)
    }
}

#[cfg(test)]
mod limits;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod tests;

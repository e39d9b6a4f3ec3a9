//! BBR v1 (Cardwell et al., ACM Queue 14(5), 2016) as in Linux (`tcp_bbr.c`): a model of the path, the
//! largest rate of delivery and the smallest round trip, says how fast to send and how much may be in
//! flight. A loss by itself changes neither.
//!
//! Startup paces at 2/ln 2 of the bandwidth until it grows no more, drain takes the queue away
//! that this has built, and then the gain goes through a cycle of eight phases that probes for more and
//! gives back. When the smallest round trip is ten seconds old, the flight shrinks to four segments to
//! measure it anew.
//!
//! Departures from the kernel: times are exact and not in microseconds and jiffies; without SACK
//! a duplicate ACK does not count as delivered.

mod aggregation;
mod bandwidth;
mod long_term;
mod probe_rtt;
mod window;

use std::cmp::Ordering;

use fairport_units::Time;

use self::aggregation::Aggregation;
use self::bandwidth::{Bandwidth, UNIT_GAIN, WindowedMax};
use self::long_term::{LongTerm, Signs, Verdict};
use super::{AckSample, Window};
use crate::delivery_rate::{RateSample, Totals};
use crate::random::Random;
use crate::recovery::State;

/// The purpose of the random sequence ([`Random::new`]).
const PURPOSE: u64 = 3;

/// 2/ln 2: the smallest gain with which the rate doubles each round.
const HIGH_GAIN: u64 = UNIT_GAIN * 2885 / 1000 + 1;
/// Its inverse, which takes one round to drain what startup queued.
const DRAIN_GAIN: u64 = UNIT_GAIN * 1000 / 2885;
/// Of the window, for ACKs that are delayed.
const WINDOW_GAIN: u64 = UNIT_GAIN * 2;
/// Probe for more, give it back, cruise.
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
/// Rounds over which the bandwidth is a maximum: a cycle and two.
const BANDWIDTH_ROUNDS: u64 = CYCLE.len() as u64 + 2;
/// A round with less growth than by a quarter is one in which the pipe was full; three are believed.
const FULL_GROWTH: u64 = UNIT_GAIN * 5 / 4;
const FULL_ROUNDS: u32 = 3;
/// Share of the bandwidth at which is sent, in percent: the queue shall shrink on average.
const PACED_PERCENT: u64 = 99;
/// Round trip that stands in for an unknown one.
const NOMINAL_RTT: Time = Time::from_ms(1);
/// Octets a second by which two policed rates are the same: 4 kbit/s.
const POLICED_SAME: u64 = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

/// Whether startup has filled the pipe.
#[derive(Debug, Default)]
struct FullPipe {
    reached: bool,
    bandwidth: Bandwidth,
    rounds: u32,
}

/// The state of one sender. Amounts are in the window's unit.
#[derive(Debug)]
pub(super) struct Bbr {
    /// a full segment, in the window's unit and in octets
    unit: u64,
    octets: u64,
    random: Random,
    mode: Mode,
    bandwidth: WindowedMax,
    rounds: u64,
    /// a round is over when a segment is delivered that was sent after so much had been
    round_end: u64,
    round_starts: bool,
    min_rtt: Option<Time>,
    min_rtt_at: Time,
    /// when the flight may grow again; none: it has not shrunk yet
    probe_rtt_end: Option<Time>,
    probe_rtt_round_done: bool,
    /// samples are low because the flight is held small
    holds_small: bool,
    /// sending began again after a gap of the application
    restarts: bool,
    full_pipe: FullPipe,
    phase: usize,
    phase_from: Time,
    long_term: LongTerm,
    aggregation: Aggregation,
    /// loss recovery's state at the last ACK
    recovery: State,
    /// in the first round of a recovery
    conserves: bool,
    /// the window before a recovery or a probe of the round trip
    window_before: u64,
    gain: u64,
    window_gain: u64,
    /// octets a second
    rate: u64,
    saw_rtt: bool,
    totals: Totals,
}

impl Bbr {
    /// For full segments of `octets`, `unit` in the window's unit.
    pub(super) fn new(unit: u64, octets: u16) -> Self {
        let octets = u64::from(octets);
        let same_s = Time::from_secs(PACED_PERCENT * octets);
        Self {
            unit,
            octets,
            random: Random::new(0, PURPOSE),
            mode: Mode::Startup,
            bandwidth: WindowedMax::new(BANDWIDTH_ROUNDS),
            rounds: 0,
            round_end: 0,
            round_starts: false,
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            probe_rtt_end: None,
            probe_rtt_round_done: false,
            holds_small: false,
            restarts: false,
            full_pipe: FullPipe::default(),
            phase: 0,
            phase_from: Time::ZERO,
            long_term: LongTerm::new(Bandwidth::of(POLICED_SAME * 100 * unit, same_s)),
            aggregation: Aggregation::default(),
            recovery: State::Open,
            conserves: false,
            window_before: 0,
            gain: HIGH_GAIN,
            window_gain: HIGH_GAIN,
            rate: 0,
            saw_rtt: false,
            totals: Totals::default(),
        }
    }

    /// The connection is open, with a window of `cwnd` and the handshake's round trip.
    pub(super) fn begin(&mut self, now: Time, cwnd: u64, rtt: Option<Time>, seed: u64) {
        self.random = Random::new(seed, PURPOSE);
        self.min_rtt = rtt;
        self.min_rtt_at = now;
        self.aggregation.restart(now);
        self.totals.delivered_at = now;
        self.long_term.reset(self.totals);
        self.set_first_rate(cwnd, rtt);
    }

    /// Octets a second at which is sent.
    #[inline]
    pub(super) fn rate(&self) -> u64 {
        self.rate
    }

    /// Whether samples of the rate are low because the flight is held small.
    pub(super) fn holds_small(&self) -> bool {
        self.holds_small
    }

    /// Sends begin again after a gap of the application, with nothing in flight.
    pub(super) fn on_restart(&mut self, now: Time, window: &mut Window) {
        self.restarts = true;
        self.aggregation.restart(now);
        match self.mode {
            Mode::ProbeBandwidth => self.set_rate(UNIT_GAIN),
            Mode::ProbeRtt => self.end_probe_rtt(now, window),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// The window is about to fall, for a recovery or a probe of the round trip: it is kept for the end.
    pub(super) fn keep_window(&mut self, window: &Window) {
        let good = self.recovery == State::Open && self.mode != Mode::ProbeRtt;
        self.window_before = if good {
            window.cwnd
        } else {
            self.window_before.max(window.cwnd)
        };
    }

    /// A timeout counts as the end of a round with a loss.
    pub(super) fn on_timeout(&mut self) {
        self.recovery = State::Loss;
        self.full_pipe.bandwidth = Bandwidth::ZERO;
        self.judge_policer(Signs {
            totals: self.totals,
            losses: true,
            app_limited: false,
            round_starts: true,
            probes: self.mode == Mode::ProbeBandwidth,
        });
    }

    /// A recovery was needless: so was what was learned from it.
    pub(super) fn on_undo(&mut self) {
        self.full_pipe.bandwidth = Bandwidth::ZERO;
        self.full_pipe.rounds = 0;
        self.long_term.reset(self.totals);
    }

    /// `bbr_main`
    pub(super) fn on_ack(&mut self, window: &mut Window, ack: &AckSample, sample: &RateSample) {
        self.totals = sample.totals;
        self.update_bandwidth(window.cwnd, sample);
        self.update_phase(ack.now, sample);
        self.find_full_pipe(sample);
        self.drain(ack.now, window, sample);
        self.update_min_rtt(ack.now, window, sample);
        self.update_gains();
        if !self.saw_rtt {
            self.set_first_rate(window.cwnd, sample.rtt);
        }
        self.set_rate(self.gain);
        self.set_window(window, ack.state, sample);
    }

    /// What is believed of the path: the largest rate of late, or a policer's.
    fn estimate(&self) -> Bandwidth {
        self.long_term
            .rate()
            .unwrap_or_else(|| self.bandwidth.get())
    }

    fn update_bandwidth(&mut self, cwnd: u64, sample: &RateSample) {
        self.round_starts = false;
        let Some(interval) = sample.interval else {
            return;
        };
        if sample.prior_delivered >= self.round_end {
            self.round_end = sample.totals.delivered;
            self.rounds += 1;
            self.round_starts = true;
            self.conserves = false;
        }
        let probes = self.mode == Mode::ProbeBandwidth;
        self.judge_policer(Signs::of(sample, self.round_starts, probes));
        let measured = Bandwidth::of(sample.delivered, interval);
        // a lower rate of an application that had less to send says nothing of the path
        if !sample.app_limited || measured >= self.bandwidth.get() {
            self.bandwidth.update(self.rounds, measured);
        }
        if sample.newly_delivered > 0 {
            if self.round_starts {
                self.aggregation.on_round();
            }
            let (now, newly) = (sample.totals.delivered_at, sample.newly_delivered);
            let estimate = self.estimate();
            self.aggregation
                .on_ack(now, newly, estimate, cwnd, self.unit);
        }
    }

    fn judge_policer(&mut self, signs: Signs) {
        match self.long_term.on_ack(signs) {
            Verdict::AsBefore => {}
            Verdict::Policed => self.gain = UNIT_GAIN,
            Verdict::Expired => self.begin_cycle(),
        }
    }

    /// The cycle begins at any phase but the one that gives back.
    fn begin_cycle(&mut self) {
        self.mode = Mode::ProbeBandwidth;
        self.phase = CYCLE.len() - 1 - self.random.up_to(CYCLE.len() as u64 - 2) as usize;
        self.next_phase();
    }

    fn next_phase(&mut self) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_from = self.totals.delivered_at;
    }

    /// A phase takes a round trip; probing lasts until the flight shows it or something is lost, and
    /// giving back ends early once the queue is gone.
    fn update_phase(&mut self, now: Time, sample: &RateSample) {
        if self.mode != Mode::ProbeBandwidth {
            return;
        }
        let spent = self.totals.delivered_at.saturating_sub(self.phase_from);
        let full_length = self.min_rtt.is_some_and(|rtt| spent > rtt);
        let max = self.bandwidth.get();
        let flying = || self.in_network(now, sample.prior_in_flight, sample.next_departure);
        let over = match self.gain.cmp(&UNIT_GAIN) {
            Ordering::Equal => full_length,
            Ordering::Greater => {
                full_length && (sample.newly_lost > 0 || flying() >= self.flight(max, self.gain))
            }
            Ordering::Less => full_length || flying() <= self.flight(max, UNIT_GAIN),
        };
        if over {
            self.next_phase();
        }
    }

    fn find_full_pipe(&mut self, sample: &RateSample) {
        if self.full_pipe.reached || !self.round_starts || sample.app_limited {
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

    fn drain(&mut self, now: Time, window: &mut Window, sample: &RateSample) {
        if self.mode == Mode::Startup && self.full_pipe.reached {
            window.ssthresh = self.flight(self.bandwidth.get(), UNIT_GAIN);
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain {
            let flying = self.in_network(now, sample.in_flight, sample.next_departure);
            if flying <= self.flight(self.bandwidth.get(), UNIT_GAIN) {
                self.begin_cycle();
            }
        }
    }

    fn update_gains(&mut self) {
        (self.gain, self.window_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth if self.long_term.rate().is_some() => (UNIT_GAIN, WINDOW_GAIN),
            Mode::ProbeBandwidth => (CYCLE[self.phase], WINDOW_GAIN),
            Mode::ProbeRtt => (UNIT_GAIN, UNIT_GAIN),
        };
    }

    /// Before anything is measured: the first window in a round trip.
    fn set_first_rate(&mut self, cwnd: u64, rtt: Option<Time>) {
        self.saw_rtt = rtt.is_some();
        let over = rtt.unwrap_or(NOMINAL_RTT).max(Time::from_us(1));
        self.rate = self.paced(Bandwidth::of(cwnd, over), HIGH_GAIN);
    }

    /// Until the pipe is full the rate only rises.
    fn set_rate(&mut self, gain: u64) {
        let rate = self.paced(self.estimate(), gain);
        if self.full_pipe.reached || rate > self.rate {
            self.rate = rate;
        }
    }

    /// Octets a second.
    fn paced(&self, bandwidth: Bandwidth, gain: u64) -> u64 {
        let rate = bandwidth.octets_a_second(gain, self.octets, self.unit);
        (u128::from(rate) * u128::from(PACED_PERCENT) / 100) as u64
    }
}

#[cfg(test)]
mod tests;

//! The state of a BBR sender, by subject. Amounts are in the window's unit.

use fairport_units::{Duration, Instant};

use super::HIGH_GAIN;
use super::bandwidth::Bandwidth;
use crate::recovery::State;

/// The mode of the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

/// Whether startup has filled the pipe.
#[derive(Debug, Default)]
pub(super) struct FullPipe {
    pub(super) reached: bool,
    pub(super) bandwidth: Bandwidth,
    pub(super) rounds: u32,
}

/// The present round trip.
#[derive(Debug, Default)]
pub(super) struct Round {
    pub(super) number: u64,
    /// the round ends when a segment is delivered that was sent after this total had been delivered
    pub(super) end: u64,
    /// the round began with the present ACK
    pub(super) starts: bool,
}

/// The smallest round-trip time, and the probe that measures it.
#[derive(Debug, Default)]
pub(super) struct MinRtt {
    /// tick of the clock that the two times below are read from; 1 ps if that clock is exact
    pub(super) tick: Duration,
    pub(super) value: Option<Duration>,
    pub(super) at: Instant,
    /// when the flight may grow again; none: it has not yet shrunk
    pub(super) probe_end: Option<Instant>,
    pub(super) probe_round_done: bool,
    /// the flight is kept small, so rate samples are low
    pub(super) is_probed: bool,
}

/// The place in the cycle of gains.
#[derive(Debug, Default)]
pub(super) struct Cycle {
    pub(super) phase: usize,
    pub(super) since: Instant,
}

/// State kept about a loss recovery.
#[derive(Debug)]
pub(super) struct Recovery {
    /// state of loss recovery at the last ACK
    pub(super) state: State,
    /// the recovery is in its first round, in which as much is sent as is delivered
    pub(super) conserves: bool,
    /// the window before the recovery, or before a probe of the round-trip time
    pub(super) window_before: u64,
}

impl Default for Recovery {
    fn default() -> Self {
        Self {
            state: State::Open,
            conserves: false,
            window_before: 0,
        }
    }
}

/// Pacing rate, and the gains of rate and window.
#[derive(Debug)]
pub(super) struct Pace {
    pub(super) gain: u64,
    pub(super) window_gain: u64,
    /// pacing rate in bytes per second
    pub(super) rate: u64,
    /// a round-trip time was measured
    pub(super) saw_rtt: bool,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            gain: HIGH_GAIN,
            window_gain: HIGH_GAIN,
            rate: 0,
            saw_rtt: false,
        }
    }
}

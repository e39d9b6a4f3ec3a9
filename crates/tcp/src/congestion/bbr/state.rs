//! What a BBR sender keeps, by subject. Amounts are in the window's unit.

use fairport_units::{Duration, Instant};

use super::HIGH_GAIN;
use super::bandwidth::Bandwidth;
use crate::recovery::State;

/// The state of the algorithm.
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
    /// it is over when a segment is delivered that was sent after so much had been
    pub(super) end: u64,
    /// it began with the ACK at hand
    pub(super) starts: bool,
}

/// The smallest round-trip time, and the probe that measures it.
#[derive(Debug, Default)]
pub(super) struct MinRtt {
    pub(super) value: Option<Duration>,
    pub(super) at: Instant,
    /// when the flight may grow again; none: it has not shrunk yet
    pub(super) probe_end: Option<Instant>,
    pub(super) probe_round_done: bool,
    /// the flight is held small, which makes rate samples low
    pub(super) is_probed: bool,
}

/// The place in the cycle of gains.
#[derive(Debug, Default)]
pub(super) struct Cycle {
    pub(super) phase: usize,
    pub(super) since: Instant,
}

/// What is kept of a recovery.
#[derive(Debug)]
pub(super) struct Recovery {
    /// loss recovery's state at the last ACK
    pub(super) state: State,
    /// it is in its first round: as much is sent as is delivered
    pub(super) conserves: bool,
    /// the window before it, or before a probe of the round-trip time
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

/// How fast is sent, and how much may be in flight.
#[derive(Debug)]
pub(super) struct Pace {
    pub(super) gain: u64,
    pub(super) window_gain: u64,
    /// bytes per second
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

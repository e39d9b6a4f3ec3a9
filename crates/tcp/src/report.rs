//! What a connection reports: events as they happen, and gauges and counters on request.

use std::ops::Add;

use fairport_units::{Duration, Instant};

use crate::decision::Decision;

/// Receives the events of a connection. Every method does nothing by default. Dispatch is static, so an unused event
/// costs nothing.
pub trait Events {
    /// A round-trip time was measured.
    fn rtt_sample(&mut self, _now: Instant, _rtt: Duration) {}
    /// The retransmission timer fired.
    fn timeout(&mut self, _timeout: Timeout) {}
    /// The sender's window or phase changed.
    fn decision(&mut self, _now: Instant, _decision: Decision) {}
    /// The handshake is complete at this end.
    fn established(&mut self, _now: Instant) {}
    /// All written data is acknowledged; if the connection is closed, both FINs are as well.
    fn finished(&mut self, _now: Instant) {}
}

/// Ignores every event.
impl Events for () {}

/// One expiry of the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout {
    /// When the timer was last started; the flow stood still from then on.
    pub start: Instant,
    /// When it fired.
    pub end: Instant,
    /// The timeout that had expired, including its backoff.
    pub rto: Duration,
    /// How often `rto` was doubled: 0 for the first timeout of a series.
    pub backoff: u32,
    /// `SND.UNA` on the wire: the first byte that was not acknowledged.
    pub seq: u32,
    /// Why only the timer could repair the loss.
    pub cause: TimeoutCause,
}

/// Why a loss was left to the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TimeoutCause {
    /// A SYN or SYN-ACK, or its answer, was lost.
    Syn = 0,
    /// Nothing above `SND.UNA` was SACKed, and no duplicate ACK came: the tail was lost.
    Tail = 1,
    /// The segment had been retransmitted already.
    LostRetransmit = 2,
    /// The loss was noticed, but with fewer duplicate ACKs than fast retransmit needs.
    FewDupAcks = 3,
}

impl TimeoutCause {
    /// The names of the causes, in the order of their numbers.
    pub const NAMES: [&'static str; 4] = ["syn", "tail", "lost-retransmit", "few-dup-acks"];
}

/// The state of the sender at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gauges {
    /// Congestion window in bytes of payload. If the stack counts segments, each counts as a full one.
    pub cwnd_bytes: u64,
    /// Slow-start threshold in bytes of payload, counted in the same way; `u64::MAX` before the first loss.
    pub ssthresh_bytes: u64,
    /// Smoothed round-trip time; none before the first sample.
    pub srtt: Option<Duration>,
    /// Bytes of data sent and not acknowledged cumulatively.
    pub in_flight_bytes: u64,
    /// Bytes of data acknowledged cumulatively.
    pub acked_bytes: u64,
}

/// Counters of the sender since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments with payload or FIN, retransmissions included.
    pub segments_sent: u64,
    /// Retransmissions among `segments_sent`.
    pub retransmits: u64,
    /// Expiries of the retransmission timer, those of a SYN included.
    pub timeouts: u64,
    /// Total time from the timer's start to its expiry, over all timeouts.
    pub timeout_period: Duration,
    /// Entries into fast recovery.
    pub fast_recoveries: u64,
}

impl Add for Counters {
    type Output = Self;

    /// The sum of two senders' counters.
    fn add(self, other: Self) -> Self {
        Self {
            segments_sent: self.segments_sent + other.segments_sent,
            retransmits: self.retransmits + other.retransmits,
            timeouts: self.timeouts + other.timeouts,
            timeout_period: self.timeout_period + other.timeout_period,
            fast_recoveries: self.fast_recoveries + other.fast_recoveries,
        }
    }
}

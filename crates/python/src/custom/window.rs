//! The values that a user's congestion control sees: its connection, the window and ACKs.

use fairport_tcp::{AckSample, RecoveryState, Window as EngineWindow};
use fairport_units::Duration;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The largest window, in segments or bytes. It is larger than any path needs and far from an overflow.
const WINDOW_MAX: u64 = 1 << 40;

/// The properties of a connection that a congestion control gets when it is made.
#[pyclass(frozen, module = "fairport._core")]
pub(crate) struct Connection {
    /// Payload of a full segment.
    #[pyo3(get)]
    pub(super) segment_bytes: u16,
    /// A full segment in the window's unit: 1 if windows count segments, otherwise its bytes.
    #[pyo3(get)]
    pub(super) unit: u64,
}

/// The argument of `on_established`, which is called when the handshake is complete.
#[pyclass(frozen, module = "fairport._core")]
pub(crate) struct Established {
    /// The round-trip time that the handshake measured.
    #[pyo3(get)]
    pub(super) rtt_s: Option<f64>,
    /// Seed for random numbers, different for each connection and each run.
    #[pyo3(get)]
    pub(super) seed: u64,
}

/// The congestion window and the slow-start threshold.
#[pyclass(module = "fairport._core")]
pub(crate) struct Window(pub(super) EngineWindow);

#[pymethods]
impl Window {
    /// The congestion window; at least one segment.
    #[getter]
    fn cwnd(&self) -> u64 {
        self.0.cwnd
    }

    #[setter]
    fn set_cwnd(&mut self, cwnd: u64) -> PyResult<()> {
        self.0.cwnd = self.checked(cwnd)?;
        Ok(())
    }

    /// The slow-start threshold; 2**64 - 1 before the first loss.
    #[getter]
    fn ssthresh(&self) -> u64 {
        self.0.ssthresh
    }

    #[setter]
    fn set_ssthresh(&mut self, ssthresh: u64) -> PyResult<()> {
        self.0.ssthresh = self.checked(ssthresh)?;
        Ok(())
    }

    /// A full segment in the window's unit.
    #[getter]
    fn unit(&self) -> u64 {
        self.0.unit()
    }

    /// The window at the start.
    #[getter]
    fn initial(&self) -> u64 {
        self.0.initial()
    }

    /// Whether `cwnd` is below `ssthresh`.
    #[getter]
    fn is_in_slow_start(&self) -> bool {
        self.0.is_in_slow_start()
    }

    /// Slow start, then one segment per window of acknowledged data (RFC 5681).
    fn grow_as_newreno(&mut self, ack: &Ack) {
        self.0.grow_as_newreno(&ack.0);
    }

    /// Grows the window if it is in slow start; returns False in congestion avoidance.
    fn slow_start(&mut self, ack: &Ack) -> bool {
        self.0.slow_start(&ack.0)
    }

    /// Congestion avoidance: adds one segment for every `every` acknowledged segments.
    fn grow_one_per(&mut self, every: u64, ack: &Ack) -> PyResult<()> {
        if every == 0 {
            return Err(PyValueError::new_err("the window would grow without end"));
        }
        self.0.grow_one_per(every, &ack.0);
        Ok(())
    }

    /// Sets the threshold, to at least two segments (RFC 5681).
    fn lower_threshold(&mut self, ssthresh: u64) {
        self.0.lower_threshold(ssthresh.min(WINDOW_MAX));
    }

    fn __repr__(&self) -> String {
        format!("Window(cwnd={}, ssthresh={})", self.0.cwnd, self.0.ssthresh)
    }
}

impl Window {
    fn checked(&self, value: u64) -> PyResult<u64> {
        if value < self.0.unit() {
            let least = self.0.unit();
            let problem = format!("{value} is less than one segment, which is {least} here");
            return Err(PyValueError::new_err(problem));
        }
        Ok(value.min(WINDOW_MAX))
    }
}

/// An ACK that acknowledges new data.
#[pyclass(frozen, module = "fairport._core")]
pub(crate) struct Ack(pub(super) AckSample);

#[pymethods]
impl Ack {
    /// When it arrived, in seconds since the start of the run.
    #[getter]
    fn now_s(&self) -> f64 {
        self.0.now.as_secs_f64()
    }

    /// Newly acknowledged data, in the window's unit.
    #[getter]
    fn acked(&self) -> u64 {
        self.0.acked
    }

    /// Newly acknowledged segments.
    #[getter]
    fn segments(&self) -> u32 {
        self.0.segments
    }

    /// The part of `acked` that the receiver reported as CE-marked.
    #[getter]
    fn marked(&self) -> u64 {
        self.0.marked
    }

    /// The round-trip time of this ACK; None if Karn's rule forbids a sample.
    #[getter]
    fn rtt_s(&self) -> Option<f64> {
        self.0.rtt.map(Duration::as_secs_f64)
    }

    /// The smoothed round-trip time.
    #[getter]
    fn srtt_s(&self) -> Option<f64> {
        self.0.srtt.map(Duration::as_secs_f64)
    }

    /// First unacknowledged byte, as a position in the stream.
    #[getter]
    fn una(&self) -> u64 {
        self.0.una
    }

    /// Next byte to be sent, as a position in the stream.
    #[getter]
    fn nxt(&self) -> u64 {
        self.0.nxt
    }

    /// The state of loss recovery: nothing lost, fast recovery, after a timeout.
    #[getter]
    fn recovery(&self) -> &'static str {
        match self.0.state {
            RecoveryState::Open => "open",
            RecoveryState::Fast => "fast",
            RecoveryState::Loss => "loss",
        }
    }

    /// Whether the window may grow: the sender used all of it, and recovers from no loss.
    #[getter]
    fn may_grow(&self) -> bool {
        self.0.may_grow()
    }
}

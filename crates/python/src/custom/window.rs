//! The values that a user's congestion control sees: its connection, the window and ACKs.

use fairport_tcp::{
    AckSample, RateSample as EngineRateSample, RecoveryState, Window as EngineWindow,
};
use fairport_units::Duration;
use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyTypeError, PyValueError};
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
    /// When the handshake was completed, in seconds since the start of the run.
    #[pyo3(get)]
    pub(super) now_s: f64,
    /// The round-trip time that the handshake measured.
    #[pyo3(get)]
    pub(super) rtt_s: Option<f64>,
    /// Seed for random numbers, different for each connection and each run.
    #[pyo3(get)]
    pub(super) seed: u64,
    /// The number of the flow, as in the tables and in `Packet.flow`.
    #[pyo3(get)]
    pub(super) flow: u32,
    /// Bytes that the application has written so far: 0 at a receiver, None without end.
    #[pyo3(get)]
    pub(super) size_bytes: Option<u64>,
}

/// The congestion window and the slow-start threshold.
#[pyclass(module = "fairport._core")]
pub(crate) struct Window {
    engine: EngineWindow,
    /// whether a method of its connection is being called: the engine reads it only after such a call
    is_open: bool,
}

#[pymethods]
impl Window {
    /// The congestion window; from one segment to 2**40.
    #[getter]
    fn cwnd(&self) -> u64 {
        self.engine.cwnd
    }

    #[setter]
    fn set_cwnd(&mut self, cwnd: &Bound<'_, PyAny>) -> PyResult<()> {
        let cwnd = self.amount("cwnd", cwnd)?;
        self.open()?.cwnd = cwnd;
        Ok(())
    }

    /// The slow-start threshold; 2**64 - 1 before the first loss.
    #[getter]
    fn ssthresh(&self) -> u64 {
        self.engine.ssthresh
    }

    #[setter]
    fn set_ssthresh(&mut self, ssthresh: &Bound<'_, PyAny>) -> PyResult<()> {
        let ssthresh = self.amount("ssthresh", ssthresh)?;
        self.open()?.ssthresh = ssthresh;
        Ok(())
    }

    /// A full segment in the window's unit.
    #[getter]
    fn unit(&self) -> u64 {
        self.engine.unit()
    }

    /// The window at the start.
    #[getter]
    fn initial(&self) -> u64 {
        self.engine.initial()
    }

    /// Whether `cwnd` is below `ssthresh`.
    #[getter]
    fn is_in_slow_start(&self) -> bool {
        self.engine.is_in_slow_start()
    }

    /// Slow start, then one segment per window of acknowledged data (RFC 5681).
    fn grow_as_newreno(&mut self, ack: &Ack) -> PyResult<()> {
        self.open()?.grow_as_newreno(&ack.0);
        Ok(())
    }

    /// Grows the window if it is in slow start; returns False in congestion avoidance.
    fn slow_start(&mut self, ack: &Ack) -> PyResult<bool> {
        Ok(self.open()?.slow_start(&ack.0))
    }

    /// Congestion avoidance: adds one segment for every `every` acknowledged segments.
    fn grow_one_per(&mut self, every: &Bound<'_, PyAny>, ack: &Ack) -> PyResult<()> {
        let every = whole("every", every)?;
        if every == 0 {
            return Err(PyValueError::new_err("the window would grow without end"));
        }
        self.open()?.grow_one_per(every, &ack.0);
        Ok(())
    }

    /// Sets the threshold, to at least two segments (RFC 5681).
    fn lower_threshold(&mut self, ssthresh: &Bound<'_, PyAny>) -> PyResult<()> {
        let ssthresh = whole("ssthresh", ssthresh)?;
        self.open()?.lower_threshold(ssthresh.min(WINDOW_MAX));
        Ok(())
    }

    fn __repr__(&self) -> String {
        format!(
            "Window(cwnd={}, ssthresh={})",
            self.engine.cwnd, self.engine.ssthresh
        )
    }
}

impl Window {
    pub(super) fn new(engine: EngineWindow) -> Self {
        Self {
            engine,
            is_open: false,
        }
    }

    /// Shows the engine's window to a method that is about to be called.
    pub(super) fn show(&mut self, engine: &EngineWindow) {
        self.engine = engine.clone();
        self.is_open = true;
    }

    /// The window after the call. Until the next one, it cannot be changed.
    pub(super) fn take_back(&mut self) -> EngineWindow {
        self.is_open = false;
        self.engine.clone()
    }

    fn open(&mut self) -> PyResult<&mut EngineWindow> {
        if !self.is_open {
            let problem = "a window can be changed only in a method of its own connection, while the run calls it";
            return Err(PyRuntimeError::new_err(problem));
        }
        Ok(&mut self.engine)
    }

    /// Reads a window or a threshold: at least one segment.
    fn amount(&self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
        let least = self.engine.unit();
        let amount = whole(name, value)?;
        if amount < least {
            let value = value.repr()?;
            let problem =
                format!("{name} = {value} is less than one segment, which is {least} here");
            return Err(PyValueError::new_err(problem));
        }
        Ok(amount.min(WINDOW_MAX))
    }
}

/// Reads a whole number; one below 0 counts as 0, and one that is too large as the largest.
fn whole(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    let py = value.py();
    value.extract::<u64>().or_else(|error| {
        if error.is_instance_of::<PyOverflowError>(py) {
            return Ok(if value.lt(0)? { 0 } else { u64::MAX });
        }
        let value = value.repr()?;
        let problem = format!("{name} = {value} is not a whole number: round it, as int() does");
        Err(PyTypeError::new_err(problem))
    })
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

/// What an ACK shows of the delivery rate. Amounts are in the window's unit. The latest segment is the one that was sent
/// last among those that this ACK newly delivered.
#[pyclass(frozen, module = "fairport._core")]
pub(crate) struct RateSample(pub(super) EngineRateSample);

#[pymethods]
impl RateSample {
    /// Data that this ACK acknowledged, selectively or not.
    #[getter]
    fn newly_delivered(&self) -> u64 {
        self.0.newly_delivered
    }

    /// Data found lost with this ACK.
    #[getter]
    fn newly_lost(&self) -> u64 {
        self.0.newly_lost
    }

    /// Data delivered since the latest segment was sent.
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered
    }

    /// The time in which `delivered` was delivered; None if this ACK shows no rate.
    #[getter]
    fn interval_s(&self) -> Option<f64> {
        self.0.interval.map(Duration::as_secs_f64)
    }

    /// Data that had been delivered when the latest segment was sent.
    #[getter]
    fn prior_delivered(&self) -> u64 {
        self.0.prior_delivered
    }

    /// Data delivered since the start.
    #[getter]
    fn delivered_total(&self) -> u64 {
        self.0.totals.delivered
    }

    /// Data found lost since the start.
    #[getter]
    fn lost_total(&self) -> u64 {
        self.0.totals.lost
    }

    /// Whether the application had too little to send when the latest segment was sent.
    #[getter]
    fn is_app_limited(&self) -> bool {
        self.0.app_limited
    }

    /// The round-trip time of this ACK; None if it delivered only retransmissions.
    #[getter]
    fn rtt_s(&self) -> Option<f64> {
        self.0.rtt.map(Duration::as_secs_f64)
    }

    /// Data in the network before the ACK.
    #[getter]
    fn prior_in_flight(&self) -> u64 {
        self.0.prior_in_flight
    }

    /// Data in the network after the ACK.
    #[getter]
    fn in_flight(&self) -> u64 {
        self.0.in_flight
    }
}

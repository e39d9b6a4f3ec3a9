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
    /// payload of a full segment, in bytes
    #[pyo3(get)]
    pub(super) segment_bytes: u16,
    /// a full segment in the unit of the window: 1 if windows count segments, otherwise `segment_bytes`
    #[pyo3(get)]
    pub(super) unit: u64,
}

/// The argument of `on_established`, which is called when the handshake is complete.
#[pyclass(frozen, module = "fairport._core")]
pub(crate) struct Established {
    /// round-trip time that the handshake measured, in s
    #[pyo3(get)]
    pub(super) rtt_s: Option<f64>,
    /// seed for all random numbers; it differs between connections and between runs
    #[pyo3(get)]
    pub(super) seed: u64,
}

/// The congestion window and the slow-start threshold.
#[pyclass(module = "fairport._core")]
pub(crate) struct Window(pub(super) EngineWindow);

#[pymethods]
impl Window {
    #[getter]
    fn cwnd(&self) -> u64 {
        self.0.cwnd
    }

    #[setter]
    fn set_cwnd(&mut self, cwnd: u64) -> PyResult<()> {
        self.0.cwnd = self.checked(cwnd)?;
        Ok(())
    }

    #[getter]
    fn ssthresh(&self) -> u64 {
        self.0.ssthresh
    }

    #[setter]
    fn set_ssthresh(&mut self, ssthresh: u64) -> PyResult<()> {
        self.0.ssthresh = self.checked(ssthresh)?;
        Ok(())
    }

    #[getter]
    fn unit(&self) -> u64 {
        self.0.unit()
    }

    #[getter]
    fn initial(&self) -> u64 {
        self.0.initial()
    }

    #[getter]
    fn is_in_slow_start(&self) -> bool {
        self.0.is_in_slow_start()
    }

    fn grow_as_newreno(&mut self, ack: &Ack) {
        self.0.grow_as_newreno(&ack.0);
    }

    fn slow_start(&mut self, ack: &Ack) -> bool {
        self.0.slow_start(&ack.0)
    }

    fn grow_one_per(&mut self, every: u64, ack: &Ack) -> PyResult<()> {
        if every == 0 {
            return Err(PyValueError::new_err("the window would grow without end"));
        }
        self.0.grow_one_per(every, &ack.0);
        Ok(())
    }

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
    #[getter]
    fn now_s(&self) -> f64 {
        self.0.now.as_secs_f64()
    }

    #[getter]
    fn acked(&self) -> u64 {
        self.0.acked
    }

    #[getter]
    fn segments(&self) -> u32 {
        self.0.segments
    }

    #[getter]
    fn marked(&self) -> u64 {
        self.0.marked
    }

    #[getter]
    fn rtt_s(&self) -> Option<f64> {
        self.0.rtt.map(Duration::as_secs_f64)
    }

    #[getter]
    fn srtt_s(&self) -> Option<f64> {
        self.0.srtt.map(Duration::as_secs_f64)
    }

    #[getter]
    fn una(&self) -> u64 {
        self.0.una
    }

    #[getter]
    fn nxt(&self) -> u64 {
        self.0.nxt
    }

    #[getter]
    fn recovery(&self) -> &'static str {
        match self.0.state {
            RecoveryState::Open => "open",
            RecoveryState::Fast => "fast",
            RecoveryState::Loss => "loss",
        }
    }

    #[getter]
    fn may_grow(&self) -> bool {
        self.0.may_grow()
    }
}

//! Random payload sizes on the caller's socket.
#![expect(unsafe_code, reason = "a socket that Python owns")]

use std::os::fd::{AsFd, BorrowedFd, RawFd};

use fairport_payload::{Options, RandomizedSender, TcpRand};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A socket descriptor that the caller keeps open as long as this exists.
struct Lent(RawFd);

impl AsFd for Lent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: `fairport.payload` keeps the socket open, and checks its descriptor before each call
        unsafe { BorrowedFd::borrow_raw(self.0) }
    }
}

/// See `fairport.payload.RandomizedSender`.
#[pyclass(name = "PayloadSender", module = "fairport._core")]
pub(crate) struct PyPayloadSender(RandomizedSender<Lent>);

#[pymethods]
impl PyPayloadSender {
    /// `tcprand` is JSON, as in the engine's setting of that name. Without it, the smallest payload is fixed.
    #[new]
    #[pyo3(signature = (descriptor, r_min, tcprand, seed))]
    fn new(
        descriptor: RawFd,
        r_min: u16,
        tcprand: Option<&str>,
        seed: Option<u64>,
    ) -> PyResult<Self> {
        let adaptive: Option<TcpRand> = tcprand
            .map(serde_json::from_str)
            .transpose()
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let options = Options {
            r_min,
            adaptive,
            seed,
        };
        Ok(Self(RandomizedSender::new(Lent(descriptor), &options)?))
    }

    /// Sends as much of `data` from index `start` on as there is room for. Returns the number of bytes sent.
    fn send(&mut self, py: Python<'_>, data: &[u8], start: usize) -> PyResult<usize> {
        let rest = data.get(start..).unwrap_or_default();
        Ok(py.detach(|| self.0.send(rest))?)
    }

    #[getter]
    fn pieces(&self) -> u64 {
        self.0.pieces()
    }

    #[getter]
    fn mss(&self) -> u16 {
        self.0.mss()
    }
}

//! The actions of the hosts and their times, for a traffic generator in Python. Times are in s from the start of the run.

use fairport_plan::flow::Side;
use fairport_plan::udp::DatagramSource;
use fairport_switch::{Agenda, Task};
use fairport_units::{Duration, Instant};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::into_arrays;
use crate::switch::plan;

fn instant(seconds: f64) -> Instant {
    Instant::from_ps((seconds.max(0.0) * 1e12) as u64)
}

fn seconds(instant: Instant) -> f64 {
    match instant {
        Instant::NEVER => f64::INFINITY,
        instant => instant.as_secs_f64(),
    }
}

/// See `fairport._core.Agenda`.
#[pyclass(name = "Agenda", module = "fairport._core")]
pub(crate) struct PyAgenda(Agenda);

#[pymethods]
impl PyAgenda {
    #[new]
    fn new(py: Python<'_>, job_json: &str) -> PyResult<Self> {
        let plan = plan(py, job_json)?;
        Ok(Self(py.detach(|| Agenda::new(plan))))
    }

    fn __len__(&self) -> usize {
        self.0.flows().len()
    }

    fn next_s(&self) -> f64 {
        seconds(self.0.next_at())
    }

    fn pop(&mut self, now_s: f64) -> Option<(&'static str, u32, u8, u64)> {
        Some(match self.0.pop(instant(now_s))? {
            Task::Open(flow) => ("open", flow, 0, 0),
            Task::Write(flow, side, bytes) => ("write", flow, side as u8, bytes),
            Task::Stop(flow) => ("stop", flow, 0, 0),
        })
    }

    fn delivered(&mut self, side: u8, flow: u32, now_s: f64) {
        let from = if side == 0 {
            Side::Sender
        } else {
            Side::Receiver
        };
        self.0.delivered(from, flow, instant(now_s));
    }

    fn flow<'py>(&self, py: Python<'py>, number: usize) -> PyResult<Bound<'py, PyDict>> {
        let flow = &self.0.flows()[number];
        let (spec, application) = (&flow.spec, &flow.spec.application);
        let dict = PyDict::new(py);
        dict.set_item("number", number)?;
        dict.set_item("src", spec.src.host)?;
        dict.set_item("dst", spec.dst.host)?;
        dict.set_item("stacks", (spec.src.stack, spec.dst.stack))?;
        dict.set_item("traffic", spec.traffic)?;
        dict.set_item("start_s", seconds(flow.start))?;
        dict.set_item("size_bytes", application.size_bytes())?;
        dict.set_item("stays_open", application.stays_open())?;
        dict.set_item("request_bytes", application.request_bytes())?;
        dict.set_item("is_udp", application.datagrams().is_some())?;
        dict.set_item("hops", flow.hops)?;
        let ideal = (flow.ideal != Duration::NEVER).then(|| flow.ideal.as_secs_f64());
        dict.set_item("ideal_s", ideal)?;
        Ok(dict)
    }

    fn datagrams(&self, number: u32, now_s: f64) -> Option<PyDatagrams> {
        Some(PyDatagrams(self.0.datagrams(number, instant(now_s))?))
    }

    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        into_arrays(py, self.0.tables().into())
    }
}

/// See `fairport._core.Datagrams`.
#[pyclass(name = "Datagrams", module = "fairport._core")]
pub(crate) struct PyDatagrams(DatagramSource);

#[pymethods]
impl PyDatagrams {
    fn next_s(&self) -> f64 {
        seconds(self.0.next_at())
    }

    fn send(&mut self) -> Option<u16> {
        self.0.send()
    }

    fn stop(&mut self) {
        self.0.stop();
    }
}

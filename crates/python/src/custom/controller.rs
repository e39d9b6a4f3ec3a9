//! A congestion control that is a Python class.
//!
//! Methods that the class does not define behave as those of `NewReno`, the defaults of [`Controller`].

use std::fmt;
use std::sync::OnceLock;

use fairport_tcp::{AckSample, Controller, RecoveryState, Setup, Start, Window as EngineWindow};
use fairport_units::Duration;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use super::Origin;

/// The largest window, in segments or bytes. It is larger than any path needs and far from an overflow.
const WINDOW_MAX: u64 = 1 << 40;

/// The properties of a connection that a congestion control gets when it is made.
#[pyclass(frozen, module = "fairport._core")]
pub(crate) struct Connection {
    /// payload of a full segment, in bytes
    #[pyo3(get)]
    segment_bytes: u16,
    /// a full segment in the unit of the window: 1 if windows count segments, otherwise `segment_bytes`
    #[pyo3(get)]
    unit: u64,
}

/// The argument of `on_established`, which is called when the handshake is complete.
#[pyclass(frozen, module = "fairport._core")]
pub(crate) struct Established {
    /// round-trip time that the handshake measured, in s
    #[pyo3(get)]
    rtt_s: Option<f64>,
    /// seed for all random numbers; it differs between connections and between runs
    #[pyo3(get)]
    seed: u64,
}

/// The congestion window and the slow-start threshold.
#[pyclass(module = "fairport._core")]
pub(crate) struct Window(EngineWindow);

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
pub(crate) struct Ack(AckSample);

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

/// A method that the class may define.
#[derive(Clone, Copy)]
enum Method {
    Established,
    Ack,
    Loss,
    Mark,
    Timeout,
    Undo,
}

/// The methods that the class defines.
struct Methods([Option<Py<PyAny>>; Self::NAMES.len()]);

impl Methods {
    /// The names of the methods, in the order of [`Method`].
    const NAMES: [&str; 6] = [
        "on_established",
        "on_ack",
        "on_loss",
        "on_mark",
        "on_timeout",
        "on_undo",
    ];

    fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut methods = [const { None }; Self::NAMES.len()];
        for (method, name) in methods.iter_mut().zip(Self::NAMES) {
            *method = object.getattr_opt(name)?.map(Bound::unbind);
        }
        if methods.iter().all(Option::is_none) {
            let names = Self::NAMES.join(", ");
            let problem = format!("it has none of the methods {names}");
            return Err(PyTypeError::new_err(problem));
        }
        Ok(Self(methods))
    }

    fn get(&self, method: Method) -> Option<&Py<PyAny>> {
        self.0[method as usize].as_ref()
    }
}

/// The attribute of a class that turns ECN on.
const NEEDS_ECN: &str = "needs_ecn";

/// Refuses an object with a method that looks as if the engine would call it, such as `on_akc`. Without this, the
/// method's default would be used in its place, and nobody would notice.
fn refuse_misspelt(object: &Bound<'_, PyAny>) -> PyResult<()> {
    /// least similarity of a misspelt name, by difflib: `needs_ECN` is one, a method `timeout` is not
    const SIMILARITY: f64 = 0.85;
    let mut known = Methods::NAMES.to_vec();
    known.push(NEEDS_ECN);
    let close_matches = object
        .py()
        .import("difflib")?
        .getattr("get_close_matches")?;
    for name in object.dir()?.iter() {
        let name: String = name.extract()?;
        if name.starts_with('_') || known.contains(&name.as_str()) {
            continue;
        }
        let is_event = name.starts_with("on_");
        let similarity = if is_event { 0.6 } else { SIMILARITY };
        let near = close_matches.call1((name.to_lowercase(), &known, 1, similarity))?;
        let near = near.extract::<Vec<String>>()?.pop();
        let is_method = object.getattr(name.as_str())?.is_callable();
        let remedy = match near {
            Some(near) if is_method || near == NEEDS_ECN => format!("did you mean `{near}`?"),
            None if is_method && is_event => format!("known are {}", Methods::NAMES.join(", ")),
            _ => continue,
        };
        let problem = format!("it has `{name}`, which is never used: {remedy}");
        return Err(PyTypeError::new_err(problem));
    }
    Ok(())
}

/// A user's object, which controls the window of one connection.
struct PyController {
    origin: Origin,
    /// None after the first failure
    methods: Option<Methods>,
    needs_ecn: bool,
    /// the window that the object sees; the engine's window is copied to it before a call and back after it
    window: Option<Py<Window>>,
}

impl fmt::Debug for PyController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PyController")
            .field(&self.origin.class)
            .finish()
    }
}

/// Returns a function that makes the congestion control of each connection from the user's class.
pub(super) fn factory(
    class: Py<PyAny>,
    origin: Origin,
) -> impl Fn(&Setup<'_>) -> Box<dyn Controller> + Send + Sync {
    // once per run: it takes longer than an object
    let names_checked = OnceLock::new();
    move |setup| {
        Python::attach(|py| {
            let made = PyController::new(py, &class, &origin, setup, &names_checked);
            Box::new(made.unwrap_or_else(|error| {
                origin.failed(py, "", error);
                PyController::failed(&origin)
            }))
        })
    }
}

impl PyController {
    fn new(
        py: Python<'_>,
        class: &Py<PyAny>,
        origin: &Origin,
        setup: &Setup<'_>,
        names_checked: &OnceLock<()>,
    ) -> PyResult<Self> {
        let connection = Connection {
            segment_bytes: setup.segment_bytes,
            unit: setup.unit,
        };
        let object = class.bind(py).call1((connection,))?;
        if names_checked.set(()).is_ok() {
            refuse_misspelt(&object)?;
        }
        let needs_ecn = match object.getattr_opt(NEEDS_ECN)? {
            Some(needs) => needs.is_truthy()?,
            None => false,
        };
        let window = EngineWindow::new(setup.settings, setup.segment_bytes);
        Ok(Self {
            origin: origin.clone(),
            methods: Some(Methods::of(&object)?),
            needs_ecn,
            window: Some(Py::new(py, Window(window))?),
        })
    }

    /// A controller after a failure, which behaves as `NewReno` until the run ends.
    fn failed(origin: &Origin) -> Self {
        Self {
            origin: origin.clone(),
            methods: None,
            needs_ecn: false,
            window: None,
        }
    }

    fn has(&self, method: Method) -> bool {
        self.methods
            .as_ref()
            .is_some_and(|it| it.get(method).is_some())
    }

    /// Calls a method with the window and, if there is one, another argument. Returns false if the class does not
    /// define the method or has failed; the caller then does the default.
    fn call(
        &mut self,
        method: Method,
        window: &mut EngineWindow,
        argument: impl for<'py> FnOnce(Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>>,
    ) -> bool {
        if !self.has(method) {
            return false;
        }
        Python::attach(|py| {
            let called = argument(py)
                .and_then(|argument| self.call_bound(method, window, argument.as_ref(), py));
            if let Err(error) = called {
                self.origin
                    .failed(py, Methods::NAMES[method as usize], error);
                self.methods = None;
            }
        });
        self.methods.is_some()
    }

    fn call_bound(
        &self,
        method: Method,
        window: &mut EngineWindow,
        argument: Option<&Bound<'_, PyAny>>,
        py: Python<'_>,
    ) -> PyResult<()> {
        let called = self.methods.as_ref().and_then(|it| it.get(method));
        let (Some(called), Some(seen)) = (called, &self.window) else {
            return Ok(());
        };
        seen.bind(py).try_borrow_mut()?.0 = window.clone();
        match argument {
            Some(argument) => called.bind(py).call1((seen, argument))?,
            None => called.bind(py).call1((seen,))?,
        };
        *window = seen.bind(py).try_borrow()?.0.clone();
        Ok(())
    }
}

impl Controller for PyController {
    fn on_established(&mut self, window: &mut EngineWindow, start: &Start) {
        self.call(Method::Established, window, |py| {
            let start = Established {
                rtt_s: start.rtt.map(Duration::as_secs_f64),
                seed: start.seed,
            };
            Ok(Some(Bound::new(py, start)?.into_any()))
        });
    }

    fn on_ack(&mut self, window: &mut EngineWindow, ack: &AckSample) {
        let called = self.call(Method::Ack, window, |py| {
            Ok(Some(Bound::new(py, Ack(*ack))?.into_any()))
        });
        if !called {
            window.grow_as_newreno(ack);
        }
    }

    fn on_loss(&mut self, window: &mut EngineWindow) {
        if !self.call(Method::Loss, window, |_| Ok(None)) {
            window.lower_threshold(window.cwnd / 2);
        }
    }

    fn on_mark(&mut self, window: &mut EngineWindow) {
        if !self.call(Method::Mark, window, |_| Ok(None)) {
            self.on_loss(window);
        }
    }

    fn on_timeout(&mut self, window: &mut EngineWindow) {
        self.call(Method::Timeout, window, |_| Ok(None));
    }

    fn on_undo(&mut self) {
        let Some(method) = self.methods.as_ref().and_then(|it| it.get(Method::Undo)) else {
            return;
        };
        let called = Python::attach(|py| {
            let called = method.call0(py);
            called.map_err(|error| self.origin.failed(py, "on_undo", error))
        });
        if called.is_err() {
            self.methods = None;
        }
    }

    fn needs_ecn(&self) -> bool {
        self.needs_ecn
    }
}

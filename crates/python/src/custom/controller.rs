//! A congestion control that is a Python class.
//!
//! Methods that the class does not define behave as those of `NewReno`, the defaults of [`Controller`]. What the engine
//! asks a controller without an event, it answers from attributes of the object, which are read when it is made and, for
//! the pace, after each call.

use std::fmt;
use std::sync::OnceLock;

use fairport_tcp::{
    AckSample, Controller, RateSample as EngineRateSample, Setup, Start, Window as EngineWindow,
};
use fairport_units::{Duration, Instant};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use super::window::{Ack, Connection, Established, RateSample, Window};
use super::{Origin, keywords, refuse_misspelt};

/// A method that the class may define.
#[derive(Clone, Copy)]
enum Method {
    Established,
    Ack,
    RateSample,
    Loss,
    Mark,
    Timeout,
    Undo,
}

/// The methods that the class defines.
struct Methods([Option<Py<PyAny>>; Self::NAMES.len()]);

impl Methods {
    /// The names of the methods, in the order of [`Method`].
    const NAMES: [&str; 7] = [
        "on_established",
        "on_ack",
        "on_rate_sample",
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

/// The attributes that the engine reads: whether the class needs ECN, whether it alone sets the window, and its pace.
const NEEDS_ECN: &str = "needs_ecn";
const SETS_WINDOW: &str = "sets_window";
const PACING_RATE: &str = "pacing_rate_bps";

/// A user's object, which controls the window of one connection.
struct PyController {
    origin: Origin,
    /// None after a failure of this object
    methods: Option<Methods>,
    needs_ecn: bool,
    sets_window: bool,
    object: Option<Py<PyAny>>,
    /// its pace in bytes per second, if it had one when it was made
    pace: Option<u64>,
    /// the window that the object sees; the engine's window is copied to it before a call and back after it
    window: Option<Py<Window>>,
    /// the methods that have been called
    called: [bool; Methods::NAMES.len()],
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
        if origin.failures.any() {
            return Box::new(PyController::failed(&origin));
        }
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
        let own = setup.parameters().map(|it| keywords(py, it)).transpose()?;
        let object = class.bind(py).call((connection,), own.flatten().as_ref())?;
        if names_checked.set(()).is_ok() {
            let known = [&Methods::NAMES[..], &[NEEDS_ECN, SETS_WINDOW, PACING_RATE]].concat();
            refuse_misspelt(&object, &known)?;
        }
        let is_set = |attribute| match object.getattr_opt(attribute)? {
            Some(value) => value.is_truthy(),
            None => Ok(false),
        };
        let window = EngineWindow::new(setup.settings, setup.segment_bytes);
        Ok(Self {
            origin: origin.clone(),
            methods: Some(Methods::of(&object)?),
            needs_ecn: is_set(NEEDS_ECN)?,
            sets_window: is_set(SETS_WINDOW)?,
            pace: pace(&object)?,
            object: Some(object.unbind()),
            window: Some(Py::new(py, Window::new(window))?),
            called: Default::default(),
        })
    }

    /// A controller after a failure, which behaves as `NewReno` until the run ends.
    fn failed(origin: &Origin) -> Self {
        Self {
            origin: origin.clone(),
            methods: None,
            needs_ecn: false,
            sets_window: false,
            object: None,
            pace: None,
            window: None,
            called: Default::default(),
        }
    }

    /// The method, if the class defines it and no object has failed.
    fn method(&self, method: Method) -> Option<&Py<PyAny>> {
        let methods = self.methods.as_ref()?;
        methods.get(method).filter(|_| !self.origin.failures.any())
    }

    /// Calls a method with the window and other arguments. Returns false if the class does not define the method or an
    /// object has failed; the caller then does the default.
    fn call<const N: usize>(
        &mut self,
        method: Method,
        window: &mut EngineWindow,
        arguments: impl for<'py> FnOnce(Python<'py>) -> PyResult<[Bound<'py, PyAny>; N]>,
    ) -> bool {
        if self.method(method).is_none() {
            return false;
        }
        Python::attach(|py| {
            let called = arguments(py)
                .and_then(|arguments| self.call_bound(method, window, &arguments, py))
                .and_then(|()| self.read_pace(method, py));
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
        arguments: &[Bound<'_, PyAny>],
        py: Python<'_>,
    ) -> PyResult<()> {
        let (Some(called), Some(seen)) = (self.method(method), &self.window) else {
            return Ok(());
        };
        let (called, seen) = (called.bind(py), seen.bind(py));
        seen.try_borrow_mut()?.show(window);
        let answer = match arguments {
            [] => called.call1((seen,))?,
            [event] => called.call1((seen, event))?,
            [event, more @ ..] => called.call1((seen, event, &more[0]))?,
        };
        *window = seen.try_borrow_mut()?.take_back();
        if answer.is_none() {
            return Ok(());
        }
        let answer = answer.repr()?;
        let problem = format!(
            "it returned {answer}, which nobody reads: set `window.cwnd` or `window.ssthresh`"
        );
        Err(PyTypeError::new_err(problem))
    }

    /// Reads the pace after a call of a method. An object must have one from the start, or never. Where it has none,
    /// only the first call of each method looks again: looking for an attribute that is missing takes longer than a call.
    fn read_pace(&mut self, method: Method, py: Python<'_>) -> PyResult<()> {
        let is_first = !std::mem::replace(&mut self.called[method as usize], true);
        let looks = self.pace.is_some() || is_first;
        let Some(object) = self.object.as_ref().filter(|_| looks) else {
            return Ok(());
        };
        let pace = pace(object.bind(py))?;
        if pace.is_some() != self.pace.is_some() {
            let problem = format!(
                "a connection paces from its start or never: set `{PACING_RATE}` in `__init__`"
            );
            return Err(PyValueError::new_err(problem));
        }
        self.pace = pace;
        Ok(())
    }
}

/// The pace of an object in bytes per second, if it has one.
fn pace(object: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    let Some(rate_bps) = object.getattr_opt(PACING_RATE)? else {
        return Ok(None);
    };
    let rate: f64 = rate_bps.extract().unwrap_or(f64::NAN);
    if rate > 0.0 {
        return Ok(Some(((rate / 8.0) as u64).max(1)));
    }
    let rate = rate_bps.repr()?;
    let problem = format!(
        "{PACING_RATE} = {rate} sends nothing: give bit/s above 0, or math.inf to send as the window allows"
    );
    Err(PyValueError::new_err(problem))
}

impl Controller for PyController {
    fn on_established(&mut self, window: &mut EngineWindow, start: &Start) {
        self.call(Method::Established, window, |py| {
            let start = Established {
                now_s: start.now.as_secs_f64(),
                rtt_s: start.rtt.map(Duration::as_secs_f64),
                seed: start.seed,
                flow: start.flow,
                size_bytes: start.size_bytes,
            };
            Ok([Bound::new(py, start)?.into_any()])
        });
    }

    fn on_ack(&mut self, window: &mut EngineWindow, ack: &AckSample) {
        let called = self.call(Method::Ack, window, |py| {
            Ok([Bound::new(py, Ack(*ack))?.into_any()])
        });
        if !called && !self.sets_window {
            window.grow_as_newreno(ack);
        }
    }

    fn on_rate_sample(
        &mut self,
        window: &mut EngineWindow,
        ack: &AckSample,
        rate: &EngineRateSample,
    ) {
        self.call(Method::RateSample, window, |py| {
            let ack = Bound::new(py, Ack(*ack))?.into_any();
            Ok([ack, Bound::new(py, RateSample(*rate))?.into_any()])
        });
    }

    fn on_loss(&mut self, window: &mut EngineWindow) {
        if !self.call(Method::Loss, window, |_| Ok([])) {
            window.lower_threshold(window.cwnd / 2);
        }
    }

    fn on_mark(&mut self, window: &mut EngineWindow) {
        if !self.call(Method::Mark, window, |_| Ok([])) {
            self.on_loss(window);
        }
    }

    fn on_timeout(&mut self, window: &mut EngineWindow, _now: Instant, _nxt: u64) {
        self.call(Method::Timeout, window, |_| Ok([]));
    }

    fn on_undo(&mut self) {
        if self.method(Method::Undo).is_none() {
            return;
        }
        let called = Python::attach(|py| {
            let called = self.method(Method::Undo).map(|method| method.call0(py));
            let called = called
                .transpose()
                .and_then(|_| self.read_pace(Method::Undo, py));
            called.map_err(|error| self.origin.failed(py, "on_undo", error))
        });
        if called.is_err() {
            self.methods = None;
        }
    }

    fn needs_ecn(&self) -> bool {
        self.needs_ecn
    }

    fn sets_window(&self) -> bool {
        self.sets_window
    }

    fn wants_rate_samples(&self) -> bool {
        let methods = self.methods.as_ref();
        methods.is_some_and(|methods| methods.get(Method::RateSample).is_some())
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.pace
    }
}

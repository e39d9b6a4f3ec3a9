//! A congestion control that is a Python class.
//!
//! Methods that the class does not define behave as those of `NewReno`, the defaults of [`Controller`].

use std::fmt;
use std::sync::OnceLock;

use fairport_tcp::{AckSample, Controller, Setup, Start, Window as EngineWindow};
use fairport_units::Duration;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::Origin;
use super::window::{Ack, Connection, Established, Window};

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
    /// None after a failure of this object
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

    /// The method, if the class defines it and no object has failed.
    fn method(&self, method: Method) -> Option<&Py<PyAny>> {
        let methods = self.methods.as_ref()?;
        methods.get(method).filter(|_| !self.origin.failures.any())
    }

    /// Calls a method with the window and, if there is one, another argument. Returns false if the class does not
    /// define the method or an object has failed; the caller then does the default.
    fn call(
        &mut self,
        method: Method,
        window: &mut EngineWindow,
        argument: impl for<'py> FnOnce(Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>>,
    ) -> bool {
        if self.method(method).is_none() {
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
        let (Some(called), Some(seen)) = (self.method(method), &self.window) else {
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
        let Some(method) = self.method(Method::Undo) else {
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

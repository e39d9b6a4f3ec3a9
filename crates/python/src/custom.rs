//! Queue disciplines and congestion controls that are Python classes.
//!
//! The engine runs without the interpreter's lock. Only this module takes it, for each call of a user's object. An
//! exception cannot pass through the engine. Instead, the first one is kept ([`Failures`]). From then on no user's object
//! is called: each gives harmless answers, and the run raises the exception at the end of the current slice. So Ctrl-C,
//! which is an exception in one object, also ends a run whose other objects are slow.

mod controller;
mod queue;
mod values;
mod window;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use fairport_plan::{BuildError, Customs};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value};

use crate::to_python;

create_exception!(
    fairport._core,
    CustomError,
    PyRuntimeError,
    "A user's class raised an exception, which is the cause, or gave an impossible answer."
);

/// The user's classes by name, as they are given to a run.
pub(crate) fn customs(
    disciplines: Option<&Bound<'_, PyDict>>,
    congestion_controls: Option<&Bound<'_, PyDict>>,
    failures: &Failures,
) -> PyResult<Customs> {
    let mut customs = Customs::default();
    for (name, class) in entries(disciplines)? {
        let origin = Origin::new("queue discipline", &name, &class, failures);
        customs
            .queues
            .add(name, queue::factory(class.unbind(), origin));
    }
    for (name, class) in entries(congestion_controls)? {
        let origin = Origin::new("congestion control", &name, &class, failures);
        customs
            .controllers
            .add(&name, controller::factory(class.unbind(), origin));
    }
    Ok(customs)
}

fn entries<'py>(given: Option<&Bound<'py, PyDict>>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
    let mut entries = Vec::new();
    for (name, class) in given.into_iter().flatten() {
        if !class.is_callable() {
            let class = class.repr()?;
            let problem = format!("{name} is {class}, which is no class and no factory");
            return Err(PyTypeError::new_err(problem));
        }
        entries.push((name.extract()?, class));
    }
    Ok(entries)
}

/// Adds what to do in Python to an error about a name that has no class.
pub(crate) fn in_python(mut error: BuildError) -> BuildError {
    let argument = if error.field == "queue.name" {
        Some(("disciplines", error.value.as_str()))
    } else {
        let name = error.value.strip_prefix("custom:");
        name.map(|name| ("congestion_controls", name))
    };
    if let Some((argument, name)) = argument {
        let classes = format!("{argument}={{\"{name}\": Class}}");
        error.remedy = format!(
            "give its class: `fp.run(.., {classes})`, or `scenario.with_user_code({classes})`"
        );
    }
    error
}

/// The origin of user code, for messages.
#[derive(Clone, Debug)]
struct Origin {
    /// "queue discipline" or "congestion control"
    kind: &'static str,
    /// its name in the scenario
    name: Arc<str>,
    /// name of the class, or of the function that makes its objects
    class: Arc<str>,
    failures: Failures,
}

impl Origin {
    fn new(kind: &'static str, name: &str, class: &Bound<'_, PyAny>, failures: &Failures) -> Self {
        let class_name = class
            .getattr("__qualname__")
            // of functools.partial, which has no name, that of its class
            .or_else(|_| class.getattr("func")?.getattr("__qualname__"))
            .or_else(|_| class.repr().map(Bound::into_any))
            .map_or_else(|_| name.to_owned(), |class| class.to_string());
        Self {
            kind,
            name: name.into(),
            class: class_name.into(),
            failures: failures.clone(),
        }
    }

    /// Keeps the exception that a method raised, if it is the first of the run. `method` is empty for the class itself.
    #[cold]
    fn failed(&self, py: Python<'_>, method: &str, cause: PyErr) {
        if !cause.is_instance_of::<PyException>(py) {
            // Ctrl-C or the end of the program is not a failure of the class
            return self.failures.keep(cause);
        }
        let Self {
            kind, name, class, ..
        } = self;
        let called = if method.is_empty() {
            format!("`{class}`")
        } else {
            format!("`{class}.{method}`")
        };
        let place = place(py, &cause).unwrap_or_default();
        let error =
            CustomError::new_err(format!("{called} failed ({kind} `{name}`): {cause}{place}"));
        error.set_cause(py, Some(cause));
        self.failures.keep(error);
    }
}

/// The keyword arguments of a user's class: the parameters in the scenario.
fn keywords<'py>(
    py: Python<'py>,
    parameters: &Map<String, Value>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    if parameters.is_empty() {
        return Ok(None);
    }
    Ok(Some(to_python(py, parameters)?.cast_into()?))
}

/// The file and the line where an exception was raised. A study keeps the message, and no traceback.
fn place(py: Python<'_>, cause: &PyErr) -> Option<String> {
    let mut last = cause.traceback(py)?.into_any();
    while let Ok(Some(inner)) = last
        .getattr("tb_next")
        .map(|next| (!next.is_none()).then_some(next))
    {
        last = inner;
    }
    let line: usize = last.getattr("tb_lineno").ok()?.extract().ok()?;
    let code = last.getattr("tb_frame").ok()?.getattr("f_code").ok()?;
    let file: PathBuf = code.getattr("co_filename").ok()?.extract().ok()?;
    let file = file.file_name()?.to_string_lossy().into_owned();
    Some(format!(" ({file}, line {line})"))
}

/// The first exception that user code raised in a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failures(Arc<Failed>);

#[derive(Debug, Default)]
struct Failed {
    first: Mutex<Option<PyErr>>,
    /// whether there was one: it may have been raised since
    any: AtomicBool,
}

impl Failures {
    fn keep(&self, error: PyErr) {
        let mut first = self.0.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error);
        self.0.any.store(true, Ordering::Relaxed);
    }

    /// Whether an object has failed, so that no other is called any more.
    fn any(&self) -> bool {
        self.0.any.load(Ordering::Relaxed)
    }

    /// Raises the exception if there was one.
    pub(crate) fn check(&self) -> PyResult<()> {
        let mut first = self.0.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.take().map_or(Ok(()), Err)
    }
}

/// Refuses an object with a method or an attribute that looks as if the engine would use it, such as `on_akc` or
/// `need_ecn`. Without this, a default would be used in its place, and nobody would notice.
fn refuse_misspelt(object: &Bound<'_, PyAny>, known: &[&str]) -> PyResult<()> {
    /// least similarity of a misspelt name, by difflib: `pacing_rate` is one, a method `timeout` is not
    const SIMILARITY: f64 = 0.84;
    let is_event = |name: &str| name.starts_with("on_");
    let events: Vec<&str> = known.iter().copied().filter(|one| is_event(one)).collect();
    let close_matches = object
        .py()
        .import("difflib")?
        .getattr("get_close_matches")?;
    for name in object.dir()?.iter() {
        let name: String = name.extract()?;
        if name.starts_with('_') || known.contains(&name.as_str()) {
            continue;
        }
        let is_method = object.getattr(name.as_str())?.is_callable();
        let is_event_method = is_method && !events.is_empty() && is_event(&name);
        let similarity = if is_event(&name) { 0.6 } else { SIMILARITY };
        let near = close_matches.call1((name.to_lowercase(), known, 1, similarity))?;
        let near = near.extract::<Vec<String>>()?.pop();
        let remedy = match near {
            Some(near) if is_method || !is_event(&near) => format!("did you mean `{near}`?"),
            None if is_event_method => format!("known are {}", events.join(", ")),
            _ => continue,
        };
        let problem = format!("it has `{name}`, which is never used: {remedy}");
        return Err(PyTypeError::new_err(problem));
    }
    Ok(())
}

/// Adds the classes that user code sees to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("CustomError", module.py().get_type::<CustomError>())?;
    module.add_class::<values::Queue>()?;
    module.add_class::<values::Packet>()?;
    module.add_class::<values::Port>()?;
    module.add_class::<window::Connection>()?;
    module.add_class::<window::Established>()?;
    module.add_class::<window::Window>()?;
    module.add_class::<window::Ack>()?;
    module.add_class::<window::RateSample>()?;
    Ok(())
}

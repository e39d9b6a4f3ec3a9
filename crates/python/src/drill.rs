//! Scripted exchanges.

use fairport_drill::{Options, SetupError};
use fairport_plan::BuildError;
use fairport_units::Duration;
use pyo3::prelude::*;

use crate::{job_error, to_python};

/// Runs a packetdrill script against a stack and returns `stack`, `failure` (null if the script passed) and `notes`.
/// Without `stack`, the script names the stack, or else it is today's Linux. Without `tolerance_ps`, the tolerance is
/// that of the script, or else packetdrill's.
#[pyfunction]
#[pyo3(signature = (text, stack=None, tolerance_ps=None))]
pub(crate) fn run_script<'py>(
    py: Python<'py>,
    text: &str,
    stack: Option<String>,
    tolerance_ps: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let refused = |field: &str, value: &str, problem: String, remedy: String| {
        job_error(py, &BuildError::new(field, value, problem, remedy))
    };
    let script = fairport_drill::parse(text).map_err(|error| {
        let place = format!("line {}, column {}", error.line, error.column);
        let problem = format!("expected {}, found {}", error.expected, error.found);
        refused(&place, &error.found, problem, String::new())
    })?;
    let options = Options {
        stack,
        isn: 0,
        tolerance: tolerance_ps.map(Duration::from_ps),
    };
    let outcome = fairport_drill::run(&script, &options).map_err(|error| match &error {
        SetupError::Stack { name, known } => {
            let remedy = format!("use one of {known}");
            refused("stack", name, format!("there is no stack `{name}`"), remedy)
        }
        SetupError::Option { line, name, value } => {
            let problem = format!("`--{name}` is `{value}`");
            let remedy = "use a whole number".to_owned();
            refused(&format!("line {line}"), value, problem, remedy)
        }
    })?;
    to_python(py, &outcome)
}

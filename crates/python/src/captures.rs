//! Analysis of captures.

use std::io::ErrorKind;

use fairport_trace::{
    Clock, Completeness, Error, FileSummary, Layout, Options, Outcome, OutputSummary, Role, Source,
    analyse,
};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

use crate::{into_arrays, with_parts};

create_exception!(
    fairport._core,
    CaptureError,
    PyValueError,
    "Captures that cannot be analysed: `file`, `problem`, `remedy`."
);

/// A source: its file, the name of its port, and its role "auto", "ingress" or "egress".
type Given = (String, Option<String>, String);

/// Analyses captures. `measure_s` is the interval that is measured, in s from the start of the captures.
/// `progress(packets, bytes)` is called from time to time.
///
/// Raises `CaptureError` if a capture cannot be analysed.
#[pyfunction]
#[pyo3(signature = (sources, *, tunnels, window_s, measure_s, packets, progress=None))]
pub(crate) fn analyse_captures<'py>(
    py: Python<'py>,
    sources: Vec<Given>,
    tunnels: bool,
    window_s: f64,
    measure_s: Option<(f64, f64)>,
    packets: bool,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let sources: Vec<Source> = sources.into_iter().map(source).collect();
    let ns = |seconds: f64| (seconds * 1e9).round() as u64;
    let options = Options {
        tunnels,
        window_ns: ns(window_s),
        measure_ns: measure_s.map(|(from, to)| (ns(from), ns(to))),
        logs_packets: packets,
        ..Options::default()
    };
    let progress = progress.map(|progress| progress.clone().unbind());
    let mut raised = None;
    let done = py.detach(|| {
        analyse(&sources, &options, |so_far| {
            let reported = Python::attach(|py| {
                py.check_signals()?;
                if let Some(progress) = &progress {
                    progress.call1(py, (so_far.packets, so_far.bytes))?;
                }
                Ok(())
            });
            match reported {
                Ok(()) => true,
                Err(error) => {
                    raised = Some(error);
                    false
                }
            }
        })
    });
    if let Some(error) = raised {
        return Err(error);
    }
    let outcome = done.map_err(|error| capture_error(py, &error))?;
    into_dict(py, outcome)
}

fn source((file, name, role): Given) -> Source {
    let role = match role.as_str() {
        "ingress" => Role::Ingress,
        "egress" => Role::Egress,
        _ => Role::Auto,
    };
    Source { file, name, role }
}

fn capture_error(py: Python<'_>, error: &Error) -> PyErr {
    let unread;
    let (file, problem, remedy) = match error {
        Error::Io { file, source } => {
            unread = format!("cannot be read: {}", reason(source));
            (file, &unread, "check its path and that you may read it")
        }
        Error::Capture {
            file,
            problem,
            remedy,
        } => (file, problem, remedy.as_str()),
    };
    let parts = [("file", &**file), ("problem", problem), ("remedy", remedy)];
    with_parts(py, CaptureError::new_err(error.to_string()), parts)
}

/// The system's reason for an error, without its number.
fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::PermissionDenied => "permission is denied".to_owned(),
        kind => kind.to_string(),
    }
}

fn into_dict(py: Python<'_>, outcome: Outcome) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("names", outcome.names.into_py_dict(py)?)?;
    dict.set_item("fingerprint", format!("{:016x}", outcome.fingerprint))?;
    dict.set_item("packets", outcome.packets)?;
    dict.set_item("start_s", outcome.start_ns as f64 / 1e9)?;
    dict.set_item("duration_s", outcome.duration.as_secs_f64())?;
    dict.set_item("measure_from_s", outcome.measure_from.as_secs_f64())?;
    dict.set_item("measure_to_s", outcome.measure_to.as_secs_f64())?;
    dict.set_item("interval_s", outcome.interval.as_secs_f64())?;
    dict.set_item("has_reasons", outcome.has_reasons)?;
    dict.set_item("egress", &outcome.layout.egress)?;
    dict.set_item("ingress", &outcome.layout.ingress)?;
    let files = outcome.files.iter().enumerate();
    let files: PyResult<Vec<_>> = files
        .map(|(number, file)| file_summary(py, file, &outcome.layout, number))
        .collect();
    dict.set_item("files", files?)?;
    let outputs = outcome.outputs.iter();
    let outputs: PyResult<Vec<_>> = outputs.map(|one| output_summary(py, one)).collect();
    dict.set_item("outputs", outputs?)?;
    dict.set_item("tables", into_arrays(py, outcome.tables)?)?;
    Ok(dict)
}

fn file_summary<'py>(
    py: Python<'py>,
    file: &FileSummary,
    layout: &Layout,
    number: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("file", &file.file)?;
    dict.set_item("bytes", file.bytes)?;
    dict.set_item("packets", file.packets)?;
    dict.set_item("skipped", file.unread.total())?;
    let unread = PyDict::new(py);
    for (what, count) in file.unread.ranked() {
        unread.set_item(what.to_string(), count)?;
    }
    dict.set_item("unread", unread)?;
    dict.set_item("tunnelled", file.tunnelled)?;
    dict.set_item("options_cut", file.options_cut)?;
    dict.set_item("merged", file.merged)?;
    dict.set_item("uncut", file.uncut)?;
    dict.set_item("lost_bytes", file.damage.bytes)?;
    dict.set_item("lost_packets", file.damage.packets)?;
    dict.set_item("lost_by_host", file.lost)?;
    dict.set_item("copies", file.copies)?;
    dict.set_item("backward_s", file.backward_ns as f64 / 1e9)?;
    dict.set_item("gap_s", file.gap_ns as f64 / 1e9)?;
    dict.set_item("elsewhere", layout.is_elsewhere[number])?;
    dict.set_item("damaged_at_byte", file.damage.first_at)?;
    dict.set_item("damage", &file.damage.problem)?;
    let Clock {
        offset_ns,
        drift,
        samples,
        least_ns,
        ..
    } = layout.clocks[number];
    dict.set_item("clock_offset_s", offset_ns as f64 / 1e9)?;
    dict.set_item("clock_drift_ppm", drift * 1e6)?;
    dict.set_item("clock_samples", samples)?;
    dict.set_item("delay_min_s", least_ns as f64 / 1e9)?;
    Ok(dict)
}

fn output_summary<'py>(py: Python<'py>, output: &OutputSummary) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("port", &output.name)?;
    dict.set_item("peak_bps", output.peak_bps)?;
    dict.set_item("completeness", completeness(py, &output.completeness)?)?;
    Ok(dict)
}

fn completeness<'py>(py: Python<'py>, found: &Completeness) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, count) in [
        ("arrived", found.arrived),
        ("joined", found.joined),
        ("missed_at_ingress", found.missed_at_ingress),
        ("missed_at_egress", found.missed_at_egress),
        ("open", found.open),
        ("without_ingress", found.without_ingress),
    ] {
        dict.set_item(name, count)?;
    }
    dict.set_item("delay_min_s", found.delay_min_ns as f64 / 1e9)?;
    dict.set_item("delay_max_s", found.delay_max_ns as f64 / 1e9)?;
    dict.set_item("ended_s", found.ended_ns.map(|ns| ns as f64 / 1e9))?;
    Ok(dict)
}

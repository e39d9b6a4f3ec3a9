//! The Python binding, `fairport._core`. It has no logic of its own.
//!
//! The engine runs without the interpreter's lock, in slices of some milliseconds. Between slices, signals are checked
//! and progress is reported, so Ctrl-C ends a run within a slice.

#[cfg(target_os = "linux")]
mod agenda;
mod captures;
mod custom;
mod drill;
mod observed;
#[cfg(target_os = "linux")]
mod payload;
#[cfg(target_os = "linux")]
mod switch;

use std::sync::Once;
use std::thread;

use custom::Failures;
use fairport_net::{Observer, topology};
use fairport_plan::{BuildError, Customs, Job, Plan};
use fairport_record::{Column, Recorded, Simulated, Table, Watcher};
use fairport_sim::{RegionChoice, Simulation};
use fairport_tcp::{Preset, Settings};
use numpy::IntoPyArray;
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

create_exception!(
    fairport._core,
    JobError,
    PyValueError,
    "A job that cannot be run: `field`, `value`, `problem`, `remedy`."
);

fn job_error(py: Python<'_>, error: &BuildError) -> PyErr {
    let parts = [
        ("field", &*error.field),
        ("value", &error.value),
        ("problem", &error.problem),
        ("remedy", &error.remedy),
    ];
    with_parts(py, JobError::new_err(error.to_string()), parts)
}

/// The exception with the parts of its message as attributes.
fn with_parts<const N: usize>(py: Python<'_>, raised: PyErr, parts: [(&str, &str); N]) -> PyErr {
    let value = raised.value(py);
    let set = parts
        .into_iter()
        .try_for_each(|(name, part)| value.setattr(name, part));
    set.err().unwrap_or(raised)
}

fn parse<'a, T: serde::Deserialize<'a>>(py: Python<'_>, json: &'a str) -> PyResult<T> {
    serde_json::from_str(json).map_err(|error| {
        let remedy = "this is a fault of fairport itself, not of the scenario";
        let problem = "is not a job that this engine understands";
        job_error(py, &BuildError::new("job", error, problem, remedy))
    })
}

/// The value as Python's own lists, dicts, texts and numbers.
fn to_python<'py>(py: Python<'py>, value: &impl serde::Serialize) -> PyResult<Bound<'py, PyAny>> {
    let json =
        serde_json::to_string(value).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    py.import("json")?.call_method1("loads", (json,))
}

fn plan(py: Python<'_>, job_json: &str, customs: Customs, failures: &Failures) -> PyResult<Plan> {
    let job: Job = parse(py, job_json)?;
    let plan = py.detach(|| Plan::with_customs(job, customs));
    // the user's exception is more specific than the error that it led to
    failures.check()?;
    plan.map_err(|error| job_error(py, &custom::in_python(error)))
}

/// A run of a job. The plan is made with the object, and the network when the run begins.
#[pyclass(name = "Simulation", module = "fairport._core")]
struct PySimulation {
    plan: Option<Plan>,
    /// the job, from which the same plan can be made again
    job_json: String,
    has_customs: bool,
    failures: Failures,
    #[pyo3(get)]
    hosts: Vec<String>,
    #[pyo3(get)]
    ports: Vec<String>,
    #[pyo3(get)]
    memory_bytes: u64,
    #[pyo3(get)]
    busiest_port: String,
    #[pyo3(get)]
    link_rates_bps: Vec<u64>,
}

#[pymethods]
impl PySimulation {
    /// Plans a job. `disciplines` and `congestion_controls` are the user's classes by name.
    #[new]
    #[pyo3(signature = (job_json, disciplines=None, congestion_controls=None))]
    fn new(
        py: Python<'_>,
        job_json: &str,
        disciplines: Option<&Bound<'_, PyDict>>,
        congestion_controls: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let failures = Failures::default();
        let customs = custom::customs(disciplines, congestion_controls, &failures)?;
        let has_customs = disciplines.is_some_and(|them| !them.is_empty())
            || congestion_controls.is_some_and(|them| !them.is_empty());
        let plan = plan(py, job_json, customs, &failures)?;
        Ok(Self {
            hosts: plan.topology().host_names(),
            ports: plan.topology().port_names(),
            memory_bytes: fairport_sim::memory_bytes(&plan),
            link_rates_bps: plan.rates_bps(),
            busiest_port: plan.topology().port_name(plan.watch().traced),
            plan: Some(plan),
            job_json: job_json.to_owned(),
            has_customs,
            failures,
        })
    }

    /// The port that is offered the largest share of its rate; none if no traffic has a load of its own. It is to be
    /// asked before the run, which uses the plan up.
    fn fullest_link<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let Some(plan) = &mut self.plan else {
            return Err(PyRuntimeError::new_err("the simulation has run"));
        };
        to_python(py, &py.detach(|| plan.fullest_link()))
    }

    /// Runs to the end and returns names and tables. `progress(simulated_s, packet_hops)` is called every few
    /// milliseconds. `observation` says which single packets are captured or logged. At most `threads` threads are
    /// used, and only if the run is long enough to benefit; with an observation or with the user's classes, one thread
    /// runs everything. With more than one of `regions`, the network is divided into this many regions from the start,
    /// on one thread.
    #[pyo3(signature = (progress=None, observation=None, threads=1, regions=1))]
    fn run<'py>(
        &mut self,
        py: Python<'py>,
        progress: Option<&Bound<'py, PyAny>>,
        observation: Option<observed::Observation>,
        threads: u16,
        regions: u16,
    ) -> PyResult<Bound<'py, PyDict>> {
        let Some(plan) = self.plan.take() else {
            return Err(PyRuntimeError::new_err("a simulation runs once"));
        };
        let recorded = match observation {
            None => {
                let regions = if self.has_customs { 1 } else { regions };
                let is_settled = self.has_customs || regions > 1;
                let mut choice = RegionChoice::new(&plan, if is_settled { 1 } else { threads });
                let mut simulation =
                    py.detach(|| Simulation::in_regions(plan, regions).at_once(false));
                let regions =
                    self.advance(py, &mut simulation, progress, |run| choice.look(run))?;
                if let Some(regions) = regions {
                    drop(simulation);
                    simulation = py.detach(|| self.begin_again(regions))?;
                    self.advance(py, &mut simulation, progress, |_| None::<()>)?;
                }
                py.detach(|| simulation.into_recorded())
            }
            Some(observation) => {
                let mut simulation = py.detach(|| observed::simulation(plan, observation));
                let failure = self.advance(py, &mut simulation, progress, |run| {
                    run.observer_mut().take_failure()
                })?;
                failure.map_or(Ok(()), Err)?;
                py.detach(|| observed::into_recorded(simulation))?
            }
        };
        into_dict(py, recorded)
    }
}

impl PySimulation {
    /// Makes the same simulation from the start, divided into `regions`.
    fn begin_again(&self, regions: u16) -> PyResult<Simulation> {
        let failed = |error: String| PyRuntimeError::new_err(error);
        let job: Job = serde_json::from_str(&self.job_json).map_err(|it| failed(it.to_string()))?;
        let plan = Plan::new(job).map_err(|it| failed(it.to_string()))?;
        Ok(Simulation::in_regions(plan, regions))
    }

    /// Advances a simulation to its end, or until `stop` returns a value. `stop` is called between slices.
    fn advance<P: Simulated + Send, O: Observer<P> + Watcher + Send, T>(
        &self,
        py: Python<'_>,
        simulation: &mut Simulation<P, O>,
        progress: Option<&Bound<'_, PyAny>>,
        mut stop: impl FnMut(&mut Simulation<P, O>) -> Option<T>,
    ) -> PyResult<Option<T>> {
        while !py.detach(|| simulation.advance(simulation.slice())) {
            py.check_signals()?;
            self.failures.check()?;
            let stopped = stop(simulation);
            if stopped.is_some() {
                return Ok(stopped);
            }
            if let Some(progress) = progress {
                let simulated_s = simulation.simulated().as_secs_f64();
                progress.call1((simulated_s, simulation.packet_hops()))?;
            }
        }
        self.failures.check()?;
        Ok(None)
    }
}

fn into_dict(py: Python<'_>, recorded: Recorded) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("fingerprint", format!("{:016x}", recorded.fingerprint))?;
    dict.set_item("packet_hops", recorded.packet_hops)?;
    dict.set_item("events", recorded.events)?;
    dict.set_item("measure_from_s", recorded.measure_from.as_secs_f64())?;
    dict.set_item("measure_to_s", recorded.measure_to.as_secs_f64())?;
    dict.set_item("simulated_s", recorded.simulated.as_secs_f64())?;
    dict.set_item("decisions_left_out", recorded.decisions_left_out)?;
    dict.set_item("names", recorded.names.into_py_dict(py)?)?;
    dict.set_item("tables", into_arrays(py, recorded.tables)?)?;
    Ok(dict)
}

/// Opens the interface of `NumPy` once, on a thread of its own. Opening it runs Python code, in which Ctrl-C would
/// cause a panic; signals reach only the main thread.
fn open_numpy(py: Python<'_>) {
    static OPENED: Once = Once::new();
    py.detach(|| {
        OPENED.call_once(|| {
            let first = || Python::attach(|py| drop(Vec::<u8>::new().into_pyarray(py)));
            // without NumPy, the conversion of the first table fails with an error that says so
            let _ = thread::spawn(first).join();
        });
    });
}

/// Converts tables to dictionaries of arrays by column.
fn into_arrays(py: Python<'_>, columns_by_table: Vec<Table>) -> PyResult<Bound<'_, PyDict>> {
    open_numpy(py);
    let tables = PyDict::new(py);
    for table in columns_by_table {
        let columns = PyDict::new(py);
        for (name, column) in table.columns {
            match column {
                Column::U8(values) => columns.set_item(name, values.into_pyarray(py))?,
                Column::U32(values) => columns.set_item(name, values.into_pyarray(py))?,
                Column::U64(values) => columns.set_item(name, values.into_pyarray(py))?,
                Column::F64(values) => columns.set_item(name, values.into_pyarray(py))?,
            }
        }
        tables.set_item(table.name, columns)?;
    }
    Ok(tables)
}

/// The names of the stack presets.
#[pyfunction]
fn presets() -> Vec<&'static str> {
    Settings::PRESETS.to_vec()
}

/// The settings of a stack preset, in base units.
#[pyfunction]
fn preset<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    to_python(py, &named(py, name)?.settings)
}

/// The stack that a preset describes, and the source of each setting's value.
#[pyfunction]
fn preset_sources<'py>(
    py: Python<'py>,
    name: &str,
) -> PyResult<(&'static str, Bound<'py, PyDict>)> {
    let preset = named(py, name)?;
    let sources = PyDict::new(py);
    for (setting, source) in preset.sources {
        sources.set_item(setting, source)?;
    }
    Ok((preset.about, sources))
}

fn named(py: Python<'_>, name: &str) -> PyResult<&'static Preset> {
    Preset::named(name).ok_or_else(|| {
        let remedy = format!("use one of {}", Settings::PRESETS.join(", "));
        let error = BuildError::new("stack", name, "is not a stack", remedy);
        job_error(py, &error)
    })
}

/// The names of a topology's hosts.
#[pyfunction]
fn topology_hosts(py: Python<'_>, topology_json: &str) -> PyResult<Vec<String>> {
    let config: topology::Config = parse(py, topology_json)?;
    let topology = config.build().map_err(|error| job_error(py, &error))?;
    Ok(topology.host_names())
}

/// The most paths of which a list is made. As Python's objects they take about 2 GB.
const MOST_PATHS: usize = 4_000_000;

/// The network of a job and the paths of its flows, without a run.
#[pyfunction]
fn layout<'py>(py: Python<'py>, job_json: &str) -> PyResult<Bound<'py, PyAny>> {
    let job: Job = parse(py, job_json)?;
    let layout = py
        .detach(|| fairport_plan::layout(&job, MOST_PATHS))
        .map_err(|error| job_error(py, &error))?;
    to_python(py, &layout)
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    // the version of the model, which must change when the outcome of a run does
    let fingerprints = include_str!("../../../tests/repo/fingerprints.json");
    module.add("FINGERPRINTS", fingerprints)?;
    module.add("JobError", module.py().get_type::<JobError>())?;
    module.add(
        "CaptureError",
        module.py().get_type::<captures::CaptureError>(),
    )?;
    module.add_class::<PySimulation>()?;
    custom::add_to(module)?;
    module.add_function(wrap_pyfunction!(presets, module)?)?;
    module.add_function(wrap_pyfunction!(preset, module)?)?;
    module.add_function(wrap_pyfunction!(preset_sources, module)?)?;
    module.add_function(wrap_pyfunction!(topology_hosts, module)?)?;
    module.add_function(wrap_pyfunction!(layout, module)?)?;
    module.add_function(wrap_pyfunction!(drill::run_script, module)?)?;
    module.add_function(wrap_pyfunction!(captures::analyse_captures, module)?)?;
    #[cfg(target_os = "linux")]
    {
        module.add_class::<payload::PyPayloadSender>()?;
        module.add_class::<agenda::PyAgenda>()?;
        module.add_class::<agenda::PyDatagrams>()?;
        module.add_function(wrap_pyfunction!(switch::run_switch, module)?)?;
        module.add_function(wrap_pyfunction!(switch::scheduling_class, module)?)?;
    }
    Ok(())
}

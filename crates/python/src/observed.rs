//! A simulation whose packets are captured or logged at certain ports.

use std::path::PathBuf;

use fairport_net::PortId;
use fairport_plan::Plan;
use fairport_record::{Numbered, PacketLog, Recorded};
use fairport_sim::Simulation;
use fairport_trace::write::{CapturingRecorder, PortFiles};
use fairport_units::Instant;
use pyo3::prelude::*;

/// The packets that are captured or logged. Ports are given by number.
#[derive(FromPyObject)]
pub(crate) struct Observation {
    /// ports whose packets are captured, with the files for arriving and for leaving packets
    #[pyo3(item)]
    captures: Vec<(u32, PathBuf, PathBuf)>,
    /// at least this many bytes of each frame are captured, and always its headers
    #[pyo3(item)]
    snap_bytes: u32,
    /// ports whose packets are listed in the table `packets`
    #[pyo3(item)]
    packets: Vec<u32>,
    /// only packets that arrive within this interval are listed, in s
    #[pyo3(item)]
    window_s: (f64, f64),
}

/// A simulation whose packets are observed.
pub(crate) type Observed = Simulation<Numbered, CapturingRecorder>;

/// Makes the simulation of a plan with an observation.
pub(crate) fn simulation(plan: Plan, observation: Observation) -> Observed {
    let rates = plan.rates_bps();
    let end = plan.end();
    let files = observation.captures.into_iter();
    let files = files.map(|(port, ingress, egress)| PortFiles {
        port: PortId(port),
        ingress,
        egress,
    });
    let files = files.collect();
    let (from_s, to_s) = observation.window_s;
    let [from, to] = [from_s, to_s].map(|time_s| Instant::from_ps((time_s * 1e12) as u64));
    let log = PacketLog::new(observation.packets.into_iter().map(PortId), from, to);
    Simulation::with_observer(plan, |topology, recorder| {
        let snap_bytes = observation.snap_bytes;
        CapturingRecorder::new(topology, recorder, log, end, &rates, files, snap_bytes)
    })
}

/// Finishes the captures, and returns what the run recorded.
///
/// # Errors
/// [`PyErr`] if a file cannot be written.
pub(crate) fn into_recorded(mut simulation: Observed) -> PyResult<Recorded> {
    let packets = simulation.observer_mut().finish()?;
    let mut recorded = simulation.into_recorded();
    recorded.tables.retain(|table| table.name != packets.name);
    recorded.tables.push(packets);
    Ok(recorded)
}

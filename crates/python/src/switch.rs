//! Runs a plan's network in real time, in a process that does nothing else.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

use fairport_net::PortId;
use fairport_plan::{Job, Plan};
use fairport_switch::{
    Attachment, CapturedPacket, Event, Health, Limits, Neighbour, Switch, Writer, available_class,
    prepare,
};
use fairport_trace::write::{FrameCaptures, PortFiles, RealFrame};
use fairport_units::{Duration, Instant};
use fairport_wire::FlowKey;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

use crate::{into_arrays, job_error, parse};

/// Makes a plan without the user's classes.
pub(crate) fn plan(py: Python<'_>, job_json: &str) -> PyResult<Plan> {
    let job: Job = parse(py, job_json)?;
    py.detach(|| Plan::new(job))
        .map_err(|error| job_error(py, &error))
}

/// An attachment: the number of the interface, the number and address of its host, and the host's minimum silence
/// before a timeout in s.
type Attached = (u32, u32, IpAddr, f64);
/// The addresses, protocol and ports of a flow's data packets.
type Key = (IpAddr, IpAddr, u8, u16, u16);

/// Forwards frames between the interfaces of the current network namespace. It ends when the job's duration has passed,
/// or when `stops(seconds)`, which is called 20 times per second, returns true.
///
/// Frames that are later than `tolerated_s` count as stalled. A silence of a sender that is shorter than the minimum of
/// its host cannot end in a timeout. Connections to a port from the first to the last of `request_ports` are requests.
/// Each packet at the ports with the numbers `packets` gets a row in the table of that name. Packets that arrive for
/// the ports of `captures` and packets that leave them are written to two files per port, with at least `snap_bytes` of
/// each frame and always its headers, and with time stamps that count from `zero_s`. The process `neighbour` runs on
/// other processors than the switch. `flows` of the result holds the keys of all flows, by their numbers in the tables.
///
/// Raises `JobError` if the job is not valid, and `OSError` if the process lacks the privilege.
#[pyfunction]
#[pyo3(signature = (job_json, attachments, flows, *, tolerated_s, request_ports, packets, captures, snap_bytes, zero_s, processor, priority, neighbour, stops))]
#[expect(
    clippy::too_many_arguments,
    reason = "each is named where it is called"
)]
pub(crate) fn run_switch<'py>(
    py: Python<'py>,
    job_json: &str,
    attachments: Vec<Attached>,
    flows: Vec<Key>,
    tolerated_s: f64,
    request_ports: [u16; 2],
    packets: Vec<u32>,
    captures: Vec<(u32, PathBuf, PathBuf)>,
    snap_bytes: u32,
    zero_s: f64,
    processor: Option<usize>,
    priority: i32,
    neighbour: i32,
    stops: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let plan = plan(py, job_json)?;
    let rates = plan.rates_bps();
    let attachments: Vec<Attachment> = attachments.into_iter().map(attachment).collect();
    let flows: Vec<FlowKey> = flows.into_iter().map(key).collect();
    let limits = Limits {
        tolerated: seconds(tolerated_s),
        request_ports,
    };
    let mut switch = Switch::new(plan, &attachments, &flows, limits)
        .map_err(|error| PyOSError::new_err(error.to_string()))?;
    switch.log_packets(packets.into_iter().map(PortId));
    if !captures.is_empty() {
        let zero = Instant::ZERO + seconds(zero_s);
        capture(&mut switch, &rates, captures, snap_bytes, zero)?;
    }
    let neighbour = Neighbour::new(neighbour)?;
    let granted = prepare(processor, priority);
    let stops = stops.clone().unbind();
    let mut raised = None;
    let done = py.detach(|| {
        switch.run(granted.class, neighbour, |now| {
            Python::attach(|py| {
                let asked = py.check_signals().and_then(|()| {
                    let answer = stops.call1(py, (now.as_secs_f64(),))?;
                    answer.extract::<bool>(py)
                });
                asked.unwrap_or_else(|error| {
                    raised = Some(error);
                    true
                })
            })
        })
    });
    if let Some(error) = raised {
        return Err(error);
    }
    done.map_err(|error| PyOSError::new_err(error.to_string()))?;
    let outcome = py.detach(|| switch.into_outcome())?;
    let dict = PyDict::new(py);
    dict.set_item("packet_hops", outcome.packet_hops)?;
    dict.set_item("health", health(py, &outcome.health)?)?;
    dict.set_item("scheduling", granted.class.name())?;
    let keys: Vec<Key> = outcome.flows.iter().map(parts_of).collect();
    dict.set_item("flows", keys)?;
    dict.set_item("fingerprint", format!("{:016x}", outcome.fingerprint))?;
    dict.set_item("names", outcome.names.into_py_dict(py)?)?;
    dict.set_item("tables", into_arrays(py, outcome.tables)?)?;
    Ok(dict)
}

/// Captures the packets at the given ports.
fn capture(
    switch: &mut Switch,
    rates_bps: &[u64],
    files: Vec<(u32, PathBuf, PathBuf)>,
    snap_bytes: u32,
    zero: Instant,
) -> io::Result<()> {
    let ports: Vec<PortId> = files.iter().map(|(port, ..)| PortId(*port)).collect();
    let files = files.into_iter().map(|(port, ingress, egress)| PortFiles {
        port: PortId(port),
        ingress,
        egress,
    });
    let captures = FrameCaptures::new(
        switch.topology(),
        rates_bps,
        files.collect(),
        snap_bytes,
        zero,
    );
    switch.capture(ports, Frames(captures), snap_bytes as usize)
}

/// Writes the frames of the switch to captures.
struct Frames(FrameCaptures);

impl Writer for Frames {
    fn write(&mut self, packet: &CapturedPacket<'_>) -> io::Result<()> {
        let Self(captures) = self;
        let CapturedPacket { port, at, .. } = *packet;
        let snap_bytes = captures.snap_bytes();
        let frame = || RealFrame::new(packet.bytes, packet.wire_bytes, snap_bytes, packet.ecn);
        match packet.event {
            Event::Arrived { ingress, fate } => captures.arrived(port, ingress, at, frame(), fate),
            Event::Settled { port_arrival, fate } => captures.settled(port, port_arrival, fate),
            Event::Departed => captures.departed(port, at, frame()),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.finish()
    }
}

/// The scheduling class that the kernel would give to the switch: `SCHED_DEADLINE`, `SCHED_FIFO` or `SCHED_OTHER`.
#[pyfunction]
pub(crate) fn scheduling_class() -> &'static str {
    available_class().name()
}

fn attachment((interface, host, address, silence_s): Attached) -> Attachment {
    Attachment {
        interface,
        host,
        address,
        silence: seconds(silence_s),
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::from_ps((seconds * 1e12) as u64)
}

fn key((source, destination, protocol, source_port, destination_port): Key) -> FlowKey {
    FlowKey {
        source,
        destination,
        protocol,
        source_port,
        destination_port,
    }
}

fn parts_of(key: &FlowKey) -> Key {
    (
        key.source,
        key.destination,
        key.protocol,
        key.source_port,
        key.destination_port,
    )
}

/// The switch's measurements of itself.
fn health<'py>(py: Python<'py>, health: &Health) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, share) in [
        ("lag_p50_s", 0.5),
        ("lag_p99_s", 0.99),
        ("lag_p999_s", 0.999),
    ] {
        dict.set_item(name, health.lag.quantile(share).as_secs_f64())?;
    }
    dict.set_item("lag_max_s", health.lag.largest().as_secs_f64())?;
    dict.set_item("frames_in", health.frames_in)?;
    dict.set_item("frames_out", health.frames_out)?;
    dict.set_item("send_errors", health.send_errors)?;
    dict.set_item("ring_losses", health.ring_losses)?;
    dict.set_item("ignored", health.ignored)?;
    dict.set_item("capture_losses", health.capture_losses)?;
    dict.set_item("stalled_s", health.stalled_for().as_secs_f64())?;
    let stalls = health.stalls().iter();
    let stalls: Vec<(f64, f64)> = stalls
        .map(|stall| (stall.start.as_secs_f64(), stall.end.as_secs_f64()))
        .collect();
    dict.set_item("stalls", stalls)?;
    Ok(dict)
}

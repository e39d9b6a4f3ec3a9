//! The values that a user's queue discipline sees: its port, its queue and packets.

use std::sync::{Arc, Mutex, PoisonError};

use fairport_net::discipline::{Admission, Backlog, PacketView, QueueView, Reason};
use fairport_net::limit::Limit;
use fairport_net::queue::PortContext;
use fairport_units::{Duration, Instant};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The port that a discipline is made for.
#[pyclass(frozen, module = "fairport._core", name = "Port")]
#[derive(Clone)]
pub(crate) struct Port {
    /// The port's name, as in the tables: "edge0.0:2".
    #[pyo3(get)]
    name: String,
    /// The rate at which its queue is emptied, in bit/s.
    #[pyo3(get)]
    rate_bps: u64,
    /// `queue.limit`, if it is in bytes; frame headers count.
    #[pyo3(get)]
    limit_bytes: Option<u32>,
    /// `queue.limit`, if it is in packets.
    #[pyo3(get)]
    limit_packets: Option<u32>,
    /// Bytes that a packet of the MTU takes in the buffer.
    #[pyo3(get)]
    full_frame_bytes: u32,
    /// Seed for random numbers, different for each port and each run.
    #[pyo3(get)]
    seed: u64,
    shared: Arc<Py<PyDict>>,
}

impl Port {
    pub(super) fn new(py: Python<'_>, port: &PortContext<'_>, limit: Limit) -> Self {
        let (limit_bytes, limit_packets) = match limit {
            Limit::Bytes(bytes) => (Some(bytes), None),
            Limit::Packets(packets) => (None, Some(packets)),
        };
        Self {
            name: port.name(),
            rate_bps: port.rate().as_bps(),
            limit_bytes,
            limit_packets,
            full_frame_bytes: port.full_frame_bytes(),
            seed: port.stream().up_to(u64::MAX),
            shared: port.shared(|| Arc::new(PyDict::new(py).unbind())),
        }
    }
}

#[pymethods]
impl Port {
    /// A dict that the ports of this switch share in this run, for `shares_memory`.
    #[getter]
    fn shared(&self, py: Python<'_>) -> Py<PyDict> {
        self.shared.clone_ref(py)
    }
}

/// A port's queue as an arriving packet finds it.
#[pyclass(frozen, module = "fairport._core", name = "Queue")]
pub(crate) struct Queue {
    now: Instant,
    backlog: Backlog,
    idle: Duration,
}

impl Queue {
    pub(super) fn at_arrival(queue: &QueueView) -> Self {
        Self {
            now: queue.now,
            backlog: queue.backlog,
            idle: queue.idle(),
        }
    }

    /// The queue of a port with a scheduler. It has no idle time.
    pub(super) fn of_scheduler(now: Instant, backlog: Backlog) -> Self {
        Self {
            now,
            backlog,
            idle: Duration::ZERO,
        }
    }
}

#[pymethods]
impl Queue {
    /// Seconds since the start of the run.
    #[getter]
    fn now_s(&self) -> f64 {
        self.now.as_secs_f64()
    }

    /// Bytes in the queue, without the arriving packet.
    #[getter]
    fn backlog_bytes(&self) -> u32 {
        self.backlog.bytes
    }

    /// Packets in the queue, without the arriving packet.
    #[getter]
    fn backlog_packets(&self) -> u32 {
        self.backlog.packets
    }

    /// How long the link has been idle, in seconds; 0 for schedulers.
    #[getter]
    fn idle_s(&self) -> f64 {
        self.idle.as_secs_f64()
    }
}

/// The changes that user code made to packets of its scheduler and that the engine has not applied yet.
#[derive(Clone, Default)]
pub(super) struct Changes(Arc<Mutex<Vec<(u64, Change)>>>);

/// A change that user code made to one packet.
#[derive(Clone, Copy)]
pub(super) enum Change {
    Mark,
    Drop(Reason),
}

impl Changes {
    fn add(&self, serial: u64, change: Change) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.push((serial, change));
    }

    /// Takes all changes, in the order in which they were made.
    pub(super) fn take(&self) -> Vec<(u64, Change)> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A packet that arrives at a port or waits there.
#[pyclass(frozen, module = "fairport._core", name = "Packet")]
pub(crate) struct Packet {
    view: PacketView,
    arrived: Instant,
    /// its number, and the list to which its changes are added; None if it is not a scheduler's packet
    held: Option<(u64, Changes)>,
}

impl Packet {
    pub(super) fn at_arrival(view: PacketView, now: Instant) -> Self {
        Self {
            view,
            arrived: now,
            held: None,
        }
    }

    pub(super) fn held(view: PacketView, arrived: Instant, serial: u64, changes: &Changes) -> Self {
        Self {
            view,
            arrived,
            held: Some((serial, changes.clone())),
        }
    }

    /// The number of the packet among those that this port's scheduler was given, or None if it came to another port.
    pub(super) fn serial_at(&self, changes: &Changes) -> Option<u64> {
        let (serial, own) = self.held.as_ref()?;
        Arc::ptr_eq(&own.0, &changes.0).then_some(*serial)
    }

    fn change(&self, change: Change) -> PyResult<()> {
        let Some((serial, changes)) = &self.held else {
            let problem = "admit says what happens to a packet by what it returns";
            return Err(PyValueError::new_err(problem));
        };
        changes.add(*serial, change);
        Ok(())
    }
}

#[pymethods]
impl Packet {
    /// Bytes that it takes in the buffer.
    #[getter]
    fn size_bytes(&self) -> u32 {
        self.view.frame_bytes
    }

    /// Its flow; both directions have the same number.
    #[getter]
    fn flow(&self) -> u32 {
        self.view.flow
    }

    /// 1 if the edge classifier found a short flow, else 0.
    #[getter]
    fn traffic_class(&self) -> u8 {
        self.view.class
    }

    /// Whether it may be marked (its sender supports ECN).
    #[getter]
    fn is_ecn_capable(&self) -> bool {
        self.view.is_ecn_capable()
    }

    /// The number of the switch's port through which it came in.
    #[getter]
    fn ingress(&self) -> u16 {
        self.view.ingress_number
    }

    /// When it arrived at the port, in seconds since the start of the run.
    #[getter]
    fn arrived_s(&self) -> f64 {
        self.arrived.as_secs_f64()
    }

    /// Marks the packet (CE). A scheduler must hold it, and it must be `is_ecn_capable`.
    fn mark(&self) -> PyResult<()> {
        can_mark(&self.view)?;
        self.change(Change::Mark)
    }

    /// Drops the packet. A scheduler must hold it, and must have taken it off its own queue.
    #[pyo3(signature = (reason = "early"))]
    fn drop(&self, reason: &str) -> PyResult<()> {
        self.change(Change::Drop(read_reason(reason)?))
    }
}

fn can_mark(packet: &PacketView) -> PyResult<()> {
    if packet.is_ecn_capable() {
        return Ok(());
    }
    let problem = "a packet can be marked only where packet.is_ecn_capable";
    Err(PyValueError::new_err(problem))
}

/// A loss on the line is no decision of a queue.
fn is_of_queues(reason: Reason) -> bool {
    reason != Reason::Loss
}

fn read_reason(word: &str) -> PyResult<Reason> {
    let reason = Reason::named(word.as_bytes()).filter(|reason| is_of_queues(*reason));
    reason.ok_or_else(|| {
        let problem = format!("{word:?} is not a reason: give {}", reasons());
        PyValueError::new_err(problem)
    })
}

fn reasons() -> String {
    let pairs = Reason::ALL.into_iter().zip(Reason::NAMES);
    let names = pairs.filter(|(reason, _)| is_of_queues(*reason));
    let names: Vec<_> = names.map(|(_, name)| format!("{name:?}")).collect();
    names.join(", ")
}

/// Reads the answer of user code to an arriving packet: true or "accept", "mark", false, or a reason for a drop.
pub(super) fn admission(answer: &Bound<'_, PyAny>, packet: &PacketView) -> PyResult<Admission> {
    if let Ok(accepts) = answer.extract::<bool>() {
        return Ok(if accepts {
            Admission::Accepted
        } else {
            Admission::Dropped(Reason::Full)
        });
    }
    match answer.extract::<&str>() {
        Ok("accept") => Ok(Admission::Accepted),
        Ok("mark") => can_mark(packet).map(|()| Admission::Marked),
        Ok(reason) if read_reason(reason).is_ok() => read_reason(reason).map(Admission::Dropped),
        _ => {
            let problem = format!(
                "{} does not say what becomes of the packet: return True, False, \"accept\", \"mark\", or the \
                 reason for a drop: {}",
                answer.repr()?,
                reasons()
            );
            Err(PyTypeError::new_err(problem))
        }
    }
}

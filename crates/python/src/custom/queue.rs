//! A queue discipline that is a Python class: one object per switch port.
//!
//! A class with `admit` decides when a packet arrives, and a class with `enqueue` and `dequeue` decides when a packet
//! leaves. The object of such a scheduler holds packets, but the handles stay here, and the packets that it returns are
//! checked. So no mistake of it can lose a packet or send one twice.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

use fairport_net::BuildError;
use fairport_net::discipline::{
    Admission, Backlog, PacketView, QueueDiscipline, QueueView, Reason,
};
use fairport_net::limit::Limit;
use fairport_net::queue::{CustomQueue, PortContext};
use fairport_net::scheduler::{Handle, Offer, PacketScheduler, WaitingPackets};
use fairport_units::Instant;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::Value;

use super::values::{Change, Changes, Packet, Port, Queue, admission};
use super::{Origin, keywords, refuse_misspelt};

/// Returns a function that makes the queue of each port from the user's class.
pub(super) fn factory(
    class: Py<PyAny>,
    origin: Origin,
) -> impl Fn(&Value, &PortContext<'_>) -> Result<CustomQueue, BuildError> + Send + Sync {
    // once per run: it takes longer than an object
    let names_checked = OnceLock::new();
    move |parameters, context| {
        let limit = limit(parameters)?;
        // the same checks as for every other discipline
        context.buffer(limit)?;
        let failed = || CustomQueue::Discipline(Box::new(PyDiscipline::failed(&origin)));
        if origin.failures.any() {
            return Ok(failed());
        }
        Ok(Python::attach(|py| {
            let port = Port::new(py, context, limit);
            let made = object(py, &class, parameters, port).and_then(|object| {
                if names_checked.set(()).is_ok() {
                    refuse_misspelt(&object, &[SHARES_MEMORY])?;
                }
                make(&object, &origin)
            });
            made.unwrap_or_else(|error| {
                origin.failed(py, "", error);
                failed()
            })
        }))
    }
}

/// The limit of the queue, which the plan keeps together with the user's own parameters.
fn limit(parameters: &Value) -> Result<Limit, BuildError> {
    let given = parameters.get("limit").unwrap_or(&Value::Null);
    Limit::deserialize(given).map_err(|error| {
        let remedy = "give a limit, such as \"16KiB\" or \"11 packets\"";
        BuildError::new(
            "queue.limit",
            given,
            format!("is not a limit: {error}"),
            remedy,
        )
    })
}

/// The attribute of a scheduler that decides by what waits at other ports of its switch, too.
const SHARES_MEMORY: &str = "shares_memory";

/// The user's object for a port.
fn object<'py>(
    py: Python<'py>,
    class: &Py<PyAny>,
    parameters: &Value,
    port: Port,
) -> PyResult<Bound<'py, PyAny>> {
    let mut own = parameters.as_object().cloned().unwrap_or_default();
    own.remove("limit");
    class.bind(py).call((port,), keywords(py, &own)?.as_ref())
}

fn make(object: &Bound<'_, PyAny>, origin: &Origin) -> PyResult<CustomQueue> {
    let admit = object.getattr_opt("admit")?;
    let enqueue = object.getattr_opt("enqueue")?;
    let dequeue = object.getattr_opt("dequeue")?;
    if admit.is_some() && (enqueue.is_some() || dequeue.is_some()) {
        let problem = "it has `admit`, which makes it a discipline, and `enqueue` or `dequeue`, which make it a \
                       scheduler: leave out one or the other";
        return Err(PyTypeError::new_err(problem));
    }
    let shares_memory = match object.getattr_opt(SHARES_MEMORY)? {
        Some(shares) => shares.is_truthy()?,
        None => false,
    };
    if let Some(admit) = admit {
        if shares_memory {
            let problem = "it has `shares_memory`, which only a scheduler may have: a discipline with `admit` does not \
                           see when packets leave";
            return Err(PyTypeError::new_err(problem));
        }
        return Ok(CustomQueue::Discipline(Box::new(PyDiscipline {
            origin: origin.clone(),
            admit: Some(admit.unbind()),
        })));
    }
    let Some((enqueue, dequeue)) = enqueue.zip(dequeue) else {
        let problem = "it has neither `admit` nor `enqueue` and `dequeue`";
        return Err(PyTypeError::new_err(problem));
    };
    Ok(CustomQueue::Scheduler(Box::new(PyScheduler {
        origin: origin.clone(),
        methods: Some([enqueue.unbind(), dequeue.unbind()]),
        held: BTreeMap::new(),
        given: 0,
        changes: Changes::default(),
        shares_memory,
    })))
}

/// A user's object that decides about packets when they arrive.
struct PyDiscipline {
    origin: Origin,
    /// None after the first failure: every packet is dropped until the run ends
    admit: Option<Py<PyAny>>,
}

impl PyDiscipline {
    fn failed(origin: &Origin) -> Self {
        Self {
            origin: origin.clone(),
            admit: None,
        }
    }
}

impl fmt::Debug for PyDiscipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PyDiscipline")
            .field(&self.origin.class)
            .finish()
    }
}

impl QueueDiscipline for PyDiscipline {
    fn admit(&mut self, queue: &QueueView, packet: &PacketView) -> Admission {
        let Some(admit) = self.admit.as_ref().filter(|_| !self.origin.failures.any()) else {
            return Admission::Dropped(Reason::Full);
        };
        let answer = Python::attach(|py| {
            let seen = Packet::at_arrival(*packet, queue.now);
            let answer = admit.bind(py).call1((Queue::at_arrival(queue), seen));
            answer
                .and_then(|answer| admission(&answer, packet))
                .map_err(|error| self.origin.failed(py, "admit", error))
        });
        answer.unwrap_or_else(|()| {
            self.admit = None;
            Admission::Dropped(Reason::Full)
        })
    }
}

/// A user's object that decides which packet leaves next.
struct PyScheduler {
    origin: Origin,
    /// `enqueue` and `dequeue`, or None after the first failure: waiting packets are sent in the order of their arrival
    /// and new ones dropped until the run ends
    methods: Option<[Py<PyAny>; 2]>,
    /// the packets that the object holds, by number
    held: BTreeMap<u64, Handle>,
    /// number of packets that the object was given so far
    given: u64,
    changes: Changes,
    shares_memory: bool,
}

impl fmt::Debug for PyScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PyScheduler")
            .field(&self.origin.class)
            .finish()
    }
}

/// An arriving packet as it is offered to a user's object.
struct Arriving {
    view: PacketView,
    arrived: Instant,
    backlog: Backlog,
    handle: Handle,
}

impl PyScheduler {
    /// Whether an object has failed, this or another: it is not called any more.
    fn is_over(&self) -> bool {
        self.methods.is_none() || self.origin.failures.any()
    }

    /// Asks the object whether it takes a packet, and keeps the packet's handle if it does.
    fn offer(&mut self, py: Python<'_>, arriving: &Arriving) -> PyResult<Admission> {
        let Some([enqueue, _]) = &self.methods else {
            return Ok(Admission::Dropped(Reason::Full));
        };
        let serial = self.given;
        self.given += 1;
        let queue = Queue::of_scheduler(arriving.arrived, arriving.backlog);
        let packet = Packet::held(arriving.view, arriving.arrived, serial, &self.changes);
        let answer = enqueue.bind(py).call1((queue, packet))?;
        let admission = admission(&answer, &arriving.view)?;
        if admission.is_accepted() {
            self.held.insert(serial, arriving.handle);
        }
        Ok(admission)
    }

    /// Asks the object for the next packet to send. Returns its number, which is still in `held`.
    fn next(&mut self, py: Python<'_>, now: Instant) -> PyResult<Option<u64>> {
        let Some([_, dequeue]) = &self.methods else {
            return Ok(None);
        };
        let answer = dequeue.bind(py).call1((now.as_secs_f64(),))?;
        if answer.is_none() {
            return Ok(None);
        }
        let packet = answer.cast::<Packet>().map_err(PyErr::from)?;
        let serial = packet.get().serial_at(&self.changes);
        let problem = "it returned a packet of another port";
        Ok(Some(
            serial.ok_or_else(|| PyRuntimeError::new_err(problem))?,
        ))
    }

    /// Applies the changes that the object has made to packets since the last call. A change to the packet with number
    /// `arriving` is an error.
    fn apply(&mut self, arriving: Option<u64>, packets: &mut WaitingPackets) -> PyResult<()> {
        for (serial, change) in self.changes.take() {
            let handle = self.held.get(&serial).copied();
            let Some(handle) = handle.filter(|_| arriving != Some(serial)) else {
                return Err(not_held(change));
            };
            match change {
                Change::Mark => packets[handle].marked = true,
                Change::Drop(reason) => {
                    self.held.remove(&serial);
                    packets.drop_queued(handle, reason);
                }
            }
        }
        Ok(())
    }

    /// Returns the object's answer, or None and keeps the exception if the object failed.
    fn or_fail<T>(&mut self, py: Python<'_>, method: &str, answer: PyResult<T>) -> Option<T> {
        answer
            .map_err(|error| {
                self.origin.failed(py, method, error);
                self.methods = None;
            })
            .ok()
    }

    /// The oldest packet, which is sent next after the object has failed.
    fn oldest(&mut self) -> Option<Handle> {
        self.held.pop_first().map(|(_, handle)| handle)
    }
}

fn not_held(change: Change) -> PyErr {
    let change = match change {
        Change::Mark => "marked",
        Change::Drop(_) => "dropped",
    };
    PyRuntimeError::new_err(format!(
        "it {change} a packet that it does not hold: one that it refused, sent or dropped before, or \
         that is just arriving"
    ))
}

impl PacketScheduler for PyScheduler {
    fn shares_memory(&self) -> bool {
        self.shares_memory
    }

    fn enqueue(&mut self, offer: &Offer<'_>, packets: &mut WaitingPackets) -> Admission {
        if self.is_over() {
            return Admission::Dropped(Reason::Full);
        }
        let waiting = &packets[offer.packet];
        let arriving = Arriving {
            view: waiting.packet,
            arrived: waiting.arrived,
            backlog: offer.backlog,
            handle: offer.packet,
        };
        let serial = self.given;
        let admission = Python::attach(|py| {
            let answer = self.offer(py, &arriving);
            let answer = answer.and_then(|admission| {
                self.apply(Some(serial), packets)?;
                Ok(admission)
            });
            self.or_fail(py, "enqueue", answer)
        });
        admission.unwrap_or_else(|| {
            self.held.remove(&serial);
            Admission::Dropped(Reason::Full)
        })
    }

    fn dequeue(&mut self, now: Instant, packets: &mut WaitingPackets) -> Option<Handle> {
        if self.is_over() {
            return self.oldest();
        }
        let sent = Python::attach(|py| {
            let answer = self.next(py, now).and_then(|serial| {
                self.apply(None, packets)?;
                match serial {
                    None if self.held.is_empty() => Ok(None),
                    None => Err(PyRuntimeError::new_err(format!(
                        "it returned None while packets wait: {}",
                        self.held.len()
                    ))),
                    Some(serial) => self.held.remove(&serial).map(Some).ok_or_else(|| {
                        let problem = "it returned a packet that it does not hold: one that it \
                                       refused, sent or dropped before";
                        PyRuntimeError::new_err(problem)
                    }),
                }
            });
            self.or_fail(py, "dequeue", answer)
        });
        match sent {
            Some(sent) => sent,
            None => self.oldest(),
        }
    }
}

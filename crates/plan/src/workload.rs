//! Workloads: state machines that start flows during the run. One file per workload.
//!
//! A workload puts actions into a [`Schedule`], asks to be woken, and is called when one of its flows has delivered its
//! data. It uses hosts and sizes but no network and no clock: the time is an argument. So it works in the simulator,
//! and in a load generator over real sockets. It has random streams of its own, so what it does depends only on the
//! seed and on the completions that it waits for.

mod context;
mod incast;
mod log;
mod periodic;
mod poisson;
mod request_response;
mod schedule;
mod trace;
mod web;

use std::collections::BTreeSet;
use std::fmt::Debug;

use fairport_units::{Duration, Instant};

use crate::flow::{End, Origin, Side};
use crate::job::workload::{WorkloadJob, WorkloadPattern};
pub(crate) use context::{Transfer, WorkloadContext};
pub use log::{Exchange, Log, Round};
pub use schedule::{Action, Schedule};

/// Starts flows during a run.
pub(crate) trait Workload: Debug + Send + Sync {
    /// Approximately what it will do in `span`. `trip` gives the least time that a packet takes from one end to another.
    fn expected(&self, span: Duration, trip: &mut Trip<'_>) -> Amount;

    /// Schedules its first actions, before the run begins.
    fn begin(&mut self, context: &mut WorkloadContext<'_>);

    /// It is the time at which the workload asked to be woken.
    fn on_wake(&mut self, now: Instant, token: u64, context: &mut WorkloadContext<'_>);

    /// Whether what it does depends on what its flows have delivered. If not, it is not called for deliveries.
    fn hears(&self) -> bool {
        true
    }

    /// All data of one of its flows has been delivered.
    fn on_complete(&mut self, _now: Instant, _flow: OwnFlow, _context: &mut WorkloadContext<'_>) {}

    /// A request from the receiver of one of its flows has reached the sender.
    fn on_request(&mut self, _now: Instant, _flow: OwnFlow, _context: &mut WorkloadContext<'_>) {}
}

/// How much workloads do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    /// number of flows
    pub(crate) flows: u64,
    /// number of rounds or requests in the log
    pub(crate) logged: u64,
}

impl Amount {
    /// Flows without rounds or requests.
    fn flows(flows: u64) -> Self {
        Self { flows, logged: 0 }
    }
}

/// The least time that a packet takes from one end to another: the constant delays on its path.
pub(crate) type Trip<'a> = dyn FnMut(End, End) -> Duration + 'a;

/// A flow that a workload has started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnFlow {
    /// number of the flow
    pub(crate) number: u32,
    /// the workload's own number for the flow
    pub(crate) token: u32,
}

/// A workload, with the state that every workload has.
#[derive(Debug)]
struct Running {
    workload: Box<dyn Workload>,
    traffic: u32,
    start: Instant,
    stop_at: Instant,
}

/// All workloads of a run, with their schedule and their log.
#[derive(Debug, Default)]
pub struct Workloads {
    /// the next actions of workloads and listed flows
    pub schedule: Schedule,
    /// rounds and requests
    pub log: Log,
    running: Vec<Running>,
}

impl Workloads {
    /// Adds a workload of a run until `end`, and lets it schedule its first actions.
    pub(crate) fn add(&mut self, job: &WorkloadJob, seed: u64, ends: &Ends, end: Instant) {
        let index = self.running.len();
        let key = Key {
            seed,
            index: index as u64,
            start: job.start_ps,
        };
        let workload: Box<dyn Workload> = match &job.pattern {
            WorkloadPattern::Incast(job) => Box::new(incast::Incast::new(job, key, ends)),
            WorkloadPattern::Poisson(job) => Box::new(poisson::Poisson::new(job, key, ends)),
            WorkloadPattern::Periodic(job) => Box::new(periodic::Periodic::new(job, key, ends)),
            WorkloadPattern::RequestResponse(job) => {
                Box::new(request_response::RequestResponse::new(job, key, ends))
            }
            WorkloadPattern::Trace(job) => Box::new(trace::Trace::new(job, key, ends)),
            WorkloadPattern::Web(job) => Box::new(web::Web::new(job, key, ends)),
        };
        self.running.push(Running {
            workload,
            traffic: job.traffic,
            start: job.start_ps,
            // what begins later would be a row of a transfer that never was
            stop_at: job.stop_ps.map_or(end, |stop| stop.min(end)),
        });
        self.call(index as u32, |workload, context| workload.begin(context));
    }

    /// Whether there are workloads, which start flows in addition to the listed ones.
    pub fn start_flows(&self) -> bool {
        !self.running.is_empty()
    }

    /// Whether any workload waits for what its flows have delivered.
    pub fn hear(&self) -> bool {
        self.running.iter().any(|it| it.workload.hears())
    }

    /// Approximately what they will do.
    pub(crate) fn expected(&self, trip: &mut Trip<'_>) -> Amount {
        let mut sum = Amount::default();
        for it in &self.running {
            let span = it.stop_at.saturating_sub(it.start);
            let more = it.workload.expected(span, trip);
            sum.flows = sum.flows.saturating_add(more.flows);
            sum.logged = sum.logged.saturating_add(more.logged);
        }
        sum
    }

    /// Wakes a workload at the time that it has scheduled.
    pub fn wake(&mut self, index: u32, now: Instant, token: u64) {
        self.call(index, |workload, context| {
            workload.on_wake(now, token, context);
        });
    }

    /// One side of the flow with this number and origin has delivered everything that was written.
    pub fn delivered(&mut self, from: Side, origin: Origin, now: Instant, number: u32) {
        if let Origin::Workload { index, token } = origin {
            let flow = OwnFlow { number, token };
            self.call(index, |workload, context| match from {
                Side::Sender => workload.on_complete(now, flow, context),
                Side::Receiver => workload.on_request(now, flow, context),
            });
        }
    }

    fn call(
        &mut self,
        index: u32,
        method: impl FnOnce(&mut dyn Workload, &mut WorkloadContext<'_>),
    ) {
        let running = &mut self.running[index as usize];
        let mut context = WorkloadContext {
            schedule: &mut self.schedule,
            log: &mut self.log,
            traffic: running.traffic,
            workload: index,
            stop_at: running.stop_at,
        };
        method(running.workload.as_mut(), &mut context);
    }
}

/// The seed of a workload's random streams, and when the workload begins.
#[derive(Clone, Copy)]
pub(crate) struct Key {
    pub(crate) seed: u64,
    pub(crate) index: u64,
    pub(crate) start: Instant,
}

/// A workload's senders and receivers.
#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) senders: Vec<End>,
    pub(crate) receivers: Vec<End>,
    /// the rates of the senders' links together
    pub(crate) senders_bps: u64,
    /// the rates of the receivers' links together
    pub(crate) receivers_bps: u64,
    /// for a trace: the sender and the receiver of each flow, as indices. Other workloads may send from any sender to
    /// any receiver
    pub(crate) of_trace: Option<Vec<[u32; 2]>>,
}

impl Ends {
    /// The pairs of ends between which it may send: those of a trace's flows, or all pairs.
    pub(crate) fn pairs(&self) -> Box<dyn Iterator<Item = [End; 2]> + '_> {
        if let Some(flows) = &self.of_trace {
            return Box::new(flows.iter().map(|pair| self.pair(pair.map(|i| i as usize))));
        }
        let to = |src: End| self.receivers.iter().map(move |dst| [src, *dst]);
        let all = self.senders.iter().flat_map(move |src| to(*src));
        Box::new(all.filter(|[src, dst]| src.host != dst.host))
    }

    /// The same, each pair once.
    pub(crate) fn distinct_pairs(&self) -> Box<dyn Iterator<Item = [End; 2]> + '_> {
        if self.of_trace.is_none() {
            return self.pairs();
        }
        let mut seen = BTreeSet::new();
        let is_new = move |pair: &[End; 2]| seen.insert(pair.map(|end| end.host));
        Box::new(self.pairs().filter(is_new))
    }

    /// The number of [`Ends::pairs`], or a few more if a host is both a sender and a receiver.
    pub(crate) fn most_pairs(&self) -> u64 {
        let any = self.senders.len() as u64 * self.receivers.len() as u64;
        self.of_trace
            .as_ref()
            .map_or(any, |flows| flows.len() as u64)
    }

    /// The sender and the receiver with these indices.
    pub(crate) fn pair(&self, [src, dst]: [usize; 2]) -> [End; 2] {
        [self.senders[src], self.receivers[dst]]
    }
}

//! Workloads: what starts flows while the run goes on. One file a workload.
//!
//! A workload plans actions ahead of time ([`schedule::Schedule`]), is woken when it asked to be, and is told
//! when a flow of its own has delivered its data. It knows hosts and sizes, nothing of networks.
//! It draws from random streams of its own, so that what it does depends on the seed and on the
//! completions that it waits for alone.

mod incast;
mod log;
mod periodic;
mod poisson;
mod request_response;
mod schedule;
mod trace;
mod web;

use fairport_units::{Rate, Time};

use crate::flow::{End, Origin, Side, Start};
use crate::job::workload::{PlanJob, WorkloadJob};
pub use log::{Exchange, Log, Round};
pub use schedule::{Action, Schedule};

/// What starts flows.
pub trait Workload: std::fmt::Debug + Send + Sync {
    /// How many flows it will start, about, in so much time over links of this rate.
    fn expected_flows(&self, span: Time, rate: Rate) -> u64;

    /// Plans its first actions, before the run.
    fn begin(&mut self, context: &mut WorkloadContext<'_>);

    /// It is the time for which it planned to be woken.
    fn wake(&mut self, now: Time, token: u64, context: &mut WorkloadContext<'_>);

    /// All data of a flow of its own is delivered.
    fn complete(&mut self, now: Time, flow: OwnFlow, context: &mut WorkloadContext<'_>);

    /// What the receiver of a flow of its own asked for has reached the sender.
    fn asked(&mut self, _now: Time, _flow: OwnFlow, _context: &mut WorkloadContext<'_>) {}
}

/// A flow that a workload has started.
#[derive(Clone, Copy, Debug)]
pub struct OwnFlow {
    /// its number
    pub number: u32,
    /// the workload's own number for it
    pub token: u32,
}

/// Where a workload leaves its orders.
pub struct WorkloadContext<'a> {
    schedule: &'a mut Schedule,
    log: &'a mut Log,
    traffic: u32,
    workload: u32,
    stop_at: Time,
}

impl WorkloadContext<'_> {
    /// A flow is to start, unless the workload has stopped by then.
    pub fn start(&mut self, at: Time, transfer: &Transfer) {
        let start = Start {
            src: transfer.src,
            dst: transfer.dst,
            size_bytes: Some(transfer.bytes),
            request_bytes: None,
            udp: None,
            persistent: transfer.persistent,
            origin: self.origin(transfer.token),
        };
        self.unless_stopped(at, Action::Start(start));
    }

    /// A client opens a connection to a server and asks with so many octets. The flow is from the
    /// server to the client.
    pub fn connect(&mut self, now: Time, [client, server]: [End; 2], bytes: u64, token: u32) {
        let start = Start {
            src: server,
            dst: client,
            size_bytes: Some(0),
            request_bytes: Some(bytes),
            udp: None,
            persistent: true,
            origin: self.origin(token),
        };
        self.schedule.at(now, Action::Start(start));
    }

    fn origin(&self, token: u32) -> Origin {
        Origin {
            traffic: self.traffic,
            workload: self.workload,
            token,
        }
    }

    fn unless_stopped(&mut self, at: Time, action: Action) {
        if at < self.stop_at {
            self.schedule.at(at, action);
        }
    }

    /// A persistent flow is to send more, unless the workload has stopped by then.
    pub fn write(&mut self, at: Time, flow: u32, bytes: u64) {
        self.unless_stopped(at, Action::Write(flow, Side::Sender, bytes));
    }

    /// The receiver of a flow that it opened asks for more.
    pub fn ask(&mut self, now: Time, flow: u32, bytes: u64) {
        self.schedule
            .at(now, Action::Write(flow, Side::Receiver, bytes));
    }

    /// The sender answers what it was asked, whether or not the workload has stopped meanwhile.
    pub fn answer(&mut self, now: Time, flow: u32, bytes: u64) {
        self.schedule
            .at(now, Action::Write(flow, Side::Sender, bytes));
    }

    /// A request is made; gives its place in the log.
    pub fn asked(&mut self, exchange: Exchange) -> usize {
        self.log.exchanges.push((self.traffic, exchange));
        self.log.exchanges.len() - 1
    }

    /// The request at that place in the log was answered on that flow.
    pub fn answered(&mut self, place: usize, flow: u32, now: Time) {
        let (_, exchange) = &mut self.log.exchanges[place];
        exchange.flow = Some(flow);
        exchange.end = now;
    }

    /// The workload is to be woken, unless it has stopped by then.
    pub fn wake(&mut self, at: Time, token: u64) {
        self.unless_stopped(at, Action::Wake(self.workload, token));
    }

    /// A round of the workload is over.
    pub fn round_ended(&mut self, round: Round) {
        self.log.rounds.push((self.traffic, round));
    }
}

/// A flow that a workload orders.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    pub src: End,
    pub dst: End,
    pub bytes: u64,
    pub persistent: bool,
    pub token: u32,
}

/// A workload, and what is the same for every one.
#[derive(Debug)]
struct Running {
    workload: Box<dyn Workload>,
    traffic: u32,
    start: Time,
    stop_at: Time,
}

/// All workloads of a run, and what they have planned.
#[derive(Debug, Default)]
pub struct Workloads {
    /// what happens next, of workloads and of flows
    pub schedule: Schedule,
    /// what is over
    pub log: Log,
    running: Vec<Running>,
}

impl Workloads {
    /// Adds a workload, and lets it plan what it begins with.
    pub fn add(&mut self, job: &WorkloadJob, seed: u64, ends: &Ends) {
        let index = self.running.len();
        let key = Key {
            seed,
            index: index as u64,
            start: job.start_ps,
        };
        let workload: Box<dyn Workload> = match &job.plan {
            PlanJob::Incast(plan) => Box::new(incast::Incast::new(plan, key, ends)),
            PlanJob::Poisson(plan) => Box::new(poisson::Poisson::new(plan, key, ends)),
            PlanJob::Periodic(plan) => Box::new(periodic::Periodic::new(plan, key, ends)),
            PlanJob::RequestResponse(plan) => {
                Box::new(request_response::RequestResponse::new(plan, key, ends))
            }
            PlanJob::Trace(plan) => Box::new(trace::Trace::new(plan, key, ends)),
            PlanJob::Web(plan) => Box::new(web::Web::new(plan, key, ends)),
        };
        self.running.push(Running {
            workload,
            traffic: job.traffic,
            start: job.start_ps,
            stop_at: job.stop_ps.unwrap_or(Time::NEVER),
        });
        self.ask(index as u32, |workload, context| workload.begin(context));
    }

    /// How many flows they will start, about, in a run of this length over links of this rate.
    pub fn expected_flows(&self, duration: Time, rate: Rate) -> u64 {
        let flows = |it: &Running| {
            let span = it.stop_at.min(duration).saturating_sub(it.start);
            it.workload.expected_flows(span, rate)
        };
        self.running.iter().map(flows).sum()
    }

    /// Wakes a workload.
    pub fn wake(&mut self, index: u32, now: Time, token: u64) {
        self.ask(index, |workload, context| {
            workload.wake(now, token, context)
        });
    }

    /// Tells a workload that a flow of its own has delivered what one side wrote.
    pub fn arrived(&mut self, from: Side, origin: Origin, now: Time, number: u32) {
        if origin.workload != Origin::LISTED {
            let token = origin.token;
            let flow = OwnFlow { number, token };
            self.ask(origin.workload, |workload, context| match from {
                Side::Sender => workload.complete(now, flow, context),
                Side::Receiver => workload.asked(now, flow, context),
            });
        }
    }

    fn ask(&mut self, index: u32, what: impl FnOnce(&mut dyn Workload, &mut WorkloadContext<'_>)) {
        let running = &mut self.running[index as usize];
        let mut context = WorkloadContext {
            schedule: &mut self.schedule,
            log: &mut self.log,
            traffic: running.traffic,
            workload: index,
            stop_at: running.stop_at,
        };
        what(running.workload.as_mut(), &mut context);
    }
}

/// What a workload's random streams derive from, and when it begins.
#[derive(Clone, Copy)]
pub struct Key {
    pub seed: u64,
    pub index: u64,
    pub start: Time,
}

/// A workload's senders and receivers.
#[derive(Debug)]
pub struct Ends {
    pub senders: Vec<End>,
    pub receivers: Vec<End>,
}

impl Ends {
    /// Who may send to whom.
    pub fn pairs(&self) -> impl Iterator<Item = [End; 2]> + '_ {
        let to = |src: End| self.receivers.iter().map(move |dst| [src, *dst]);
        let all = self.senders.iter().flat_map(move |src| to(*src));
        all.filter(|[src, dst]| src.host != dst.host)
    }
}

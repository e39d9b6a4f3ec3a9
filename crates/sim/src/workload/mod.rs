//! Workloads: what starts flows while the run goes on. One file a workload.
//!
//! A workload plans actions ahead of time ([`Plan`]), is woken when it asked to be, and is told
//! when a flow of its own has delivered its data. It knows hosts and sizes, nothing of networks.
//! It draws from random streams of its own, so that what it does depends on the seed and on the
//! completions that it waits for alone.

mod incast;
mod periodic;
mod plan;
mod poisson;
mod trace;
mod web;

use fairport_units::{Rate, Time};

use crate::flow::{End, Origin, Start};
use crate::job::workload::{PlanJob, WorkloadJob};
use crate::results::{Column, Table};
pub(crate) use plan::{Action, Plan};

/// What starts flows.
pub(crate) trait Workload: Send + Sync {
    /// How many flows it will start, about, in so much time over links of this rate.
    fn expected_flows(&self, span: Time, rate: Rate) -> u64;

    /// Plans its first actions, before the run.
    fn begin(&mut self, desk: &mut Desk<'_>);

    /// It is the time for which it planned to be woken.
    fn wake(&mut self, now: Time, token: u64, desk: &mut Desk<'_>);

    /// All data of a flow of its own is delivered.
    fn complete(&mut self, now: Time, flow: Completed, desk: &mut Desk<'_>);
}

/// A flow of a workload that has delivered all of its data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completed {
    /// its number
    pub(crate) flow: u32,
    /// the workload's own number for it
    pub(crate) token: u32,
}

/// Where a workload leaves its orders.
pub(crate) struct Desk<'a> {
    plan: &'a mut Plan,
    rounds: &'a mut Vec<(u32, Round)>,
    traffic: u32,
    workload: u32,
    stop_at: Time,
}

impl Desk<'_> {
    /// A flow is to start, unless the workload has stopped by then.
    pub(crate) fn start(&mut self, at: Time, transfer: &Transfer) {
        if at >= self.stop_at {
            return;
        }
        let start = Start {
            src: transfer.src,
            dst: transfer.dst,
            size_bytes: Some(transfer.bytes),
            udp: None,
            persistent: transfer.persistent,
            origin: Origin {
                traffic: self.traffic,
                workload: self.workload,
                token: transfer.token,
            },
        };
        self.plan.at(at, Action::Start(start));
    }

    /// A persistent flow is to send more.
    pub(crate) fn write(&mut self, at: Time, flow: u32, bytes: u64) {
        if at < self.stop_at {
            self.plan.at(at, Action::Write(flow, bytes));
        }
    }

    /// The workload is to be woken, unless it has stopped by then.
    pub(crate) fn wake(&mut self, at: Time, token: u64) {
        if at < self.stop_at {
            self.plan.at(at, Action::Wake(self.workload, token));
        }
    }

    /// A round of the workload is over.
    pub(crate) fn round_ended(&mut self, round: Round) {
        self.rounds.push((self.traffic, round));
    }
}

/// A flow that a workload orders.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub(crate) src: End,
    pub(crate) dst: End,
    pub(crate) bytes: u64,
    pub(crate) persistent: bool,
    pub(crate) token: u32,
}

/// What is over as a whole: a row of the rounds table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    /// from 0
    pub(crate) number: u32,
    /// the one flow that it was of, if it was of one
    pub(crate) flow: Option<u32>,
    pub(crate) start: Time,
    pub(crate) end: Time,
    pub(crate) bytes: u64,
}

/// A workload, and what is the same for every one.
struct Running {
    workload: Box<dyn Workload>,
    traffic: u32,
    start: Time,
    stop_at: Time,
}

/// All workloads of a run, and what they have planned.
#[derive(Default)]
pub(crate) struct Workloads {
    pub(crate) plan: Plan,
    running: Vec<Running>,
    /// with the traffic that each is of
    rounds: Vec<(u32, Round)>,
}

impl Workloads {
    /// Adds a workload, and lets it plan what it begins with.
    pub(crate) fn add(&mut self, job: &WorkloadJob, seed: u64, ends: &Ends) {
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
            PlanJob::Trace(plan) => Box::new(trace::Trace::new(plan, key, ends)),
            PlanJob::Web(plan) => Box::new(web::Web::new(plan, key, ends)),
        };
        self.running.push(Running {
            workload,
            traffic: job.traffic,
            start: job.start_ps,
            stop_at: job.stop_ps.unwrap_or(Time::NEVER),
        });
        self.ask(index as u32, |workload, desk| workload.begin(desk));
    }

    /// How many flows they will start, about, in a run of this length over links of this rate.
    pub(crate) fn expected_flows(&self, duration: Time, rate: Rate) -> u64 {
        let flows = |it: &Running| {
            let span = it.stop_at.min(duration).saturating_sub(it.start);
            it.workload.expected_flows(span, rate)
        };
        self.running.iter().map(flows).sum()
    }

    /// Wakes a workload.
    pub(crate) fn wake(&mut self, index: u32, now: Time, token: u64) {
        self.ask(index, |workload, desk| workload.wake(now, token, desk));
    }

    /// Tells a workload that a flow of its own is complete.
    pub(crate) fn complete(&mut self, origin: Origin, now: Time, flow: u32) {
        if origin.workload != Origin::LISTED {
            let token = origin.token;
            let completed = Completed { flow, token };
            self.ask(origin.workload, |workload, desk| {
                workload.complete(now, completed, desk);
            });
        }
    }

    fn ask(&mut self, index: u32, what: impl FnOnce(&mut dyn Workload, &mut Desk<'_>)) {
        let running = &mut self.running[index as usize];
        let mut desk = Desk {
            plan: &mut self.plan,
            rounds: &mut self.rounds,
            traffic: running.traffic,
            workload: index,
            stop_at: running.stop_at,
        };
        what(running.workload.as_mut(), &mut desk);
    }

    pub(crate) fn rounds_table(&self) -> Table {
        let rows = &self.rounds;
        let u32s = |of: fn(&(u32, Round)) -> u32| Column::U32(rows.iter().map(of).collect());
        let times = |of: fn(&Round) -> Time| Column::seconds(rows.iter().map(|(_, row)| of(row)));
        let bytes = rows.iter().map(|(_, row)| row.bytes);
        Table {
            name: "rounds",
            columns: vec![
                ("traffic", u32s(|(traffic, _)| *traffic)),
                ("round", u32s(|(_, row)| row.number)),
                ("flow", u32s(|(_, row)| row.flow.unwrap_or(u32::MAX))),
                ("start_s", times(|row| row.start)),
                ("end_s", times(|row| row.end)),
                ("bytes", Column::U64(bytes.collect())),
                ("completion_s", times(|row| row.end - row.start)),
            ],
        }
    }
}

/// What a workload's random streams derive from, and when it begins.
#[derive(Clone, Copy)]
pub(crate) struct Key {
    pub(crate) seed: u64,
    pub(crate) index: u64,
    pub(crate) start: Time,
}

/// A workload's senders and receivers.
pub(crate) struct Ends {
    pub(crate) senders: Vec<End>,
    pub(crate) receivers: Vec<End>,
}

impl Ends {
    /// Who may send to whom.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = [End; 2]> + '_ {
        let to = |src: End| self.receivers.iter().map(move |dst| [src, *dst]);
        let all = self.senders.iter().flat_map(move |src| to(*src));
        all.filter(|[src, dst]| src.host != dst.host)
    }
}

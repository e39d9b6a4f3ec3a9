//! The agenda: what hosts do and when, from a plan's flows and workloads, for a traffic generator over real sockets.
//!
//! It asks what is due, does it, and reports what was delivered; workloads continue from there. Flows have the
//! same numbers as in the simulation if they start in the same order.

use fairport_net::Topology;
use fairport_net::stream::Stream;
use fairport_plan::flow::{Flow, FlowSpec, Side};
use fairport_plan::udp::DatagramSource;
use fairport_plan::workload::{Action, Workloads};
use fairport_plan::{FlowFactory, Parts, Plan};
use fairport_record::Table;
use fairport_units::Instant;

/// A task for the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// A flow opens its connection, or begins to send datagrams. The field is the number of the flow.
    Open(u32),
    /// The application on one side of an open connection sends more bytes. The fields are flow, side and bytes.
    Write(u32, Side, u64),
    /// A flow's application stops: data that was not sent yet is discarded.
    Stop(u32),
}

/// The tasks of the hosts, in order of time.
pub struct Agenda {
    topology: Topology,
    factory: FlowFactory,
    workloads: Workloads,
    flows: Vec<Flow>,
}

impl Agenda {
    /// The agenda of a plan, with the flows that it lists.
    pub fn new(plan: Plan) -> Self {
        let ports = plan.ports();
        let Parts {
            topology,
            factory,
            flows: listed,
            workloads,
        } = plan.into_parts(&ports);
        let mut agenda = Self {
            topology,
            factory,
            workloads,
            flows: Vec::with_capacity(listed.len()),
        };
        for flow in listed {
            agenda.add(flow.start, flow.spec);
        }
        agenda
    }

    /// The flows that exist so far, by number.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// When the next task is due; [`Instant::NEVER`] if there is none.
    pub fn next_at(&self) -> Instant {
        self.workloads.schedule.next_at()
    }

    /// The next task, if it is due at `now`.
    pub fn pop(&mut self, now: Instant) -> Option<Task> {
        loop {
            let at = self.next_at();
            if at > now {
                return None;
            }
            match self.workloads.schedule.pop()? {
                Action::Open(flow) => return Some(Task::Open(flow)),
                Action::Start(spec) => return Some(Task::Open(self.add(at, spec))),
                Action::Write(flow, side, bytes) => {
                    if side == Side::Sender {
                        self.flows[flow as usize].spec.application.add(bytes);
                    }
                    return Some(Task::Write(flow, side, bytes));
                }
                Action::Stop(flow) => return Some(Task::Stop(flow)),
                Action::Wake(workload, token) => self.workloads.wake(workload, at, token),
            }
        }
    }

    /// Everything that one side of a flow has written so far has arrived at the other side.
    pub fn delivered(&mut self, from: Side, flow: u32, now: Instant) {
        let origin = self.flows[flow as usize].spec.origin;
        self.workloads.delivered(from, origin, now, flow);
    }

    /// The source of a flow of datagrams that begins at `now`. None if the flow is not one of datagrams.
    pub fn datagrams(&self, flow: u32, now: Instant) -> Option<DatagramSource> {
        let application = &self.flows[flow as usize].spec.application;
        let stream = Stream::new(self.factory.seed(), "udp", u64::from(flow));
        let size_bytes = application.size_bytes().unwrap_or(u64::MAX);
        let udp = application.datagrams()?;
        Some(DatagramSource::new(udp, stream, size_bytes, now))
    }

    /// The tables of what workloads have done so far: `rounds` and `requests`.
    pub fn tables(&self) -> [Table; 2] {
        self.workloads.log.tables()
    }

    fn add(&mut self, start: Instant, spec: FlowSpec) -> u32 {
        let number = self.flows.len() as u32;
        let (flow, _) = self.factory.create(&self.topology, number, start, spec);
        self.flows.push(flow);
        number
    }
}

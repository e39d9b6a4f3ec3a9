//! A run, advanced in slices.

use fairport_net::{Network, Observer, PortId, Topology};
use fairport_plan::FlowFactory;
use fairport_plan::flow::Flow;
use fairport_plan::workload::Workloads;
use fairport_record::{QueueSamples, Recorder, Series, Simulated, Watcher};
use fairport_tcp::Segment;
use fairport_units::{Duration, Instant};

use crate::hosts::Endpoints;

/// Something that happens at a set time. In one instant these come after all packets and timers of
/// that instant, in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tick {
    Plan,
    MeasureFrom,
    MeasureTo,
    Series,
    QueueSample,
    End,
}

/// A network with hosts, on its way through simulated time. Its packets hold `P`, and `O` watches.
pub struct Simulation<P: Copy = Segment, O: Observer<P> = Recorder> {
    pub(crate) topology: Topology,
    pub(crate) network: Network<P, O>,
    pub(crate) hosts: Endpoints,
    pub(crate) factory: FlowFactory,
    pub(crate) workloads: Workloads,
    /// flows that are over, with packets still under way: number and routes
    pub(crate) draining: Vec<(u32, [Option<u32>; 2])>,
    pub(crate) flows: Vec<Flow>,
    /// data flows routed through each port
    pub(crate) flows_through: Vec<u32>,
    /// how fast each port's clock runs, in parts of 10^9
    pub(crate) clock_errors_ppb: Vec<i32>,
    pub(crate) series: Series,
    pub(crate) queue: QueueSamples,
    pub(crate) duration: Duration,
    pub(crate) finished: bool,
}

impl<P: Simulated, O: Observer<P> + Watcher> Simulation<P, O> {
    /// Names of the ports, in their order.
    pub(crate) fn port_names(&self) -> Vec<String> {
        let ports = 0..self.topology.ports().len() as u32;
        ports
            .map(|port| self.topology.port_name(PortId(port)))
            .collect()
    }

    /// How far the run has come.
    pub fn simulated(&self) -> Duration {
        if self.finished {
            self.duration
        } else {
            self.network.now() - Instant::ZERO
        }
    }

    /// What watches it.
    pub fn observer_mut(&mut self) -> &mut O {
        self.network.observer_mut()
    }

    /// Packet-hops so far.
    pub fn packet_hops(&self) -> u64 {
        self.network.packet_hops()
    }

    /// Goes on for about `packet_hops`; returns whether the run has ended.
    pub fn advance(&mut self, packet_hops: u64) -> bool {
        let goal = self.network.packet_hops() + packet_hops;
        // steps in which no packet moves count too: datagrams dropped in their host, samples every picosecond
        let mut steps = packet_hops;
        while !self.finished && self.network.packet_hops() < goal && steps > 0 {
            steps -= 1;
            if self.hosts.reports.has_pending() {
                self.handle_pending();
            }
            let left = goal - self.network.packet_hops();
            self.step(left);
        }
        self.network.assert_conservation();
        self.finished
    }

    /// Lets packets arrive until a timer or a tick is next, and has that one happen, unless events are
    /// pending: these come before any later timer.
    fn step(&mut self, packet_hops: u64) {
        let (time, tick) = self.next_tick();
        self.network.advance(time, packet_hops, &mut self.hosts);
        let timer = self.hosts.timers.next_time();
        let packets_come_first = self.network.next_time() <= time.min(timer);
        if packets_come_first || self.hosts.reports.has_pending() {
            return;
        }
        if timer <= time {
            self.hosts.fire(&mut self.network.access());
        } else {
            self.tick(time, tick);
        }
    }

    fn next_tick(&self) -> (Instant, Tick) {
        let reports = &self.hosts.reports;
        [
            (self.workloads.schedule.next_at(), Tick::Plan),
            (reports.begin_at(), Tick::MeasureFrom),
            (reports.end_at(), Tick::MeasureTo),
            (self.series.next_at(), Tick::Series),
            (self.queue.next_at(), Tick::QueueSample),
            (Instant::ZERO + self.duration, Tick::End),
        ]
        .into_iter()
        .min()
        .expect("there is an end")
    }

    #[cold]
    fn tick(&mut self, now: Instant, tick: Tick) {
        match tick {
            Tick::Plan => self.run_action(now),
            Tick::MeasureFrom => self.begin_measurement(now),
            Tick::MeasureTo => self.end_measurement(now),
            Tick::Series => {
                let (hosts, flows) = (&mut self.hosts, self.flows.len());
                self.series.sample(flows, |flow| hosts.sample(flow));
            }
            Tick::QueueSample => {
                let network = &mut self.network;
                self.queue.sample(|port, now| network.backlog(port, now));
            }
            Tick::End => {
                self.end_measurement(now);
                self.network.settle(now);
                self.finished = true;
            }
        }
    }

    fn begin_measurement(&mut self, now: Instant) {
        let progress = self.hosts.progress_of_all();
        self.hosts.reports.begin(now, progress.into_iter());
        self.network
            .observer_mut()
            .recorder_mut()
            .begin_measurement();
    }

    fn end_measurement(&mut self, now: Instant) {
        let progress = self.hosts.progress_of_all();
        self.hosts.reports.end(now, progress.into_iter());
    }
}

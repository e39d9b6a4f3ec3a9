//! A run, advanced in slices.

use fairport_net::{Network, NodeId, PortId, Topology};
use fairport_tcp::Segment;
use fairport_units::Time;

use crate::flow::FlowSpec;
use crate::hosts::Endpoints;
use crate::lifecycle::Nursery;
use crate::probes::Probes;
use crate::samples::{QueueSamples, Series};

/// Something that happens at a set time; in one instant in this order, after all packets and
/// timers of that instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tick {
    Plan,
    MeasureFrom,
    MeasureTo,
    Series,
    Queue,
    End,
}

/// A network with hosts, on its way through simulated time.
pub struct Simulation {
    pub(crate) topology: Topology,
    pub(crate) network: Network<Segment, Probes>,
    pub(crate) hosts: Endpoints,
    pub(crate) nursery: Nursery,
    pub(crate) flows: Vec<FlowSpec>,
    /// data flows routed through each port
    pub(crate) flows_through: Vec<u32>,
    /// how fast each port's clock runs, in parts of 10^9
    pub(crate) clock_errors_ppb: Vec<i32>,
    pub(crate) series: Series,
    pub(crate) queue: QueueSamples,
    pub(crate) duration: Time,
    pub(crate) memory_bytes: u64,
    pub(crate) finished: bool,
}

impl Simulation {
    /// Names of the hosts, in their order.
    pub fn host_names(&self) -> Vec<String> {
        let name = |host: &NodeId| self.topology.node(*host).name.clone();
        self.topology.hosts().iter().map(name).collect()
    }

    /// Names of the ports, in their order.
    pub fn port_names(&self) -> Vec<String> {
        let ports = 0..self.topology.ports().len() as u32;
        ports
            .map(|port| self.topology.port_name(PortId(port)))
            .collect()
    }

    /// An estimate of what the whole run will need, octets.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// How far the run has come.
    pub fn simulated(&self) -> Time {
        if self.finished {
            self.duration
        } else {
            self.network.now()
        }
    }

    /// Packet-hops so far.
    pub fn packet_hops(&self) -> u64 {
        self.network.packet_hops()
    }

    /// Goes on for about `packet_hops`; returns whether the run has ended.
    pub fn advance(&mut self, packet_hops: u64) -> bool {
        let goal = self.network.packet_hops() + packet_hops;
        while !self.finished && self.network.packet_hops() < goal {
            if self.hosts.measurement.has_news() {
                self.attend();
            }
            let (time, tick) = self.next_tick();
            let left = goal - self.network.packet_hops();
            self.network.advance(time, left, &mut self.hosts);
            let timer = self.hosts.timers.next_time();
            let has_pending = self.hosts.measurement.has_news();
            if has_pending || self.network.next_time() <= time.min(timer) {
                // Something is pending, which comes before any later timer; the slice is used up;
                // or a tick has come up meanwhile.
                continue;
            }
            if timer <= time {
                self.hosts.fire(&mut self.network);
            } else {
                self.tick(time, tick);
            }
        }
        self.network.assert_conservation();
        self.finished
    }

    fn next_tick(&self) -> (Time, Tick) {
        let measurement = &self.hosts.measurement;
        [
            (self.nursery.workloads.plan.next_at(), Tick::Plan),
            (measurement.begin_at, Tick::MeasureFrom),
            (measurement.end_at, Tick::MeasureTo),
            (self.series.next_at, Tick::Series),
            (self.queue.next_at, Tick::Queue),
            (self.duration, Tick::End),
        ]
        .into_iter()
        .min()
        .expect("there is an end")
    }

    fn tick(&mut self, time: Time, tick: Tick) {
        match tick {
            Tick::Plan => self.act(time),
            Tick::MeasureFrom => {
                let delivered = self.delivered();
                self.hosts.measurement.begin(time, &delivered);
                self.network.observer_mut().trace.restart();
            }
            Tick::MeasureTo => self.end_measurement(time),
            Tick::Series => self.series.sample(&mut self.hosts),
            Tick::Queue => self.queue.sample(&mut self.network),
            Tick::End => {
                self.end_measurement(time);
                self.network.settle(time);
                self.finished = true;
            }
        }
    }

    fn end_measurement(&mut self, now: Time) {
        let delivered = self.delivered();
        self.hosts.measurement.end(now, &delivered);
    }

    /// Octets that each flow's receiving application has.
    pub(crate) fn delivered(&self) -> Vec<u64> {
        let flows = 0..self.flows.len();
        flows.map(|flow| self.hosts.delivered(flow)).collect()
    }
}

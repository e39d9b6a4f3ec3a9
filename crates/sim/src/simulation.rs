//! A run, advanced in slices.

use std::ops::Add;

use fairport_net::{Balance, Crossing, Network, NodeId, Observer, Partition, PortId, Topology};
use fairport_plan::FlowFactory;
use fairport_plan::flow::{Flow, Side};
use fairport_plan::workload::Workloads;
use fairport_record::{
    FlowSample, Progress, QueueSamples, Recorder, RttSummary, Series, Simulated, Watcher,
};
use fairport_tcp::Segment;
use fairport_units::{Duration, Instant};

use crate::domain::{Budget, Domain};
use crate::flow::LiveFlow;
use crate::life::Life;
use crate::pace::Pace;
use crate::reports::Reports;

/// Most timers that fire in one step. The limit lets Ctrl-C stop a run in which no packet moves.
const TIMERS_PER_STEP: u64 = 16;

/// Packet-hops per slice: about 10 ms of work on a slow machine.
const HOPS_PER_SLICE: u64 = 200_000;

/// An event at a scheduled time. The ticks of one instant come after all packets and timers of that
/// instant, in the order of the variants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tick {
    Plan,
    MeasureFrom,
    MeasureTo,
    Series,
    QueueSample,
    End,
}

/// A network with its hosts during a run. Its packets carry a `P`, and `O` observes them.
pub struct Simulation<P: Copy = Segment, O: Observer<P> = Recorder> {
    pub(crate) topology: Topology,
    pub(crate) partition: Partition,
    /// By region of the partition. Boxed, because each domain moves to its thread and back in every stretch.
    pub(crate) domains: Vec<Box<Domain<P, O>>>,
    /// scratch space for packets that cross between domains; empty between uses
    pub(crate) batch: Vec<Crossing<P>>,
    pub(crate) factory: FlowFactory,
    pub(crate) workloads: Workloads,
    pub(crate) flows: Vec<Flow>,
    /// by flow
    pub(crate) lives: Vec<Life>,
    /// flows that are over but not given up yet: packets of theirs may still be in flight
    pub(crate) draining: Vec<u32>,
    /// length of `draining` at which it is checked which of these flows can be given up
    pub(crate) drain_at: usize,
    /// flows that must still be established before the measurement begins
    pub(crate) unestablished: u32,
    /// when the measurement begins; [`Instant::NEVER`] once it has begun, and while that is unknown
    pub(crate) begin_at: Instant,
    /// when the measurement ends; [`Instant::NEVER`] once it has ended, and if it lasts until the run ends
    pub(crate) end_at: Instant,
    /// data flows routed through each port
    pub(crate) flows_through: Vec<u32>,
    /// the clock error of each port, in parts per billion
    pub(crate) clock_errors_ppb: Vec<i32>,
    pub(crate) series: Series,
    pub(crate) queue: QueueSamples,
    pub(crate) duration: Duration,
    pub(crate) pace: Pace,
    pub(crate) finished: bool,
}

impl<P: Simulated + Send, O: Observer<P> + Watcher + Send> Simulation<P, O> {
    /// How far the run has come in simulated time.
    pub fn simulated(&self) -> Duration {
        if self.finished {
            self.duration
        } else {
            let now = self.domains.iter().map(|domain| domain.network.now());
            now.max().unwrap_or(Instant::ZERO) - Instant::ZERO
        }
    }

    /// The observer of a simulation that has one domain.
    pub fn observer_mut(&mut self) -> &mut O {
        self.domains[0].network.observer_mut()
    }

    /// Packet-hops so far.
    pub fn packet_hops(&self) -> u64 {
        let domains = self.domains.iter();
        domains.map(|domain| domain.network.packet_hops()).sum()
    }

    /// How many packet-hops to ask for in one call of [`Simulation::advance`]: about 10 ms of work, and four times as
    /// much with several domains, because each call starts and ends threads.
    pub fn slice(&self) -> u64 {
        if self.domains.len() > 1 {
            4 * HOPS_PER_SLICE
        } else {
            HOPS_PER_SLICE
        }
    }

    /// Advances the run by about `packet_hops`; returns whether the run has ended.
    pub fn advance(&mut self, packet_hops: u64) -> bool {
        let goal = self.packet_hops().saturating_add(packet_hops);
        // Steps are limited too, because no packet moves in some: a datagram may be dropped in its host, or a
        // sample taken every picosecond.
        let mut steps = packet_hops;
        if self.domains.len() > 1 {
            self.advance_at_pace(goal, steps);
        } else {
            while !self.finished && self.packet_hops() < goal && steps > 0 {
                steps -= 1;
                self.step_with(goal, Self::advance_in_turn);
            }
        }
        let balances = self.domains.iter().map(|domain| domain.network.balance());
        balances
            .fold(Balance::default(), Balance::add)
            .assert_conservation();
        self.finished
    }

    /// Handles the pending events, advances the network and the timers up to the next tick, and runs that tick.
    /// The tick waits for a later step if packets or timers are still due before it, or if an urgent event is pending.
    pub(crate) fn step_with(
        &mut self,
        goal: u64,
        advance: impl FnOnce(&mut Self, Instant, Budget) -> Instant,
    ) {
        self.handle_pending();
        let (time, tick) = self.next_tick();
        let budget = Budget {
            packet_hops: goal.saturating_sub(self.packet_hops()),
            timers: TIMERS_PER_STEP,
        };
        if advance(self, time, budget) > time && !self.is_urgent() {
            self.handle_pending(); // a flow that is over has no further samples
            self.tick(time, tick);
        }
    }

    /// The earliest [`Domain::next_effect`] of all domains.
    pub(crate) fn next_effect(&self) -> Instant {
        let next = self.domains.iter().map(|domain| domain.next_effect());
        next.min().unwrap_or(Instant::NEVER)
    }

    /// Whether an event is pending in any domain that must be handled before anything later happens.
    fn is_urgent(&self) -> bool {
        let domains = self.domains.iter();
        domains.map(|it| &it.hosts.reports).any(Reports::is_urgent)
    }

    pub(crate) fn next_tick(&self) -> (Instant, Tick) {
        [
            (self.workloads.schedule.next_at(), Tick::Plan),
            (self.begin_at, Tick::MeasureFrom),
            (self.end_at, Tick::MeasureTo),
            (self.series.next_at(), Tick::Series),
            (self.queue.next_at(), Tick::QueueSample),
            (Instant::ZERO + self.duration, Tick::End),
        ]
        .into_iter()
        .min()
        .expect("the list is not empty")
    }

    #[cold]
    fn tick(&mut self, now: Instant, tick: Tick) {
        match tick {
            Tick::Plan => self.run_action(now),
            Tick::MeasureFrom => self.begin_measurement(now),
            Tick::MeasureTo => self.end_measurement(now),
            Tick::Series => {
                let watched = 0..self.series.watched(self.flows.len());
                let samples: Vec<_> = watched.map(|flow| self.sample(flow as u32)).collect();
                self.series
                    .sample(samples.len(), |flow| samples[flow as usize]);
            }
            Tick::QueueSample => {
                let partition = &self.partition;
                let domains = &mut self.domains;
                self.queue.sample(|port, now| {
                    let region = partition.port_region(port);
                    domains[usize::from(region)].network.backlog(port, now)
                });
            }
            Tick::End => {
                self.end_measurement(now);
                for domain in &mut self.domains {
                    domain.network.settle(now);
                }
                self.exchange_all();
                self.finished = true;
            }
        }
    }

    fn begin_measurement(&mut self, now: Instant) {
        self.begin_at = Instant::NEVER;
        let progress = self.progress_of_all();
        for domain in &mut self.domains {
            let log = &mut domain.hosts.reports.log;
            log.begin(now, progress.iter().copied());
            let recorder = domain.network.observer_mut().recorder_mut();
            recorder.begin_measurement();
        }
    }

    fn end_measurement(&mut self, now: Instant) {
        self.end_at = Instant::NEVER;
        let progress = self.progress_of_all();
        for domain in &mut self.domains {
            let log = &mut domain.hosts.reports.log;
            log.end(now, progress.iter().copied());
        }
    }

    /// The domain in which this end of a flow is.
    pub(crate) fn domain_at(&self, flow: u32, side: Side) -> usize {
        let host = self.flows[flow as usize].spec.hosts()[side as usize];
        let node: NodeId = self.topology.hosts()[host as usize];
        usize::from(self.partition.region(node))
    }

    /// The network to which a port belongs.
    pub(crate) fn network_of(&self, port: PortId) -> &Network<P, O> {
        let region = self.partition.port_region(port);
        &self.domains[usize::from(region)].network
    }

    /// A flow as the domain of one of its ends sees it; none if it has not started or was given up.
    pub(crate) fn live(&self, flow: u32, side: Side) -> Option<&LiveFlow> {
        let domain = &self.domains[self.domain_at(flow, side)];
        domain.hosts.live[flow as usize].as_ref()
    }

    /// What a flow's receiving host has received.
    pub(crate) fn progress(&self, flow: u32) -> Progress {
        let domain = &self.domains[self.domain_at(flow, Side::Receiver)];
        match &domain.hosts.live[flow as usize] {
            Some(live) => live.progress(),
            None => self.lives[flow as usize].done.progress,
        }
    }

    fn progress_of_all(&self) -> Vec<Progress> {
        let flows = 0..self.flows.len() as u32;
        flows.map(|flow| self.progress(flow)).collect()
    }

    /// One flow's sample at the end of an interval of the series; none if the flow has not started.
    fn sample(&mut self, flow: u32) -> Option<FlowSample> {
        let progress = self.progress(flow);
        let live = self.live(flow, Side::Sender);
        let has_started = live.is_some() || progress.arrived_bytes > 0;
        if !has_started {
            return None;
        }
        let is_over = self.lives[flow as usize].is_over();
        let gauges = live.filter(|_| !is_over).and_then(LiveFlow::gauges);
        let intervals = self.domains.iter_mut().map(|domain| {
            let record = domain.hosts.reports.log.flow_mut(flow);
            record.take_interval()
        });
        Some(FlowSample {
            progress,
            gauges,
            is_over,
            rtt: intervals.fold(RttSummary::EMPTY, RttSummary::and),
        })
    }
}

//! A run, advanced in slices: a loop that advances the network and its hosts from one tick to the next.

mod build;
mod recorded;

use std::time::Instant as WallTime;

use fairport_net::Observer;
use fairport_plan::workload::{Action, Workloads};
use fairport_record::{QueueSamples, Recorder, Series, Simulated, Watcher};
use fairport_tcp::Segment;
use fairport_units::{Duration, Instant};

use crate::domain::Budget;
use crate::domains::parallel::Parallel;
use crate::flows::Flows;
use crate::hosts::reports::PendingEvent;
use crate::measurement::Measurement;
use crate::thread_choice::{TRY_PART, ThreadChoice};

/// Most timers that fire in one step. The limit lets Ctrl-C stop a run in which no packet moves.
const TIMERS_PER_STEP: u64 = 16;

/// Packet-hops per slice: about 10 ms of work on a slow machine.
const HOPS_PER_SLICE: u64 = 200_000;

/// An event at a scheduled time. The ticks of one instant come after all packets and timers of that
/// instant, in the order of the variants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tick {
    Plan,
    MeasureFrom,
    MeasureTo,
    Series,
    QueueSample,
    End,
}

/// A network with its hosts during a run. Its packets carry a `P`, and `O` observes them.
pub struct Simulation<P: Copy = Segment, O: Observer<P> = Recorder> {
    flows: Flows<P, O>,
    workloads: Workloads,
    measurement: Measurement,
    series: Series,
    queue: QueueSamples,
    /// the clock error of each port, in parts per billion
    clock_errors_ppb: Vec<i32>,
    duration: Duration,
    thread_choice: ThreadChoice,
    finished: bool,
}

/// Below `opt-level = 2` a crate uses the generic code that a crate below it has compiled. With this, test programs
/// have the engine and do not compile it again.
#[cfg(all(debug_assertions, not(test)))]
#[used]
static COMPILED: fn(Simulation) -> fairport_record::Recorded = |mut simulation| {
    while !simulation.advance(HOPS_PER_SLICE) {}
    simulation.into_recorded()
};

impl<P: Simulated + Send, O: Observer<P> + Watcher + Send> Simulation<P, O> {
    /// How far the run has come in simulated time.
    pub fn simulated(&self) -> Duration {
        if self.finished {
            self.duration
        } else {
            self.flows.domains.now() - Instant::ZERO
        }
    }

    /// How long the run is in simulated time.
    pub(crate) fn duration(&self) -> Duration {
        self.duration
    }

    pub(crate) fn flows(&self) -> &Flows<P, O> {
        &self.flows
    }

    /// The observer of a simulation that has one domain.
    pub fn observer_mut(&mut self) -> &mut O {
        self.flows.domains.list[0].network.observer_mut()
    }

    /// Packet-hops so far.
    pub fn packet_hops(&self) -> u64 {
        self.flows.domains.packet_hops()
    }

    /// How many packet-hops to ask for in one call of [`Simulation::advance`]: about 10 ms of work, and four times as
    /// much with several domains, because each call starts and ends threads.
    pub fn slice(&self) -> u64 {
        if self.flows.domains.list.len() > 1 {
            4 * HOPS_PER_SLICE
        } else {
            HOPS_PER_SLICE
        }
    }

    /// Fixes for the whole run whether domains advance in parallel or on one thread.
    #[must_use]
    pub fn at_once(mut self, at_once: bool) -> Self {
        self.thread_choice = ThreadChoice::fixed(at_once);
        self
    }

    /// Advances the run by about `packet_hops`; returns whether the run has ended.
    pub fn advance(&mut self, packet_hops: u64) -> bool {
        let goal = self.packet_hops().saturating_add(packet_hops);
        // Steps are limited too, because no packet moves in some: a datagram may be dropped in its host, or a
        // sample taken every picosecond.
        let steps = packet_hops;
        if self.flows.domains.list.len() > 1 {
            self.advance_in_parallel(goal, steps);
        } else {
            self.advance_by_steps(goal, steps, None);
        }
        self.flows.domains.assert_conservation();
        self.finished
    }

    /// Advances several domains to `goal` packet-hops, in `steps` at most: on threads or on one, whichever is faster.
    fn advance_in_parallel(&mut self, goal: u64, steps: u64) {
        let before = self.packet_hops();
        let (at_once, is_try) = self.thread_choice.next();
        let part = if is_try { TRY_PART } else { 1 };
        let goal = before + (goal - before) / part;
        let begin = WallTime::now();
        Parallel::new(&self.flows.domains, at_once)
            .with_threads(|parallel| self.advance_by_steps(goal, steps, Some(parallel)));
        let hops = self.packet_hops() - before;
        if hops > 0 {
            let s_per_hop = begin.elapsed().as_secs_f64() / hops as f64;
            self.thread_choice.note(at_once, is_try, s_per_hop);
        }
    }

    /// Advances to `goal` packet-hops, in `steps` at most. Several domains advance by stretches of `parallel`.
    fn advance_by_steps(&mut self, goal: u64, steps: u64, parallel: Option<&Parallel<P, O>>) {
        for _ in 0..steps {
            if self.finished || self.packet_hops() >= goal {
                return;
            }
            self.step(goal, parallel);
        }
    }

    /// Handles the pending events, advances the network and the timers up to the next tick, and runs that tick.
    /// The tick waits for a later step if packets or timers are still due before it, or if an urgent event is pending.
    fn step(&mut self, goal: u64, parallel: Option<&Parallel<P, O>>) {
        self.handle_pending();
        let (time, tick) = self.next_tick();
        let budget = Budget {
            packet_hops: goal.saturating_sub(self.packet_hops()),
            timers: TIMERS_PER_STEP,
        };
        let domains = &mut self.flows.domains;
        let next = match parallel {
            // a measurement that waits for flows to be established needs each such event at its instant
            Some(parallel) if !self.measurement.awaits_flows() => {
                parallel.advance(domains, time, budget)
            }
            _ => domains.advance_in_turn(time, budget),
        };
        if next > time && !self.flows.domains.is_urgent() {
            self.handle_pending(); // a flow that is over has no further samples
            self.run_tick(time, tick);
        }
    }

    /// Handles the pending events: deliveries, to which workloads react, and flows that are established or over.
    fn handle_pending(&mut self) {
        for domain in 0..self.flows.domains.list.len() {
            let reports = &mut self.flows.domains.list[domain].hosts.reports;
            for (now, event) in reports.take_pending() {
                self.handle(now, event);
            }
        }
    }

    fn handle(&mut self, now: Instant, event: PendingEvent) {
        match event {
            PendingEvent::Delivered(flow, from) => {
                let origin = self.flows.spec(flow).origin;
                self.workloads.delivered(from, origin, now, flow);
            }
            PendingEvent::Established => self.measurement.flow_established(now),
            PendingEvent::Finished(flow) => self.flows.finish_end(now, flow),
        }
    }

    fn next_tick(&self) -> (Instant, Tick) {
        [
            (self.workloads.schedule.next_at(), Tick::Plan),
            (self.measurement.begin_at, Tick::MeasureFrom),
            (self.measurement.end_at, Tick::MeasureTo),
            (self.series.next_at(), Tick::Series),
            (self.queue.next_at(), Tick::QueueSample),
            (Instant::ZERO + self.duration, Tick::End),
        ]
        .into_iter()
        .min()
        .expect("the list is not empty")
    }

    #[cold]
    fn run_tick(&mut self, now: Instant, tick: Tick) {
        match tick {
            Tick::Plan => self.run_action(now),
            Tick::MeasureFrom => self.begin_measurement(now),
            Tick::MeasureTo => self.end_measurement(now),
            Tick::Series => {
                let flows = &mut self.flows;
                self.series.sample(flows.len(), |flow| flows.sample(flow));
            }
            Tick::QueueSample => {
                let domains = &mut self.flows.domains;
                self.queue
                    .sample(|port, now| domains.network_of_mut(port).backlog(port, now));
            }
            Tick::End => self.end(now),
        }
    }

    /// Runs the workloads' next scheduled action.
    fn run_action(&mut self, now: Instant) {
        match self.workloads.schedule.pop() {
            Some(Action::Open(flow)) => self.flows.open(now, flow),
            Some(Action::Start(spec)) => self.flows.start(now, spec),
            Some(Action::Write(flow, side, bytes)) => self.flows.write(now, flow, side, bytes),
            Some(Action::Stop(flow)) => self.flows.stop(now, flow),
            Some(Action::Wake(workload, token)) => {
                self.workloads.wake(workload, now, token);
            }
            None => {}
        }
    }

    fn begin_measurement(&mut self, now: Instant) {
        self.measurement.begin_at = Instant::NEVER;
        let progress = self.flows.progress_of_all();
        for domain in &mut self.flows.domains.list {
            let log = &mut domain.hosts.reports.log;
            log.begin(now, progress.iter().copied());
            let recorder = domain.network.observer_mut().recorder_mut();
            recorder.begin_measurement();
        }
    }

    fn end_measurement(&mut self, now: Instant) {
        self.measurement.end_at = Instant::NEVER;
        let progress = self.flows.progress_of_all();
        for domain in &mut self.flows.domains.list {
            let log = &mut domain.hosts.reports.log;
            log.end(now, progress.iter().copied());
        }
    }

    fn end(&mut self, now: Instant) {
        self.end_measurement(now);
        let domains = &mut self.flows.domains;
        for domain in &mut domains.list {
            domain.network.settle(now);
        }
        domains.exchange_all();
        self.finished = true;
    }
}

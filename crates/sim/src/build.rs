//! From a plan to a simulation at its start.

use fairport_net::routing::Routes;
use fairport_net::{Feeders, Network, Observer, Topology};
use fairport_plan::{Parts, Plan};
use fairport_record::{QueueSamples, Recorder, Series, Simulated, Watcher};
use fairport_units::Instant;

use crate::hosts::{Endpoints, Outputs};
use crate::reports::Reports;
use crate::simulation::Simulation;
use crate::timers::Timers;

impl Simulation {
    /// A simulation of the plan, before its first packet.
    pub fn new(plan: Plan) -> Self {
        Self::with_observer(plan, |_, recorder| recorder)
    }
}

impl<P: Simulated, O: Observer<P> + Watcher> Simulation<P, O> {
    /// The same, watched by what is made of the run's recorder.
    pub fn with_observer(plan: Plan, observer: impl FnOnce(&Topology, Recorder) -> O) -> Self {
        let (ports, outputs) = (plan.ports(), plan.hosts());
        let (end, framing, arbiter) = (plan.end(), plan.framing(), plan.arbiter());
        let (classifier, rule) = (plan.classifier(), plan.measurement());
        let (watch, probes) = (plan.watch().clone(), plan.job().probes.clone());
        let clock_errors_ppb = ports.iter().map(|port| port.clock_error_ppb).collect();
        let Parts {
            topology,
            factory,
            flows,
            workloads,
        } = plan.into_parts(&ports);
        let recorder = Recorder::new(&topology, watch.traced, end);
        let observer = observer(&topology, recorder);
        let routes = Routes::default();
        let mut simulation = Self {
            network: Network::new(&topology, ports, routes, framing, arbiter, observer),
            hosts: Endpoints {
                live: Vec::new(),
                outputs: Outputs::new(outputs, classifier),
                timers: Timers::new(),
                timers_fired: 0,
                reports: Reports::new(rule, probes.watched_flows),
            },
            factory,
            workloads,
            draining: Vec::new(),
            series: Series::new(probes.series_interval_ps, probes.watched_flows),
            queue: QueueSamples::new(probes.queue_interval_ps, watch.queues),
            flows_through: vec![0; topology.ports().len()],
            clock_errors_ppb,
            topology,
            flows: Vec::new(),
            duration: end - Instant::ZERO,
            finished: false,
        };
        let mut feeders = Feeders::new(simulation.topology.ports().len());
        for flow in flows {
            let (_, paths) = simulation.add_flow(flow.start, flow.spec);
            paths.forward.iter().for_each(|path| feeders.add(path));
            paths.backward.iter().for_each(|path| feeders.add(path));
        }
        if !simulation.workloads.start_flows() {
            let sampled = simulation.queue.ports();
            simulation.network.forward_ahead(&feeders, sampled, end);
        }
        simulation
    }
}

//! Builds a simulation from a plan.

use fairport_net::arbitration::Arbiter;
use fairport_net::classifier::Classifier;
use fairport_net::framing::Framing;
use fairport_net::port::PortConfig;
use fairport_net::routing::Routes;
use fairport_net::{Feeders, Network, Observer, Partition, Topology};
use fairport_plan::flow::ListedFlow;
use fairport_plan::{HostOutput, Parts, Plan};
use fairport_record::{QueueSamples, Recorder, Series, Simulated, Watcher};
use fairport_units::Instant;

use super::Simulation;
use crate::domain::Domain;
use crate::domains::Domains;
use crate::flows::Flows;
use crate::hosts::DomainHosts;
use crate::hosts::outputs::Outputs;
use crate::hosts::reports::Reports;
use crate::hosts::timers::Timers;
use crate::measurement::Measurement;
use crate::thread_choice::ThreadChoice;

impl Simulation {
    /// A simulation of the plan, before its first packet.
    pub fn new(plan: Plan) -> Self {
        Self::with_observer(plan, |_, recorder| recorder)
    }

    /// A simulation of the plan with the network cut into `regions`, or into fewer if that is not possible
    /// (see [`Partition::new`]). The number of regions does not change the results.
    pub fn in_regions(plan: Plan, regions: u16) -> Self {
        // A workload that hears of deliveries reacts without delay to one in any region: there would be no lookahead.
        let partition = if regions < 2 || plan.workloads_hear() {
            Partition::whole(plan.topology())
        } else {
            Partition::new(plan.topology(), &plan.cut_rules(), regions)
        };
        Self::build(plan, partition, |_, recorder| recorder)
    }
}

impl<P: Simulated + Send, O: Observer<P> + Watcher + Send> Simulation<P, O> {
    /// A simulation of the plan in one region, observed by what `observer` makes of the run's recorder.
    pub fn with_observer(plan: Plan, observer: impl FnOnce(&Topology, Recorder) -> O) -> Self {
        let partition = Partition::whole(plan.topology());
        let mut observer = Some(observer);
        Self::build(plan, partition, |topology, recorder| {
            let observer = observer.take().expect("one domain has one observer");
            observer(topology, recorder)
        })
    }

    fn build(
        plan: Plan,
        partition: Partition,
        mut observer: impl FnMut(&Topology, Recorder) -> O,
    ) -> Self {
        let end = plan.end();
        let (watch, probes) = (plan.watch().clone(), plan.job().probes.clone());
        let regions = 0..partition.regions();
        let domains: Vec<DomainParts> = regions.map(|_| DomainParts::new(&plan)).collect();
        let ports = &domains[0].ports;
        let clock_errors_ppb = ports.iter().map(|port| port.clock_error_ppb).collect();
        let framing = plan.framing();
        let hear = plan.workloads_hear();
        let measurement = Measurement::new(plan.measurement());
        let Parts {
            topology,
            factory,
            flows,
            workloads,
        } = plan.into_parts(ports);
        let domain = |(region, parts): (u16, DomainParts)| {
            let observer = observer(&topology, Recorder::new(&topology, watch.traced, end));
            let reports = Reports::new(probes.watched_flows, hear, measurement.awaits_flows());
            let mut domain = parts.domain(&topology, framing, observer, reports);
            domain.network.end_at(end);
            if partition.regions() > 1 {
                domain.network.confine(&topology, &partition, region);
            }
            Box::new(domain)
        };
        let domains = (0..).zip(domains).map(domain).collect();
        let domains = Domains::new(partition, domains);
        let mut simulation = Self {
            flows: Flows::new(domains, topology, factory),
            workloads,
            measurement,
            series: Series::new(probes.series_interval_ps, probes.watched_flows),
            queue: QueueSamples::new(probes.queue_interval_ps, watch.queues),
            clock_errors_ppb,
            duration: end - Instant::ZERO,
            thread_choice: ThreadChoice::default(),
            finished: false,
        };
        simulation.add_first_flows(flows);
        simulation
    }

    /// Adds the flows that are known before the run. If no other flows will start, ports may forward packets ahead.
    fn add_first_flows(&mut self, flows: Vec<ListedFlow>) {
        let mut feeders = Feeders::new(self.flows.topology().ports().len());
        for flow in flows {
            let (_, paths) = self.flows.add(flow.start, flow.spec);
            paths.forward.iter().for_each(|path| feeders.add(path));
            paths.backward.iter().for_each(|path| feeders.add(path));
        }
        if !self.workloads.start_flows() {
            let sampled = self.queue.ports();
            for domain in &mut self.flows.domains.list {
                domain.network.forward_ahead(&feeders, sampled);
            }
        }
    }
}

/// What is built once per domain. It covers all ports and hosts, of which a domain uses those in its region.
struct DomainParts {
    ports: Vec<PortConfig>,
    hosts: Vec<HostOutput>,
    arbiter: Arbiter,
    classifier: Option<Classifier>,
}

impl DomainParts {
    fn new(plan: &Plan) -> Self {
        Self {
            ports: plan.ports(),
            hosts: plan.hosts(),
            arbiter: plan.arbiter(),
            classifier: plan.classifier(),
        }
    }

    /// A domain without flows yet.
    fn domain<P: Simulated, O: Observer<P>>(
        self,
        topology: &Topology,
        framing: Framing,
        observer: O,
        reports: Reports,
    ) -> Domain<P, O> {
        let routes = Routes::default();
        Domain {
            network: Network::new(
                topology,
                self.ports,
                routes,
                framing,
                self.arbiter,
                observer,
            ),
            hosts: DomainHosts {
                live: Vec::new(),
                outputs: Outputs::new(self.hosts, self.classifier),
                timers: Timers::default(),
                timers_fired: 0,
                reports,
            },
        }
    }
}

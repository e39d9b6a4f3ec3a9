//! A plan: everything that is decided about a run before any packet moves.
//!
//! A [`Job`] says what is asked for, with names and distributions. A plan says what happens: hosts and ports have
//! numbers, constants and start times are drawn, and everything was checked. A driver takes a plan and moves packets,
//! simulated ones or those of real hosts.

use fairport_net::arbitration::Arbiter;
use fairport_net::classifier::Classifier;
use fairport_net::framing::Framing;
use fairport_net::port::PortConfig;
use fairport_net::queue::CustomQueues;
use fairport_net::{BuildError, CutRules, Topology};
use fairport_tcp::{Controllers, Settings};
use fairport_units::{Instant, Rate};
use serde::Serialize;

use crate::ends::{HostNumbers, listed_flows, workload_ends};
use crate::expected::Expected;
use crate::flow::ListedFlow;
use crate::flow_factory::FlowFactory;
use crate::ideal::EmptyNetwork;
use crate::job::Job;
use crate::offered_load::{FullestLink, Offered};
use crate::router::Router;
use crate::stacks::stacks;
use crate::topology::with_fabric;
use crate::watch::Watch;
use crate::wiring::{self, HostOutput, Timing, Wiring};
use crate::workload::{Action, Ends, Workloads};

/// Queue disciplines and congestion controls from outside, by the names under which jobs refer to them.
///
/// A job names a queue as `{"kind": "custom", "name": NAME, ..}` and a congestion control as
/// `custom:NAME`.
#[derive(Clone, Debug, Default)]
pub struct Customs {
    /// disciplines and schedulers for ports
    pub queues: CustomQueues,
    /// congestion controls
    pub controllers: Controllers,
}

/// A run before any packet moves.
#[derive(Debug, Serialize)]
pub struct Plan {
    job: Job,
    #[serde(skip)]
    topology: Topology,
    stacks: Vec<Settings>,
    timing: Timing,
    flows: Vec<ListedFlow>,
    #[serde(skip)]
    workloads: Workloads,
    #[serde(skip)]
    router: Router,
    watch: Watch,
    expected: Expected,
    #[serde(skip)]
    customs: Customs,
}

/// The bounds of the measurement. It ends with the run at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MeasurementRule {
    /// where the measurement begins
    pub from: MeasureFrom,
    /// where the measurement ends; none: with the run
    pub to: Option<Instant>,
}

/// Where a measurement begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum MeasureFrom {
    /// at a fixed time of the run
    At(Instant),
    /// when all flows that are known before the run and have no end are established
    Established {
        /// number of these flows; with none, the measurement begins with the run
        flows: u32,
    },
}

impl Plan {
    /// Makes the plan for a job.
    ///
    /// # Errors
    /// If the job asks for something impossible; the error names the field.
    pub fn new(job: Job) -> Result<Self, BuildError> {
        Self::with_customs(job, Customs::default())
    }

    /// [`Plan::new`] with queue disciplines and congestion controls from outside this repository.
    ///
    /// # Errors
    /// If the job asks for something impossible; the error names the field.
    pub fn with_customs(job: Job, customs: Customs) -> Result<Self, BuildError> {
        job.check()?;
        let topology = with_fabric(&job)?;
        let stacks = stacks(&job.stacks, job.link.mtu_bytes, &customs.controllers)?;
        let hosts = HostNumbers::new(&topology);
        let mut router = Router::new(&job, &topology)?;
        let flows = listed_flows(&job, &hosts)?;
        let ends = workload_ends(&job, &topology, &hosts)?;
        let timing = Timing::new(&job, &topology);
        let wiring = Wiring::new(&job, &topology, &timing, &customs.queues)?;
        wiring.check()?;
        classifier(&job, &topology)?;
        let watch = Watch::new(&job, &topology, &mut router, &flows, &ends);
        let workloads = workloads(&job, &flows, &ends);
        let expected = Expected::new(&wiring, &mut router, &flows, &workloads, &watch);
        Ok(Self {
            job,
            topology,
            stacks,
            timing,
            flows,
            workloads,
            router,
            watch,
            expected,
            customs,
        })
    }

    /// The job from which the plan was made.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// The hosts, switches and links.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// By port: the rate of its link in bit/s.
    pub fn rates_bps(&self) -> Vec<u64> {
        let ports = self.topology.port_ids();
        let rates = ports.map(|port| wiring::link_rate(&self.job, &self.topology, port));
        rates.map(Rate::as_bps).collect()
    }

    /// Where the network may be cut into regions. Builds all ports, with their queues.
    pub fn cut_rules(&self) -> CutRules {
        CutRules::new(&self.ports(), self.framing())
    }

    /// Whether what the workloads do depends on what their flows have delivered.
    pub fn workloads_hear(&self) -> bool {
        self.workloads.hear()
    }

    /// The end of the run.
    pub fn end(&self) -> Instant {
        Instant::ZERO + self.job.duration_ps
    }

    /// The bytes that a frame adds to an IP packet.
    pub fn framing(&self) -> Framing {
        self.job.link.framing.build()
    }

    /// The arbiter, which decides which of several simultaneous arrivals goes first.
    pub fn arbiter(&self) -> Arbiter {
        let ports = self.topology.ports().len();
        Arbiter::new(self.job.switch.arbitration, ports, self.job.seed)
    }

    /// The edge classifier, which separates short flows from long ones, if the job has one.
    pub fn classifier(&self) -> Option<Classifier> {
        classifier(&self.job, &self.topology).expect("checked")
    }

    /// Every port's configuration, with its empty queue, in the order of the topology's ports.
    pub fn ports(&self) -> Vec<PortConfig> {
        let wiring = Wiring::new(
            &self.job,
            &self.topology,
            &self.timing,
            &self.customs.queues,
        );
        let wiring = wiring.expect("checked");
        let ports = self.topology.port_ids();
        ports
            .map(|port| wiring.port(port).expect("checked"))
            .collect()
    }

    /// The output side of every host, in the order of the topology's hosts.
    pub fn hosts(&self) -> Vec<HostOutput> {
        wiring::outputs(&self.job, &self.topology, &self.timing)
    }

    /// The flows that are known before the run, with their drawn starts.
    pub fn flows(&self) -> &[ListedFlow] {
        &self.flows
    }

    /// The constants that were drawn for links, hosts and ports.
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    /// The bounds of the measurement.
    pub fn measurement(&self) -> MeasurementRule {
        let is_endless = |flow: &&ListedFlow| flow.spec.application.size_bytes().is_none();
        let flows = self.flows.iter().filter(is_endless).count() as u32;
        let from = self.job.probes.measure_from_ps;
        MeasurementRule {
            from: from.map_or(MeasureFrom::Established { flows }, MeasureFrom::At),
            to: self.job.probes.measure_to_ps,
        }
    }

    /// The ports whose queues and packets are recorded.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    /// How much the run is expected to carry and to record.
    pub fn expected(&self) -> &Expected {
        &self.expected
    }

    /// The port that is offered the largest share of its rate; none if no traffic has a load of its own.
    pub fn fullest_link(&mut self) -> Option<FullestLink> {
        self.offered().fullest_link()
    }

    /// By port: what it is offered when it is offered most, in bit/s on the link. None if no traffic has a load of its
    /// own.
    pub fn offered_bps(&mut self) -> Option<Vec<f64>> {
        self.offered().by_port()
    }

    fn offered(&mut self) -> Offered<'_> {
        Offered {
            job: &self.job,
            topology: &self.topology,
            router: &mut self.router,
            flows: &self.flows,
        }
    }

    /// Splits off the parts that a driver keeps during the run. `ports` are the result of [`Plan::ports`].
    pub fn into_parts(self, ports: &[PortConfig]) -> Parts {
        let links = ports.iter().map(|port| (port.rate, port.latency));
        let empty = EmptyNetwork::new(
            self.framing(),
            links.collect(),
            self.timing.host_latency.clone(),
        );
        Parts {
            topology: self.topology,
            factory: FlowFactory::new(self.job.seed, self.stacks, self.router, empty),
            flows: self.flows,
            workloads: self.workloads,
        }
    }
}

/// The parts of a plan that a driver keeps during the run.
pub struct Parts {
    /// hosts, switches and links
    pub topology: Topology,
    /// gives flows their paths
    pub factory: FlowFactory,
    /// the flows that are known before the run, by number
    pub flows: Vec<ListedFlow>,
    /// the workloads, with the schedule, which includes the listed flows
    pub workloads: Workloads,
}

/// The events of the listed flows, followed by the first events of the workloads.
fn workloads(job: &Job, flows: &[ListedFlow], ends: &[Ends]) -> Workloads {
    let mut workloads = Workloads::default();
    for (number, flow) in (0..).zip(flows) {
        workloads.schedule.add(flow.start, Action::Open(number));
        if let Some(stop) = flow.stop {
            workloads.schedule.add(stop, Action::Stop(number));
        }
    }
    for (workload, ends) in job.workloads.iter().zip(ends) {
        workloads.add(workload, job.seed, ends, Instant::ZERO + job.duration_ps);
    }
    workloads
}

/// The edge classifier, with an entry per node. A switch without hosts has one as well, which is never used.
fn classifier(job: &Job, topology: &Topology) -> Result<Option<Classifier>, BuildError> {
    let nodes = topology.nodes().len();
    job.classifier.map(|config| config.build(nodes)).transpose()
}

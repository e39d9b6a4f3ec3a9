//! From a job to a simulation at its start.

use fairport_net::arbitration::Arbiter;
use fairport_net::routing::Routes;
use fairport_net::stream::Stream;
use fairport_net::{BuildError, Network};
use fairport_plan::ends::{HostNumbers, listed_flows, pairs, workload_ends};
use fairport_plan::flow::Start;
use fairport_plan::ideal::EmptyNetwork;
use fairport_plan::job::Job;
use fairport_plan::paths::{busiest_port, shared_ports};
use fairport_plan::queues::shaping;
use fairport_plan::router::Router;
use fairport_plan::stacks::stacks;
use fairport_plan::wiring::{self, Timing};
use fairport_plan::with_fabric;
use fairport_plan::workload::{Action, Ends};
use fairport_record::tables::{Drops, QueueRows, SeriesRows};
use fairport_record::{QueueSamples, Recorder, Series};
use fairport_units::{Duration, Instant};

use crate::hosts::{Endpoints, Output};
use crate::lifecycle::Nursery;
use crate::reports::{MeasurementWindow, Reports};
use crate::simulation::Simulation;
use crate::timers::Timers;

impl Simulation {
    /// Builds the run that the job describes.
    ///
    /// # Errors
    /// If the job asks for something that cannot be; the error names the field.
    pub fn new(job: &Job) -> Result<Self, BuildError> {
        let topology = with_fabric(job)?;
        if job.duration_ps == Duration::ZERO {
            let remedy = "simulate for longer than 0 s";
            return Err(BuildError::new(
                "duration",
                "0s",
                "is no time at all",
                remedy,
            ));
        }
        wiring::check_processing(job.host.processing)?;
        let stacks = stacks(&job.stacks, job.link.mtu_bytes)?;
        let hosts = HostNumbers::new(&topology);
        let mut router = Router::new(job, &topology)?;
        let listed = listed_flows(job, &hosts)?;
        let workloads = workload_ends(job, &hosts)?;
        let mut flows_through = vec![0; topology.ports().len()];
        let mut route_bytes = 0;
        for (flow, [src, dst]) in (0..).zip(pairs(&listed, &workloads)) {
            let paths = router.paths(&topology, flow, src.host, dst.host);
            paths.count(&mut flows_through);
            if (flow as usize) < listed.len() {
                route_bytes += paths.bytes();
            }
        }
        let watched = shared_ports(&topology, &flows_through, job.probes.watched_ports);
        let watched_ports = watched.len() as u64;
        let timing = Timing::new(job, &topology);
        let ports = wiring::ports(job, &topology, &timing)?;
        let clock_errors_ppb = ports.iter().map(|port| port.clock_error_ppb).collect();
        let outputs = wiring::outputs(job, &topology, &timing);
        let empty = EmptyNetwork::new(
            wiring::framing(job),
            ports.iter().map(|port| (port.rate, port.latency)).collect(),
            outputs.iter().map(|output| output.latency).collect(),
        );
        let network = Network::new(
            &topology,
            ports,
            Routes::default(),
            wiring::framing(job),
            Arbiter::new(
                job.switch.arbitration,
                topology.ports().len(),
                Stream::new(job.seed, "arbitration", 0),
            ),
            Recorder::new(
                &topology,
                busiest_port(&flows_through),
                Instant::ZERO + job.duration_ps,
            ),
        );
        let probes = &job.probes;
        let mut simulation = Self {
            memory_bytes: 0,
            hosts: Endpoints {
                live: Vec::new(),
                outputs: outputs.into_iter().map(Output::from).collect(),
                timers: Timers::new(),
                classifier: shaping::classifier(job.classifier, &topology)?,
                timers_fired: 0,
                reports: Reports::new(
                    listed.len() as u32,
                    probes.watched_flows,
                    MeasurementWindow {
                        from: probes.measure_from_ps,
                        to: probes.measure_to_ps,
                    },
                ),
            },
            nursery: Nursery::new(job.seed, stacks, router, empty),
            series: Series::new(probes.series_interval_ps, probes.watched_flows),
            queue: QueueSamples::new(probes.queue_interval_ps, watched),
            flows_through: vec![0; topology.ports().len()],
            clock_errors_ppb,
            topology,
            network,
            flows: Vec::new(),
            duration: job.duration_ps,
            finished: false,
        };
        simulation.plan(job, listed, workloads);
        let workloads = &simulation.nursery.workloads;
        let generated = workloads.expected_flows(job.duration_ps, job.link.rate_bps);
        simulation.memory_bytes = route_bytes + memory_bytes(job, generated, watched_ports);
        Ok(simulation)
    }

    /// Plans the flows that the job lists and what its workloads begin with.
    fn plan(&mut self, job: &Job, listed: Vec<Start>, workloads: Vec<Ends>) {
        for (i, (flow, how)) in job.flows.iter().zip(listed).enumerate() {
            let jitter =
                Stream::new(job.seed, "start", i as u64).up_to(flow.start_jitter_ps.as_ps());
            let start = flow.start_ps + Duration::from_ps(jitter);
            let (number, _) = self.add_flow(start, how);
            let plan = &mut self.nursery.workloads.plan;
            plan.at(start, Action::Open(number));
            if let Some(stop) = flow.stop_ps {
                plan.at(stop.max(start), Action::Stop(number));
            }
        }
        for (workload, ends) in job.workloads.iter().zip(workloads) {
            self.nursery.workloads.add(workload, job.seed, &ends);
        }
    }
}

/// What the run will need: the tables that grow with time, twice, because they are handed on.
fn memory_bytes(job: &Job, generated: u64, watched_ports: u64) -> u64 {
    /// a flow's record and its row, and those of its connection while it runs, spread over all
    const FLOW_BYTES: u64 = 1_000;
    /// what a watched flow has on top: its histogram, and its connection to the end
    const WATCHED_BYTES: u64 = 20_000;
    let rows = |interval: Duration| job.duration_ps.as_ps() / interval.as_ps().max(1);
    let flows = job.flows.len() as u64 + generated;
    let watched = flows.min(u64::from(job.probes.watched_flows));
    let series = rows(job.probes.series_interval_ps) * watched * SeriesRows::ROW_BYTES;
    let queue = rows(job.probes.queue_interval_ps) * watched_ports * QueueRows::ROW_BYTES;
    // One packet in ten dropped at one saturated link: more than any run has shown.
    let packets = job.duration_ps.as_secs_f64() * job.link.rate_bps.as_bps() as f64
        / (8.0 * f64::from(job.link.mtu_bytes.max(1)));
    let drops = (packets / 10.0) as u64 * Drops::ROW_BYTES;
    flows * FLOW_BYTES + watched * WATCHED_BYTES + 2 * (series + queue + drops)
}

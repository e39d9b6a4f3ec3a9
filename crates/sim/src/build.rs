//! From a job to a simulation at its start.

use fairport_net::arbitration::Arbiter;
use fairport_net::routing::Routes;
use fairport_net::stream::Stream;
use fairport_net::{BuildError, Network};
use fairport_tcp::Connection;
use fairport_units::Time;

use crate::hosts::{Endpoint, Endpoints};
use crate::job::{FlowJob, Job};
use crate::measurement::Measurement;
use crate::paths::{FlowPaths, busiest_port, flows_through, paths, shared_ports};
use crate::probes::Probes;
use crate::samples::{QUEUE_ROW_BYTES, QueueSamples, SERIES_ROW_BYTES, Series};
use crate::shaping;
use crate::simulation::{FlowSpec, Simulation};
use crate::stacks::stacks;
use crate::timers::Timers;
use crate::topology::with_fabric;
use crate::wiring::{self, Timing};

impl Simulation {
    /// Builds the run that the job describes.
    ///
    /// # Errors
    /// If the job asks for something that cannot be; the error names the field.
    pub fn new(job: &Job) -> Result<Self, BuildError> {
        let topology = with_fabric(job)?;
        if job.duration_ps == Time::ZERO {
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
        let paths = paths(job, &topology)?;
        let mut routes = Routes::default();
        let mut endpoints = Vec::with_capacity(2 * paths.len());
        for (i, (path, flow)) in paths.iter().zip(&job.flows).enumerate() {
            let [sender, receiver] = [flow.sender_stack, flow.receiver_stack];
            let seed = Stream::new(job.seed, "tcp", i as u64).up_to(u64::MAX);
            let mut sender = Connection::active(&stacks[sender as usize]).with_seed(seed);
            match flow.size_bytes {
                Some(bytes) => {
                    sender.write(bytes);
                    sender.close();
                }
                None => sender.write_endless(),
            }
            let receiver = Connection::passive(&stacks[receiver as usize]);
            for (connection, host, ways) in [
                (sender, path.src, &path.forward),
                (receiver, path.dst, &path.backward),
            ] {
                let stream = Stream::new(job.seed, "spray", endpoints.len() as u64);
                endpoints.push(Endpoint {
                    connection,
                    host,
                    route: routes.add_all(ways, stream),
                    sent: 0,
                    received: 0,
                });
            }
        }
        let flows_through = flows_through(&topology, &paths);
        let shared = shared_ports(&topology, &flows_through);
        let timing = Timing::new(job, &topology);
        let network = Network::new(
            &topology,
            wiring::ports(job, &topology, &timing)?,
            routes,
            wiring::framing(job),
            Arbiter::new(
                job.switch.arbitration,
                topology.ports().len(),
                Stream::new(job.seed, "arbitration", 0),
            ),
            Probes::new(&topology, paths.len(), busiest_port(&flows_through)),
        );
        let mut timers = Timers::new(endpoints.len());
        let flows: Vec<FlowSpec> = paths
            .iter()
            .zip(&job.flows)
            .enumerate()
            .map(|(i, (path, flow))| spec(job.seed, i, path, flow))
            .collect();
        for (i, flow) in flows.iter().enumerate() {
            timers.arm(2 * i as u32, flow.start);
        }
        Ok(Self {
            memory_bytes: memory_bytes(job, &paths, shared.len()),
            hosts: Endpoints {
                ends: endpoints,
                outputs: wiring::outputs(job, &topology, &timing),
                classifier: shaping::classifier(job.classifier, &topology)?,
                receivers: paths
                    .iter()
                    .map(|path| topology.hosts()[path.dst as usize])
                    .collect(),
                timers,
                timers_fired: 0,
                measurement: Measurement::new(
                    flows.iter().map(|flow| flow.size_bytes),
                    job.probes.measure_from_ps,
                    job.probes.measure_to_ps,
                ),
            },
            series: Series::new(job.probes.series_interval_ps, flows.len()),
            queue: QueueSamples::new(job.probes.queue_interval_ps, shared),
            topology,
            network,
            flows,
            flows_through,
            duration: job.duration_ps,
            finished: false,
        })
    }
}

fn spec(seed: u64, i: usize, path: &FlowPaths, flow: &FlowJob) -> FlowSpec {
    let mut stream = Stream::new(seed, "start", i as u64);
    FlowSpec {
        src: path.src,
        dst: path.dst,
        hops: path.hops,
        stack: flow.sender_stack,
        start: flow.start_ps + Time::from_ps(stream.up_to(flow.start_jitter_ps.as_ps())),
        size_bytes: flow.size_bytes,
    }
}

/// What the run will need: the tables that grow with time, twice, because they are handed on.
fn memory_bytes(job: &Job, paths: &[FlowPaths], shared_ports: usize) -> u64 {
    /// connections, records and histograms of a flow
    const FLOW_BYTES: u64 = 20_000;
    /// a row of the drops table
    const DROP_BYTES: u64 = 61;
    let rows = |interval: Time| job.duration_ps.as_ps() / interval.as_ps().max(1);
    let flows = paths.len() as u64;
    let series = rows(job.probes.series_interval_ps) * flows * SERIES_ROW_BYTES;
    let queue = rows(job.probes.queue_interval_ps) * shared_ports as u64 * QUEUE_ROW_BYTES;
    // One packet in ten dropped at one saturated link: more than any run has shown.
    let packets = job.duration_ps.as_secs_f64() * job.link.rate_bps.as_bps() as f64
        / (8.0 * f64::from(job.link.mtu_bytes.max(1)));
    let drops = (packets / 10.0) as u64 * DROP_BYTES;
    let routes: u64 = paths.iter().map(FlowPaths::bytes).sum();
    routes + flows * FLOW_BYTES + 2 * (series + queue + drops)
}

//! From a job to a simulation at its start.

use std::collections::BTreeMap;

use fairport_net::arbitration::Arbiter;
use fairport_net::routing::Routes;
use fairport_net::stream::Stream;
use fairport_net::topology::{LinkOptions, custom, fat_tree, two_switch};
use fairport_net::{BuildError, Network, NodeId, PortId, Topology};
use fairport_tcp::Connection;
use fairport_units::Time;

use crate::hosts::{Endpoint, Endpoints};
use crate::job::{FlowJob, Job, TopologyJob};
use crate::measurement::Measurement;
use crate::probes::Probes;
use crate::router::Router;
use crate::samples::{QUEUE_ROW_BYTES, QueueSamples, SERIES_ROW_BYTES, Series};
use crate::shaping;
use crate::simulation::{FlowSpec, Simulation};
use crate::stacks::stacks;
use crate::timers::Timers;
use crate::wiring::{self, Timing};

/// Builds a topology alone.
///
/// # Errors
/// If it cannot be built; the error names the field.
pub fn topology(job: &TopologyJob) -> Result<Topology, BuildError> {
    match job {
        TopologyJob::FatTree { k } => fat_tree(*k),
        TopologyJob::TwoSwitch { peers } => two_switch(*peers),
        TopologyJob::Graph {
            hosts,
            switches,
            links,
        } => {
            let options = |link: &crate::job::GraphLinkJob| LinkOptions {
                rate: link.rate_bps,
                delay: link.delay_ps,
                limit_bytes: link.limit_bytes,
            };
            let links: Vec<_> = links
                .iter()
                .map(|link| (link.ends.clone(), options(link)))
                .collect();
            custom(hosts, switches, &links)
        }
    }
}

impl Simulation {
    /// Builds the run that the job describes.
    ///
    /// # Errors
    /// If the job asks for something that cannot be; the error names the field.
    pub fn new(job: &Job) -> Result<Self, BuildError> {
        let topology = topology(&job.topology)?;
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
        let mut flows_through = vec![0; topology.ports().len()];
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
            let mut endpoint = |connection, host, ports: &[PortId]| Endpoint {
                connection,
                host,
                route: routes.add(ports),
                sent: 0,
                received: 0,
            };
            endpoints.push(endpoint(sender, path.src, &path.forward));
            endpoints.push(endpoint(receiver, path.dst, &path.backward));
            for port in &path.forward {
                flows_through[port.0 as usize] += 1;
            }
        }
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
            memory_bytes: memory_bytes(job, flows.len(), shared.len()),
            hosts: Endpoints {
                ends: endpoints,
                outputs: wiring::outputs(job, &topology, &timing),
                receivers: paths.iter().map(|path| path.receiver).collect(),
                classifier: shaping::classifier(job.classifier, &topology)?,
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

/// A flow's way through the network, there and back.
struct Path {
    src: u32,
    dst: u32,
    receiver: NodeId,
    forward: Vec<PortId>,
    backward: Vec<PortId>,
}

fn paths(job: &Job, topology: &Topology) -> Result<Vec<Path>, BuildError> {
    let mut router = Router::new(job.routing, topology);
    let name = |host: &NodeId| topology.node(*host).name.as_str();
    let numbers: BTreeMap<&str, usize> = topology
        .hosts()
        .iter()
        .enumerate()
        .map(|(number, host)| (name(host), number))
        .collect();
    let find = |i: usize, end: &str, name: &str| {
        numbers.get(name).copied().ok_or_else(|| {
            let field = format!("flows.{i}.{end}");
            let remedy = format!("name one of the {} hosts", numbers.len());
            BuildError::new(field, name, "is not a host here", remedy)
        })
    };
    let mut paths = Vec::with_capacity(job.flows.len());
    for (i, flow) in job.flows.iter().enumerate() {
        let (src, dst) = (find(i, "src", &flow.src)?, find(i, "dst", &flow.dst)?);
        if src == dst {
            let remedy = "send to another host";
            let field = format!("flows.{i}.src");
            return Err(BuildError::new(
                field,
                &flow.src,
                "is also the receiver",
                remedy,
            ));
        }
        let (src, dst) = (src as u32, dst as u32);
        let unreachable = || {
            let problem = format!("cannot be reached from `{}`", flow.src);
            let remedy = "join the two by links";
            BuildError::new(format!("flows.{i}.dst"), &flow.dst, problem, remedy)
        };
        let mut path = |from, to| router.path(topology, from, to);
        paths.push(Path {
            src,
            dst,
            receiver: topology.hosts()[dst as usize],
            forward: path(src, dst).ok_or_else(unreachable)?,
            backward: path(dst, src).expect("links lead both ways"),
        });
    }
    Ok(paths)
}

fn spec(seed: u64, i: usize, path: &Path, flow: &FlowJob) -> FlowSpec {
    let mut stream = Stream::new(seed, "start", i as u64);
    FlowSpec {
        src: path.src,
        dst: path.dst,
        hops: path.forward.len() as u32,
        stack: flow.sender_stack,
        start: flow.start_ps + Time::from_ps(stream.up_to(flow.start_jitter_ps.as_ps())),
        size_bytes: flow.size_bytes,
    }
}

/// The port that most flows' data passes; of several, the one of the highest number.
fn busiest_port(flows_through: &[u32]) -> PortId {
    let ports = 0..flows_through.len() as u32;
    PortId(
        ports
            .max_by_key(|port| flows_through[*port as usize])
            .unwrap_or(0),
    )
}

/// The switch ports where data of two or more flows meets: what is watched closely.
fn shared_ports(topology: &Topology, flows_through: &[u32]) -> Vec<PortId> {
    let ports = (0..topology.ports().len() as u32).map(PortId);
    let shared = |port: &PortId| {
        flows_through[port.0 as usize] >= 2 && !topology.node(topology.port(*port).node).is_host
    };
    ports.filter(shared).collect()
}

/// What the run will need: the tables that grow with time, twice, because they are handed on.
fn memory_bytes(job: &Job, flows: usize, shared_ports: usize) -> u64 {
    /// connections, records and histograms of a flow
    const FLOW_BYTES: u64 = 20_000;
    /// a row of the drops table
    const DROP_BYTES: u64 = 61;
    let rows = |interval: Time| job.duration_ps.as_ps() / interval.as_ps().max(1);
    let flows = flows as u64;
    let series = rows(job.probes.series_interval_ps) * flows * SERIES_ROW_BYTES;
    let queue = rows(job.probes.queue_interval_ps) * shared_ports as u64 * QUEUE_ROW_BYTES;
    // One packet in ten dropped at one saturated link: more than any run has shown.
    let packets = job.duration_ps.as_secs_f64() * job.link.rate_bps.as_bps() as f64
        / (8.0 * f64::from(job.link.mtu_bytes.max(1)));
    let drops = (packets / 10.0) as u64 * DROP_BYTES;
    flows * FLOW_BYTES + 2 * (series + queue + drops)
}

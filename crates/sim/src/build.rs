//! From a job to a simulation at its start.

use std::collections::BTreeMap;

use fairport_net::arbitration::Arbiter;
use fairport_net::discipline::{Discipline, DropTail};
use fairport_net::framing::Framing;
use fairport_net::port::{Leaves, PortConfig};
use fairport_net::processing::{Processing, Server};
use fairport_net::routing::{DestinationSuffix, Routes};
use fairport_net::stream::Stream;
use fairport_net::topology::{LinkOptions, custom, fat_tree, two_switch};
use fairport_net::{BuildError, Network, NodeId, PortId, Topology};
use fairport_tcp::{Connection, SettingError, Settings};
use fairport_units::{Rate, Time};

use crate::hosts::{Endpoint, Endpoints, Output};
use crate::job::{FlowJob, FramingJob, Job, QueueJob, RoutingJob, StackJob, TopologyJob};
use crate::measurement::Measurement;
use crate::probes::Probes;
use crate::samples::{QUEUE_ROW_BYTES, QueueSamples, SERIES_ROW_BYTES, Series};
use crate::simulation::{FlowSpec, Simulation};
use crate::timers::Timers;

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
        check_processing(job.host.processing)?;
        let stacks = stacks(&job.stacks, job.link.mtu_bytes)?;
        let paths = paths(job, &topology)?;
        let mut routes = Routes::default();
        let mut endpoints = Vec::with_capacity(2 * paths.len());
        let mut flows_through = vec![0; topology.ports().len()];
        for (path, flow) in paths.iter().zip(&job.flows) {
            let [sender, receiver] = [flow.sender_stack, flow.receiver_stack];
            let mut sender = Connection::active(&stacks[sender as usize]);
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
            ports(job, &topology, &timing)?,
            routes,
            framing(job),
            job.switch.departure_first,
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
                outputs: outputs(job, &topology, &timing),
                receivers: paths.iter().map(|path| path.receiver).collect(),
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
    let RoutingJob::DestinationSuffix = job.routing;
    let mut routing = DestinationSuffix::new(topology);
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
        let (source, receiver) = (topology.hosts()[src], topology.hosts()[dst]);
        let unreachable = || {
            let problem = format!("cannot be reached from `{}`", flow.src);
            let remedy = "join the two by links";
            BuildError::new(format!("flows.{i}.dst"), &flow.dst, problem, remedy)
        };
        paths.push(Path {
            src: src as u32,
            dst: dst as u32,
            receiver,
            forward: routing.path(source, receiver).ok_or_else(unreachable)?,
            backward: Vec::new(),
        });
    }
    // Backwards in a second pass: the policy remembers the last destination alone.
    for path in &mut paths {
        let source = topology.hosts()[path.src as usize];
        path.backward = routing
            .path(path.receiver, source)
            .expect("links lead both ways");
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

fn stacks(jobs: &[StackJob], mtu_bytes: u32) -> Result<Vec<Settings>, BuildError> {
    let build = |(i, job): (usize, &StackJob)| {
        let preset = Settings::preset(&job.preset).ok_or_else(|| {
            let remedy = format!("use one of {}", Settings::PRESETS.join(", "));
            BuildError::new(
                format!("stacks.{i}.stack"),
                &job.preset,
                "is not a stack",
                remedy,
            )
        })?;
        let in_stack = |error: SettingError| BuildError {
            field: format!("stacks.{i}.{}", error.field),
            value: error.value,
            problem: error.problem,
            remedy: error.remedy,
        };
        let settings = preset.with(&job.overrides).map_err(in_stack)?;
        settings.validate().map_err(in_stack)?;
        let header = match settings.fixed_header_bytes {
            0 => 40,
            fixed => u32::from(fixed),
        };
        if u32::from(settings.mss_bytes) + header > mtu_bytes {
            let problem = format!("and {header} B of headers exceed the MTU of {mtu_bytes} B");
            let remedy = format!(
                "use at most {} B, or a larger link.mtu",
                mtu_bytes.saturating_sub(header)
            );
            let field = format!("stacks.{i}.mss_bytes");
            return Err(BuildError::new(field, settings.mss_bytes, problem, remedy));
        }
        Ok(settings)
    };
    jobs.iter().enumerate().map(build).collect()
}

fn check_processing(processing: Processing) -> Result<(), BuildError> {
    if let Processing::Uniform { min_ps, max_ps } = processing
        && min_ps > max_ps
    {
        let (field, problem) = ("host.processing.min", "is more than host.processing.max");
        let value = Time::from_ps(min_ps);
        return Err(BuildError::new(
            field,
            value,
            problem,
            "give the smaller one as min",
        ));
    }
    Ok(())
}

fn framing(job: &Job) -> Framing {
    match job.link.framing {
        FramingJob::Ethernet => Framing::ETHERNET,
        FramingJob::None => Framing::NONE,
    }
}

/// The constants that links and hosts draw once a run.
struct Timing {
    /// by link
    link_extra: Vec<Time>,
    /// by host number
    host_latency: Vec<Time>,
    /// host number by node
    host_number: Vec<u32>,
}

impl Timing {
    fn new(job: &Job, topology: &Topology) -> Self {
        let draw = |component: &str, i: usize, spread: Time| {
            Time::from_ps(Stream::new(job.seed, component, i as u64).up_to(spread.as_ps()))
        };
        let links = topology.ports().len() / 2;
        let hosts = topology.hosts().len();
        let mut host_number = vec![0; topology.nodes().len()];
        for (number, host) in topology.hosts().iter().enumerate() {
            host_number[host.0 as usize] = number as u32;
        }
        Self {
            link_extra: (0..links)
                .map(|i| draw("link", i, job.link.delay_spread_ps))
                .collect(),
            host_latency: (0..hosts)
                .map(|i| job.host.delay_ps + draw("host", i, job.host.delay_spread_ps))
                .collect(),
            host_number,
        }
    }
}

fn ports(job: &Job, topology: &Topology, timing: &Timing) -> Result<Vec<PortConfig>, BuildError> {
    let full_frame = framing(job).buffered_bytes(job.link.mtu_bytes as u16);
    let build = |i: usize| {
        let id = PortId(i as u32);
        let port = topology.port(id);
        let rate = port.options.rate.unwrap_or(job.link.rate_bps);
        check_rate(rate)?;
        let far = topology.far_node(id);
        let link = port.options.delay.unwrap_or(job.link.delay_ps) + timing.link_extra[i / 2];
        let host = timing.host_number[far.0 as usize];
        let (latency, far_processing) = if topology.node(far).is_host {
            let stream = Stream::new(job.seed, "host-in", u64::from(host));
            let server = Server::new(job.host.processing, stream);
            (link + timing.host_latency[host as usize], Some(server))
        } else {
            (link + job.switch.processing_delay_ps, None)
        };
        let (discipline, leaves) = if topology.node(port.node).is_host {
            (
                Discipline::DropTail(DropTail::packets(job.host.queue_packets)),
                Leaves::AtEndOfService,
            )
        } else {
            discipline(&job.queue, port.options.limit_bytes, full_frame)?
        };
        let clock_error_ppb =
            Stream::new(job.seed, "clock", i as u64).symmetric(job.link.clock_error_ppb);
        Ok(PortConfig {
            rate,
            clock_error_ppb,
            latency,
            far_processing,
            discipline,
            leaves,
        })
    };
    (0..topology.ports().len()).map(build).collect()
}

fn check_rate(rate: Rate) -> Result<(), BuildError> {
    /// What the fixed-point time of an octet can hold ([`fairport_units::Serializer`]).
    const SLOWEST_BPS: u64 = 2_000;
    if rate.as_bps() < SLOWEST_BPS {
        let value = format!("{} bit/s", rate.as_bps());
        let remedy = "give a rate of at least 2 kbit/s, such as \"1Gbps\"";
        return Err(BuildError::new(
            "link.rate",
            value,
            "is too slow for a link",
            remedy,
        ));
    }
    Ok(())
}

fn discipline(
    job: &QueueJob,
    own_limit_bytes: Option<u32>,
    full_frame: u32,
) -> Result<(Discipline, Leaves), BuildError> {
    let QueueJob::DropTail {
        limit_bytes,
        limit_packets,
        count_in_service,
    } = job;
    let leaves = if *count_in_service {
        Leaves::AtEndOfService
    } else {
        Leaves::AtStartOfService
    };
    let drop_tail = match (own_limit_bytes.or(*limit_bytes), limit_packets) {
        (Some(bytes), _) if bytes < full_frame => {
            let problem = format!("is smaller than one full frame of {full_frame} B");
            let remedy = "give room for at least one packet, such as \"16KiB\"";
            return Err(BuildError::new(
                "queue.limit",
                format!("{bytes} B"),
                problem,
                remedy,
            ));
        }
        (Some(bytes), _) => DropTail::bytes(bytes),
        (None, Some(packets)) if *packets > 0 => DropTail::packets(*packets),
        (None, _) => {
            let remedy = "give a limit, such as \"16KiB\" or \"11 packets\"";
            return Err(BuildError::new(
                "queue.limit",
                "0 packets",
                "holds nothing",
                remedy,
            ));
        }
    };
    Ok((Discipline::DropTail(drop_tail), leaves))
}

fn outputs(job: &Job, topology: &Topology, timing: &Timing) -> Vec<Output> {
    let output = |i: usize| Output {
        server: Server::new(
            job.host.processing,
            Stream::new(job.seed, "host-out", i as u64),
        ),
        latency: timing.host_latency[i],
    };
    (0..topology.hosts().len()).map(output).collect()
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

//! Ports and hosts with their delays, clocks and buffers, as the job has them.

use fairport_net::discipline::{Discipline, DropTail};
use fairport_net::framing::Framing;
use fairport_net::port::{BufferRelease, PortConfig, Queueing};
use fairport_net::processing::{Processing, Server};
use fairport_net::shaper::Shaper;
use fairport_net::stream::Stream;
use fairport_net::{BuildError, NodeId, PortId, Topology};
use fairport_units::{Duration, Rate};

use crate::job::{FramingJob, Job};
use crate::queues::losses::Losses;
use crate::queues::schedulers::Shared;
use crate::queues::shaping;
use crate::queues::{self, PortQueue};

/// What a frame adds to an IP packet.
pub fn framing(job: &Job) -> Framing {
    match job.link.framing {
        FramingJob::Ethernet => Framing::ETHERNET,
        FramingJob::None => Framing::NONE,
    }
}

/// The constants that links and hosts draw once a run.
pub struct Timing {
    /// by link
    link_extra: Vec<Duration>,
    /// by host number
    host_latency: Vec<Duration>,
    /// host number by node
    host_number: Vec<u32>,
}

impl Timing {
    pub fn new(job: &Job, topology: &Topology) -> Self {
        let draw = |component: &str, i: usize, spread: Duration| {
            Duration::from_ps(Stream::new(job.seed, component, i as u64).up_to(spread.as_ps()))
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

/// What each port of the topology is made of.
pub fn ports(
    job: &Job,
    topology: &Topology,
    timing: &Timing,
) -> Result<Vec<PortConfig>, BuildError> {
    let losses = Losses::new(job, topology)?;
    let full_frame = framing(job).buffered_bytes(job.link.mtu_bytes as u16);
    let shared = Shared::new(job, topology)?;
    let build = |i: usize| {
        let id = PortId(i as u32);
        let port = topology.port(id);
        let rate = port.options.rate.unwrap_or(job.link.rate_bps);
        check_rate(rate)?;
        let far = topology.far_node(id);
        let link = port.options.delay.unwrap_or(job.link.delay_ps) + timing.link_extra[i / 2];
        let host = timing.host_number[far.0 as usize];
        let (latency, far_processing) = if far == port.node {
            // a forwarding host's own packets, on their way to its adapter
            (Duration::ZERO, None)
        } else if topology.node(far).is_host {
            let stream = Stream::new(job.seed, "host-in", u64::from(host));
            let server = Server::new(job.host.processing, stream);
            (link + timing.host_latency[host as usize], Some(server))
        } else {
            (link + job.switch.processing_delay_ps, None)
        };
        let at_host = topology.node(port.node).is_host;
        let stream = Stream::new(job.seed, "shaper", i as u64);
        let shaper = shaping::shaper(job.shaper, at_host, full_frame, stream)?;
        let queueing = if at_host {
            Queueing::Fifo {
                discipline: Discipline::DropTail(DropTail::packets(job.host.queue_packets)),
                leaves: BufferRelease::EndOfService,
            }
        } else {
            let port_queue = PortQueue {
                queue: &job.queue,
                own_limit_bytes: port.options.limit_bytes,
                full_frame,
                rate: shaper.as_ref().map_or(rate, Shaper::rate),
                seed: job.seed,
                port: i as u64,
            };
            queues::build(&port_queue, port.node, &shared)?
        };
        let clock_error_ppb =
            Stream::new(job.seed, "clock", i as u64).symmetric(job.link.clock_error_ppb);
        Ok(PortConfig {
            rate,
            clock_error_ppb,
            latency,
            far_processing,
            queueing,
            shaper,
            losses: losses.at(id),
            departure_first: job.switch.departure_first,
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

/// A host's way out: segments are processed one after another and reach the adapter a constant
/// latency later. What comes in is delayed by the port that leads to the host.
#[derive(Clone, Debug)]
pub struct HostOutput {
    /// what processes the segments
    pub server: Server,
    /// from there to the adapter
    pub latency: Duration,
    /// the switch where its packets enter the network, by node
    pub edge: u32,
}

/// Each host's way out.
pub fn outputs(job: &Job, topology: &Topology, timing: &Timing) -> Vec<HostOutput> {
    let output = |i: usize| HostOutput {
        server: Server::new(
            job.host.processing,
            Stream::new(job.seed, "host-out", i as u64),
        ),
        latency: timing.host_latency[i],
        edge: edge(topology, topology.hosts()[i]),
    };
    (0..topology.hosts().len()).map(output).collect()
}

/// The switch that a host is joined to by its first port, or itself where it has none.
fn edge(topology: &Topology, host: NodeId) -> u32 {
    let nic = topology.node(host).ports.first();
    nic.map_or(host, |nic| topology.far_node(*nic)).0
}

/// Refuses a distribution that cannot be.
pub fn check_processing(processing: Processing) -> Result<(), BuildError> {
    if let Processing::Uniform { min_ps, max_ps } = processing
        && min_ps > max_ps
    {
        let (field, problem) = ("host.processing.min", "is more than host.processing.max");
        let value = Duration::from_ps(min_ps);
        return Err(BuildError::new(
            field,
            value,
            problem,
            "give the smaller one as min",
        ));
    }
    Ok(())
}

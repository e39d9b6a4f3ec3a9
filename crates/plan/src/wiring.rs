//! Builds ports and hosts, with their delays, clocks and buffers, from the job.

use std::collections::HashSet;
use std::sync::Arc;

use fairport_net::discipline::DropTail;
use fairport_net::loss::Losses;
use fairport_net::port::PortConfig;
use fairport_net::processing::{Processing, Server};
use fairport_net::queue::{BufferRelease, CustomQueues, Discipline, NetworkContext, Queueing};
use fairport_net::shaper;
use fairport_net::stream::Stream;
use fairport_net::{BuildError, Limit, NodeId, PortId, QueueConfig, Topology};
use fairport_units::{Duration, Instant, Rate};
use serde::Serialize;

use crate::host_profile::{self, MeasuredHost, Tables};
use crate::job::Job;

/// Constants that are drawn once per run for links, hosts and ports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Timing {
    /// by link: added to the propagation delay
    pub link_extra: Vec<Duration>,
    /// by host number: time between an application and its adapter, in each direction
    pub host_latency: Vec<Duration>,
    /// by port: error of its clock, in parts of 10^9
    pub clock_errors_ppb: Vec<i32>,
}

impl Timing {
    pub(crate) fn new(job: &Job, topology: &Topology) -> Self {
        let draw = |component: &str, i: usize, spread: Duration| {
            Stream::new(job.seed, component, i as u64).span_up_to(spread)
        };
        let clock =
            |i: usize| Stream::new(job.seed, "clock", i as u64).symmetric(job.link.clock_error_ppb);
        let ports = topology.ports().len();
        let hosts = topology.hosts().len();
        Self {
            link_extra: (0..ports / 2)
                .map(|i| draw("link", i, job.link.delay_spread_ps))
                .collect(),
            host_latency: (0..hosts)
                .map(|i| job.host.delay_ps + draw("host", i, job.host.delay_spread_ps))
                .collect(),
            clock_errors_ppb: (0..ports).map(clock).collect(),
        }
    }
}

/// The rate of the link that leads away from a port.
pub(crate) fn link_rate(job: &Job, topology: &Topology, port: PortId) -> Rate {
    let own = topology.port(port).options.rate;
    own.unwrap_or(job.link.rate_bps)
}

/// The rate at which a port's queue is emptied: that of its link, or of its shaper if that is lower.
pub(crate) fn rate(job: &Job, topology: &Topology, port: PortId) -> Rate {
    let link = link_rate(job, topology, port);
    shaper_at(job, topology, port).map_or(link, |shaper| link.min(shaper.rate()))
}

/// The shaper of a port, if it has one.
fn shaper_at(job: &Job, topology: &Topology, port: PortId) -> Option<shaper::Config> {
    let at_host = topology.node(topology.port(port).node).is_host;
    job.shaper.filter(|shaper| shaper.is_at_hosts() || !at_host)
}

/// Builds the ports of a topology.
pub(crate) struct Wiring<'a> {
    pub(crate) job: &'a Job,
    pub(crate) topology: &'a Topology,
    timing: &'a Timing,
    losses: Losses<'a>,
    queues: NetworkContext<'a>,
    customs: &'a CustomQueues,
    full_frame: u32,
    /// by node: number of the host
    host_number: Vec<u32>,
}

impl<'a> Wiring<'a> {
    pub(crate) fn new(
        job: &'a Job,
        topology: &'a Topology,
        timing: &'a Timing,
        customs: &'a CustomQueues,
    ) -> Result<Self, BuildError> {
        let full_frame = job
            .link
            .framing
            .build()
            .buffered_bytes(job.link.mtu_bytes as u16);
        Ok(Self {
            job,
            topology,
            timing,
            losses: Losses::new(&job.losses, topology, job.seed)?,
            queues: NetworkContext::new(topology, job.seed, full_frame),
            customs,
            full_frame,
            host_number: topology.host_numbers(),
        })
    }

    /// Refuses hosts whose own output ports may hold 4 GiB or more, and ports that cannot be built.
    pub(crate) fn check(&self) -> Result<(), BuildError> {
        let limit = Limit::Packets(self.job.host.queue_packets);
        limit.countable("host.queue", self.full_frame)?;
        self.check_ports()
    }

    /// Builds one port of each kind and drops it, to find errors. Ports whose links have equal options differ only in
    /// their random numbers.
    fn check_ports(&self) -> Result<(), BuildError> {
        let is_custom = matches!(self.job.queue, QueueConfig::Custom(_));
        let mut checked = HashSet::new();
        // most ports are of the same kind as the port before
        let mut last = None;
        for (id, port) in (0..).zip(self.topology.ports()) {
            let options = port.options;
            let at_host = self.topology.node(port.node).is_host;
            let kind = (options.rate, options.delay, options.limit_bytes, at_host);
            if is_custom || (last != Some(kind) && checked.insert(kind)) {
                self.port(PortId(id))?;
            }
            last = Some(kind);
        }
        Ok(())
    }

    /// See [`rate`].
    pub(crate) fn rate(&self, port: PortId) -> Rate {
        rate(self.job, self.topology, port)
    }

    /// The configuration of a port.
    pub(crate) fn port(&self, id: PortId) -> Result<PortConfig, BuildError> {
        let (job, topology) = (self.job, self.topology);
        let port = topology.port(id);
        let line = link_rate(job, topology, id);
        check_rate(line, job.link.clock_error_ppb)?;
        let (latency, far_processing) = self.far_end(id);
        let stream = || Stream::new(job.seed, "shaper", u64::from(id.0));
        let shaper = shaper_at(job, topology, id)
            .map(|shaper| shaper.build(self.full_frame, stream()))
            .transpose()?;
        let queueing = if topology.node(port.node).is_host {
            Queueing::Fifo {
                discipline: Discipline::DropTail(DropTail::packets(job.host.queue_packets)),
                release: BufferRelease::EndOfService,
            }
        } else {
            let context = self.queues.port(id, self.rate(id));
            job.queue.build(&context, self.customs)?
        };
        Ok(PortConfig {
            rate: line,
            clock_error_ppb: self.timing.clock_errors_ppb[id.0 as usize],
            latency,
            far_processing,
            queueing,
            shaper,
            losses: self.losses.at(id),
            departure_first: job.switch.departure_first,
        })
    }

    /// The constant delays of a packet that a host sends along a path.
    pub(crate) fn delay(&self, host: u32, path: &[PortId]) -> Duration {
        let links = path.iter().map(|port| self.far_end(*port).0);
        self.timing.host_latency[host as usize] + links.sum()
    }

    /// The far end of a port's link, from the last bit's departure to the next node's decision: the constant part of
    /// the delay, and the server that processes packets there.
    fn far_end(&self, id: PortId) -> (Duration, Option<Server>) {
        let (job, topology) = (self.job, self.topology);
        let port = topology.port(id);
        let far = topology.far_node(id);
        if far == port.node {
            // a forwarding host's own packets on their way to its adapter
            return (Duration::ZERO, None);
        }
        let propagation = port.options.delay.unwrap_or(job.link.delay_ps);
        let link = propagation + self.timing.link_extra[id.0 as usize / 2];
        if !topology.node(far).is_host {
            return (link + job.switch.processing_delay_ps, None);
        }
        let host = self.host_number[far.0 as usize];
        let link = link + self.timing.host_latency[host as usize];
        let processing = match job.host.profile {
            // a measured time runs from an arrival to the answer, so it counts completely when the host sends
            Some(_) if job.host.jitter_ps.max(job.host.interrupt_interval_ps) == Duration::ZERO => {
                return (link, None);
            }
            Some(_) => Processing::NONE,
            None => job.host.processing,
        };
        // each link into a host has its own random stream
        let adapter = u64::from(topology.port(port.peer).number);
        let stream = Stream::new(job.seed, "host-in", adapter << 32 | u64::from(host));
        let server = Server::new(processing, stream)
            .with_interrupt_interval(job.host.interrupt_interval_ps)
            .with_jitter(job.host.jitter_ps);
        (link, Some(server))
    }
}

fn check_rate(rate: Rate, clock_error_ppb: u32) -> Result<(), BuildError> {
    /// Lowest rate for which the fixed-point time of a byte fits, with some margin ([`fairport_units::Serializer`]).
    const SLOWEST_NANO_BPS: u128 = 1_900_000_000_000;
    let slow_clock = 1_000_000_000_u128.saturating_sub(u128::from(clock_error_ppb));
    if u128::from(rate.as_bps()) * slow_clock < SLOWEST_NANO_BPS {
        let value = format!("{} bit/s", rate.as_bps());
        let remedy = "give a rate of at least 2 kbit/s, such as \"1Gbps\", and a small clock_error";
        return Err(BuildError::new(
            "link.rate",
            value,
            "is too slow for a link",
            remedy,
        ));
    }
    Ok(())
}

/// The time that a host needs to send.
#[derive(Clone, Debug)]
pub enum HostTime {
    /// Segments are processed one after another. Incoming packets are delayed by the port that leads to the host.
    Drawn(Server),
    /// Measured times from an arrival to the answer.
    Measured(Box<MeasuredHost>),
}

impl HostTime {
    /// When everything that was sent so far will have left.
    pub fn free_at(&self) -> Instant {
        match self {
            Self::Drawn(server) => server.free_at(),
            Self::Measured(host) => host.free_at(),
        }
    }
}

/// The output side of a host.
#[derive(Clone, Debug)]
pub struct HostOutput {
    /// time that it needs to send
    pub time: HostTime,
    /// latency after that, up to the adapter
    pub latency: Duration,
    /// node number of the switch where its packets enter the network
    pub edge: u32,
    /// the ports at which its own packets arrive first: those of its adapters; of a host that forwards, the port that
    /// leads to itself
    pub adapters: Vec<PortId>,
    /// number of packets that each adapter's queue holds
    pub queue_packets: u32,
}

/// The output side of each host.
pub(crate) fn outputs(job: &Job, topology: &Topology, timing: &Timing) -> Vec<HostOutput> {
    let tables = job.host.profile.as_ref();
    let tables = tables.map(|profile| Arc::new(Tables::new(profile)));
    let time = |host: NodeId, stream| match &tables {
        None => HostTime::Drawn(Server::new(job.host.processing, stream)),
        Some(tables) => {
            let ports = topology.node(host).ports.iter();
            let fastest = ports.map(|port| rate(job, topology, *port)).max();
            let keeps = host_profile::keeps(fastest.unwrap_or_default());
            let tables = Arc::clone(tables);
            HostTime::Measured(Box::new(MeasuredHost::new(tables, stream, keeps)))
        }
    };
    let adapters = |host: NodeId| match topology.own_port(host) {
        Some(own) => vec![own],
        None => topology.node(host).ports.clone(),
    };
    let output = |i: usize| HostOutput {
        time: time(
            topology.hosts()[i],
            Stream::new(job.seed, "host-out", i as u64),
        ),
        latency: timing.host_latency[i],
        edge: edge(topology, topology.hosts()[i]),
        queue_packets: job.host.queue_packets,
        adapters: adapters(topology.hosts()[i]),
    };
    (0..topology.hosts().len()).map(output).collect()
}

/// The switch at the far end of a host's first port; the host itself if it has no port.
fn edge(topology: &Topology, host: NodeId) -> u32 {
    let nic = topology.node(host).ports.first();
    nic.map_or(host, |nic| topology.far_node(*nic)).0
}

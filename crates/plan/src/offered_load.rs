//! The load that a run's traffic offers to every port, as far as it does not depend on what the network carries.
//!
//! This is the traffic of UDP sources and of Poisson arrivals: they go on whatever the network does with what they have
//! sent. Other flows send what they have room for, and no load of theirs is known before the run. ACKs and
//! retransmissions come on top of the load.
//!
//! Each UDP flow loads its own path. The flows of Poisson arrivals are many, and load what their hosts' routing gives on
//! average.

use fairport_net::routing::Demand;
use fairport_net::{PortId, Topology};
use fairport_units::{Duration, Instant};
use serde::Serialize;

use crate::ends::{HostNumbers, workload_ends};
use crate::flow::ListedFlow;
use crate::job::Job;
use crate::job::workload::{PoissonJob, WorkloadJob, WorkloadPattern};
use crate::router::Router;
use crate::udp::Udp;
use crate::wiring;
use crate::workload::Ends;

/// The port that is offered the largest share of its rate, at the time when it is offered most.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FullestLink {
    /// name of the port
    pub port: String,
    /// name of the node at the other end of its link
    pub to: String,
    /// what it is offered, in bit/s on the link: with headers, preamble and gap
    pub offered_bps: f64,
    /// rate of its link, or of its shaper if that is lower
    pub rate_bps: u64,
    /// number of ports that are offered more than their rate
    pub overfilled_ports: usize,
}

/// What loads some ports for some time.
struct Part {
    start: Instant,
    stop: Instant,
    /// in bit/s
    load: Vec<(PortId, f64)>,
}

/// Computes what the traffic of a plan offers.
pub(crate) struct Offered<'a> {
    pub(crate) job: &'a Job,
    pub(crate) topology: &'a Topology,
    pub(crate) router: &'a mut Router,
    pub(crate) flows: &'a [ListedFlow],
}

impl Offered<'_> {
    /// The fullest of all ports; none if no traffic has a load of its own.
    pub(crate) fn fullest_link(self) -> Option<FullestLink> {
        /// Sums of the same parts in another order differ by less.
        const ROUNDING: f64 = 1e-9;
        let (job, topology) = (self.job, self.topology);
        let offered = self.by_port()?;
        let rate_bps = |port: &PortId| wiring::rate(job, topology, *port).as_bps();
        let share = |port: &PortId| offered[port.0 as usize] / rate_bps(port) as f64;
        let links = || topology.port_ids().filter(|port| topology.leads_on(*port));
        let fullest = links().map(|port| share(&port)).fold(0.0, f64::max);
        if fullest == 0.0 {
            return None;
        }
        // of equally full ports the first
        let port = links().find(|port| share(port) >= fullest * (1.0 - ROUNDING))?;
        Some(FullestLink {
            port: topology.port_name(port),
            to: topology.node(topology.far_node(port)).name.clone(),
            offered_bps: offered[port.0 as usize],
            rate_bps: rate_bps(&port),
            overfilled_ports: links().filter(|port| share(port) > 1.0 + ROUNDING).count(),
        })
    }

    /// By port: what it is offered when it is offered most, in bit/s on the link. None if no traffic has a load of its
    /// own.
    pub(crate) fn by_port(mut self) -> Option<Vec<f64>> {
        let (job, topology) = (self.job, self.topology);
        let mut parts = Vec::new();
        for (number, flow) in (0..).zip(self.flows) {
            if let Some(source) = flow.spec.application.datagrams() {
                parts.push(self.udp(number, flow, &source));
            }
        }
        let is_poisson = |one: &WorkloadJob| matches!(one.pattern, WorkloadPattern::Poisson(_));
        if job.workloads.iter().any(is_poisson) {
            let ends = workload_ends(job, topology, &HostNumbers::new(topology)).expect("checked");
            for (workload, ends) in job.workloads.iter().zip(&ends) {
                if let WorkloadPattern::Poisson(pattern) = &workload.pattern {
                    parts.push(self.poisson(workload, pattern, ends));
                }
            }
        }
        let end = Instant::ZERO + job.duration_ps;
        parts.retain(|part| part.start < part.stop.min(end));
        (!parts.is_empty()).then(|| most(&parts, topology))
    }

    fn udp(&mut self, number: u32, flow: &ListedFlow, source: &Udp) -> Part {
        let spec = &flow.spec;
        let on = source.on_share();
        let bps = source.link_bps(self.job.link.framing.build()) * on;
        let paths = self
            .router
            .forward(self.topology, number, spec.hosts(), spec.protocol());
        // if there are several paths, each carries an equal part
        let each_bps = bps / paths.len() as f64;
        let ports = paths.into_iter().flatten();
        part(
            [flow.start, flow.stop.unwrap_or(Instant::NEVER)],
            spec.application
                .size_bytes()
                .map(|bytes| 8.0 * bytes as f64),
            source.rate.as_bps() as f64 * on,
            ports.map(|port| (port, each_bps)).collect(),
        )
    }

    fn poisson(&mut self, workload: &WorkloadJob, pattern: &PoissonJob, ends: &Ends) -> Part {
        let capacity_bps = pattern.capacity_bps.unwrap_or(ends.senders_bps);
        let payload_bps = pattern.load_ppm as f64 / 1e6 * capacity_bps as f64;
        let bps = payload_bps * full_packet_share(self.job) / ends.senders.len() as f64;
        let hosts = self.topology.hosts().len();
        let mut receives = vec![false; hosts];
        for receiver in &ends.receivers {
            receives[receiver.host as usize] = true;
        }
        let mut to_each_bps = vec![0.0; hosts];
        for sender in ends.senders.iter().map(|sender| sender.host as usize) {
            let others = ends.receivers.len() - usize::from(receives[sender]);
            to_each_bps[sender] = bps / others as f64;
        }
        let demand = Demand {
            to_each_bps,
            receives,
        };
        let mean_bytes = pattern.sizes.distribution().mean_bytes();
        part(
            [
                workload.start_ps,
                workload.stop_ps.unwrap_or(Instant::NEVER),
            ],
            pattern.flows.map(|flows| 8.0 * mean_bytes * flows as f64),
            payload_bps,
            self.router.expected_load(self.topology, &demand),
        )
    }
}

/// By port, the most that the parts offer at any time.
fn most(parts: &[Part], topology: &Topology) -> Vec<f64> {
    let mut changes: Vec<(Instant, bool, &Part)> = parts
        .iter()
        .flat_map(|part| [(part.start, true, part), (part.stop, false, part)])
        .collect();
    // what ends at an instant is gone before something else begins
    changes.sort_by_key(|(at, begins, _)| (*at, *begins));
    let [mut now, mut most] = [0, 1].map(|_| vec![0.0_f64; topology.ports().len()]);
    for (_, begins, part) in changes {
        for (port, bps) in &part.load {
            let (now, most) = (&mut now[port.0 as usize], &mut most[port.0 as usize]);
            *now += if begins { *bps } else { -bps };
            *most = most.max(*now);
        }
    }
    most
}

/// From the start to the first of the given ends, and the end of so many bits of payload.
fn part(
    [start, stop]: [Instant; 2],
    bits: Option<f64>,
    payload_bps: f64,
    load: Vec<(PortId, f64)>,
) -> Part {
    let lasts = bits.map(|bits| Duration::from_ps((1e12 * bits / payload_bps) as u64));
    let sent = lasts.map_or(Instant::NEVER, |lasts| start + lasts);
    Part {
        start,
        stop: stop.min(sent),
        load,
    }
}

/// Bytes on the link per byte of payload in a TCP packet of the MTU's size. Shorter packets have more.
fn full_packet_share(job: &Job) -> f64 {
    /// headers of IPv4 and TCP without options
    const HEADER_BYTES: u32 = 40;
    let mtu_bytes = job.link.mtu_bytes;
    let payload_bytes = mtu_bytes.saturating_sub(HEADER_BYTES).max(1);
    let wire_bytes = job.link.framing.build().wire_bytes(mtu_bytes as u16);
    f64::from(wire_bytes) / f64::from(payload_bytes)
}

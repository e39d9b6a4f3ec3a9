//! Estimates of how much a run will carry and record, from which its memory is estimated.
//!
//! These counts follow from the plan alone. The driver, which stores the rows, knows how many bytes each takes.

use fairport_net::routing::Protocol;
use fairport_net::{PortId, Topology};
use fairport_units::{Duration, Instant};
use serde::Serialize;

use crate::flow::{End, ListedFlow};
use crate::router::Router;
use crate::udp::Udp;
use crate::watch::Watch;
use crate::wiring::Wiring;
use crate::workload::Workloads;

/// What a run is expected to carry and to record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Expected {
    /// number of flows, both listed and started by workloads
    pub flows: u64,
    /// number of flows whose samples are all recorded
    pub watched_flows: u64,
    /// number of rounds and requests of workloads
    pub logged: u64,
    /// memory of the listed flows' routes in bytes
    pub route_bytes: u64,
    /// number of rows of the flows' series
    pub series_rows: u64,
    /// number of rows of the ports' queue samples
    pub queue_rows: u64,
    /// number of packets dropped
    pub drops: u64,
    /// sum, over all nodes, of the square of the node's number of ports: counts kept by output port and ingress port
    pub port_pairs: u64,
    /// memory of the empty queues of all switch ports in bytes
    pub queue_bytes: u64,
}

impl Expected {
    pub(crate) fn new(
        wiring: &Wiring<'_>,
        router: &mut Router,
        listed: &[ListedFlow],
        workloads: &Workloads,
        watch: &Watch,
    ) -> Self {
        let (job, topology) = (wiring.job, wiring.topology);
        let mut trip = |from: End, to: End| {
            let paths = router.forward(topology, 0, [from.host, to.host], Protocol::Tcp);
            let delays = paths.iter().map(|path| wiring.delay(from.host, path));
            delays.min().unwrap_or(Duration::ZERO)
        };
        let generated = workloads.expected(&mut trip);
        let flows = (listed.len() as u64).saturating_add(generated.flows);
        let watched_flows = flows.min(u64::from(job.probes.watched_flows));
        let rows = |interval: Duration| job.duration_ps.as_ps() / interval.as_ps().max(1);
        let ports = topology.nodes().iter().map(|node| node.ports.len() as u64);
        let switches = topology.nodes().iter().filter(|node| !node.is_host);
        let switch_ports: u64 = switches.map(|node| node.ports.len() as u64).sum();
        let hosts = topology.hosts().len() as u64;
        Self {
            flows,
            watched_flows,
            logged: generated.logged,
            route_bytes: route_bytes(topology, router, listed),
            series_rows: rows(job.probes.series_interval_ps).saturating_mul(watched_flows),
            queue_rows: rows(job.probes.queue_interval_ps)
                .saturating_mul(watch.queues.len() as u64),
            drops: tcp_drops(wiring, router, listed, watch)
                .saturating_add(udp_drops(wiring, router, listed)),
            port_pairs: ports.map(|ports| ports * ports).sum(),
            queue_bytes: switch_ports.saturating_mul(job.queue.state_bytes(hosts)),
        }
    }
}

/// Memory of the routes of all listed flows in bytes. If there are many flows, an evenly
/// chosen part of them is measured and scaled up.
fn route_bytes(topology: &Topology, router: &mut Router, listed: &[ListedFlow]) -> u64 {
    const MOST: usize = 100;
    let step = listed.len().div_ceil(MOST).max(1);
    let flows = (0..).zip(listed).step_by(step);
    let (mut bytes, mut count) = (0, 0);
    for (number, flow) in flows {
        let paths = router.paths(topology, number, flow.spec.hosts(), flow.spec.protocol());
        bytes += paths.bytes();
        count += 1;
    }
    bytes * listed.len() as u64 / count.max(1)
}

/// One in ten packets of one saturated link, the fastest that flows share: more drops than any run with TCP has shown.
/// Nothing saturates a link that is faster than all flows together.
fn tcp_drops(
    wiring: &Wiring<'_>,
    router: &mut Router,
    listed: &[ListedFlow],
    watch: &Watch,
) -> u64 {
    let (job, topology) = (wiring.job, wiring.topology);
    let bps = |port: &PortId| wiring.rate(*port).as_bps();
    let ports = watch.queues.iter().chain([&watch.traced]);
    let fastest_bps = ports.map(bps).max().unwrap_or(0);
    // how fast the flows of workloads may be is not known
    let mut offered_bps = if job.workloads.is_empty() {
        0
    } else {
        fastest_bps
    };
    for (number, flow) in (0..).zip(listed) {
        if offered_bps >= fastest_bps {
            break;
        }
        if flow.spec.protocol() == Protocol::Tcp {
            let paths = router.forward(topology, number, flow.spec.hosts(), Protocol::Tcp);
            let slowest = paths.iter().filter_map(|path| path.iter().map(bps).min());
            offered_bps = offered_bps.saturating_add(slowest.sum());
        }
    }
    let bits = job.duration_ps.as_secs_f64() * fastest_bps.min(offered_bps) as f64;
    let packets = bits / (8.0 * f64::from(job.link.mtu_bytes.max(1)));
    (packets / 10.0) as u64
}

/// Datagrams of UDP sources that are dropped, since the sources do not slow down. At each port these are the part of
/// the sources' total rate, while they are on, that exceeds the port's rate.
fn udp_drops(wiring: &Wiring<'_>, router: &mut Router, listed: &[ListedFlow]) -> u64 {
    let (job, topology) = (wiring.job, wiring.topology);
    let end = Instant::ZERO + job.duration_ps;
    let framing = job.link.framing.build();
    let mut offered_bps = vec![0.0; topology.ports().len()];
    let mut sources = Vec::new();
    for (number, flow) in (0..).zip(listed) {
        let Some(source) = flow.spec.application.datagrams() else {
            continue;
        };
        let datagrams = datagrams(&source, flow, end);
        let bps = source.link_bps(framing);
        // if there are several paths, each carries an equal part
        let paths = router.forward(topology, number, flow.spec.hosts(), Protocol::Udp);
        for port in paths.iter().flatten() {
            offered_bps[port.0 as usize] += bps / paths.len() as f64;
        }
        // not its paths: those of tens of thousands of sprayed flows would fill the memory
        sources.push((datagrams, number, flow));
    }
    let fits = |port: &PortId| {
        let capacity_bps = wiring.rate(*port).as_bps() as f64;
        (capacity_bps / offered_bps[port.0 as usize]).min(1.0)
    };
    let dropped = sources.into_iter().map(|(datagrams, number, flow)| {
        let paths = router.forward(topology, number, flow.spec.hosts(), Protocol::Udp);
        let fits = paths.iter().flatten().map(fits).fold(1.0, f64::min);
        (datagrams as f64 * (1.0 - fits)) as u64
    });
    dropped.fold(0, u64::saturating_add)
}

/// Approximate number of datagrams that a source sends by the end of the run.
fn datagrams(source: &Udp, flow: &ListedFlow, end: Instant) -> u64 {
    let until = flow.stop.unwrap_or(end).min(end);
    let span = until.saturating_sub(flow.start);
    let in_time = span.as_ps() as f64 * source.on_share() / source.gap().as_ps().max(1) as f64;
    let payload = u64::from(source.payload_bytes.max(1));
    let of_size = flow
        .spec
        .application
        .size_bytes()
        .map(|bytes| bytes.div_ceil(payload));
    (in_time as u64).min(of_size.unwrap_or(u64::MAX))
}

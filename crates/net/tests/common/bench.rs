//! Networks in which every other host sends to the first, and a log of the packets that arrive at their ports.

use fairport_net::arbitration::{Arbiter, Rule};
use fairport_net::discipline::{Admission, Backlog, DropTail};
use fairport_net::framing::Framing;
use fairport_net::port::PortConfig;
use fairport_net::processing::{Processing, Server};
use fairport_net::queue::{BufferRelease, Discipline, Queueing};
use fairport_net::routing::{DestinationSuffix, Routes};
use fairport_net::stream::Stream;
use fairport_net::{
    Access, Arrival, Counts, Header, Hosts, Network, NodeId, Observer, Packet, PortId, Topology,
};
use fairport_units::{Duration, Instant, Rate};

pub(crate) const GIGABIT: Rate = Rate::from_bps(1_000_000_000);

/// The content of a packet in these tests: its number.
pub(crate) type Number = u64;

/// An observer that keeps every arrival of a packet at a port, or only the drops.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) drops_only: bool,
    pub(crate) rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) time: Instant,
    pub(crate) port: PortId,
    pub(crate) ingress: PortId,
    pub(crate) number: Number,
    pub(crate) accepted: bool,
    pub(crate) depart: Instant,
    pub(crate) wire_bytes: u32,
    pub(crate) backlog: Backlog,
    pub(crate) counts: Counts,
}

impl Observer<Number> for Log {
    type PortState = ();

    fn watches(&self, _: PortId) -> bool {
        !self.drops_only
    }

    fn detail(&mut self, arrival: &Arrival<'_, Number>) {
        self.rows.push(Row {
            time: arrival.time,
            port: arrival.port,
            ingress: arrival.ingress,
            number: *arrival.content,
            accepted: arrival.admission == Admission::Accepted,
            depart: arrival.depart,
            wire_bytes: Framing::ETHERNET.wire_bytes(arrival.header.size_bytes),
            backlog: arrival.backlog,
            counts: (arrival.counts)(),
        });
    }
}

/// Hosts that only receive.
#[derive(Default)]
pub(crate) struct Sinks {
    pub(crate) received: Vec<(Instant, NodeId, Number)>,
}

impl Hosts<Number, Log> for Sinks {
    fn horizon(&self) -> Instant {
        Instant::NEVER
    }

    fn receive(&mut self, network: Access<'_, Number, Log>, host: NodeId, packet: &Packet<Number>) {
        self.received.push((network.now(), host, packet.content));
    }
}

pub(crate) struct Bench {
    pub(crate) network: Network<Number, Log>,
    pub(crate) routes: Vec<u32>,
    pub(crate) sinks: Sinks,
}

/// A network in which every other host sends to the first, with buffers of `limit_packets` per port.
pub(crate) fn bench(
    topology: &Topology,
    limit_packets: u32,
    rule: Rule,
    latency: Duration,
) -> Bench {
    bench_of_rates(topology, limit_packets, rule, latency, |_| GIGABIT)
}

/// A network like that of [`bench`], with a rate for each port.
pub(crate) fn bench_of_rates(
    topology: &Topology,
    limit_packets: u32,
    rule: Rule,
    latency: Duration,
    rate: impl Fn(PortId) -> Rate,
) -> Bench {
    bench_of_ports(topology, rule, |id| {
        drop_tail_port(id, limit_packets, rate(id), latency)
    })
}

/// A port with a buffer of `limit_packets`, the packet in service included.
pub(crate) fn drop_tail_port(
    id: PortId,
    limit_packets: u32,
    rate: Rate,
    latency: Duration,
) -> PortConfig {
    let stream = Stream::new(1, "test", u64::from(id.0));
    PortConfig {
        rate,
        clock_error_ppb: 0,
        latency,
        far_processing: Some(Server::new(Processing::NONE, stream)),
        queueing: Queueing::Fifo {
            discipline: Discipline::DropTail(DropTail::packets(limit_packets)),
            release: BufferRelease::EndOfService,
        },
        shaper: None,
        losses: Vec::new(),
        departure_first: true,
    }
}

/// A network in which every other host sends to the first, with ports that `port` makes.
pub(crate) fn bench_of_ports(
    topology: &Topology,
    rule: Rule,
    port: impl Fn(PortId) -> PortConfig,
) -> Bench {
    let mut routing = DestinationSuffix::new(topology);
    let mut routes = Routes::default();
    let starts: Vec<u32> = (1..topology.hosts().len())
        .map(|source| routes.add(&routing.path(topology, source, 0).unwrap()))
        .collect();
    let ports = topology.ports().len();
    let network = Network::new(
        topology,
        topology.port_ids().map(port).collect(),
        routes,
        Framing::ETHERNET,
        Arbiter::new(rule, ports, 1),
        Log::default(),
    );
    Bench {
        network,
        routes: starts,
        sinks: Sinks::default(),
    }
}

/// The switch's port to the first host of a star.
pub(crate) fn to_receiver(star: &Topology) -> PortId {
    star.port(star.node(star.hosts()[0]).ports[0]).peer
}

impl Bench {
    pub(crate) fn send(&mut self, at: Instant, sender: usize, size_bytes: u16, number: Number) {
        self.send_ecn(at, sender, size_bytes, number, 0);
    }

    /// Sends a packet with an ECN codepoint.
    pub(crate) fn send_ecn(
        &mut self,
        at: Instant,
        sender: usize,
        size_bytes: u16,
        number: Number,
        ecn: u8,
    ) {
        let header = Header {
            flow: sender as u32,
            route: self.routes[sender],
            size_bytes,
            ecn,
            ..Header::default()
        };
        let content = number;
        self.network.inject(at, Packet { header, content });
    }

    /// Sends eight frames within 104 us. A slow port takes 123 us for each.
    pub(crate) fn send_crowd(&mut self) {
        for number in 1..=8 {
            self.send(Instant::from_us(13 * number), 0, 1500, number);
        }
    }

    /// Sends numbered packets, each given by its sender, its size in bytes, and the ns since the sender's last one.
    pub(crate) fn send_all(&mut self, sends: &[(usize, u16, u64)]) {
        let mut clocks = [Instant::ZERO; 15];
        for (number, (sender, size_bytes, gap_ns)) in sends.iter().enumerate() {
            clocks[*sender] += Duration::from_ns(*gap_ns);
            self.send(clocks[*sender], *sender, *size_bytes, number as u64);
        }
    }

    pub(crate) fn run(&mut self) {
        self.network
            .advance(Instant::NEVER, u64::MAX, &mut self.sinks);
        self.network.assert_conservation();
    }
}

//! A switch port that is watched, and packets that arrive at it; and a whole network whose hosts only receive.

use fairport_net::arbitration::{Arbiter, Rule};
use fairport_net::discipline::{Admission, Backlog, DropTail, Reason};
use fairport_net::framing::Framing;
use fairport_net::port::PortConfig;
use fairport_net::queue::{BufferRelease, Discipline, Queueing};
use fairport_net::routing::{DestinationSuffix, Routes};
use fairport_net::topology::star;
use fairport_net::{
    Access, Addresses, Arrival, Counts, Header, Hosts, Network, NodeId, Observer, Packet, PortId,
    Topology,
};
use fairport_record::{Column, Content, PacketLog, Recorder, Table};
use fairport_units::{Duration, Instant, Rate};

pub(crate) const ACCEPTED: Admission = Admission::Accepted;
pub(crate) const FULL: Admission = Admission::Dropped(Reason::Full);
pub(crate) const END: Instant = Instant::from_ms(1);
pub(crate) const FRAME_BYTES: u32 = 1518;

/// A packet's content: its sequence number.
#[derive(Clone, Copy)]
pub(crate) struct Number(pub(crate) u32);

impl Content for Number {
    fn seq(&self) -> u32 {
        self.0
    }

    fn is_pure_ack(&self) -> bool {
        false
    }

    fn identity(&self) -> u64 {
        0
    }
}

/// A full packet of a flow.
pub(crate) fn header(flow: u32, route: u32, output: PortId) -> Header {
    Header {
        flow,
        route,
        output,
        size_bytes: 1500,
        ..Header::default()
    }
}

/// Hosts that only receive.
pub(crate) struct Sinks;

impl<P: Copy, O: Observer<P>> Hosts<P, O> for Sinks {
    fn horizon(&self) -> Instant {
        Instant::NEVER
    }

    fn receive(&mut self, _: Access<'_, P, O>, _: NodeId, _: &Packet<P>) {}
}

/// A network whose ports send at 1 Gbit/s and hold so many packets besides, and a route from each host to the first one.
pub(crate) fn network<P: Copy, O: Observer<P>>(
    topology: &Topology,
    limit_packets: u32,
    observer: O,
) -> (Network<P, O>, Vec<u32>) {
    let mut routing = DestinationSuffix::new(topology);
    let mut routes = Routes::default();
    let starts = (1..topology.hosts().len())
        .map(|source| routes.add(&routing.path(topology, source, 0).expect("a path")))
        .collect();
    let port = |_| PortConfig {
        rate: Rate::from_bps(1_000_000_000),
        clock_error_ppb: 0,
        latency: Duration::from_us(1),
        far_processing: None,
        queueing: Queueing::Fifo {
            discipline: Discipline::DropTail(DropTail::packets(limit_packets)),
            release: BufferRelease::StartOfService,
        },
        shaper: None,
        losses: Vec::new(),
        departure_first: true,
    };
    let count = topology.ports().len();
    let ports = (0..count).map(port).collect();
    let arbiter = Arbiter::new(Rule::RoundRobin, count, 1);
    let network = Network::new(
        topology,
        ports,
        routes,
        Framing::ETHERNET,
        arbiter,
        observer,
    );
    (network, starts)
}

/// The switch's port to host 0, watched; packets come from the hosts 1 to 3, as flows of these numbers.
pub(crate) struct Watched {
    pub(crate) recorder: Recorder,
    pub(crate) log: PacketLog,
    pub(crate) port: PortId,
    pub(crate) ingress: Vec<PortId>,
    pub(crate) now: Instant,
    pub(crate) arrivals: u64,
    pub(crate) accepted: u64,
}

impl Watched {
    pub(crate) fn new() -> Self {
        Self::among(4)
    }

    /// At a switch with so many hosts.
    pub(crate) fn among(hosts: u32) -> Self {
        let topology: Topology = star(hosts).expect("a star");
        let switch = topology
            .ports()
            .iter()
            .position(|port| !topology.node(port.node).is_host);
        let switch = topology.ports()[switch.expect("a switch")].node;
        let ports = topology.node(switch).ports.clone();
        let mut recorder = Recorder::new(&topology, ports[0], END);
        (0..hosts).for_each(|host| recorder.add_flow(host));
        Self {
            recorder,
            log: PacketLog::new([ports[0]], Instant::from_us(3), Instant::from_us(5)),
            port: ports[0],
            ingress: ports,
            now: Instant::ZERO,
            arrivals: 0,
            accepted: 0,
        }
    }

    /// The next packet of a host, a microsecond after the one before. It leaves at `depart`.
    pub(crate) fn arrive(&mut self, host: usize, admission: Admission, depart: Instant) {
        self.now += Duration::from_us(1);
        self.arrivals += 1;
        self.report(host, admission, depart, self.arrivals, false);
        self.accepted += u64::from(admission.is_accepted());
    }

    pub(crate) fn report(
        &mut self,
        host: usize,
        admission: Admission,
        depart: Instant,
        n: u64,
        again: bool,
    ) {
        let header = header(host as u32, 0, self.port);
        let addresses = Addresses {
            source: host as u32,
            destination: 0,
        };
        let arrival = Arrival {
            time: self.now,
            port: self.port,
            ingress: self.ingress[host],
            header: &header,
            content: &Number(1000 + n as u32),
            addresses: &|| addresses,
            frame_bytes: FRAME_BYTES,
            backlog: Backlog {
                bytes: 3 * FRAME_BYTES,
                packets: 3,
            },
            admission,
            depart,
            port_arrival: n,
            counts: &|| Counts {
                port_arrival: n,
                ingress_arrival: n + 20,
                flow_arrival: n + 40,
                port_accepted: self.accepted,
            },
        };
        if again {
            self.recorder.revised(&arrival);
            self.log.revised(&arrival);
        } else {
            self.recorder.detail(&arrival);
            self.log.arrived(&arrival);
        }
    }

    /// The n-th arrival of the port leaves.
    pub(crate) fn departs(&mut self, n: u64, depart: Instant) {
        let header = header(0, 0, self.port);
        let content = Number(0);
        self.recorder
            .departs(self.port, &Packet { header, content }, n, depart);
        self.log.departs(self.port, n, depart);
    }

    /// Each of these is from a host: accepted (it leaves at once) or dropped.
    pub(crate) fn all(&mut self, packets: &[(usize, Admission)]) {
        for (host, admission) in packets {
            self.arrive(*host, *admission, self.now + Duration::from_us(2));
        }
    }

    pub(crate) fn trace(self) -> Table {
        let [_, _, trace] = self.recorder.into_tables();
        trace
    }
}

pub(crate) fn numbers(table: &Table, name: &str) -> Vec<u64> {
    match table.column(name).expect("a column") {
        Column::U8(values) => values.iter().map(|value| u64::from(*value)).collect(),
        Column::U32(values) => values.iter().map(|value| u64::from(*value)).collect(),
        Column::U64(values) => values.clone(),
        Column::F64(values) => values
            .iter()
            .map(|value| (value * 1e6).round() as u64)
            .collect(),
    }
}

pub(crate) fn times_us(table: &Table, name: &str) -> Vec<Option<u64>> {
    let Some(Column::F64(values)) = table.column(name) else {
        panic!("{name} is not a time")
    };
    let known = values
        .iter()
        .map(|value| (!value.is_nan()).then(|| (value * 1e6).round() as u64));
    known.collect()
}

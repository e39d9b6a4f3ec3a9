//! A network of one switch, whose port to the receiver has the queue under test; and the laws of queues.

pub(crate) mod bench;
pub(crate) mod queues;

use std::collections::BTreeMap;

use fairport_net::arbitration::{Arbiter, Rule};
use fairport_net::discipline::{Admission, Reason};
use fairport_net::framing::Framing;
use fairport_net::loss::Loss;
use fairport_net::port::PortConfig;
use fairport_net::queue::{CustomQueues, NetworkContext, QueueConfig};
use fairport_net::routing::{DestinationSuffix, Routes};
use fairport_net::shaper::Shaper;
use fairport_net::topology::LinkOptions;
use fairport_net::{
    Access, Arrival, Header, Hosts, Network, NodeId, Observer, Packet, PortId, Topology,
};
use fairport_units::{Duration, Instant, Rate};
use proptest::prelude::*;
use serde_json::{Value, json};

pub(crate) const SENDERS: usize = 4;
pub(crate) const LIMIT_PACKETS: u32 = 12;
pub(crate) const FULL_FRAME: u32 = 1518;

/// The content of a packet in these tests: its number.
pub(crate) type Number = usize;

/// What became of a packet at the switch's port to the receiver.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fate {
    pub(crate) arrived: Option<Instant>,
    pub(crate) departs: Option<Instant>,
    pub(crate) wire_bytes: u32,
    pub(crate) drops: u32,
    /// the drops that are losses in front of the queue
    pub(crate) losses: u32,
    pub(crate) counts: u64,
}

/// An observer that keeps every packet's fate at one port.
pub(crate) struct Log {
    pub(crate) port: PortId,
    pub(crate) fates: BTreeMap<Number, Fate>,
}

impl Log {
    fn note(&mut self, arrival: &Arrival<'_, Number>) {
        let fate = self.fates.entry(*arrival.content).or_default();
        fate.counts = arrival.port_arrival;
        fate.drops += u32::from(matches!(arrival.admission, Admission::Dropped(_)));
        fate.losses += u32::from(arrival.admission == Admission::Dropped(Reason::Loss));
    }
}

impl Observer<Number> for Log {
    type PortState = ();

    fn watches(&self, port: PortId) -> bool {
        port == self.port
    }

    fn detail(&mut self, arrival: &Arrival<'_, Number>) {
        self.note(arrival);
        let fate = self.fates.entry(*arrival.content).or_default();
        fate.arrived = Some(arrival.time);
        fate.wire_bytes = Framing::ETHERNET.wire_bytes(arrival.header.size_bytes);
        fate.departs = (arrival.depart < Instant::NEVER).then_some(arrival.depart);
    }

    fn revised(&mut self, arrival: &Arrival<'_, Number>) {
        let before = self.fates[arrival.content].counts;
        assert_eq!(
            before, arrival.port_arrival,
            "a packet keeps its own counts"
        );
        self.note(arrival);
    }

    fn departs(&mut self, _: PortId, packet: &Packet<Number>, port_arrival: u64, depart: Instant) {
        let fate = self.fates.entry(packet.content).or_default();
        assert_eq!((fate.counts, fate.drops), (port_arrival, 0));
        fate.departs = Some(depart);
    }
}

/// Hosts that only receive.
#[derive(Default)]
pub(crate) struct Sinks(pub(crate) Vec<Number>);

impl Hosts<Number, Log> for Sinks {
    fn horizon(&self) -> Instant {
        Instant::NEVER
    }

    fn receive(&mut self, _: Access<'_, Number, Log>, _: NodeId, packet: &Packet<Number>) {
        self.0.push(packet.content);
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Send {
    pub(crate) sender: usize,
    pub(crate) size_bytes: u16,
    pub(crate) gap_ns: u64,
    pub(crate) ecn: u8,
}

pub(crate) fn sends() -> impl Strategy<Value = Vec<Send>> {
    let one = (0..SENDERS, 40..1501_u16, 0..20_000_u64, 0..4_u8);
    let one = one.prop_map(|(sender, size_bytes, gap_ns, ecn)| Send {
        sender,
        size_bytes,
        gap_ns,
        ecn,
    });
    prop::collection::vec(one, 1..300)
}

/// The configuration of the switch's port to the receiver.
#[derive(Default)]
pub(crate) struct Setup {
    pub(crate) queue: Value,
    pub(crate) customs: CustomQueues,
    pub(crate) losses: Vec<Loss>,
    pub(crate) shaper: Option<Shaper>,
    pub(crate) departure_first: bool,
}

impl Setup {
    /// A port with this queue, without losses or a shaper.
    pub(crate) fn new(queue: &Value, departure_first: bool) -> Self {
        Self {
            queue: queue.clone(),
            departure_first,
            ..Self::default()
        }
    }

    /// One switch with four senders, which are hosts 1 to 4, and the receiver, host 0. All packets have
    /// been injected. Returns the network and the switch's port to the receiver.
    pub(crate) fn network(&self, sends: &[Send]) -> (Network<Number, Log>, PortId) {
        let mut topology = Topology::default();
        let hosts: Vec<NodeId> = (0..=SENDERS)
            .map(|n| topology.add_host(format!("h{n}")))
            .collect();
        let switch = topology.add_switch("s0");
        for host in &hosts {
            topology.connect(*host, switch, LinkOptions::default());
        }
        let bottleneck = topology.node(switch).ports[0];
        let mut routing = DestinationSuffix::new(&topology);
        let mut routes = Routes::default();
        let starts: Vec<u32> = (1..=SENDERS)
            .map(|source| routes.add(&routing.path(&topology, source, 0).unwrap()))
            .collect();
        let ports = self.ports(&topology, bottleneck);
        let count = ports.len();
        let log = Log {
            port: bottleneck,
            fates: BTreeMap::new(),
        };
        let arbiter = Arbiter::new(Rule::RoundRobin, count, 1);
        let mut network = Network::new(&topology, ports, routes, Framing::ETHERNET, arbiter, log);
        let mut clocks = [Instant::ZERO; SENDERS];
        for (number, send) in sends.iter().enumerate() {
            clocks[send.sender] += Duration::from_ns(send.gap_ns);
            let packet = Packet {
                header: Header {
                    flow: send.sender as u32,
                    route: starts[send.sender],
                    size_bytes: send.size_bytes,
                    ecn: send.ecn,
                    class: send.sender as u8 % 4,
                    ..Header::default()
                },
                content: number,
            };
            network.inject(clocks[send.sender], packet);
        }
        (network, bottleneck)
    }

    fn ports(&self, topology: &Topology, bottleneck: PortId) -> Vec<PortConfig> {
        let rate = Rate::from_bps(1_000_000_000);
        let context = NetworkContext::new(topology, 1, FULL_FRAME);
        let of_hosts =
            json!({"kind": "drop-tail", "limit": {"packets": 1000}, "count_in_service": false});
        let port = |id: PortId| {
            let is_bottleneck = id == bottleneck;
            let queue = if is_bottleneck {
                &self.queue
            } else {
                &of_hosts
            };
            let queue: QueueConfig = serde_json::from_value(queue.clone()).expect("a queue");
            PortConfig {
                rate,
                clock_error_ppb: 0,
                latency: Duration::from_us(1),
                far_processing: None,
                queueing: queue
                    .build(&context.port(id, rate), &self.customs)
                    .expect("a queue"),
                shaper: self.shaper.clone().filter(|_| is_bottleneck),
                losses: if is_bottleneck {
                    self.losses.clone()
                } else {
                    Vec::new()
                },
                departure_first: self.departure_first,
            }
        };
        topology.port_ids().map(port).collect()
    }

    /// Sends all packets. Returns what became of them, and the numbers of those received, in order.
    pub(crate) fn run(&self, sends: &[Send]) -> (Log, Vec<Number>) {
        let (mut network, bottleneck) = self.network(sends);
        let mut sinks = Sinks::default();
        while network.next_time() < Instant::NEVER {
            network.advance(Instant::NEVER, 10, &mut sinks);
            network.assert_conservation();
        }
        let limit = LIMIT_PACKETS * FULL_FRAME;
        assert!(
            network.totals(bottleneck).backlog_max_bytes <= limit,
            "the limit"
        );
        (network.into_observer(), sinks.0)
    }
}

/// Asserts the laws of every queue: no packet is lost without being dropped, none is sent twice, no flow is
/// reordered, and the line is never idle while a packet waits.
pub(crate) fn check(name: &Value, log: &Log, received: &[Number], sends: &[Send]) {
    let dropped: u32 = log.fates.values().map(|fate| fate.drops).sum();
    assert_eq!(log.fates.len(), sends.len(), "{name}");
    let mut counts: Vec<u64> = log.fates.values().map(|fate| fate.counts).collect();
    counts.sort_unstable();
    assert!(
        counts.into_iter().eq(1..=sends.len() as u64),
        "{name} counts arrivals"
    );
    assert_eq!(received.len() + dropped as usize, sends.len(), "{name}");
    for sender in 0..SENDERS {
        let own = received
            .iter()
            .filter(|number| sends[**number].sender == sender);
        assert!(own.is_sorted(), "{name} reordered a flow");
    }
    let mut free_at = Instant::ZERO;
    for number in received {
        let fate = log.fates[number];
        let (arrived, departs) = (fate.arrived.unwrap(), fate.departs.unwrap());
        let begin = departs - Duration::from_ns(8 * u64::from(fate.wire_bytes));
        // A packet that finds the line idle is sent at once, so an idle time ends with an arrival.
        assert_eq!(begin, arrived.max(free_at), "{name} idled");
        free_at = departs;
    }
}

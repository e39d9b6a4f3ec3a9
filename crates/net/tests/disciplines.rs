//! What must hold of every queue discipline, whatever is sent through it.

use std::collections::BTreeMap;

use fairport_net::arbitration::{Arbiter, Rule};
use fairport_net::classifier::SHORT;
use fairport_net::discipline::{Reason, Verdict};
use fairport_net::framing::Framing;
use fairport_net::loss::{Loss, Runs};
use fairport_net::port::PortConfig;
use fairport_net::queue::{CustomQueues, NetworkContext, QueueConfig};
use fairport_net::routing::{DestinationSuffix, Routes};
use fairport_net::stream::Stream;
use fairport_net::topology::LinkOptions;
use fairport_net::{Arrival, Header, Hosts, Network, NodeId, Observer, Packet, PortId, Topology};
use fairport_units::{Duration, Instant, Rate};
use proptest::prelude::*;
use serde_json::{Value, json};

const SENDERS: usize = 4;
const LIMIT_PACKETS: u32 = 12;
const FULL_FRAME: u32 = 1518;

/// A packet's content here: its number.
type Number = usize;

/// What became of a packet at the switch's port to the receiver.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    arrived: Option<Instant>,
    departs: Option<Instant>,
    wire_bytes: u32,
    drops: u32,
    /// of the drops, those that no queue decided
    losses: u32,
    counts: u64,
}

/// Keeps every packet's fate at one port.
struct Log {
    port: PortId,
    fates: BTreeMap<Number, Fate>,
}

impl Log {
    fn note(&mut self, arrival: &Arrival<'_, Number>) {
        let fate = self.fates.entry(arrival.packet.content).or_default();
        fate.counts = arrival.counts.port_arrival;
        fate.drops += u32::from(matches!(arrival.verdict, Verdict::Dropped(_)));
        fate.losses += u32::from(arrival.verdict == Verdict::Dropped(Reason::Loss));
    }
}

impl Observer<Number> for Log {
    fn verdict(&mut self, _: Instant, _: PortId, _: &Header, _: Verdict) {}

    fn watches(&self, port: PortId) -> bool {
        port == self.port
    }

    fn detail(&mut self, arrival: &Arrival<'_, Number>) {
        self.note(arrival);
        let fate = self.fates.entry(arrival.packet.content).or_default();
        fate.arrived = Some(arrival.time);
        fate.wire_bytes = Framing::ETHERNET.wire_bytes(arrival.packet.header.size_bytes);
        fate.departs = (arrival.depart < Instant::NEVER).then_some(arrival.depart);
    }

    fn revised(&mut self, arrival: &Arrival<'_, Number>) {
        let before = self.fates[&arrival.packet.content].counts;
        assert_eq!(
            before, arrival.counts.port_arrival,
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
struct Sinks(Vec<Number>);

impl Hosts<Number, Log> for Sinks {
    fn horizon(&self) -> Instant {
        Instant::NEVER
    }

    fn receive(&mut self, _: &mut Network<Number, Log>, _: NodeId, packet: &Packet<Number>) {
        self.0.push(packet.content);
    }
}

/// The disciplines that serve first in, first out.
fn fifos() -> Vec<Value> {
    let limit = json!({"packets": LIMIT_PACKETS});
    vec![
        json!({"kind": "drop-tail", "limit": limit, "count_in_service": false}),
        json!({
            "kind": "step-marking", "limit": limit, "count_in_service": false,
            "mark_above": {"packets": 3},
        }),
        json!({
            "kind": "red", "limit": limit, "count_in_service": false, "variant": "ns2",
            "min": {"packets": 2}, "max": {"packets": 6}, "max_p_ppb": 200_000_000,
            "weight_ppb": 200_000_000, "gentle": true, "ecn": true, "mean_packet_bytes": 1500,
        }),
        json!({
            "kind": "red-linux", "limit": limit, "count_in_service": false,
            "min_bytes": 2 * FULL_FRAME, "max_bytes": 6 * FULL_FRAME, "max_p_ppb": 200_000_000,
            "weight_ppb": 200_000_000, "ecn": true, "mean_packet_bytes": 1500,
        }),
        json!({
            "kind": "rio", "limit": limit, "count_in_service": false,
            "short_min": {"packets": 4}, "short_max": {"packets": 8},
            "short_max_p_ppb": 200_000_000,
            "long_min": {"packets": 2}, "long_max": {"packets": 6}, "long_max_p_ppb": 200_000_000,
            "weight_ppb": 200_000_000, "gentle": true, "ecn": false, "mean_packet_bytes": 1500,
        }),
        json!({
            "kind": "rio-ps", "limit": limit, "count_in_service": false,
            "short_min_ppb": 300_000_000, "short_max_ppb": 700_000_000,
            "short_max_p_ppb": 200_000_000,
            "long_min_ppb": 200_000_000, "long_max_ppb": 500_000_000,
            "long_max_p_ppb": 200_000_000,
            "weight_ppb": 200_000_000, "gentle": true, "ecn": false, "mean_packet_bytes": 1500,
        }),
        json!({
            "kind": "pie", "limit": limit, "count_in_service": false, "target_ps": 30_000_000,
            "update_ps": 100_000_000, "max_burst_ps": 0, "mean_packet_bytes": 1000, "ecn": true,
        }),
        json!({
            "kind": "weighted-tail-drop", "limit": limit, "count_in_service": false,
            "thresholds_ppb": [333_333_333, 666_666_667, 1_000_000_000],
        }),
    ]
}

/// The disciplines that decide at dequeue.
fn schedulers() -> Vec<Value> {
    let limit = json!({"packets": LIMIT_PACKETS});
    vec![
        json!({
            "kind": "sfq", "limit_packets": LIMIT_PACKETS, "buckets": 4, "seed": 1,
            "placed": [["h1"]],
        }),
        json!({
            "kind": "linux-sfq", "limit_packets": LIMIT_PACKETS, "depth_packets": 8,
            "divisor": 16, "flows": 8, "quantum_bytes": FULL_FRAME, "perturb_ps": 300_000_000,
        }),
        json!({"kind": "drr", "limit": limit, "quantum_bytes": 500}),
        json!({
            "kind": "codel", "limit": limit, "target_ps": 20_000_000,
            "interval_ps": 100_000_000, "ecn": true,
        }),
        json!({
            "kind": "fq-codel", "limit": limit, "target_ps": 20_000_000,
            "interval_ps": 100_000_000, "ecn": true, "queues": 16, "quantum_bytes": 700,
        }),
        json!({"kind": "shared-buffer", "memory_bytes": LIMIT_PACKETS * FULL_FRAME, "alpha": 1.0}),
    ]
}

#[derive(Clone, Debug)]
struct Send {
    sender: usize,
    size_bytes: u16,
    gap_ns: u64,
    ecn: u8,
}

fn sends() -> impl Strategy<Value = Vec<Send>> {
    let one = (0..SENDERS, 40..1501_u16, 0..20_000_u64, 0..4_u8);
    let one = one.prop_map(|(sender, size_bytes, gap_ns, ecn)| Send {
        sender,
        size_bytes,
        gap_ns,
        ecn,
    });
    prop::collection::vec(one, 1..300)
}

/// Sends it all through one switch; the senders are its hosts 1 to 4, the receiver host 0.
fn through(queue: &Value, departure_first: bool, sends: &[Send]) -> (Log, Vec<Number>) {
    through_losses(&[], queue, departure_first, sends)
}

/// The same where packets are lost in front of the switch's queue.
fn through_losses(
    losses: &[Loss],
    queue: &Value,
    departure_first: bool,
    sends: &[Send],
) -> (Log, Vec<Number>) {
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
    let rate = Rate::from_bps(1_000_000_000);
    let customs = CustomQueues::default();
    let context = NetworkContext::new(&topology, 1, FULL_FRAME, &customs);
    let host_queue =
        json!({"kind": "drop-tail", "limit": {"packets": 1000}, "count_in_service": false});
    let build = |queue: &Value, id: PortId| {
        let config: QueueConfig = serde_json::from_value(queue.clone()).expect("a queue");
        config.build(&context.port(id, rate)).expect("a queue")
    };
    let port = |id: usize| PortConfig {
        rate,
        clock_error_ppb: 0,
        latency: Duration::from_us(1),
        far_processing: None,
        queueing: if id == bottleneck.0 as usize {
            build(queue, bottleneck)
        } else {
            build(&host_queue, PortId(id as u32))
        },
        shaper: None,
        losses: if id == bottleneck.0 as usize {
            losses.to_vec()
        } else {
            Vec::new()
        },
        departure_first,
    };
    let ports = topology.ports().len();
    let log = Log {
        port: bottleneck,
        fates: BTreeMap::new(),
    };
    let mut network = Network::new(
        &topology,
        (0..ports).map(port).collect(),
        routes,
        Framing::ETHERNET,
        Arbiter::new(Rule::RoundRobin, ports, Stream::new(1, "arbitration", 0)),
        log,
    );
    let mut clocks = [Instant::ZERO; SENDERS];
    for (number, send) in sends.iter().enumerate() {
        clocks[send.sender] += Duration::from_ns(send.gap_ns);
        let packet = Packet {
            header: Header {
                flow: send.sender as u32,
                route: starts[send.sender],
                output: PortId(0),
                size_bytes: send.size_bytes,
                ecn: send.ecn,
                class: send.sender as u8 % 4,
            },
            content: number,
        };
        network.inject(clocks[send.sender], packet);
    }
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
    let log = network.into_observer();
    (log, sinks.0)
}

/// What holds for all: nothing is lost without a verdict, nothing sent twice, no flow reordered,
/// and the line is never idle while a packet waits.
fn check(name: &Value, log: &Log, received: &[Number], sends: &[Send]) {
    let dropped: u32 = log.fates.values().map(|fate| fate.drops).sum();
    assert_eq!(log.fates.len(), sends.len(), "{name}");
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
        // Whoever finds the line idle goes at once, so a pause ends with an arrival.
        assert_eq!(begin, arrived.max(free_at), "{name} idled");
        free_at = departs;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_fifo_conserves_keeps_its_limit_never_idles_and_never_reorders(
        sends in sends(), departure_first: bool,
    ) {
        for queue in fifos() {
            let (name, (log, received)) = (&queue["kind"], through(&queue, departure_first, &sends));
            check(name, &log, &received, &sends);
            let arrivals: Vec<u64> = received.iter().map(|number| log.fates[number].counts).collect();
            prop_assert!(arrivals.is_sorted(), "{name} reordered");
        }
    }

    #[test]
    fn a_scheduler_conserves_keeps_its_limit_never_idles_and_keeps_each_flow_in_order(
        sends in sends(), departure_first: bool,
    ) {
        for queue in schedulers() {
            let (name, (log, received)) = (&queue["kind"], through(&queue, departure_first, &sends));
            check(name, &log, &received, &sends);
        }
    }
}

#[test]
fn losses_are_the_same_in_front_of_every_queue() {
    let losses = [
        Loss::OnOff(Runs::new(3, Duration::from_us(200))),
        Loss::Random {
            probability_ppb: 100_000_000,
            stream: Stream::new(1, "loss", 0),
        },
    ];
    let sends: Vec<Send> = (0..2000)
        .map(|n| Send {
            sender: n % SENDERS,
            size_bytes: 1500,
            gap_ns: 30_000, // from each of four: more than the line carries
            ecn: 0,
        })
        .collect();
    let mut lost: Vec<Vec<Number>> = Vec::new();
    for queue in fifos().into_iter().chain(schedulers()) {
        let name = &queue["kind"];
        let (log, received) = through_losses(&losses, &queue, true, &sends);
        check(name, &log, &received, &sends);
        let drops: u32 = log.fates.values().map(|fate| fate.drops).sum();
        let is_lost = |number: &Number| log.fates[number].losses > 0;
        lost.push((0..sends.len()).filter(is_lost).collect());
        assert!(drops as usize > lost[0].len(), "{name} drops as well");
    }
    assert!(lost.windows(2).all(|pair| pair[0] == pair[1]));
    // runs of 3 with 200 us between them, in which 27 packets come, and a tenth of the others
    let share = lost[0].len() as f64 / sends.len() as f64;
    assert!((0.15..0.25).contains(&share), "{share}");
}

#[test]
fn strict_priority_conserves_and_never_lets_the_second_class_go_before_the_first() {
    // two queues of half the limit each; one sender is of the class that goes first
    let queue = json!({"kind": "strict-priority", "limit": {"packets": LIMIT_PACKETS / 2}});
    let sends: Vec<Send> = (0..200)
        .map(|n| Send {
            sender: n % SENDERS,
            size_bytes: 1500,
            gap_ns: 9_000,
            ecn: 0,
        })
        .collect();
    let (log, received) = through(&queue, true, &sends);
    check(&queue["kind"], &log, &received, &sends);
    let lost = |number: &Number| log.fates[number].drops > 0;
    let first = |number: &Number| sends[*number].sender == usize::from(SHORT);
    assert!((0..200).filter(first).all(|n| !lost(&n)));
    assert!((0..200).filter(lost).count() > 50);
}

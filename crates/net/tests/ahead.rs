//! Packets are forwarded ahead to a port that a single link feeds: fewer events, but the same results.

use crate::common::FULL_FRAME;
use crate::common::bench::{
    Bench, GIGABIT, Row, bench, bench_of_ports, drop_tail_port, to_receiver,
};
use crate::common::queues::Settings;
use fairport_net::arbitration::Rule;
use fairport_net::discipline::Backlog;
use fairport_net::port::PortTotals;
use fairport_net::queue::{CustomQueues, NetworkContext, QueueConfig};
use fairport_net::routing::DestinationSuffix;
use fairport_net::stream::Stream;
use fairport_net::topology::star;
use fairport_net::{Feeders, PortId, Topology};
use fairport_units::{Duration, Instant, Rate};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A port at a tenth of the other ports' rate.
const SLOW: Rate = Rate::from_bps(100_000_000);
const END: Instant = Instant::from_secs(1);

/// Adds routes from `sources` to the first host. If there is an `end`, packets are forwarded ahead from now on.
fn add_routes(bench: &mut Bench, star: &Topology, sources: &[usize], end: Option<Instant>) {
    let mut routing = DestinationSuffix::new(star);
    let mut path = |source: &usize| routing.path(star, *source, 0).unwrap();
    let paths: Vec<_> = sources.iter().map(&mut path).collect();
    bench.network.observer_mut().drops_only = true;
    if let Some(end) = end {
        let mut feeders = Feeders::new(star.ports().len());
        for path in &paths {
            feeders.add(path);
        }
        bench.network.end_at(end);
        bench.network.forward_ahead(&feeders, &[]);
    }
    let stream = || Stream::new(1, "spray", 0);
    let routes = paths
        .into_iter()
        .map(|path| bench.network.add_route(&[path], stream()));
    bench.routes = routes.collect();
}

/// A host sends to another through a switch without latency. The switch's port to the receiver is slow and has this
/// queue.
fn slow_port(queue: &Value, end: Option<Instant>) -> (Bench, PortId) {
    let star = star(2).unwrap();
    let slow = to_receiver(&star);
    let customs = CustomQueues::default();
    let context = NetworkContext::new(&star, 1, FULL_FRAME);
    let mut bench = bench_of_ports(&star, Rule::Fixed, |id| {
        let mut port = drop_tail_port(id, 1000, GIGABIT, Duration::ZERO);
        if id == slow {
            let queue: QueueConfig = serde_json::from_value(queue.clone()).expect("a queue");
            port.rate = SLOW;
            port.queueing = queue
                .build(&context.port(id, SLOW), &customs)
                .expect("a queue");
        }
        port
    });
    add_routes(&mut bench, &star, &[1], end);
    (bench, slow)
}

/// The time of the first event, the packets received, the rows of drops and marks, and of the slow port the number of
/// drops, the totals, the integral of its backlog, and how long it was busy.
type Outcome = (
    Instant,
    Vec<(Instant, u64)>,
    Vec<Row>,
    (u64, PortTotals, u128, Duration),
);

/// Sends packets, each given by its size in bytes, the ns since the last one, and its ECN codepoint.
fn outcome(queue: &Value, sends: &[(u16, u64, u8)], end: Option<Instant>) -> Outcome {
    let (mut bench, slow) = slow_port(queue, end);
    let mut at = Instant::ZERO;
    for (number, (size_bytes, gap_ns, ecn)) in (0..).zip(sends) {
        at += Duration::from_ns(*gap_ns);
        bench.send_ecn(at, 0, *size_bytes, number, *ecn);
    }
    let first = bench.network.next_time();
    bench.run();
    let received = bench
        .sinks
        .received
        .iter()
        .map(|packet| (packet.0, packet.2));
    let network = &bench.network;
    let rows = network.observer().rows.clone();
    let port = (
        network.drops(slow),
        *network.totals(slow),
        network.backlog_integral(slow, END),
        network.busy(slow, END),
    );
    (first, received.collect(), rows, port)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_discipline_that_decides_on_arrival_decides_the_same_ahead(
        sends in prop::collection::vec((40..1501_u16, 0..200_000_u64, 0..4_u8), 50..200),
    ) {
        for queue in Settings::USUAL.fifos() {
            let by_events = outcome(&queue, &sends, None);
            let ahead = outcome(&queue, &sends, Some(END));
            prop_assert!(ahead.0 > by_events.0, "{}: the first event is at the receiver", queue["kind"]);
            prop_assert_eq!(
                (ahead.1, ahead.2, ahead.3),
                (by_events.1, by_events.2, by_events.3),
                "{}", queue["kind"]
            );
        }
    }
}

#[test]
fn a_burst_is_dropped_or_marked_ahead_by_every_discipline() {
    let sends = [(1500, 13_000, 0b10); 200];
    for queue in Settings::USUAL.fifos() {
        let (_, received, rows, (drops, totals, ..)) = outcome(&queue, &sends, Some(END));
        let reported = drops + totals.marked;
        assert!(reported > 10, "{}", queue["kind"]);
        assert_eq!(rows.len() as u64, reported, "{}", queue["kind"]);
        assert_eq!(received.len() as u64, 200 - drops, "{}", queue["kind"]);
    }
}

#[test]
fn a_drop_says_what_waited_also_where_packets_are_forwarded_ahead() {
    let queue = json!({"kind": "drop-tail", "limit": {"packets": 3}, "count_in_service": true});
    for end in [None, Some(END)] {
        let (mut bench, slow) = slow_port(&queue, end);
        bench.send_crowd();
        // a packet that is forwarded ahead has one event: its arrival at the receiver
        let at_switch = Instant::from_us(13) + Duration::from_ns(12_304);
        let at_receiver = at_switch + Duration::from_ns(123_040);
        let first = end.map_or(at_switch, |_| at_receiver);
        assert_eq!(bench.network.next_time(), first);
        bench.run();
        let rows = &bench.network.observer().rows;
        assert_eq!(rows.len(), 5);
        for (row, number) in rows.iter().zip(4..) {
            assert_eq!((row.port, row.number), (slow, number));
            assert_eq!(row.counts.ingress_arrival, number);
            let room = Backlog {
                bytes: 3 * FULL_FRAME,
                packets: 3,
            };
            assert_eq!((row.backlog, row.counts.port_accepted), (room, 3));
        }
        assert_eq!(bench.network.drops(slow), 5);
    }
}

#[test]
fn no_packet_is_forwarded_ahead_beyond_the_end() {
    let star = star(2).unwrap();
    // a hop takes 13.304 us; the second packet arrives at the switch at 25.608 us
    for (end_ns, hops, buffered) in [
        (12_303, 0, [2, 0]),
        (13_303, 0, [1, 0]),
        (13_304, 1, [1, 1]),
        (25_607, 1, [0, 1]),
        (25_608, 2, [0, 1]),
        (26_608, 3, [0, 1]),
        (37_912, 3, [0, 0]),
    ] {
        let end = Instant::from_ns(end_ns);
        let mut bench = bench(&star, 10, Rule::Fixed, Duration::from_us(1));
        add_routes(&mut bench, &star, &[1], Some(end));
        bench.send(Instant::ZERO, 0, 1500, 0);
        bench.send(Instant::ZERO, 0, 1500, 1);
        bench.network.advance(end, u64::MAX, &mut bench.sinks);
        assert_eq!(bench.network.packet_hops(), hops, "{end_ns} ns");
        // at the end, a packet that has not passed a link waits in front of it or is on it
        let waiting = |port| bench.network.backlog(port, end).packets;
        let nic = star.node(star.hosts()[1]).ports[0];
        let buffers = [nic, to_receiver(&star)].map(waiting);
        assert_eq!(buffers, buffered, "{end_ns} ns");
    }
}

#[test]
fn nothing_is_forwarded_ahead_to_a_port_with_a_scheduler() {
    let queue = json!({
        "kind": "linux-sfq", "limit_packets": 3, "depth_packets": 127, "divisor": 1024,
        "flows": 128, "quantum_bytes": FULL_FRAME, "perturb_ps": 0,
    });
    for end in [None, Some(END)] {
        let (mut bench, _) = slow_port(&queue, end);
        bench.send_crowd();
        bench.run();
        let received = bench.sinks.received.iter().map(|packet| packet.2);
        assert!(received.eq([1, 2, 3, 4]));
    }
}

#[test]
fn nothing_is_forwarded_ahead_to_a_port_that_two_links_lead_to() {
    let star = star(3).unwrap();
    let received = |end: Option<Instant>| {
        let mut bench = bench(&star, 3, Rule::Fixed, Duration::from_us(1));
        add_routes(&mut bench, &star, &[1, 2], end);
        for number in 0..20 {
            let at = Instant::from_us(5 * number);
            bench.send(at, number as usize % 2, 1500, number);
        }
        bench.run();
        bench.sinks.received
    };
    assert!(received(None).len() < 20);
    assert_eq!(received(None), received(Some(END)));
}

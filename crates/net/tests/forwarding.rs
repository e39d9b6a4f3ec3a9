//! What must hold in any network, whatever packets are sent through it.

use std::collections::BTreeMap;

use crate::common::bench::{GIGABIT, Row, bench, bench_of_ports, drop_tail_port};
use fairport_net::PortId;
use fairport_net::arbitration::Rule;
use fairport_net::processing::{Processing, Server};
use fairport_net::routing::DestinationSuffix;
use fairport_net::stream::Stream;
use fairport_net::topology::{fat_tree, star, two_switch};
use fairport_units::{Duration, Instant};
use proptest::prelude::*;

proptest! {
    /// In a k = 4 fat-tree with small buffers and arbitrary traffic, packets are conserved and stay in order,
    /// and no port is idle while it holds packets.
    #[test]
    fn any_traffic_is_conserved_in_order_and_served_without_a_pause(
        sends in prop::collection::vec((0..15_usize, 40..1501_u16, 0..30_000_u64), 1..300),
        limit_packets in 1..12_u32,
    ) {
        let tree = fat_tree(4).unwrap();
        let mut bench = bench(&tree, limit_packets, Rule::RoundRobin, Duration::from_us(1));
        bench.send_all(&sends);
        bench.run();

        let rows = &bench.network.observer().rows;
        let dropped = rows.iter().filter(|row| !row.accepted).count();
        prop_assert_eq!(sends.len(), bench.sinks.received.len() + dropped);

        let mut ports: BTreeMap<PortId, Vec<&Row>> = BTreeMap::new();
        for row in rows {
            ports.entry(row.port).or_default().push(row);
        }
        for rows in ports.values() {
            let mut free_at = Instant::ZERO;
            let mut from_ingress: BTreeMap<PortId, u64> = BTreeMap::new();
            for row in rows {
                let count = from_ingress.entry(row.ingress).or_default();
                *count += 1;
                prop_assert_eq!(row.counts.ingress_arrival, *count);
                if row.accepted {
                    let service = Duration::from_ns(8 * u64::from(row.wire_bytes));
                    prop_assert_eq!(row.depart, row.time.max(free_at) + service);
                    free_at = row.depart;
                }
            }
        }
        for sender in 0..15 {
            let numbers = bench.sinks.received.iter().map(|r| r.2);
            let own: Vec<u64> = numbers.filter(|n| sends[*n as usize].0 == sender).collect();
            prop_assert!(own.is_sorted(), "a flow was reordered");
        }
    }

    /// Whether an observer watches the ports does not change what happens.
    #[test]
    fn watching_changes_nothing(
        sends in prop::collection::vec((0..15_usize, 40..1501_u16, 0..30_000_u64), 1..300),
        limit_packets in 1..12_u32,
        latency_us in 0..40_u64,
    ) {
        let tree = fat_tree(4).unwrap();
        let outcome = |drops_only| {
            let latency = Duration::from_us(latency_us);
            let mut bench = bench(&tree, limit_packets, Rule::RoundRobin, latency);
            bench.network.observer_mut().drops_only = drops_only;
            bench.send_all(&sends);
            bench.run();
            let ports = tree.port_ids();
            let totals: Vec<_> = ports.map(|id| *bench.network.totals(id)).collect();
            (bench.sinks.received, totals)
        };
        prop_assert_eq!(outcome(false), outcome(true));
    }
}

#[test]
fn a_lone_packet_takes_serialisation_and_latency_a_hop() {
    let tree = fat_tree(4).unwrap();
    let mut bench = bench(&tree, 11, Rule::RoundRobin, Duration::from_us(25));
    bench.send(Instant::ZERO, 14, 1500, 0); // h15, six hops away
    bench.run();
    let arrived = bench.sinks.received[0].0;
    assert_eq!(
        arrived,
        Instant::ZERO + (Duration::from_ns(12_304) + Duration::from_us(25)) * 6
    );
    assert_eq!(bench.network.packet_hops(), 6);
}

/// Packets from two input ports of a switch reach its output in the same picosecond, repeatedly. Returns the input
/// that is served first each time.
fn taking_turns(rule: Rule) -> Vec<usize> {
    let topology = two_switch(1).unwrap();
    let mut bench = bench(&topology, 100, rule, Duration::from_us(1));
    let hop = Duration::from_ns(12_304) + Duration::from_us(1);
    for i in 0..6 {
        let start = Instant::from_ms(i);
        bench.send(start + hop, 0, 1500, 2 * i); // one hop to the shared switch
        bench.send(start, 1, 1500, 2 * i + 1); // two hops
    }
    bench.run();
    let received = bench.sinks.received.chunks(2);
    received.map(|pair| (pair[0].2 % 2) as usize).collect()
}

#[test]
fn simultaneous_arrivals_go_by_the_arbitration_rule() {
    assert_eq!(taking_turns(Rule::Fixed), [0, 0, 0, 0, 0, 0]);
    assert_eq!(taking_turns(Rule::RoundRobin), [0, 1, 0, 1, 0, 1]);
}

#[test]
fn of_two_equal_trains_through_a_full_queue_one_input_is_blacked_out() {
    // Port blackout (Prakash 2012, 3.2): both inputs send packets of equal size back to back. The packets of one
    // always arrive a little after a departure has freed a slot, which the other's packet has taken.
    let topology = two_switch(1).unwrap();
    let mut bench = bench(&topology, 10, Rule::RoundRobin, Duration::from_us(1));
    let frame = Duration::from_ns(12_304);
    for i in 0..100 {
        let start = Instant::ZERO + frame * i;
        bench.send(start + frame + Duration::from_ns(1_100), 0, 1500, 2 * i);
        bench.send(start, 1, 1500, 2 * i + 1);
    }
    bench.run();
    let at_receiver = bench
        .network
        .observer()
        .rows
        .iter()
        .filter(|row| topology.port_name(row.port) == "s0:0");
    let lost: Vec<u64> = at_receiver
        .filter(|row| !row.accepted)
        .map(|row| row.number % 2)
        .collect();
    assert!(lost.len() > 50, "{} lost", lost.len());
    assert!(
        lost.iter().all(|side| *side == lost[0]),
        "one side bears every loss"
    );
}

/// Packets that a node's processing holds up are handed on together, and stay in order.
#[test]
fn packets_of_one_link_that_arrive_together_are_not_reordered() {
    let star = star(3).unwrap();
    let nic = star.node(star.hosts()[1]).ports[0];
    for rule in [Rule::Fixed, Rule::RoundRobin, Rule::Random] {
        let mut bench = bench_of_ports(&star, rule, |id| {
            let mut port = drop_tail_port(id, 1000, GIGABIT, Duration::from_us(1));
            if id == nic {
                let server = Server::new(Processing::NONE, Stream::new(1, "test", 0));
                port.far_processing = Some(server.with_jitter(Duration::from_ms(5)));
            }
            port
        });
        // the same host sends to another one, too
        let path = DestinationSuffix::new(&star).path(&star, 1, 2).unwrap();
        let stream = Stream::new(1, "spray", 0);
        bench.routes[1] = bench.network.add_route(&[path], stream);
        for number in 0..600 {
            bench.send(Instant::ZERO, number as usize / 3 % 2, 1500, number);
        }
        bench.run();
        let (first, second) = (star.hosts()[0], star.hosts()[2]);
        for receiver in [first, second] {
            let received = bench.sinks.received.iter();
            let here = received.filter(|packet| packet.1 == receiver);
            let numbers: Vec<u64> = here.map(|packet| packet.2).collect();
            assert!(
                numbers.len() == 300 && numbers.is_sorted(),
                "{rule:?}: {numbers:?}"
            );
        }
    }
}

//! A network that is cut into two regions has the same results as an uncut one.

use crate::common::bench::{Bench, GIGABIT, Row, bench_of_ports, drop_tail_port};
use fairport_net::arbitration::Rule;
use fairport_net::framing::Framing;
use fairport_net::port::PortConfig;
use fairport_net::queue::{Queueing, Scheduler};
use fairport_net::scheduler::{LinuxSfq, linux_sfq};
use fairport_net::stream::Stream;
use fairport_net::topology::{dumbbell, star};
use fairport_net::{CutRules, Feeders, Partition, PortId, Topology};
use fairport_units::{Duration, Instant};
use proptest::prelude::*;

/// One of the networks. Each port has a buffer of four packets; with a scheduler, switch ports have SFQ for as many.
fn region_bench(topology: &Topology, is_scheduled: bool) -> Bench {
    bench_of_ports(topology, Rule::Fixed, |id| {
        let mut port = drop_tail_port(id, 4, GIGABIT, Duration::from_us(1));
        let is_host = topology.node(topology.port(id).node).is_host;
        if is_scheduled && !is_host {
            let config = linux_sfq::Config {
                limit_packets: 4,
                depth_packets: 127,
                divisor: 1024,
                flows: 128,
                quantum_bytes: None,
                perturb_ps: Duration::ZERO,
            };
            let stream = Stream::new(1, "test", 0);
            let sfq = LinuxSfq::new(config, 1518, stream);
            port.queueing = Queueing::Scheduled(Box::new(Scheduler::LinuxSfq(sfq)));
        }
        port
    })
}

/// Moves the packets that have crossed into the regions they go to.
fn exchange(regions: &mut [Bench; 2]) {
    let mut crossed = [Vec::new(), Vec::new()];
    for bench in regions.iter_mut() {
        for (region, batch) in (0..).zip(&mut crossed) {
            bench.network.drain_outbox(region, batch);
        }
    }
    for (bench, batch) in regions.iter_mut().zip(&mut crossed) {
        bench.network.receive_crossings(batch);
    }
    let [one, other] = &*regions;
    (one.network.balance() + other.network.balance()).assert_conservation();
}

/// Runs both regions in windows as long as the lookahead, and exchanges the packets that have crossed
/// between two windows. Returns the number of windows.
fn run(regions: &mut [Bench; 2], lookahead: Duration) -> u64 {
    for windows in 0.. {
        exchange(regions);
        let next = |bench: &Bench| {
            let network = &bench.network;
            network
                .next_time()
                .min(network.next_choice())
                .min(network.first_due())
        };
        let first = regions.iter().map(next).min().expect("two");
        if first == Instant::NEVER {
            return windows;
        }
        let until = first + lookahead - Duration::from_ps(1);
        for bench in regions.iter_mut() {
            bench.network.advance(until, u64::MAX, &mut bench.sinks);
            bench.network.catch_up_crossings(until);
        }
    }
    unreachable!("all packets arrive")
}

/// Two regions of a network, without packets.
fn two_regions(topology: &Topology, is_scheduled: bool) -> (Partition, [Bench; 2]) {
    let port = |id| drop_tail_port(id, 4, GIGABIT, Duration::from_us(1));
    let ports: Vec<PortConfig> = topology.port_ids().map(port).collect();
    let partition = Partition::new(topology, &CutRules::new(&ports, Framing::ETHERNET), 2);
    assert_eq!(partition.regions(), 2);
    let regions = [0, 1].map(|number| {
        let mut bench = region_bench(topology, is_scheduled);
        bench.network.confine(topology, &partition, number);
        bench
    });
    (partition, regions)
}

#[test]
#[should_panic(expected = "a network is confined before it forwards packets ahead")]
fn a_network_that_forwards_ahead_is_not_confined() {
    let topology = dumbbell(2, 3).unwrap();
    let (partition, [mut bench, _]) = two_regions(&topology, false);
    let feeders = Feeders::new(topology.ports().len());
    bench.network.forward_ahead(&feeders, &[]);
    bench.network.confine(&topology, &partition, 0);
}

/// A packet that came from another region was not injected in the region in which it is.
#[test]
fn of_two_regions_the_sum_is_conserved_and_not_what_only_one_of_them_has() {
    let topology = dumbbell(2, 3).unwrap();
    let (partition, mut regions) = two_regions(&topology, false);
    let region = |host: usize| usize::from(partition.region(topology.hosts()[host]));
    let near = region(0);
    let sender = (1..5)
        .find(|host| region(*host) != near)
        .expect("a host elsewhere");
    let far = region(sender);
    regions[far].send(Instant::ZERO, sender - 1, 1500, 0);
    run(&mut regions, partition.lookahead());
    assert_eq!(regions[near].sinks.received.len(), 1);
    let [far, near] = [far, near].map(|region| &regions[region].network);
    (far.balance() + near.balance()).assert_conservation();
    let alone = std::panic::AssertUnwindSafe(|| near.assert_conservation());
    assert!(std::panic::catch_unwind(alone).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn two_regions_do_what_one_network_does(
        sends in prop::collection::vec((0..4_usize, 40..1501_u16, 0..20_000_u64), 1..100),
        is_scheduled: bool,
        is_split: bool,
    ) {
        // all senders send to h0, from both sides of a dumbbell or over a switch that is split between the regions
        let topology = if is_split { star(6) } else { dumbbell(2, 3) }.unwrap();
        let mut whole = region_bench(&topology, is_scheduled);
        whole.send_all(&sends);
        whole.run();

        let (partition, mut regions) = two_regions(&topology, is_scheduled);
        for (number, bench) in (0..).zip(&mut regions) {
            let mut clocks = [Instant::ZERO; 4];
            for (packet, (sender, size_bytes, gap_ns)) in (0..).zip(&sends) {
                clocks[*sender] += Duration::from_ns(*gap_ns);
                if partition.region(topology.hosts()[sender + 1]) == number {
                    bench.send(clocks[*sender], *sender, *size_bytes, packet);
                }
            }
        }
        let windows = run(&mut regions, partition.lookahead());
        // no window is empty: each has an arrival, or a scheduler's choice
        let hops = regions.iter().map(|bench| bench.network.packet_hops()).sum::<u64>();
        prop_assert!(windows <= hops + sends.len() as u64);

        let received = |bench: &Bench| bench.sinks.received.clone();
        let mut of_both: Vec<_> = regions.iter().flat_map(received).collect();
        of_both.sort_unstable();
        let mut of_whole = received(&whole);
        of_whole.sort_unstable();
        prop_assert_eq!(of_both, of_whole);
        let rows = |bench: &Bench, id: PortId| {
            let rows = bench.network.observer().rows.iter();
            rows.filter(|row| row.port == id).cloned().collect::<Vec<Row>>()
        };
        let end = whole.network.now();
        whole.network.settle(end);
        for id in topology.port_ids() {
            let own = &mut regions[usize::from(partition.port_region(id))];
            own.network.settle(end);
            prop_assert_eq!(rows(own, id), rows(&whole, id));
            prop_assert_eq!(own.network.totals(id), whole.network.totals(id));
            prop_assert_eq!(own.network.drops(id), whole.network.drops(id));
            prop_assert_eq!(own.network.busy(id, end), whole.network.busy(id, end));
            let integral = own.network.backlog_integral(id, end);
            prop_assert_eq!(integral, whole.network.backlog_integral(id, end));
        }
    }
}

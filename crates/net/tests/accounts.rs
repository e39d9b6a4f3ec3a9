//! What a network reports of its ports: drops, marks, backlog, packets in flight.

use crate::common::bench::{Bench, GIGABIT, bench, bench_of_ports, drop_tail_port, to_receiver};
use fairport_net::PortId;
use fairport_net::arbitration::Rule;
use fairport_net::discipline::{Backlog, DropTail, StepMarking};
use fairport_net::limit::Limit;
use fairport_net::queue::{Discipline, Queueing, Scheduler};
use fairport_net::routing::DestinationSuffix;
use fairport_net::scheduler::{LinuxSfq, PortFair, Sfq, SharedBuffer, SwitchMemory, linux_sfq};
use fairport_net::stream::Stream;
use fairport_net::topology::{bcube, star};
use fairport_units::{Duration, Instant, Rate};

/// A full frame in the buffer; on the wire it takes 12.304 us at 1 Gbit/s.
const FRAME_BYTES: u32 = 1518;

/// A star of three hosts without latency. The switch's port to the first host has this queue and a tenth
/// of the other ports' rate.
fn slow_port(queueing: impl Fn() -> Queueing) -> (Bench, PortId) {
    let star = star(3).unwrap();
    let slow = to_receiver(&star);
    let bench = bench_of_ports(&star, Rule::Fixed, |id| {
        let mut port = drop_tail_port(id, 100, GIGABIT, Duration::ZERO);
        if id == slow {
            port.rate = Rate::from_bps(100_000_000);
            port.queueing = queueing();
        }
        port
    });
    (bench, slow)
}

fn linux_sfq(limit_packets: u32) -> Queueing {
    let config = linux_sfq::Config {
        limit_packets,
        depth_packets: 127,
        divisor: 1024,
        flows: 128,
        quantum_bytes: None,
        perturb_ps: Duration::ZERO,
    };
    let scheduler = LinuxSfq::new(config, FRAME_BYTES, Stream::new(1, "test", 0));
    Queueing::Scheduled(Box::new(Scheduler::LinuxSfq(scheduler)))
}

#[test]
fn drops_on_arrival_and_drops_of_what_waited_are_counted_alike() {
    let (mut bench, slow) = slow_port(|| linux_sfq(3));
    // Of flow 0, the first packet is sent, three wait, and the fifth is refused. Flow 1's packet pushes one out.
    for number in 0..5 {
        bench.send(Instant::ZERO, 0, 1500, number);
    }
    bench.send(Instant::from_us(70), 1, 1500, 5);
    let now = Instant::from_us(100);
    bench.network.advance(now, u64::MAX, &mut bench.sinks);
    bench.network.settle(now);
    assert_eq!(bench.network.drops(slow), 2);
    assert_eq!(bench.network.drops(PortId(0)), 0);
    bench.network.assert_conservation();
    bench.run();
    assert_eq!(bench.sinks.received.len(), 4);
    assert_eq!(bench.network.drops(slow), 2);
}

#[test]
fn packets_in_buffers_and_on_links_are_under_way() {
    let schedulers: [fn() -> Queueing; 2] = [
        || linux_sfq(100),
        || {
            Queueing::Scheduled(Box::new(Scheduler::PortFair(PortFair::new(
                DropTail::packets(100),
            ))))
        },
    ];
    for queueing in schedulers {
        let (mut bench, _) = slow_port(queueing);
        for number in 0..6 {
            bench.send(Instant::ZERO, number as usize % 2, 1500, number);
        }
        let flows = |bench: &Bench| {
            let headers = bench.network.in_flight();
            let mut flows: Vec<u32> = headers.map(|header| header.flow).collect();
            flows.sort_unstable();
            flows
        };
        assert_eq!(flows(&bench), [0, 0, 0, 1, 1, 1]);
        // the first packet takes 12.3 us to the switch and 123 us from there
        bench
            .network
            .advance(Instant::from_us(140), u64::MAX, &mut bench.sinks);
        assert_eq!(flows(&bench).len(), 5);
        bench.run();
        assert!(flows(&bench).is_empty());
    }
}

#[test]
fn what_waits_is_known_at_any_instant_for_every_kind_of_port() {
    let buffer = |frames| Backlog {
        bytes: frames * FRAME_BYTES,
        packets: frames,
    };
    // The packet in service counts, unless the port has a scheduler. The first packet arrives at 25.3 us, and
    // another every 13 us.
    let drop_tail = || Queueing::Fifo {
        discipline: Discipline::DropTail(DropTail::packets(100)),
        release: fairport_net::queue::BufferRelease::EndOfService,
    };
    let step_marking = || Queueing::Fifo {
        discipline: Discipline::StepMarking(Box::new(StepMarking::new(
            DropTail::packets(100),
            Limit::Packets(50),
        ))),
        release: fairport_net::queue::BufferRelease::EndOfService,
    };
    let kinds: [(&dyn Fn() -> Queueing, u32); 3] =
        [(&drop_tail, 1), (&step_marking, 1), (&|| linux_sfq(100), 0)];
    for (queueing, in_service) in kinds {
        let (mut bench, slow) = slow_port(queueing);
        bench.send_crowd();
        for (us, waiting) in [(25, 0), (26, 0), (39, 1), (100, 5), (130, 7), (150, 6)] {
            let now = Instant::from_us(us);
            bench.network.advance(now, u64::MAX, &mut bench.sinks);
            let expected = buffer(waiting + if us < 26 { 0 } else { in_service });
            assert_eq!(bench.network.backlog(slow, now), expected, "{us} us");
        }
    }
}

#[test]
fn what_still_waits_at_a_scheduler_counts_until_now() {
    let (mut bench, slow) = slow_port(|| linux_sfq(100));
    bench.send_crowd();
    let now = Instant::from_us(60);
    bench.network.advance(now, u64::MAX, &mut bench.sinks);
    // the first packet is in service; the second waits from 38.304 us on and the third from 51.304 us
    let waited_ps = 21_696_000 + 8_696_000;
    let integral = bench.network.backlog_integral(slow, now);
    assert_eq!(integral, waited_ps * u128::from(FRAME_BYTES));
}

#[test]
fn marked_packets_are_counted_and_a_packet_does_not_count_itself() {
    let marking = || Queueing::Fifo {
        discipline: Discipline::StepMarking(Box::new(StepMarking::new(
            DropTail::packets(100),
            Limit::Packets(3),
        ))),
        release: fairport_net::queue::BufferRelease::EndOfService,
    };
    let (mut bench, slow) = slow_port(marking);
    for number in 0..8 {
        bench.send_ecn(Instant::from_us(13 * number), 0, 1500, number, 0b10);
    }
    bench.run();
    // each packet from the fourth on makes the queue, itself included, longer than three
    assert_eq!(bench.network.totals(slow).marked, 5);
    let rows = bench.network.observer().rows.iter();
    let rows = rows.filter(|row| row.port == slow);
    let found: Vec<(u64, u64, u32)> = rows
        .map(|row| {
            (
                row.counts.port_arrival,
                row.counts.port_accepted,
                row.backlog.packets,
            )
        })
        .collect();
    let expected: Vec<_> = (0..8).map(|n| (n + 1, n, n as u32)).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_scheduler_counts_arrivals_by_ingress_port() {
    let (mut bench, slow) = slow_port(|| linux_sfq(100));
    for number in 0..9 {
        bench.send(
            Instant::from_us(13 * number),
            usize::from(number % 3 == 0),
            1500,
            number,
        );
    }
    bench.run();
    let rows = bench.network.observer().rows.iter();
    let counts: Vec<u64> = rows
        .filter(|row| row.port == slow)
        .map(|row| row.counts.ingress_arrival)
        .collect();
    // every third packet comes from the second sender
    assert_eq!(counts, [1, 1, 2, 2, 3, 4, 3, 5, 6]);
}

#[test]
fn a_forwarding_host_has_a_port_that_leads_to_itself() {
    let cube = bcube(2, 1).unwrap();
    for host in cube.hosts() {
        let own = cube.own_port(*host).expect("it forwards");
        assert_eq!(cube.far_node(own), *host);
        assert_eq!(cube.port(own).node, *host);
    }
    let star = star(2).unwrap();
    assert_eq!(star.own_port(star.hosts()[0]), None);
}

#[test]
fn what_hosts_send_goes_into_the_buckets_that_they_are_placed_in() {
    let (mut bench, _) = slow_port(|| {
        let placed = vec![None, Some(0), Some(1)];
        Queueing::Scheduled(Box::new(Scheduler::Sfq(Sfq::new(40, 2, 0, placed))))
    });
    // four packets of h1 arrive before three of h2, all while the first is sent
    for number in 0..4 {
        bench.send(Instant::ZERO, 0, 1500, number);
    }
    for number in 4..7 {
        bench.send(Instant::from_us(50), 1, 1500, number);
    }
    bench.run();
    let received = bench.sinks.received.iter().map(|packet| packet.2);
    assert!(received.eq([0, 1, 4, 2, 5, 3, 6]));
}

#[test]
fn who_watches_no_port_is_shown_the_drops_alone() {
    let (mut bench, slow) = slow_port(|| linux_sfq(3));
    bench.network.observer_mut().drops_only = true;
    // the first packet is sent at once, three wait, and there is no room for the other two
    for number in 0..6 {
        bench.send(Instant::ZERO, 0, 1500, number);
    }
    bench.run();
    let rows = bench.network.observer().rows.iter();
    assert!(rows.clone().all(|row| row.port == slow && !row.accepted));
    assert!(rows.map(|row| row.number).eq([4, 5]));
}

#[test]
fn a_settled_port_has_begun_what_it_begins_by_then() {
    let star = star(2).unwrap();
    let nic = to_receiver(&star);
    let mut bench = bench_of_ports(&star, Rule::Fixed, |id| {
        let mut port = drop_tail_port(id, 100, GIGABIT, Duration::from_us(50));
        if id == nic {
            port.queueing = linux_sfq(100);
        }
        port
    });
    for number in 0..2 {
        bench.send(Instant::ZERO, 0, 1500, number);
    }
    // The packets arrive at the switch back to back, from 62.304 us on. At `now` none has arrived at the receiver.
    let now = Instant::from_us(80);
    bench.network.advance(now, u64::MAX, &mut bench.sinks);
    bench.network.settle(now);
    let since = Instant::from_ns(62_304);
    assert_eq!(bench.network.busy(nic, now), now - since);
}

#[test]
fn a_packet_takes_room_in_the_buffer_until_its_last_bit_is_sent() {
    let star = star(2).unwrap();
    let nic = star.node(star.hosts()[1]).ports[0];
    let mut bench = bench(&star, 10, Rule::Fixed, Duration::ZERO);
    for number in 0..2 {
        bench.send(Instant::ZERO, 0, 1500, number);
    }
    bench.run();
    // the first packet is in the buffer for 12.304 us, the second for twice that
    let until = |ns| bench.network.backlog_integral(nic, Instant::from_ns(ns));
    let integral = 3 * 12_304_000 * u128::from(FRAME_BYTES);
    assert_eq!(until(24_608), integral);
    assert_eq!(until(100_000), integral);
}

#[test]
fn what_has_left_one_port_of_a_switch_leaves_its_memory_to_another() {
    let star = star(3).unwrap();
    // the ports of the switch have room for three frames together
    let memory = SwitchMemory::new(3 * FRAME_BYTES);
    let mut bench = bench_of_ports(&star, Rule::Fixed, |id| {
        let mut port = drop_tail_port(id, 100, GIGABIT, Duration::from_us(500));
        if !star.node(star.port(id).node).is_host {
            let shared = SharedBuffer::new(memory.clone(), 8.0);
            port.queueing = Queueing::Scheduled(Box::new(Scheduler::SharedBuffer(shared)));
        }
        port
    });
    let mut routing = DestinationSuffix::new(&star);
    for source in [0, 1] {
        let path = routing.path(&star, source, 2).unwrap();
        let stream = Stream::new(1, "spray", 0);
        bench.routes.push(bench.network.add_route(&[path], stream));
    }
    // h1 and h2 send two frames each to h0. Two of them wait in the end, and none is left 49 us after the first came.
    for (number, sender) in (0..).zip([0, 1, 0, 1]) {
        bench.send(Instant::ZERO, sender, 1500, number);
    }
    // then as many go to h2, before the first of the others has arrived at h0
    for (number, sender) in (4..).zip([2, 3, 2, 3]) {
        bench.send(Instant::from_us(100), sender, 1500, number);
    }
    bench.run();
    assert_eq!(bench.sinks.received.len(), 8);
}

//! Packets after a port that has a scheduler: when they arrive, and whether they are marked.

use crate::common::bench::{Bench, GIGABIT, Log, Number, bench_of_ports, drop_tail_port};
use fairport_net::arbitration::Rule;
use fairport_net::discipline::DropTail;
use fairport_net::queue::{Queueing, Scheduler};
use fairport_net::scheduler::codel::Parameters;
use fairport_net::scheduler::{CoDel, Drr, FqCoDel, PortFair, Sfq};
use fairport_net::topology::star;
use fairport_net::{Access, Hosts, NodeId, Packet};
use fairport_units::{Duration, Instant, Rate};

const ECT0: u8 = 0b10;
const CE: u8 = 0b11;

const CODEL: Parameters = Parameters {
    target: Duration::from_us(50),
    interval: Duration::from_us(500),
    ecn: true,
    max_packet_bytes: 1518,
};

/// Two hosts at a switch; one sends to the other through a slow port with this scheduler.
fn bench(scheduler: impl Fn() -> Scheduler) -> Bench {
    let star = star(2).unwrap();
    bench_of_ports(&star, Rule::Fixed, |id| {
        let mut port = drop_tail_port(id, 1000, GIGABIT, Duration::ZERO);
        if !star.node(star.port(id).node).is_host {
            port.rate = Rate::from_bps(100_000_000);
            port.queueing = Queueing::Scheduled(Box::new(scheduler()));
        }
        port
    })
}

/// Hosts that keep the ECN codepoints of the packets that arrive.
struct Codepoints(Vec<u8>);

impl Hosts<Number, Log> for Codepoints {
    fn horizon(&self) -> Instant {
        Instant::NEVER
    }

    fn receive(&mut self, _: Access<'_, Number, Log>, _: NodeId, packet: &Packet<Number>) {
        self.0.push(packet.header.ecn);
    }
}

#[test]
fn a_packet_that_finds_the_line_free_takes_its_time_and_the_gap() {
    let schedulers: [fn() -> Scheduler; 5] = [
        || Scheduler::Sfq(Sfq::new(100, 4, 1, Vec::new())),
        || Scheduler::Drr(Drr::new(DropTail::packets(100), 1518)),
        || Scheduler::PortFair(PortFair::new(DropTail::packets(100))),
        || Scheduler::Codel(CoDel::new(DropTail::packets(100), CODEL)),
        || Scheduler::FqCodel(FqCoDel::new(DropTail::packets(100), 16, 1518, CODEL, 1)),
    ];
    for scheduler in schedulers {
        for drops_only in [false, true] {
            let mut bench = bench(scheduler);
            bench.network.observer_mut().drops_only = drops_only;
            bench.send(Instant::ZERO, 0, 1500, 0);
            bench.send(Instant::from_us(500), 0, 100, 1);
            bench.run();
            let times = bench.sinks.received.iter().map(|packet| packet.0);
            // a packet with 38 bytes of framing, first at 1 Gbit/s and then at 100 Mbit/s
            let way_ns = |bytes: u64| (bytes + 38) * (8 + 80);
            assert!(times.eq([way_ns(1500), 500_000 + way_ns(100)].map(Instant::from_ns)));
        }
    }
}

#[test]
fn a_packet_that_is_marked_when_it_leaves_arrives_with_its_mark() {
    for (codepoint, drops) in [(ECT0, false), (0, true)] {
        let mut bench = bench(|| Scheduler::Codel(CoDel::new(DropTail::packets(100), CODEL)));
        for number in 0..50 {
            bench.send_ecn(Instant::ZERO, 0, 1500, number, codepoint);
        }
        let mut hosts = Codepoints(Vec::new());
        bench.network.advance(Instant::NEVER, u64::MAX, &mut hosts);
        // 50 packets wait for up to 6 ms. From 0.5 ms on CoDel marks packets, or drops those that cannot be marked.
        let seen = (hosts.0.len() < 50, hosts.0.contains(&CE));
        assert_eq!(seen, (drops, !drops));
        assert!(hosts.0.iter().all(|ecn| *ecn == codepoint || *ecn == CE));
    }
}

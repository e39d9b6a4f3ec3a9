//! What a host can reach of the network when it receives a packet: its adapter and the time.

use crate::common::bench::{Log, Number, bench};
use fairport_net::arbitration::Rule;
use fairport_net::discipline::Backlog;
use fairport_net::routing::DestinationSuffix;
use fairport_net::stream::Stream;
use fairport_net::topology::star;
use fairport_net::{Access, Hosts, NodeId, Packet, PortId};
use fairport_units::{Duration, Instant};

/// A host that answers a packet with two, and records its adapter's backlog before, between and after them.
struct Answering {
    route: u32,
    adapter: PortId,
    seen: Vec<[Backlog; 2]>,
    sent: Vec<Instant>,
}

impl Answering {
    fn look(&mut self, network: &mut Access<'_, Number, Log>, at: Instant) {
        let by_route = network.backlog_of_adapter(self.route, at);
        self.seen
            .push([by_route, network.backlog(self.adapter, at)]);
    }
}

impl Hosts<Number, Log> for Answering {
    fn horizon(&self) -> Instant {
        Instant::NEVER
    }

    fn receive(
        &mut self,
        mut network: Access<'_, Number, Log>,
        _: NodeId,
        packet: &Packet<Number>,
    ) {
        let now = network.now();
        self.look(&mut network, now);
        let mut answer = *packet;
        answer.header.route = self.route;
        for _ in 0..2 {
            self.sent.push(network.inject(now, answer));
            self.look(&mut network, now);
        }
        self.look(&mut network, now + Duration::from_ns(12_304));
    }
}

#[test]
fn a_host_that_answers_sees_its_answers_wait_in_its_adapter() {
    let star = star(2).unwrap();
    let mut bench = bench(&star, 10, Rule::Fixed, Duration::ZERO);
    let back = DestinationSuffix::new(&star).path(&star, 0, 1).unwrap();
    let adapter = back[0];
    let route = bench.network.add_route(&[back], Stream::new(1, "spray", 0));
    let mut hosts = Answering {
        route,
        adapter,
        seen: Vec::new(),
        sent: Vec::new(),
    };
    bench.send(Instant::ZERO, 0, 1500, 0);
    // two links of 12.304 us each
    let at = Instant::from_ns(24_608);
    bench.network.advance(at, u64::MAX, &mut hosts);
    let frames = |packets| Backlog {
        bytes: packets * 1518,
        packets,
    };
    assert_eq!(hosts.seen, [0, 1, 2, 1].map(|n| [frames(n); 2]));
    let leave = [36_912, 49_216].map(Instant::from_ns);
    assert_eq!(hosts.sent, leave);
}

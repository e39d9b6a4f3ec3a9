//! The counts of [`Counter`] are those that the forwarding core keeps itself, whatever is sent.

use fairport_net::arbitration::{Arbiter, Rule};
use fairport_net::discipline::DropTail;
use fairport_net::framing::Framing;
use fairport_net::port::PortConfig;
use fairport_net::queue::{BufferRelease, Discipline, Queueing};
use fairport_net::routing::{DestinationSuffix, Routes};
use fairport_net::topology::{fat_tree, two_switch};
use fairport_net::{
    Access, Arrival, Counts, Header, Hosts, Network, NodeId, Observer, Packet, PortId, Topology,
};
use fairport_record::Counter;
use fairport_units::{Duration, Instant, Rate};
use proptest::prelude::*;

/// Counts every packet at every port a second time.
#[derive(Default)]
struct Twice {
    counter: Counter,
    /// what each says of the same packet
    counts: Vec<(Counts, Counts)>,
}

impl Observer<()> for Twice {
    type PortState = ();

    fn watches(&self, _: PortId) -> bool {
        true
    }

    fn detail(&mut self, arrival: &Arrival<'_, ()>) {
        let flow = u64::from(arrival.header.flow);
        let own = self.counter.arrive(arrival.port, arrival.ingress, flow);
        if arrival.admission.is_accepted() {
            self.counter.accept(arrival.port);
        }
        self.counts.push((own, arrival.counts));
    }
}

/// Hosts that only receive.
struct Sinks;

impl Hosts<(), Twice> for Sinks {
    fn horizon(&self) -> Instant {
        Instant::NEVER
    }

    fn receive(&mut self, _: Access<'_, (), Twice>, _: NodeId, _: &Packet<()>) {}
}

/// A network whose ports hold so many packets, and a route from each host to the first one.
fn network(topology: &Topology, limit_packets: u32) -> (Network<(), Twice>, Vec<u32>) {
    let mut routing = DestinationSuffix::new(topology);
    let mut routes = Routes::default();
    let starts = (1..topology.hosts().len())
        .map(|source| routes.add(&routing.path(topology, source, 0).expect("a path")))
        .collect();
    let port = |_| PortConfig {
        rate: Rate::from_bps(1_000_000_000),
        clock_error_ppb: 0,
        latency: Duration::from_us(5),
        far_processing: None,
        queueing: Queueing::Fifo {
            discipline: Discipline::DropTail(DropTail::packets(limit_packets)),
            release: BufferRelease::EndOfService,
        },
        shaper: None,
        losses: Vec::new(),
        departure_first: true,
    };
    let ports = topology.ports().len();
    let arbiter = Arbiter::new(Rule::RoundRobin, ports, 1);
    let network = Network::new(
        topology,
        (0..ports).map(port).collect(),
        routes,
        Framing::ETHERNET,
        arbiter,
        Twice::default(),
    );
    (network, starts)
}

fn header(flow: u32, route: u32) -> Header {
    Header {
        flow,
        route,
        output: PortId(0),
        size_bytes: 1500,
        ecn: 0,
        class: 0,
    }
}

proptest! {
    #[test]
    fn a_counter_counts_as_the_forwarding_core_does(
        is_fat_tree in any::<bool>(),
        limit_packets in 1..20_u32,
        sends in prop::collection::vec((0..15_usize, 0..30_u64), 1..300),
    ) {
        let topology = if is_fat_tree { fat_tree(4).expect("k = 4") } else { two_switch(4).expect("a topology") };
        let (mut network, routes) = network(&topology, limit_packets);
        let mut now = Instant::ZERO;
        for (source, gap_us) in sends {
            now += Duration::from_us(gap_us);
            network.advance(now, u64::from(u32::MAX), &mut Sinks);
            let source = source % routes.len();
            let header = header(source as u32, routes[source]);
            network.inject(now, Packet { header, content: () });
        }
        network.advance(Instant::NEVER, u64::from(u32::MAX), &mut Sinks);
        let counts = &network.observer().counts;
        prop_assert!(!counts.is_empty());
        for (own, core) in counts {
            prop_assert_eq!(own, core);
        }
    }
}

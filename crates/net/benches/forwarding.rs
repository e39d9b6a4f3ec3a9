//! The forwarding core alone: a fixed window from 15 senders to one receiver in a k = 4 fat-tree,
//! no TCP. `cargo bench -p fairport-net --bench forwarding`

use std::time::Instant;

use fairport_net::arbitration::{Arbiter, Rule};
use fairport_net::discipline::{Discipline, DropTail, Verdict};
use fairport_net::framing::Framing;
use fairport_net::port::{Leaves, PortConfig};
use fairport_net::processing::{Processing, Server};
use fairport_net::routing::{DestinationSuffix, Routes};
use fairport_net::stream::Stream;
use fairport_net::topology::fat_tree;
use fairport_net::{Arrival, Hosts, Network, NodeId, Observer, Packet, PortId};
use fairport_units::{Rate, Time};

/// As large as a TCP segment.
type Content = [u32; 12];

struct Blind;

impl Observer<Content> for Blind {
    fn verdict(&mut self, _: Time, _: PortId, _: &Packet<Content>, _: Verdict) {}

    fn watches(&self, _: PortId) -> bool {
        false
    }

    fn detail(&mut self, _: &Arrival<'_, Content>) {}
}

/// The receiver acknowledges every packet; a sender sends one for every acknowledgement.
struct Window {
    /// routes by flow: there, back
    routes: Vec<[u32; 2]>,
}

impl Hosts<Content, Blind> for Window {
    fn horizon(&self) -> Time {
        Time::NEVER
    }

    fn receive(
        &mut self,
        network: &mut Network<Content, Blind>,
        _: NodeId,
        packet: &Packet<Content>,
    ) {
        let [there, back] = self.routes[packet.flow as usize];
        let (route, size_bytes) = if packet.size_bytes > 100 {
            (back, 52)
        } else {
            (there, 1500)
        };
        network.inject(
            network.now(),
            Packet {
                route,
                size_bytes,
                ..*packet
            },
        );
    }
}

fn main() {
    const WINDOW: u64 = 4; // fits all buffers on the way: nothing is lost, so nothing stops
    let tree = fat_tree(4).expect("k is even");
    let hosts = tree.hosts();
    let mut routing = DestinationSuffix::new(&tree);
    let mut table = Routes::default();
    let mut routes: Vec<[u32; 2]> = Vec::new();
    for source in 1..hosts.len() {
        let there = table.add(&routing.path(&tree, source, 0).expect("connected"));
        let back = table.add(&routing.path(&tree, 0, source).expect("connected"));
        routes.push([there, back]);
    }
    let port = |i| PortConfig {
        rate: Rate::from_bps(1_000_000_000),
        clock_error_ppb: Stream::new(1, "clock", i).symmetric(50_000),
        latency: Time::from_us(25),
        far_processing: i.is_multiple_of(2).then(|| {
            let uniform = Processing::Uniform {
                min_ps: 500_000,
                max_ps: 1_500_000,
            };
            Server::new(uniform, Stream::new(1, "host", i))
        }),
        discipline: Discipline::DropTail(DropTail::packets(100)),
        shaper: None,
        leaves: Leaves::AtEndOfService,
        departure_first: true,
    };
    let ports = tree.ports().len();
    let mut network = Network::new(
        &tree,
        (0..ports as u64).map(port).collect(),
        table,
        Framing::ETHERNET,
        Arbiter::new(Rule::RoundRobin, ports, Stream::new(1, "arbitration", 0)),
        Blind,
    );
    let mut window = Window { routes };
    for i in 0..WINDOW * 15 {
        let flow = (i % 15) as u32;
        let packet = Packet {
            flow,
            route: window.routes[flow as usize][0],
            ingress: PortId(0),
            size_bytes: 1500,
            ecn: 0,
            class: 0,
            content: [0; 12],
        };
        network.inject(Time::from_us(i), packet);
    }
    let mut per_hop: Vec<f64> = (0..7)
        .map(|_| {
            let (start, before) = (Instant::now(), network.packet_hops());
            network.advance(Time::NEVER, 5_000_000, &mut window);
            start.elapsed().as_secs_f64() * 1e9 / (network.packet_hops() - before) as f64
        })
        .collect();
    per_hop.sort_by(f64::total_cmp);
    println!(
        "forwarding: {:.1} ns a packet-hop (median of 7)",
        per_hop[3]
    );
}

//! The forwarding core alone, without TCP: 15 senders with a fixed window send to one receiver in a k = 4
//! fat-tree. One row per queue discipline. `cargo bench -p fairport-net --bench forwarding`

use fairport_net::arbitration::{Arbiter, Rule};
use fairport_net::framing::Framing;
use fairport_net::port::PortConfig;
use fairport_net::processing::{Processing, Server};
use fairport_net::queue::{CustomQueues, NetworkContext, QueueConfig};
use fairport_net::routing::{DestinationSuffix, Routes};
use fairport_net::shaper::Shaper;
use fairport_net::stream::Stream;
use fairport_net::topology::fat_tree;
use fairport_net::{Access, Arrival, Header, Hosts, Network, NodeId, Observer, Packet, PortId};
use fairport_units::{Duration, Instant, Rate};
use serde_json::{Value, json};

/// As large as a TCP segment.
type Content = [u32; 12];

struct Blind;

impl Observer<Content> for Blind {
    type PortState = ();

    fn watches(&self, _: PortId) -> bool {
        false
    }

    fn detail(&mut self, _: &Arrival<'_, Content>) {}
}

/// The receiver acknowledges every packet; a sender sends a packet for every acknowledgement.
struct Window {
    /// by flow: the route to the receiver, and the route back
    routes: Vec<[u32; 2]>,
}

impl Hosts<Content, Blind> for Window {
    fn horizon(&self) -> Instant {
        Instant::NEVER
    }

    fn receive(
        &mut self,
        mut network: Access<'_, Content, Blind>,
        _: NodeId,
        packet: &Packet<Content>,
    ) {
        let [there, back] = self.routes[packet.header.flow as usize];
        let (route, size_bytes) = if packet.header.size_bytes > 100 {
            (back, 52)
        } else {
            (there, 1500)
        };
        let header = Header {
            route,
            size_bytes,
            ..packet.header
        };
        let content = packet.content;
        network.inject(network.now(), Packet { header, content });
    }
}

/// The queue of all switch ports, and the shaper of all ports.
struct Kind {
    name: &'static str,
    queue: Value,
    shaper: Option<Shaper>,
}

const RATE: Rate = Rate::from_bps(1_000_000_000);

/// One kind per discipline. None of them drops a packet: those that would drop at random mark instead.
fn kinds() -> Vec<Kind> {
    let limit = json!({"packets": 100});
    let drop_tail = json!({"kind": "drop-tail", "limit": limit, "count_in_service": true});
    let shaped = |name, shaper| Kind {
        name,
        queue: drop_tail.clone(),
        shaper: Some(shaper),
    };
    let kinds = [
        ("drop-tail", drop_tail.clone()),
        (
            "step-marking",
            json!({"limit": limit, "count_in_service": true, "mark_above": {"packets": 20}}),
        ),
        // with thresholds at which nearly every packet needs a random draw
        (
            "red",
            json!({
                "limit": limit, "count_in_service": true, "variant": "ns2",
                "min": {"packets": 5}, "max": {"packets": 60}, "max_p_ppb": 100_000_000,
                "weight_ppb": 2_000_000, "gentle": true, "ecn": true, "mean_packet_bytes": 1500,
            }),
        ),
        (
            "red-linux",
            json!({
                "limit": limit, "count_in_service": true,
                "min_bytes": 5 * 1518, "max_bytes": 60 * 1518, "max_p_ppb": 100_000_000,
                "weight_ppb": 2_000_000, "ecn": true, "mean_packet_bytes": 1500,
            }),
        ),
        (
            "rio",
            json!({
                "limit": limit, "count_in_service": true,
                "short_min": {"packets": 5}, "short_max": {"packets": 60},
                "short_max_p_ppb": 100_000_000,
                "long_min": {"packets": 5}, "long_max": {"packets": 60},
                "long_max_p_ppb": 100_000_000,
                "weight_ppb": 2_000_000, "gentle": true, "ecn": true, "mean_packet_bytes": 1500,
            }),
        ),
        (
            "pie",
            json!({
                "limit": limit, "count_in_service": true, "target_ps": 200_000_000,
                "update_ps": 200_000_000, "max_burst_ps": 2_000_000_000,
                "mean_packet_bytes": 1000, "ecn": true,
            }),
        ),
        (
            "weighted-tail-drop",
            json!({
                "limit": limit, "count_in_service": true,
                "thresholds_ppb": [900_000_000, 1_000_000_000],
            }),
        ),
        (
            "sfq",
            json!({"limit_packets": 400, "buckets": 4, "seed": 1, "placed": []}),
        ),
        (
            "linux-sfq",
            json!({
                "limit_packets": 127, "depth_packets": 127, "divisor": 1024, "flows": 128,
                "quantum_bytes": null, "perturb_ps": 0,
            }),
        ),
        ("drr", json!({"limit": limit, "quantum_bytes": null})),
        ("port-fair", json!({"limit": limit})),
        (
            "codel",
            json!({
                "limit": limit, "target_ps": 200_000_000, "interval_ps": 2_000_000_000,
                "ecn": true,
            }),
        ),
        (
            "fq-codel",
            json!({
                "limit": limit, "target_ps": 200_000_000, "interval_ps": 2_000_000_000,
                "ecn": true, "queues": 1024, "quantum_bytes": null,
            }),
        ),
        ("strict-priority", json!({"limit": limit})),
        (
            "shared-buffer",
            json!({"memory_bytes": 512 * 1024, "alpha": 1.0}),
        ),
    ];
    let kinds = kinds.into_iter().map(|(name, mut queue)| {
        queue["kind"] = json!(name);
        Kind {
            name,
            queue,
            shaper: None,
        }
    });
    let mut kinds: Vec<Kind> = kinds.collect();
    kinds.push(shaped("tbf", Shaper::token_bucket(RATE, 20_000)));
    kinds.push(shaped("htb", Shaper::htb(RATE, 15_360, 1_600)));
    kinds
}

/// A network in which 15 senders have filled their windows.
fn at_work(kind: &Kind) -> (Network<Content, Blind>, Window) {
    const WINDOW: u64 = 4; // all windows fit into the buffers: no packet is lost, so no flow stops
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
    let customs = CustomQueues::default();
    let queues = NetworkContext::new(&tree, 1, 1518);
    let build = |queue: &Value, i: u64| {
        let config: QueueConfig = serde_json::from_value(queue.clone()).expect("a queue");
        let port = queues.port(PortId(i as u32), RATE);
        config.build(&port, &customs).expect("a queue")
    };
    let drop_tail = &kinds()[0].queue;
    let port = |i| PortConfig {
        rate: RATE,
        clock_error_ppb: Stream::new(1, "clock", i).symmetric(50_000),
        latency: Duration::from_us(25),
        far_processing: i.is_multiple_of(2).then(|| {
            let uniform = Processing::Uniform {
                min_ps: 500_000,
                max_ps: 1_500_000,
            };
            Server::new(uniform, Stream::new(1, "host", i))
        }),
        // hosts' own ports must serve first in, first out
        queueing: if tree.node(tree.port(PortId(i as u32)).node).is_host {
            build(drop_tail, i)
        } else {
            build(&kind.queue, i)
        },
        shaper: kind.shaper.clone(),
        losses: Vec::new(),
        departure_first: true,
    };
    let ports = tree.ports().len();
    let mut network = Network::new(
        &tree,
        (0..ports as u64).map(port).collect(),
        table,
        Framing::ETHERNET,
        Arbiter::new(Rule::RoundRobin, ports, 1),
        Blind,
    );
    let window = Window { routes };
    for i in 0..WINDOW * 15 {
        let flow = (i % 15) as u32;
        let header = Header {
            flow,
            route: window.routes[flow as usize][0],
            size_bytes: 1500,
            ecn: 0b10, // may be marked
            class: (flow % 2) as u8,
            ..Header::default()
        };
        let content = [0; 12];
        network.inject(Instant::from_us(i), Packet { header, content });
    }
    (network, window)
}

fn main() {
    // Arguments: names of disciplines (all if there are none), and the number of packet-hops, for profilers.
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let hops = arguments.iter().find_map(|a| a.parse().ok());
    let is_wanted = |kind: &Kind| {
        let mut names = arguments.iter().filter(|a| a.parse::<u64>().is_err());
        names.clone().count() == 0 || names.any(|name| name == kind.name)
    };
    for kind in kinds().iter().filter(|kind| is_wanted(kind)) {
        let (mut network, mut window) = at_work(kind);
        let mut per_hop: Vec<f64> = (0..7)
            .map(|_| {
                let (start, before) = (std::time::Instant::now(), network.packet_hops());
                network.advance(Instant::NEVER, hops.unwrap_or(2_000_000), &mut window);
                start.elapsed().as_secs_f64() * 1e9 / (network.packet_hops() - before) as f64
            })
            .collect();
        per_hop.sort_by(f64::total_cmp);
        println!(
            "forwarding, {}: {:.1} ns per packet-hop (median of 7)",
            kind.name, per_hop[3]
        );
    }
}

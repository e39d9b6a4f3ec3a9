//! The forwarding core alone: a fixed window from 15 senders to one receiver in a k = 4 fat-tree,
//! no TCP; a row for each queue discipline. `cargo bench -p fairport-net --bench forwarding`

use std::time::Instant;

use fairport_net::arbitration::{Arbiter, Rule};
use fairport_net::discipline::{
    Discipline, DropTail, EarlyDrop, Pie, PieConfig, QueueUnit, Ramp, Red, RedLinux,
    RedLinuxConfig, Rio, StepMarking, Threshold, Variant, Verdict, WeightedTailDrop,
};
use fairport_net::framing::Framing;
use fairport_net::port::{BufferRelease, PortConfig, Queueing};
use fairport_net::processing::{Processing, Server};
use fairport_net::routing::{DestinationSuffix, Routes};
use fairport_net::scheduler::{
    CoDel, CoDelConfig, Drr, FqCoDel, FqCoDelConfig, LinuxSfq, LinuxSfqConfig, Scheduler, Sfq,
    SharedBuffer, StrictPriority, SwitchMemory,
};
use fairport_net::shaper::Shaper;
use fairport_net::stream::Stream;
use fairport_net::topology::fat_tree;
use fairport_net::{Arrival, Header, Hosts, Network, NodeId, Observer, Packet, PortId};
use fairport_units::{Rate, Time};

/// As large as a TCP segment.
type Content = [u32; 12];

struct Blind;

impl Observer<Content> for Blind {
    fn verdict(&mut self, _: Time, _: PortId, _: &Header, _: Verdict) {}

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

/// What all ports but those of hosts have.
#[derive(Clone)]
struct Kind {
    name: &'static str,
    queueing: fn(Stream) -> Queueing,
    shaper: Option<Shaper>,
}

fn fifo(discipline: Discipline) -> Queueing {
    Queueing::Fifo {
        discipline,
        leaves: BufferRelease::EndOfService,
    }
}

fn scheduled(scheduler: Scheduler) -> Queueing {
    Queueing::Scheduled(Box::new(scheduler))
}

const RATE: Rate = Rate::from_bps(1_000_000_000);
const PACKET_TIME: Time = Time::from_us(12);

fn buffer() -> DropTail {
    DropTail::packets(100)
}

/// Probabilities that are drawn for nearly every packet, and nothing lost: what is drawn is
/// marked.
const RAMP: Ramp = Ramp {
    min: 5.0,
    max: 60.0,
    max_p: 0.1,
    gentle: true,
};

fn early_drop() -> EarlyDrop {
    EarlyDrop {
        weight: 0.002,
        unit: QueueUnit::Packets,
        variant: Variant::Ns2,
        ecn: true,
        buffer: buffer(),
        packet_time: PACKET_TIME,
    }
}

fn red(stream: Stream) -> Queueing {
    let red = Red::new(RAMP, &early_drop(), stream);
    fifo(Discipline::Red(Box::new(red)))
}

fn red_linux(stream: Stream) -> Queueing {
    let config = RedLinuxConfig {
        min_bytes: 5 * 1518,
        max_bytes: 60 * 1518,
        max_p: 0.1,
        weight: 0.002,
        buffer: buffer(),
        packet_time: PACKET_TIME,
        ecn: true,
    };
    fifo(Discipline::RedLinux(Box::new(RedLinux::new(
        &config, stream,
    ))))
}

fn rio(stream: Stream) -> Queueing {
    let rio = Rio::new(RAMP, RAMP, &early_drop(), stream);
    fifo(Discipline::Rio(Box::new(rio)))
}

fn pie(stream: Stream) -> Queueing {
    let config = PieConfig {
        target: Time::from_us(200),
        update: Time::from_us(200),
        max_burst: Time::from_us(2000),
        ecn: true,
        mean_packet_bytes: 1000,
        buffer: buffer(),
    };
    fifo(Discipline::Pie(Box::new(Pie::new(config, stream))))
}

const CODEL: CoDelConfig = CoDelConfig {
    target: Time::from_us(200),
    interval: Time::from_us(2000),
    ecn: true,
    max_packet_bytes: 1518,
};

fn linux_sfq(stream: Stream) -> Queueing {
    let config = LinuxSfqConfig {
        limit_packets: 127,
        depth_packets: 127,
        divisor: 1024,
        flows: 128,
        quantum_bytes: 1518,
        perturb: Time::ZERO,
    };
    scheduled(Scheduler::LinuxSfq(LinuxSfq::new(config, stream)))
}

fn fq_codel(_: Stream) -> Queueing {
    let config = FqCoDelConfig {
        limit: buffer(),
        queues: 1024,
        quantum_bytes: 1518,
        codel: CODEL,
    };
    scheduled(Scheduler::FqCoDel(FqCoDel::new(config, 1)))
}

fn shared_buffer(_: Stream) -> Queueing {
    let memory = SwitchMemory::new(512 * 1024);
    scheduled(Scheduler::SharedBuffer(SharedBuffer::new(memory, 1.0)))
}

fn kinds() -> Vec<Kind> {
    let kind = |name, queueing: fn(Stream) -> Queueing| Kind {
        name,
        queueing,
        shaper: None,
    };
    let shaped = |name, shaper| Kind {
        name,
        queueing: |_| fifo(Discipline::DropTail(buffer())),
        shaper: Some(shaper),
    };
    vec![
        kind("drop-tail", |_| fifo(Discipline::DropTail(buffer()))),
        kind("step-marking", |_| {
            let step = StepMarking::new(buffer(), Threshold::Packets(20));
            fifo(Discipline::StepMarking(Box::new(step)))
        }),
        kind("red", red),
        kind("red, linux", red_linux),
        kind("rio", rio),
        kind("pie", pie),
        kind("weighted-tail-drop", |_| {
            let thresholds = [90, 100, 100, 100].map(DropTail::packets);
            let weighted = WeightedTailDrop::new(buffer(), thresholds);
            fifo(Discipline::WeightedTailDrop(Box::new(weighted)))
        }),
        shaped("tbf", Shaper::token_bucket(RATE, 20_000)),
        shaped("htb", Shaper::htb(RATE, 15_360, 1_600)),
        kind("sfq", |_| {
            scheduled(Scheduler::Sfq(Sfq::new(400, 4, 1, Vec::new())))
        }),
        kind("linux-sfq", linux_sfq),
        kind("drr", |_| {
            scheduled(Scheduler::Drr(Drr::new(buffer(), 1518)))
        }),
        kind("codel", |_| {
            scheduled(Scheduler::CoDel(CoDel::new(buffer(), CODEL)))
        }),
        kind("fq-codel", fq_codel),
        kind("strict-priority", |_| {
            let pair = StrictPriority::new(buffer());
            scheduled(Scheduler::StrictPriority(pair))
        }),
        kind("shared-buffer", shared_buffer),
    ]
}

/// A network with 15 senders that have filled their windows.
fn at_work(kind: &Kind) -> (Network<Content, Blind>, Window) {
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
        rate: RATE,
        clock_error_ppb: Stream::new(1, "clock", i).symmetric(50_000),
        latency: Time::from_us(25),
        far_processing: i.is_multiple_of(2).then(|| {
            let uniform = Processing::Uniform {
                min_ps: 500_000,
                max_ps: 1_500_000,
            };
            Server::new(uniform, Stream::new(1, "host", i))
        }),
        // hosts' own ports serve first in, first out
        queueing: if tree.node(tree.port(PortId(i as u32)).node).is_host {
            fifo(Discipline::DropTail(buffer()))
        } else {
            (kind.queueing)(Stream::new(1, "queue", i))
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
        Arbiter::new(Rule::RoundRobin, ports, Stream::new(1, "arbitration", 0)),
        Blind,
    );
    let window = Window { routes };
    for i in 0..WINDOW * 15 {
        let flow = (i % 15) as u32;
        let header = Header {
            flow,
            route: window.routes[flow as usize][0],
            output: PortId(0),
            size_bytes: 1500,
            ecn: 0b10, // may be marked
            class: (flow % 2) as u8,
        };
        let content = [0; 12];
        network.inject(Time::from_us(i), Packet { header, content });
    }
    (network, window)
}

fn main() {
    // a row a discipline; or those named, for so many packet-hops: what a profiler counts
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
                let (start, before) = (Instant::now(), network.packet_hops());
                network.advance(Time::NEVER, hops.unwrap_or(2_000_000), &mut window);
                start.elapsed().as_secs_f64() * 1e9 / (network.packet_hops() - before) as f64
            })
            .collect();
        per_hop.sort_by(f64::total_cmp);
        println!(
            "forwarding, {}: {:.1} ns a packet-hop (median of 7)",
            kind.name, per_hop[3]
        );
    }
}

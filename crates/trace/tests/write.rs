//! Captures of a star's port to one host: what is read back from the files is what was sent.
//!
//! The files are read with pcap-file, an implementation of its own, and the frames with
//! `fairport-wire`.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use fairport_net::arbitration::{Arbiter, Rule};
use fairport_net::discipline::{DropTail, StepMarking};
use fairport_net::framing::Framing;
use fairport_net::limit::Limit;
use fairport_net::port::PortConfig;
use fairport_net::queue::{BufferRelease, Discipline, Queueing, Scheduler};
use fairport_net::routing::{DestinationSuffix, Routes};
use fairport_net::scheduler::Sfq;
use fairport_net::topology::star;
use fairport_net::{Access, Header, Hosts, Network, NodeId, Packet, PortId, Topology};
use fairport_record::{Column, FlowEnds, Numbered, PacketLog, Recorder, Table, Watcher};
use fairport_tcp::{Ecn, Flags, SackBlock, Segment, SynOptions, Timestamps};
use fairport_trace::write::{CapturingRecorder, PortFiles};
use fairport_units::{Duration, Instant, Rate};
use fairport_wire::{Captured, Frame, Network as Ip, PseudoHeader, Transport, tcp, udp};
use pcap_file::pcapng::{Block, PcapNgReader, blocks::enhanced_packet::EnhancedPacketOption};
use proptest::prelude::*;

const HOSTS: u32 = 4;
const END: Instant = Instant::from_ms(2);
/// The port that leads to `h0`.
const OUTPUT: &str = "s0:0";

/// Hosts that only receive.
struct Sinks;

impl Hosts<Numbered, CapturingRecorder> for Sinks {
    fn horizon(&self) -> Instant {
        Instant::NEVER
    }

    fn receive(
        &mut self,
        _: Access<'_, Numbered, CapturingRecorder>,
        _: NodeId,
        _: &Packet<Numbered>,
    ) {
    }
}

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("fairport-trace-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).expect("a folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A packet in a file.
#[derive(Clone, Debug, PartialEq)]
struct Read {
    interface: u32,
    time_ns: u64,
    segment: Segment,
    number: u16,
    ttl: u8,
    ecn: Ecn,
    source_port: u16,
    comment: Option<String>,
}

/// Everything in a file, whose frames are whole; checksums are right.
fn read(path: &Path) -> Vec<Read> {
    let mut reader = PcapNgReader::new(File::open(path).expect("a file")).expect("pcapng");
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(block) = block.expect("a block") else {
            continue;
        };
        let comment = block.options.iter().find_map(|option| match option {
            EnhancedPacketOption::Comment(comment) => Some(comment.to_string()),
            _ => None,
        });
        assert_eq!(block.data.len(), block.original_len as usize);
        let frame = Frame::parse(Captured::whole(&block.data)).expect("a frame");
        let Ip::Ipv4(ip) = frame.network else {
            panic!("it is IPv4")
        };
        assert!(ip.is_checksum_valid());
        let pseudo = |protocol| PseudoHeader::ipv4(ip.source(), ip.destination(), protocol);
        let (segment, source_port) = match frame.network.transport().expect("a transport") {
            Some(Transport::Tcp(tcp)) => {
                assert_eq!(tcp.is_checksum_valid(&pseudo(tcp::PROTOCOL)), Some(true));
                (tcp.to_segment().expect("a segment"), tcp.source_port())
            }
            Some(Transport::Udp(udp)) => {
                assert_eq!(udp.is_checksum_valid(&pseudo(udp::PROTOCOL)), Some(true));
                let segment = Segment {
                    payload: udp.payload().length() as u16,
                    ..Segment::default()
                };
                (segment, udp.source_port())
            }
            other => panic!("{other:?}"),
        };
        packets.push(Read {
            interface: block.interface_id,
            time_ns: block.timestamp.as_nanos() as u64,
            segment,
            number: ip.identification(),
            ttl: ip.ttl(),
            ecn: ip.ecn(),
            source_port,
            comment,
        });
    }
    packets
}

/// How the switch's ports queue.
#[derive(Clone, Copy, Debug)]
enum Queue {
    DropTail,
    Marking,
    /// drops what it had accepted
    Sfq,
}

impl Queue {
    fn build(self) -> Queueing {
        let fifo = |discipline| Queueing::Fifo {
            discipline,
            release: BufferRelease::EndOfService,
        };
        match self {
            Self::DropTail => fifo(Discipline::DropTail(DropTail::packets(5))),
            Self::Marking => {
                let marking = StepMarking::new(DropTail::packets(9), Limit::Packets(3));
                fifo(Discipline::StepMarking(Box::new(marking)))
            }
            Self::Sfq => {
                let sfq = Sfq::new(5, 3, 1, vec![None; HOSTS as usize]);
                Queueing::Scheduled(Box::new(Scheduler::Sfq(sfq)))
            }
        }
    }
}

/// A port by its name.
fn port(topology: &Topology, name: &str) -> PortId {
    let mut ports = topology.port_ids();
    ports
        .find(|port| topology.port_name(*port) == name)
        .expect("a port")
}

/// A star whose hosts h1, h2 and h3 each have a flow to h0, the last of UDP.
struct Star {
    folder: Folder,
    network: Network<Numbered, CapturingRecorder>,
    routes: Vec<u32>,
    sent: Vec<u64>,
}

impl Star {
    /// Whose captured ports are the one to h0 and the adapter of h1.
    fn new(queue: Queue) -> Self {
        let topology = star(HOSTS).expect("a star");
        let folder = Folder::new();
        let mut routing = DestinationSuffix::new(&topology);
        let mut routes = Routes::default();
        let starts = (1..HOSTS as usize)
            .map(|source| routes.add(&routing.path(&topology, source, 0).expect("a path")))
            .collect();
        let config = |port: &fairport_net::topology::Port| PortConfig {
            rate: Rate::from_bps(1_000_000_000),
            clock_error_ppb: 0,
            latency: Duration::from_us(5),
            far_processing: None,
            queueing: if topology.node(port.node).is_host {
                Queue::DropTail.build()
            } else {
                queue.build()
            },
            shaper: None,
            losses: Vec::new(),
            departure_first: true,
        };
        let ports: Vec<_> = topology.ports().iter().map(config).collect();
        let traced = port(&topology, OUTPUT);
        let files = |name: &str| PortFiles {
            port: port(&topology, name),
            ingress: folder.0.join(format!("{name}.ingress")),
            egress: folder.0.join(format!("{name}.egress")),
        };
        let mut tap = CapturingRecorder::new(
            &topology,
            Recorder::new(&topology, traced, END),
            PacketLog::new([traced], Instant::ZERO, END),
            END,
            &vec![1_000_000_000; ports.len()],
            vec![files(OUTPUT), files("h1:0")],
            65_535,
        );
        for src in 1..HOSTS {
            tap.add_flow(FlowEnds {
                src,
                dst: 0,
                is_udp: src == 3,
            });
        }
        let arbiter = Arbiter::new(Rule::RoundRobin, ports.len(), 1);
        let network = Network::new(&topology, ports, routes, Framing::ETHERNET, arbiter, tap);
        Self {
            folder,
            network,
            routes: starts,
            sent: vec![0; HOSTS as usize],
        }
    }

    /// A flow's sender sends a segment; returns its number.
    fn send(&mut self, now: Instant, flow: u32, segment: Segment, ecn: u8) -> u16 {
        self.network.advance(now, u64::from(u32::MAX), &mut Sinks);
        let sent = &mut self.sent[flow as usize];
        *sent += 1;
        let number = *sent as u16;
        let header = Header {
            flow,
            route: self.routes[flow as usize],
            size_bytes: (segment.wire_bytes() as u16).max(40),
            ecn,
            ..Header::default()
        };
        let content = Numbered {
            segment,
            number,
            is_backward: false,
        };
        self.network.inject(now, Packet { header, content });
        number
    }

    /// Ends the run; the packets that were logged.
    fn finish(&mut self) -> Table {
        self.network.advance(END, u64::from(u32::MAX), &mut Sinks);
        self.network.settle(END);
        self.network.observer_mut().finish().expect("files")
    }

    fn read(&self, file: &str) -> Vec<Read> {
        read(&self.folder.0.join(file))
    }
}

/// Any segment that fits into a frame.
fn any_segment() -> impl Strategy<Value = Segment> {
    let syn = prop::option::of((any::<u16>(), prop::option::of(any::<u8>()), any::<bool>()));
    let sack = any::<(u32, u32)>().prop_map(|(start, end)| SackBlock { start, end });
    (
        any::<(u32, u32, u16, u8)>(),
        0..1400_u16,
        prop::option::of(any::<(u32, u32)>()),
        syn,
        prop::collection::vec(sack, 0..=4),
    )
        .prop_map(
            |((seq, ack, window, flags), payload, timestamps, syn, sacks)| {
                let flags = if syn.is_some() { flags | 2 } else { flags & !2 };
                let mut segment = Segment {
                    seq,
                    ack,
                    payload,
                    window,
                    flags: Flags::from_bits(flags),
                    ..Segment::default()
                };
                if let Some((val, ecr)) = timestamps {
                    segment.options.set_timestamps(Timestamps { val, ecr });
                }
                if let Some((mss, window_scale, sack_permitted)) = syn {
                    segment.options.set_syn(SynOptions {
                        mss,
                        window_scale,
                        sack_permitted,
                    });
                } else {
                    let room = segment.options.sack_room();
                    for block in sacks.into_iter().take(room) {
                        segment.options.push_sack(block);
                    }
                }
                segment
            },
        )
}

/// What a capture can show of a segment of this flow: of a datagram, its length.
fn visible(flow: u32, segment: Segment) -> Segment {
    match flow {
        2 => Segment {
            payload: segment.payload,
            ..Segment::default()
        },
        _ => segment,
    }
}

#[expect(clippy::naive_bytecount, reason = "a few hundred rows")]
fn count(table: &Table, column: &str, value: u8) -> usize {
    match table.column(column) {
        Some(Column::U8(values)) => values.iter().filter(|one| **one == value).count(),
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn captures_hold_what_was_sent_and_what_became_of_it(
        queue in prop_oneof![Just(Queue::DropTail), Just(Queue::Marking), Just(Queue::Sfq)],
        sends in prop::collection::vec((0..3_u32, 0..20_u64, any_segment(), any::<bool>()), 1..200),
    ) {
        let mut star = Star::new(queue);
        let mut now = Instant::ZERO;
        let mut sent = HashMap::new();
        for (flow, gap_us, segment, is_capable) in sends {
            now += Duration::from_us(gap_us);
            if now > END {
                break;
            }
            let ecn = if is_capable { Ecn::Ect0 } else { Ecn::NotEct };
            let number = star.send(now, flow, segment, ecn.bits());
            sent.insert((20_000 + flow as u16, number), (visible(flow, segment), ecn));
        }
        let logged = star.finish();
        let (ingress, egress) = (star.read("s0:0.ingress"), star.read("s0:0.egress"));

        // what arrives is what was sent, in order of time, from the port that leads to its host
        prop_assert!(ingress.is_sorted_by_key(|one| one.time_ns));
        for one in &ingress {
            let (segment, ecn) = &sent[&(one.source_port, one.number)];
            prop_assert_eq!((&one.segment, &one.ecn, one.ttl), (segment, ecn, 64));
            prop_assert_eq!(one.interface, u32::from(one.source_port) - 20_000 + 1);
        }
        // what leaves has arrived before and was not dropped; each once, one hop further on
        prop_assert!(egress.is_sorted_by_key(|one| one.time_ns));
        let mut open: HashMap<_, _> =
            ingress.iter().map(|one| ((one.source_port, one.number), one)).collect();
        prop_assert_eq!(open.len(), ingress.len());
        for one in &egress {
            let came = open.remove(&(one.source_port, one.number)).expect("it arrived");
            prop_assert!(one.time_ns > came.time_ns && came.comment.is_none());
            prop_assert_eq!((&one.segment, one.ttl), (&came.segment, 63));
            prop_assert!(one.ecn == came.ecn || (one.ecn, came.ecn) == (Ecn::Ce, Ecn::Ect0));
        }
        // the rest was dropped, for a reason, or still waits
        let dropped = open.values().filter(|one| one.comment.is_some()).count();
        let losses: u64 = (0..3).map(|flow| star.network.observer().recorder().losses(flow).drops).sum();
        let nic_drops = star.read("h1:0.ingress").iter().filter(|one| one.comment.is_some()).count();
        prop_assert!(dropped as u64 + nic_drops as u64 <= losses);
        // the log says the same
        prop_assert_eq!(logged.rows(), ingress.len());
        prop_assert_eq!(count(&logged, "fate", 3), dropped);
        prop_assert_eq!(count(&logged, "fate", 0), open.len() - dropped);
        let marked = egress.iter().filter(|one| one.ecn == Ecn::Ce).count();
        prop_assert!(count(&logged, "fate", 2) >= marked);
    }
}

/// Three hosts send five packets each at the same instant. A packet takes 1424 ns at 1 Gbit/s: 100 bytes of
/// data, 40 of headers, 38 of framing. So three arrive for the output in every 1424 ns, and one leaves. Its
/// buffer of five, the packet in service included, has 3, 5, 5, 5, 5 packets after each round: two of
/// the third round do not fit, nor two of the fourth and the fifth.
#[test]
fn six_of_fifteen_packets_are_dropped_with_their_reason() {
    let mut star = Star::new(Queue::DropTail);
    let segment = Segment {
        payload: 100,
        flags: Flags::ACK,
        ..Segment::default()
    };
    for _ in 0..5 {
        for flow in 0..3 {
            star.send(Instant::from_us(10), flow, segment, 0);
        }
    }
    star.finish();
    let nic = star.read("h1:0.egress");
    let steps: Vec<_> = nic
        .windows(2)
        .map(|two| two[1].time_ns - two[0].time_ns)
        .collect();
    assert_eq!(steps, [1424; 4]);
    assert!(
        nic.iter().all(|one| one.ttl == 64),
        "no switch has passed it on"
    );
    let dropped = |from: usize, to: usize| {
        let ingress = star.read("s0:0.ingress");
        let comments = ingress[from..to]
            .iter()
            .filter_map(|one| one.comment.as_deref());
        comments
            .filter(|comment| *comment == "dropped: full")
            .count()
    };
    assert_eq!(
        [
            dropped(0, 6),
            dropped(6, 9),
            dropped(9, 12),
            dropped(12, 15)
        ],
        [0, 2, 2, 2]
    );
    assert_eq!(star.read("s0:0.egress").len(), 9);
}

#[test]
fn a_failure_to_write_is_kept_and_reported() {
    let mut star = Star::new(Queue::DropTail);
    std::fs::remove_dir_all(&star.folder.0).expect("the folder");
    let error = {
        star.network.settle(END);
        star.network.observer_mut().finish().expect_err("no folder")
    };
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

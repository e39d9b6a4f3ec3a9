//! What a frame costs: ns to read it, to find its flow, to mark it, to sum it and to write it, and the same
//! by etherparse where that has it.
//!
//! `cargo bench -p fairport-wire`. A figure, never a test.

use std::hint::black_box;
use std::time::Instant;

use etherparse::{LaxSlicedPacket, NetSlice, SlicedPacket, TransportSlice};
use fairport_tcp::{Ecn, Flags, SackBlock, Segment, Timestamps};
use fairport_wire::{
    Captured, EtherType, EthernetHeader, Frame, Headers, IpHeader, Ipv4Header, Ipv6Header,
    MacAddress, Payload, TcpHeader, Transport, TransportHeader, VlanTags, checksum, mark_ce, tcp,
};

const DATA: usize = 1448;
const FRAMES: usize = 1000;
const ROUNDS: usize = 300;

fn headers(sacks: u32, is_ipv6: bool) -> Headers {
    let mut segment = Segment {
        seq: 1_000_000,
        ack: 2_000_000,
        window: 502,
        payload: DATA as u16,
        flags: Flags::ACK,
        ..Segment::default()
    };
    segment
        .options
        .set_timestamps(Timestamps { val: 7, ecr: 9 });
    for i in 0..sacks {
        let start = 3_000_000 + 10_000 * i;
        let end = start + 1448;
        segment.options.push_sack(SackBlock { start, end });
    }
    let ethernet = EthernetHeader {
        destination: MacAddress([2, 0, 0, 0, 0, 2]),
        source: MacAddress([2, 0, 0, 0, 0, 1]),
        tags: VlanTags::None,
        ether_type: EtherType::IPV4,
    };
    let ip = if is_ipv6 {
        let address = |last| [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last].into();
        IpHeader::V6(Ipv6Header {
            ecn: Ecn::Ect0,
            ..Ipv6Header::new(address(1), address(2), tcp::PROTOCOL)
        })
    } else {
        IpHeader::V4(Ipv4Header {
            ecn: Ecn::Ect0,
            ..Ipv4Header::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), tcp::PROTOCOL)
        })
    };
    let header = TcpHeader::from_segment(&segment, 40_000, 5_001);
    Headers::new(ethernet, ip, TransportHeader::Tcp(header))
}

fn frame(headers: &Headers) -> Vec<u8> {
    let mut bytes = vec![0; Headers::BYTES_MAX];
    let length = headers
        .emit(Payload::Zeros(DATA), &mut bytes)
        .expect("legal headers");
    bytes.resize(length, 0);
    bytes.resize(length + DATA, 0);
    bytes
}

/// ns per frame: the best of many short rounds, since the others were disturbed.
fn measure(name: &str, mut work: impl FnMut()) {
    let best = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            (0..FRAMES).for_each(|_| work());
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min);
    println!("{name:48} {:7.1} ns", best / FRAMES as f64 * 1e9);
}

fn ours(bytes: &[u8], version: &str) {
    let parse = |bytes| Frame::parse(Captured::whole(bytes)).expect("legal");
    measure(&format!("{version}: flow key, length, ECN"), || {
        let frame = parse(black_box(bytes));
        let key = frame.network.flow_key().expect("legal");
        black_box((key, frame.network.total_length(), frame.network.ecn()));
    });
    measure(&format!("{version}: to a segment"), || {
        let frame = parse(black_box(bytes));
        let Ok(Some(Transport::Tcp(tcp))) = frame.network.transport() else {
            unreachable!("it is TCP")
        };
        black_box(tcp.to_segment().expect("legal"));
    });
}

fn theirs(bytes: &[u8], version: &str) {
    measure(
        &format!("{version}: flow key, length, ECN (etherparse)"),
        || {
            let read = SlicedPacket::from_ethernet(black_box(bytes)).expect("legal");
            let Some(TransportSlice::Tcp(tcp)) = &read.transport else {
                unreachable!("it is TCP")
            };
            let ports = (tcp.source_port(), tcp.destination_port());
            match read.net {
                Some(NetSlice::Ipv4(ip)) => {
                    let ip = ip.header();
                    let addresses = (ip.source_addr(), ip.destination_addr());
                    black_box((addresses, ip.protocol(), ip.total_len(), ip.ecn(), ports));
                }
                Some(NetSlice::Ipv6(ip)) => {
                    let ip = ip.header();
                    let addresses = (ip.source_addr(), ip.destination_addr());
                    black_box((addresses, ip.payload_length(), ip.traffic_class(), ports));
                }
                _ => unreachable!("it is IP"),
            }
        },
    );
    measure(
        &format!("{version}: the same of a cut record (etherparse)"),
        || {
            let read = LaxSlicedPacket::from_ethernet(black_box(&bytes[..96])).expect("legal");
            black_box(read);
        },
    );
    measure(
        &format!("{version}: TCP and its options (etherparse)"),
        || {
            let read = SlicedPacket::from_ethernet(black_box(bytes)).expect("legal");
            let Some(TransportSlice::Tcp(tcp)) = &read.transport else {
                unreachable!("it is TCP")
            };
            let numbers = (tcp.sequence_number(), tcp.acknowledgment_number());
            black_box((numbers, tcp.window_size(), tcp.ack()));
            for option in tcp.options_iterator() {
                let _ = black_box(option);
            }
        },
    );
}

fn main() {
    for (version, is_ipv6) in [("IPv4", false), ("IPv6", true)] {
        for sacks in [0, 3] {
            let name = format!("{version}, {sacks} SACK blocks");
            let bytes = frame(&headers(sacks, is_ipv6));
            ours(&bytes, &name);
            theirs(&bytes, &name);
        }
    }
    let headers = headers(0, false);
    let bytes = frame(&headers);
    let mut packet = bytes[14..].to_vec();
    measure("a mark, parsing included", || {
        let packet = black_box(&mut packet[..]);
        packet[1] = Ecn::Ect0.bits();
        let _ = black_box(mark_ce(packet));
    });
    measure("the checksum of 1500 bytes", || {
        black_box(checksum::checksum(black_box(&bytes[14..])));
    });
    let mut out = [0; Headers::BYTES_MAX];
    measure("all headers written, data zero", || {
        let _ = black_box(headers.emit(Payload::Zeros(DATA), black_box(&mut out)));
    });
}

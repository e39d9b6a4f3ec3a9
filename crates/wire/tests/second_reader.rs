//! What is written is read the same by an independent implementation (etherparse).

use crate::strategies::{any_headers, frame_bytes};
use etherparse::{NetSlice, SlicedPacket, TcpOptionElement, TransportSlice};
use fairport_wire::{Headers, IpHeader, TcpHeader, TransportHeader};
use proptest::prelude::*;

/// The options that it reads, in the order that it reads them in.
fn expected_options(tcp: &TcpHeader) -> Vec<TcpOptionElement> {
    let set = &tcp.options;
    let mut expected = Vec::new();
    expected.extend(set.mss.map(TcpOptionElement::MaximumSegmentSize));
    expected.extend(
        set.sack_permitted
            .then_some(TcpOptionElement::SelectiveAcknowledgementPermitted),
    );
    expected.extend(
        set.timestamps
            .map(|timestamps| TcpOptionElement::Timestamp(timestamps.val, timestamps.ecr)),
    );
    expected.extend(set.window_scale.map(TcpOptionElement::WindowScale));
    let mut blocks = set
        .sacks
        .blocks()
        .iter()
        .map(|block| (block.start, block.end));
    if let Some(first) = blocks.next() {
        let rest = [blocks.next(), blocks.next(), blocks.next()];
        expected.push(TcpOptionElement::SelectiveAcknowledgement(first, rest));
    }
    expected
}

fn compare(headers: &Headers, data: &[u8]) {
    let bytes = frame_bytes(headers, data);
    let read = SlicedPacket::from_ethernet(&bytes).expect("a legal frame");
    match (headers.ip(), read.net.expect("IP")) {
        (IpHeader::V4(header), NetSlice::Ipv4(slice)) => {
            let slice = slice.header();
            assert_eq!(slice.source_addr(), header.source);
            assert_eq!(slice.destination_addr(), header.destination);
            assert_eq!(slice.dcp().value(), header.dscp);
            assert_eq!(slice.ecn().value(), header.ecn.bits());
            assert_eq!(slice.ttl(), header.ttl);
            assert_eq!(slice.identification(), header.identification);
            assert_eq!(slice.fragments_offset().value(), header.fragment_offset);
            assert_eq!(
                slice.to_header().calc_header_checksum(),
                slice.header_checksum()
            );
        }
        (IpHeader::V6(header), NetSlice::Ipv6(slice)) => {
            let slice = slice.header();
            assert_eq!(slice.source_addr(), header.source);
            assert_eq!(slice.destination_addr(), header.destination);
            assert_eq!(slice.traffic_class(), header.dscp << 2 | header.ecn.bits());
            assert_eq!(slice.flow_label().value(), header.flow_label);
            assert_eq!(slice.hop_limit(), header.hop_limit);
        }
        (ip, _) => panic!("{ip:?} was read as the other version"),
    }
    match (headers.transport(), read.transport) {
        (TransportHeader::Tcp(tcp), Some(TransportSlice::Tcp(slice))) => {
            assert_eq!(slice.source_port(), tcp.source_port);
            assert_eq!(slice.sequence_number(), tcp.seq);
            assert_eq!(slice.acknowledgment_number(), tcp.ack);
            assert_eq!(slice.window_size(), tcp.window);
            assert_eq!(slice.payload(), data);
            let options: Vec<_> = slice
                .options_iterator()
                .map_while(Result::ok)
                .filter(|option| *option != TcpOptionElement::Noop)
                .collect();
            let expected = expected_options(tcp);
            // it knows no Fast Open, which comes last
            assert_eq!(options, expected);
        }
        (TransportHeader::Udp(udp), Some(TransportSlice::Udp(slice))) => {
            assert_eq!(slice.source_port(), udp.source_port);
            assert_eq!(slice.destination_port(), udp.destination_port);
            assert_eq!(slice.payload(), data);
        }
        // it knows some other protocols too
        (TransportHeader::Other(_), _) => {}
        (transport, _) => panic!("{transport:?} was not read"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_second_reader_reads_what_was_written((headers, data) in any_headers()) {
        compare(&headers, &data);
    }
}

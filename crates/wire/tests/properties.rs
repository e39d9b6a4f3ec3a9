//! What holds for every header, every cut and any bytes.

use std::net::Ipv6Addr;

use crate::strategies::{any_frame, any_headers, any_segment, frame_bytes};
use fairport_tcp::{Ecn, SackBlock, Segment, Timestamps};
use fairport_wire::{
    Captured, EtherType, EthernetFrame, EthernetHeader, Frame, Headers, IpHeader, Ipv4Packet,
    Ipv6Header, Ipv6Packet, MacAddress, Mark, Network, OptionSet, ParseError, Payload, SackList,
    TagKind, TcpHeader, TcpPacket, Transport, TransportHeader, UdpDatagram, VlanTag, VlanTags,
    mark_ce,
};
use proptest::prelude::*;

/// Headers and the data behind them, read from a whole frame.
fn read(bytes: &[u8]) -> Result<Option<(Headers, Captured<'_>)>, ParseError> {
    Headers::read(&Frame::parse(Captured::whole(bytes))?)
}

/// Everything that can be asked of bytes.
fn ask_everything(record: Captured<'_>) {
    if let Ok(frame) = Frame::parse(record) {
        let _ = frame.network.flow_key();
        let _ = frame.network.transport();
        let _ = Headers::read(&frame);
    }
    let _ = EthernetFrame::parse(record).map(|frame| frame.header());
    if let Ok(packet) = Ipv4Packet::parse(record) {
        let _ = (
            packet.header(),
            packet.is_checksum_valid(),
            packet.payload(),
        );
    }
    if let Ok(packet) = Ipv6Packet::parse(record) {
        let _ = (packet.header(), packet.upper());
    }
    if let Ok(tcp) = TcpPacket::parse(record) {
        let _ = (tcp.header(), tcp.to_segment(), tcp.payload());
        assert!(tcp.options().count() <= 40);
    }
    for datagram in [
        UdpDatagram::parse(record),
        UdpDatagram::parse_first_fragment(record),
    ] {
        let _ = datagram.map(|udp| (udp.header(), udp.payload()));
    }
    let _ = mark_ce(&mut record.bytes().to_vec());
}

/// An error that is not about the capture.
fn is_malformed<T>(result: &Result<T, ParseError>) -> bool {
    matches!(result, Err(error) if !error.is_truncated())
}

fn checksums_are_valid(bytes: &[u8]) -> bool {
    let frame = Frame::parse(Captured::whole(bytes)).expect("a frame");
    let header = match &frame.network {
        Network::Ipv4(packet) => packet.is_checksum_valid(),
        _ => true,
    };
    let pseudo = |protocol| frame.network.pseudo_header(protocol).expect("IP");
    let transport = match frame.network.transport() {
        Ok(Some(Transport::Tcp(tcp))) => tcp.is_checksum_valid(&pseudo(6)),
        Ok(Some(Transport::Udp(udp))) => udp.is_checksum_valid(&pseudo(17)),
        _ => Some(true),
    };
    header && transport == Some(true)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn what_is_written_is_read_the_same((headers, data) in any_headers(), padding in 0..60_usize) {
        let mut bytes = frame_bytes(&headers, &data);
        prop_assert!(checksums_are_valid(&bytes));
        let frame_length = bytes.len();
        bytes.resize(bytes.len() + padding, 0);
        let frame = Frame::parse(Captured::whole(&bytes)).expect("a legal frame");
        let packet_length = frame.network.total_length().expect("IP");
        prop_assert_eq!(frame.network_offset() + packet_length, frame_length);
        let (read, payload) = Headers::read(&frame).expect("a legal frame").expect("IP");
        prop_assert_eq!(read, headers);
        prop_assert_eq!(payload.bytes(), &data[..]);
        prop_assert_eq!(payload.length(), data.len());
    }

    #[test]
    fn a_segment_goes_over_the_wire_unchanged(segment in any_segment(), ports in any::<[u16; 2]>()) {
        let header = TcpHeader::from_segment(&segment, ports[0], ports[1]);
        let mut bytes = [0; 60];
        let pseudo = fairport_wire::PseudoHeader::ipv4([1, 2, 3, 4].into(), [5, 6, 7, 8].into(), 6);
        let payload = Payload::Zeros(segment.payload.into());
        let length = header.emit(&pseudo, payload, &mut bytes).expect("a legal segment");
        prop_assert_eq!(length as u32 + 20, segment.header_bytes());
        let record = Captured::first_of(&bytes[..length], length + payload.length());
        let tcp = TcpPacket::parse(record).expect("a segment");
        prop_assert_eq!((tcp.source_port(), tcp.destination_port()), (ports[0], ports[1]));
        prop_assert_eq!(tcp.to_segment(), Ok(segment));
        let data = [&bytes[..length], &vec![0; payload.length()]].concat();
        let whole = TcpPacket::parse(Captured::whole(&data)).expect("a segment");
        prop_assert_eq!(whole.is_checksum_valid(&pseudo), Some(true));
    }

    #[test]
    fn a_frame_that_is_cut_off_is_truncated_and_never_malformed(frame in any_frame(), cut: prop::sample::Index) {
        let captured = cut.index(frame.len() + 1);
        let whole = Frame::parse(Captured::whole(&frame)).expect("a legal frame");
        let record = Captured::first_of(&frame[..captured], frame.len());
        match Frame::parse(record) {
            Err(error) => prop_assert!(error.is_truncated(), "{}", error),
            Ok(cut) => {
                let key = cut.network.flow_key();
                prop_assert!(!is_malformed(&key));
                let transport = cut.network.transport();
                prop_assert!(!is_malformed(&transport));
                prop_assert_eq!(cut.network.total_length(), whole.network.total_length());
                match Headers::read(&cut) {
                    Ok(headers) => {
                        let (headers, payload) = headers.expect("IP");
                        let (all, data) = Headers::read(&whole).expect("legal").expect("IP");
                        prop_assert_eq!(headers, all);
                        prop_assert_eq!(payload.length(), data.length());
                        prop_assert!(data.bytes().starts_with(payload.bytes()));
                        prop_assert_eq!(key, whole.network.flow_key());
                    }
                    Err(error) => prop_assert!(error.is_truncated(), "{}", error),
                }
            }
        }
    }

    #[test]
    fn a_mark_keeps_every_checksum_right_and_changes_nothing_else(frame in any_frame()) {
        let before = Frame::parse(Captured::whole(&frame)).expect("a legal frame");
        let codepoint = before.network.ecn().expect("IP");
        let mut marked = frame.clone();
        let mark = mark_ce(&mut marked[before.network_offset()..]).expect("IP");
        let after = Frame::parse(Captured::whole(&marked)).expect("a legal frame");
        let expected = match codepoint {
            Ecn::NotEct => (Mark::NotCapable, Ecn::NotEct),
            Ecn::Ect0 | Ecn::Ect1 => (Mark::Set, Ecn::Ce),
            Ecn::Ce => (Mark::AlreadySet, Ecn::Ce),
        };
        prop_assert_eq!((mark, after.network.ecn()), (expected.0, Some(expected.1)));
        prop_assert!(checksums_are_valid(&marked));
        let changed = frame.iter().zip(&marked).filter(|(a, b)| a != b).count();
        prop_assert!(changed <= 3, "the codepoint's byte and the checksum");
        if mark != Mark::Set {
            prop_assert_eq!(&marked, &frame);
        }
    }

    #[test]
    fn a_wrong_checksum_stays_wrong_under_a_mark(frame in any_frame(), flip in 1..=u16::MAX) {
        let parsed = Frame::parse(Captured::whole(&frame)).expect("a legal frame");
        let at = parsed.network_offset();
        if let Network::Ipv4(_) = parsed.network {
            let mut wrong = frame.clone();
            wrong[at + 10] ^= (flip >> 8) as u8;
            wrong[at + 11] ^= flip as u8;
            let is_valid = |bytes: &[u8]| match Frame::parse(Captured::whole(bytes)).expect("a frame").network {
                Network::Ipv4(packet) => packet.is_checksum_valid(),
                _ => unreachable!("it was IPv4"),
            };
            // 0 and ffff are the same number in ones' complement
            prop_assume!(!is_valid(&wrong));
            mark_ce(&mut wrong[at..]).expect("IP");
            prop_assert!(!is_valid(&wrong));
        }
    }

    #[test]
    fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), length in 0..300_usize) {
        ask_everything(Captured::whole(&bytes));
        ask_everything(Captured::first_of(&bytes, length));
    }

    #[test]
    fn no_change_of_a_legal_frame_causes_a_panic(
        frame in any_frame(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut: prop::sample::Index,
    ) {
        let mut bytes = frame;
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        ask_everything(Captured::whole(&bytes));
        ask_everything(Captured::first_of(&bytes[..cut.index(bytes.len())], bytes.len()));
        // what is still legal is written and read the same
        if let Ok(Some((headers, payload))) = read(&bytes) {
            let data = payload.bytes().to_vec();
            let written = frame_bytes(&headers, &data);
            let (again, payload) = read(&written).expect("legal").expect("IP");
            prop_assert_eq!(again, headers);
            prop_assert_eq!(payload.bytes(), &data[..]);
        }
    }
}

#[test]
fn the_default_segment_is_the_shortest_header() {
    assert_eq!(
        TcpHeader::from_segment(&Segment::default(), 0, 0).bytes(),
        Ok(20)
    );
}

#[test]
fn the_longest_headers_fill_the_buffer_that_always_suffices() {
    let tag = VlanTag {
        kind: TagKind::Service,
        control: 0,
    };
    let ethernet = EthernetHeader {
        destination: MacAddress::default(),
        source: MacAddress::default(),
        tags: VlanTags::Two(tag, tag),
        ether_type: EtherType::IPV6,
    };
    let ip = Ipv6Header::new(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, 6);
    // 4 + 12 + 4 bytes, and two SACK blocks with 20
    let options = OptionSet {
        mss: Some(1440),
        sack_permitted: true,
        timestamps: Some(Timestamps { val: 1, ecr: 1 }),
        window_scale: Some(7),
        sacks: SackList::new(&[SackBlock { start: 1, end: 2 }; 2]).expect("at most four"),
    };
    let tcp = TcpHeader {
        options,
        ..TcpHeader::default()
    };
    let headers = Headers::new(ethernet, IpHeader::V6(ip), TransportHeader::Tcp(tcp));
    let mut bytes = [0; Headers::BYTES_MAX];
    let length = headers.emit(Payload::Zeros(0), &mut bytes);
    assert_eq!(length, Ok(14 + 8 + 40 + 60));
    assert_eq!(length, Ok(Headers::BYTES_MAX));
}

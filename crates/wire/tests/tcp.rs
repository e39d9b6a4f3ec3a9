//! TCP's header and options against bytes that were written down by hand.

use fairport_tcp::{Flags, Options, SackBlock, Segment, SynOptions, Timestamps};
use fairport_wire::{
    Captured, EmitError, Fault, Layer, OptionSet, ParseError, Payload, PseudoHeader, SackList,
    TcpHeader, TcpOption, TcpPacket, tcp,
};

/// A SYN as Linux sends it, from 10.0.0.1 port 40000 to 10.0.0.2 port 5001. Its checksum by hand:
/// addresses, protocol and length 1431, header and options 2aaf5; together 2bf26, folded bf28, its complement
/// 40d7.
const SYN: [u8; 40] = [
    0x9c, 0x40, 0x13, 0x89, // ports
    0x01, 0x02, 0x03, 0x04, 0x00, 0x00, 0x00, 0x00, // sequence number, no ACK
    0xa0, 0x02, 0xfa, 0xf0, // 40 bytes of header, SYN, window 64240
    0x40, 0xd7, 0x00, 0x00, // checksum, urgent pointer
    0x02, 0x04, 0x05, 0xb4, // MSS 1460
    0x04, 0x02, 0x08, 0x0a, 0x11, 0x22, 0x33, 0x44, 0x00, 0x00, 0x00,
    0x00, // SACK permitted, timestamps
    0x01, 0x03, 0x03, 0x07, // NOP, window scale 7
];

fn pseudo() -> PseudoHeader {
    PseudoHeader::ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), tcp::PROTOCOL)
}

fn header(segment: &Segment) -> TcpHeader {
    TcpHeader::from_segment(segment, 40_000, 5_001)
}

/// The header and its options as they are on the wire.
fn written(header: &TcpHeader) -> Vec<u8> {
    let mut out = [0; tcp::HEADER_BYTES_MAX];
    let bytes = header
        .emit(&pseudo(), Payload::Bytes(&[]), &mut out)
        .expect("a legal header");
    out[..bytes].to_vec()
}

/// A bare header with these options.
fn with_options(options: &[u8]) -> Vec<u8> {
    let mut bytes = written(&TcpHeader::default());
    bytes[12] = ((20 + options.len()) / 4) as u8 * 16;
    bytes.extend(options);
    bytes
}

fn options_of(bytes: &[u8]) -> Vec<Result<TcpOption<'_>, ParseError>> {
    TcpPacket::parse(Captured::whole(bytes))
        .expect("a header")
        .options()
        .collect()
}

#[test]
fn a_syn_of_linux_is_read_and_written_byte_for_byte() {
    let read = TcpPacket::parse(Captured::whole(&SYN)).expect("a segment");
    assert_eq!(read.is_checksum_valid(&pseudo()), Some(true));
    let segment = read.to_segment().expect("options");
    let mut expected = Segment {
        seq: 0x0102_0304,
        window: 64_240,
        flags: Flags::SYN,
        ..Segment::default()
    };
    expected.options.set_syn(SynOptions {
        mss: 1460,
        window_scale: Some(7),
        sack_permitted: true,
    });
    expected.options.set_timestamps(Timestamps {
        val: 0x1122_3344,
        ecr: 0,
    });
    assert_eq!(segment, expected);
    assert_eq!(written(&header(&expected)), SYN);
}

#[test]
fn a_data_segment_has_its_timestamps_where_linux_puts_them() {
    let mut segment = Segment {
        payload: 3,
        flags: Flags::ACK | Flags::PSH,
        ..Segment::default()
    };
    let timestamps = Timestamps { val: 1, ecr: 2 };
    segment.options.set_timestamps(timestamps);
    let bytes = written(&header(&segment));
    assert_eq!(bytes[20..], [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
}

#[test]
fn three_sack_blocks_beside_timestamps_fill_the_header() {
    let mut ack = Segment {
        ack: 100,
        flags: Flags::ACK,
        ..Segment::default()
    };
    ack.options.set_timestamps(Timestamps { val: 1, ecr: 2 });
    for start in [1000, 500, u32::MAX - 9] {
        let end = start.wrapping_add(100);
        ack.options.push_sack(SackBlock { start, end });
    }
    let bytes = written(&header(&ack));
    assert_eq!(bytes.len(), 60);
    assert_eq!(bytes[32..36], [1, 1, 5, 26]);
    assert_eq!(bytes[36..44], [0, 0, 0x03, 0xe8, 0, 0, 0x04, 0x4c]);
    let read = TcpPacket::parse(Captured::whole(&bytes)).expect("a segment");
    assert_eq!(read.to_segment(), Ok(ack));
}

#[test]
fn unknown_options_are_skipped_by_their_length() {
    // user timeout (RFC 5482), MSS, an MSS of a length that it cannot have, the end, then anything
    let bytes = with_options(&[28, 4, 0x80, 1, 1, 2, 4, 0x05, 0xb4, 2, 3, 9, 0, 77, 1, 0]);
    let unknown = |kind, data| Ok(TcpOption::Unknown { kind, data });
    let expected = [
        unknown(28, &[0x80, 1][..]),
        Ok(TcpOption::Mss(1460)),
        unknown(2, &[9]),
    ];
    assert_eq!(options_of(&bytes), expected);
}

#[test]
fn an_option_whose_length_does_not_fit_ends_the_options() {
    let malformed = Err(Fault::OptionLength.at_options());
    for options in [
        [3, 0, 1, 1],  // no room for kind and length
        [3, 1, 1, 1],  // the same
        [1, 8, 10, 0], // beyond the header
        [1, 1, 1, 8],  // no length
    ] {
        let bytes = with_options(&options);
        assert_eq!(options_of(&bytes), [malformed], "{options:?}");
        let packet = TcpPacket::parse(Captured::whole(&bytes)).expect("the fixed header is right");
        assert_eq!(
            packet.header().map(|_| ()),
            malformed.map(|_: TcpOption| ())
        );
    }
}

trait AtOptions {
    fn at_options(self) -> ParseError;
}

impl AtOptions for Fault {
    fn at_options(self) -> ParseError {
        ParseError::Malformed {
            layer: Layer::TcpOptions,
            fault: self,
        }
    }
}

#[test]
fn options_that_were_cut_off_leave_the_fixed_header_readable() {
    let record = Captured::first_of(&SYN[..26], SYN.len() + 100);
    let read = TcpPacket::parse(record).expect("the fixed header");
    assert_eq!((read.seq(), read.payload_length()), (0x0102_0304, 100));
    assert!(read.options().next().expect("MSS").is_ok());
    assert!(read.header().expect_err("cut off").is_truncated());
    assert!(read.to_segment().expect_err("cut off").is_truncated());
    assert!(read.payload().bytes().is_empty());
    assert_eq!(read.is_checksum_valid(&pseudo()), None);
}

#[test]
fn a_data_offset_that_does_not_fit_is_malformed() {
    let mut bytes = SYN;
    for (offset, fault) in [(0x40, Fault::HeaderLength), (0xb0, Fault::TotalLength)] {
        bytes[12] = offset;
        let error = TcpPacket::parse(Captured::whole(&bytes)).expect_err("a wrong offset");
        let expected = ParseError::Malformed {
            layer: Layer::Tcp,
            fault,
        };
        assert_eq!(error, expected);
    }
}

#[test]
fn options_that_fit_only_without_padding_are_written_without() {
    let mut set = OptionSet {
        mss: Some(1460),
        timestamps: Some(Timestamps { val: 1, ecr: 2 }),
        sacks: SackList::new(&[SackBlock { start: 1, end: 2 }; 3]).expect("three blocks"),
        ..OptionSet::default()
    };
    assert_eq!(set.bytes(), Ok(40));
    set.window_scale = Some(1);
    let error = EmitError::Range {
        field: "options",
        value: 43,
        max: 40,
    };
    assert_eq!(set.bytes(), Err(error));
}

#[test]
fn a_syn_without_mss_means_536_bytes_and_one_without_options_says_nothing() {
    let mut header = TcpHeader {
        flags: Flags::SYN,
        ..TcpHeader::default()
    };
    let syn = |header: &TcpHeader| {
        let bytes = written(header);
        let read = TcpPacket::parse(Captured::whole(&bytes)).expect("a segment");
        read.to_segment().expect("options").options.syn()
    };
    assert_eq!(syn(&header), None);
    header.options.window_scale = Some(2);
    let expected = SynOptions {
        mss: 536,
        window_scale: Some(2),
        sack_permitted: false,
    };
    assert_eq!(syn(&header), Some(expected));
}

#[test]
fn a_segment_that_is_left_to_the_adapter_to_cut_is_no_segment() {
    let read = TcpPacket::parse(Captured::first_of(&SYN, 70_000)).expect("the header");
    assert_eq!(read.payload_length(), 69_960);
    assert!(!read.to_segment().expect_err("too long").is_truncated());
}

#[test]
fn the_header_is_as_long_as_the_segment_says() {
    let mut segment = Segment::default();
    assert_eq!(header(&segment).bytes(), Ok(20));
    for blocks in 1..=Options::MAX_SACKS {
        segment.options.push_sack(SackBlock { start: 1, end: 2 });
        let bytes = segment.header_bytes() as usize - 20;
        assert_eq!(header(&segment).bytes(), Ok(bytes), "{blocks} blocks");
    }
}

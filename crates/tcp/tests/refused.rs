//! Segments that an endpoint answers with a reset, or drops for their timestamp; headers of a fixed size.

use crate::pair::{Pair, stack};
use fairport_tcp::{Connection, Flags, Segment, SynOptions, Timestamps};
use fairport_units::{Duration, Instant};
use serde_json::json;

const NOW: Instant = Instant::from_ms(1);

fn segment(seq: u32, ack: u32, flags: Flags, payload: u16) -> Segment {
    Segment {
        seq,
        ack,
        flags,
        payload,
        window: 60_000,
        ..Segment::default()
    }
}

fn answer(end: &mut Connection, segment: &Segment) -> Option<Segment> {
    end.on_segment(NOW, segment, &mut ());
    let answer = end.poll_transmit(NOW);
    assert_eq!(end.poll_transmit(NOW), None, "one answer at most");
    answer
}

/// RFC 9293 3.10.7.1: `<SEQ=SEG.ACK><CTL=RST>`, or without an ACK `<SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>`.
#[test]
fn what_belongs_to_no_connection_is_reset_by_its_own_numbers() {
    let settings = stack("linux-6", &json!({}));
    let mut listening = Connection::passive(&settings);
    let rst = answer(&mut listening, &segment(700, 900, Flags::ACK, 100)).unwrap();
    assert_eq!((rst.seq, rst.ack, rst.flags), (900, 0, Flags::RST));

    let mut opening = Connection::active(&settings);
    opening.poll_transmit(Instant::ZERO).unwrap();
    let other = segment(700, 900, Flags::SYN | Flags::ACK, 0);
    let rst = answer(&mut opening, &other).unwrap();
    assert_eq!((rst.seq, rst.ack, rst.flags), (900, 0, Flags::RST));

    let mut reset = Connection::passive(&settings);
    answer(&mut reset, &segment(0, 0, Flags::SYN, 0)).unwrap();
    assert_eq!(answer(&mut reset, &segment(1, 1, Flags::ACK, 0)), None);
    assert_eq!(answer(&mut reset, &segment(1, 0, Flags::RST, 0)), None);
    assert!(reset.is_reset());
    for (flags, payload, end) in [
        (Flags::SYN, 0, 701),
        (Flags::FIN, 100, 801),
        (Flags::default(), 100, 800),
    ] {
        let rst = answer(&mut reset, &segment(700, 0, flags, payload)).unwrap();
        assert_eq!((rst.seq, rst.ack), (0, end));
        assert_eq!(rst.flags, Flags::RST | Flags::ACK);
    }
    let rst = answer(&mut reset, &segment(700, 900, Flags::ACK, 100)).unwrap();
    assert_eq!((rst.seq, rst.ack, rst.flags), (900, 0, Flags::RST));
    // a reset is never answered, or two closed ends would answer each other for ever
    assert_eq!(answer(&mut reset, &segment(700, 0, Flags::RST, 0)), None);
}

#[test]
fn a_header_of_a_fixed_size_is_that_of_every_segment_and_of_a_reset() {
    let settings = stack("ns2", &json!({"fixed_header_bytes": 52}));
    let mut pair = Pair::same(&settings, Duration::from_us(100));
    pair.client.write(5000);
    pair.run();
    assert!(pair.sent.len() > 6);
    for sent in &pair.sent {
        assert_eq!(
            sent.segment.wire_bytes(),
            52 + u32::from(sent.segment.payload)
        );
    }
    let foreign = Segment {
        fixed_header: 52,
        ..segment(700, 900, Flags::ACK, 0)
    };
    let rst = answer(&mut Connection::passive(&settings), &foreign).unwrap();
    assert_eq!(rst.wire_bytes(), 52);
}

/// RFC 7323 5.3 R1, with the tick that Linux allows (`TCP_PAWS_WINDOW`).
#[test]
fn data_with_a_timestamp_two_ticks_old_is_dropped_and_one_tick_old_is_taken() {
    for (val, delivered) in [(5001, 200), (5000, 200), (4999, 200), (4998, 100), (1, 100)] {
        let mut server = Connection::passive(&stack("linux-6", &json!({})));
        let stamped = |mut it: Segment, val| {
            it.options.set_timestamps(Timestamps { val, ecr: 1 });
            it
        };
        let mut syn = stamped(segment(0, 0, Flags::SYN, 0), 4000);
        syn.options.set_syn(SynOptions::default());
        answer(&mut server, &syn).unwrap();
        let first = stamped(segment(1, 1, Flags::ACK, 100), 5000);
        server.on_segment(NOW, &first, &mut ());
        assert_eq!(server.delivered_bytes(), 100);
        let second = stamped(segment(101, 1, Flags::ACK, 100), val);
        server.on_segment(NOW, &second, &mut ());
        assert_eq!(server.delivered_bytes(), delivered, "timestamp {val}");
    }
}

//! What was sent again, what was only overtaken, and what was needless.

use fairport_tcp::{Flags, SackBlock, Timestamps};
use fairport_trace::Packet;
use fairport_trace::flow::Counts;
use fairport_wire::SackList;

use crate::flows::{MS, SIZE, Tap};

/// The n-th segment, with its sender's clock and its IP identification.
fn segment(tap: &mut Tap, at_ns: u64, n: u32, stamp: Option<u32>, identification: u16) {
    let packet = Packet {
        seq: 5 + n * SIZE,
        payload: SIZE,
        timestamps: stamp.map(|val| Timestamps { val, ecr: 0 }),
        identification,
        ..tap.packet()
    };
    tap.see(0, at_ns, &packet, false);
}

/// A path with 20 ms to the receiver's end and back: four segments, of which the second passes `late_ns` after the
/// others, with this timestamp and identification. The others have 7 and 10 to 13.
fn late(late_ns: u64, stamp: Option<u32>, identification: u16) -> Counts {
    let mut tap = Tap::new(5);
    tap.handshake(0);
    let others = stamp.map(|_| 7);
    for (n, number) in [(0, 10), (2, 12), (3, 13)] {
        segment(
            &mut tap,
            3 * MS,
            n,
            others,
            number * u16::from(identification > 0),
        );
    }
    segment(&mut tap, 3 * MS + late_ns, 1, stamp, identification);
    tap.tracker.totals(0).counts
}

#[test]
fn an_older_timestamp_or_identification_shows_that_a_segment_was_overtaken() {
    for (late_ns, stamp, identification) in [
        (30 * MS, Some(6), 0),
        // in the same tick of the sender's clock the identification decides
        (30 * MS, Some(7), 11),
        (30 * MS, None, 11),
        // and without either, the time
        (MS / 10, None, 0),
        (MS / 10, Some(7), 0),
        // identifications that are drawn at random say nothing
        (MS / 10, None, 30_000),
    ] {
        let counts = late(late_ns, stamp, identification);
        let found = (counts.retransmits, counts.out_of_order);
        assert_eq!(found, (0, 1), "{late_ns} {stamp:?} {identification}");
    }
}

#[test]
fn a_newer_timestamp_or_identification_shows_that_a_segment_was_sent_again() {
    for (late_ns, stamp, identification) in [
        (MS / 10, Some(8), 0),
        (MS / 10, Some(7), 14),
        (MS / 10, None, 14),
        (30 * MS, None, 0),
        (30 * MS, Some(7), 30_000),
    ] {
        let counts = late(late_ns, stamp, identification);
        let found = (counts.retransmits, counts.out_of_order);
        assert_eq!(found, (1, 0), "{late_ns} {stamp:?} {identification}");
    }
}

#[test]
fn an_original_that_passes_after_its_retransmission_is_not_sent_again() {
    let mut tap = Tap::new(5);
    tap.handshake(0);
    segment(&mut tap, 3 * MS, 1, Some(7), 0);
    segment(&mut tap, 23 * MS, 0, Some(27), 0);
    segment(&mut tap, 33 * MS, 0, Some(6), 0);
    let counts = tap.tracker.totals(0).counts;
    assert_eq!((counts.retransmits, counts.out_of_order), (1, 1));
}

#[test]
fn each_needless_retransmission_of_a_burst_is_found() {
    let mut tap = Tap::new(5);
    tap.handshake(0);
    for n in 0..10 {
        tap.data(3 * MS, n);
    }
    tap.ack(4 * MS, 0);
    for n in 0..5 {
        tap.data(5 * MS, n);
    }
    // the receiver had them all, and says so for four
    for n in 0..4 {
        let start = 5 + n * SIZE;
        let twice = SackList::new(&[SackBlock {
            start,
            end: start + SIZE,
        }])
        .unwrap();
        tap.answer(6 * MS, 10, |packet| packet.sacks = twice);
    }
    let counts = tap.tracker.totals(0).counts;
    assert_eq!((counts.retransmits, counts.spurious), (5, 4));
}

#[test]
fn what_is_sent_again_after_its_ack_has_passed_is_needless() {
    let mut tap = Tap::new(5);
    tap.handshake(0);
    tap.data(3 * MS, 0).data(3 * MS, 1).ack(4 * MS, 2);
    // the ACK was lost behind the tap
    tap.data(204 * MS, 0).ack(205 * MS, 2);
    let counts = tap.tracker.totals(0).counts;
    assert_eq!((counts.retransmits, counts.spurious), (1, 1));
}

#[test]
fn a_needless_syn_is_no_needless_segment() {
    let mut tap = Tap::new(5);
    let syn = |val: u32| Packet {
        flags: Flags::SYN,
        seq: 4,
        timestamps: Some(Timestamps { val, ecr: 0 }),
        ..Tap::new(5).packet()
    };
    tap.see(0, 0, &syn(1), false);
    tap.see(0, 1000 * MS, &syn(1001), false);
    tap.answer(1001 * MS, 0, |packet| {
        packet.flags = Flags::from_bits(Flags::SYN.bits() | Flags::ACK.bits());
        packet.timestamps = Some(Timestamps { val: 9, ecr: 1 });
    });
    let counts = tap.tracker.totals(0).counts;
    assert_eq!((counts.retransmits, counts.spurious), (0, 0));
}

#[test]
fn old_data_with_new_data_behind_it_is_sent_again() {
    let mut tap = Tap::new(5);
    tap.handshake(0);
    tap.data(3 * MS, 0).ack(4 * MS, 0);
    let both = Packet {
        seq: 5,
        payload: 2 * SIZE,
        ..tap.packet()
    };
    tap.see(0, 210 * MS, &both, false);
    let counts = tap.tracker.totals(0).counts;
    assert_eq!((counts.retransmits, counts.timeouts), (1, 1));
    assert_eq!(counts.delivered_bytes, 2000);
}

#[test]
fn data_that_passes_just_after_its_ack_was_held_back() {
    for (late_ns, retransmits, unseen_bytes) in [(MS / 5, 0, 0), (5 * MS, 2, 2 * SIZE)] {
        let mut tap = Tap::new(5);
        tap.handshake(0);
        tap.data(3 * MS, 0);
        for n in [2, 3] {
            tap.ack(4 * MS, n);
        }
        for n in [1, 2] {
            tap.data(4 * MS + late_ns, n);
        }
        let counts = tap.tracker.totals(0).counts;
        let found = (counts.retransmits, counts.unseen_bytes);
        assert_eq!(found, (retransmits, unseen_bytes.into()));
        assert_eq!(counts.delivered_bytes, u64::from(3 * SIZE));
    }
}

#[test]
fn a_paced_sender_that_answers_late_waited_for_no_timer() {
    let mut tap = Tap::new(5);
    tap.handshake(0);
    // the round trip is 2 ms, and the sender sends two segments every 2.8 ms
    let mut at = 3 * MS;
    for n in 0..20 {
        tap.data(at, 2 * n)
            .data(at, 2 * n + 1)
            .ack(at + MS, 2 * n + 1);
        at += 28 * MS / 10;
    }
    tap.ack(at - MS, 39);
    // it learns from duplicate ACKs that a segment is lost, and still has to wait
    tap.data(at + 16 * MS / 10, 39);
    assert_eq!(tap.tracker.totals(0).counts.timeouts, 0);
    tap.data(at + 203 * MS, 39);
    assert_eq!(tap.tracker.totals(0).counts.timeouts, 1);
}

#[test]
fn without_acks_only_a_silence_is_a_timeout() {
    let mut tap = Tap::new(5);
    let syn = Packet {
        flags: Flags::SYN,
        seq: 4,
        ..tap.packet()
    };
    tap.see(0, 0, &syn, false);
    tap.see(0, 2 * MS, &tap.packet(), false);
    tap.sent(3 * MS, 0, true, None);
    tap.data(5 * MS, 0);
    // lost again; the ACKs that said so, and called for the segments between, took another way
    for n in 1..10 {
        tap.data((5 + u64::from(n)) * MS, n);
    }
    tap.data(15 * MS, 0);
    assert_eq!(tap.tracker.totals(0).counts.timeouts, 0);
    tap.data(215 * MS, 0);
    assert_eq!(tap.tracker.totals(0).counts.timeouts, 1);
}

/// The segments from 0 to 5 are sent, of which only 0 and 3 are lost. A timeout later the sender repeats 0, and then
/// all others: the receiver needs two of the six.
fn all_again(answers: impl Fn(&mut Tap, u64)) -> Counts {
    let mut tap = Tap::new(5);
    tap.handshake(0);
    for n in 0..6 {
        tap.data(3 * MS, n);
    }
    for place in 0..4 {
        tap.ack(4 * MS + place, 0);
    }
    tap.data(300 * MS, 0).ack(301 * MS, 3);
    tap.data(302 * MS, 3).data(302 * MS, 4).data(302 * MS, 5);
    answers(&mut tap, 303 * MS);
    tap.tracker.totals(0).counts
}

#[test]
fn without_sack_a_repeated_ack_shows_that_segments_had_arrived() {
    // the receiver answers each segment at once: the first of the three fills the hole, and the other two are needless
    let counts = all_again(|tap, now| {
        tap.ack(now, 6).ack(now + 1, 6).ack(now + 2, 6);
    });
    assert_eq!((counts.retransmits, counts.spurious), (4, 2));
    // one answer to all three says nothing
    let counts = all_again(|tap, now| {
        tap.ack(now, 6);
    });
    assert_eq!((counts.retransmits, counts.spurious), (4, 0));
}

#[test]
fn with_sack_a_repeated_ack_says_nothing_of_segments_without_a_block() {
    let beyond = SackList::new(&[SackBlock {
        start: 5 + 3 * SIZE,
        end: 5 + 6 * SIZE,
    }])
    .unwrap();
    let cut = |packet: &mut Packet| packet.sacks_cut = true;
    let block = |packet: &mut Packet| packet.sacks = beyond;
    for change in [&cut as &dyn Fn(&mut Packet), &block] {
        let mut tap = Tap::new(5);
        tap.handshake(0);
        for n in 0..6 {
            tap.data(3 * MS, n);
        }
        tap.answer(4 * MS, 0, change);
        for n in 0..3 {
            tap.data(300 * MS, n);
        }
        tap.ack(301 * MS, 6).ack(302 * MS, 6);
        assert_eq!(tap.tracker.totals(0).counts.spurious, 0);
    }
}

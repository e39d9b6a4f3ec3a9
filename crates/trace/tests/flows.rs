//! Flows as a tap sees them: what was sent again, and why; wrapping numbers; windows; stalls.

use fairport_tcp::{Flags, SackBlock, Timestamps};
use fairport_trace::flow::{Cause, Seen, Tracker};
use fairport_trace::{Key, Packet};
use fairport_wire::SackList;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SIZE: u32 = 1000;

/// A connection at a tap: data in direction 0, ACKs in direction 1. Numbers count from `isn`.
pub(crate) struct Tap {
    pub(crate) tracker: Tracker,
    isn: u32,
}

impl Tap {
    pub(crate) fn new(isn: u32) -> Self {
        Self {
            tracker: Tracker::new(10 * MS, None),
            isn,
        }
    }

    pub(crate) fn packet(&self) -> Packet {
        let key = Key {
            source: 1,
            destination: 2,
            ports: [1000, 80],
            protocol: 6,
        };
        Packet {
            seq: self.isn,
            ack: 1,
            window: 60_000,
            ttl: 64,
            flags: Flags::ACK,
            ..Packet::new(key, 0, 1066)
        }
    }

    pub(crate) fn see(&mut self, direction: u32, at_ns: u64, packet: &Packet, is_dropped: bool) {
        self.tracker.observe(&Seen {
            direction,
            packet,
            time_ns: at_ns,
            left_ns: (!is_dropped).then_some(at_ns + 1000),
        });
    }

    /// SYN, its answer, and the ACK: 1 ms to the receiver and back, 1 ms to the sender and back.
    pub(crate) fn handshake(&mut self, at_ns: u64) {
        let syn = Packet {
            flags: Flags::SYN,
            seq: self.isn.wrapping_sub(1),
            ..self.packet()
        };
        self.see(0, at_ns, &syn, false);
        let answer = Packet {
            flags: Flags::from_bits(Flags::SYN.bits() | Flags::ACK.bits()),
            ack: self.isn,
            seq: 0,
            ..self.packet()
        };
        self.see(1, at_ns + MS, &answer, false);
        self.see(0, at_ns + 2 * MS, &self.packet(), false);
    }

    /// The n-th segment.
    pub(crate) fn data(&mut self, at_ns: u64, n: u32) -> &mut Self {
        self.sent(at_ns, n, false, None)
    }

    pub(crate) fn sent(
        &mut self,
        at_ns: u64,
        n: u32,
        is_dropped: bool,
        stamp: Option<u32>,
    ) -> &mut Self {
        let packet = Packet {
            seq: self.isn.wrapping_add(n * SIZE),
            payload: SIZE,
            timestamps: stamp.map(|val| Timestamps { val, ecr: 0 }),
            ..self.packet()
        };
        self.see(0, at_ns, &packet, is_dropped);
        self
    }

    /// An ACK of the first n segments.
    pub(crate) fn ack(&mut self, at_ns: u64, n: u32) -> &mut Self {
        self.answer(at_ns, n, |_| {})
    }

    pub(crate) fn answer(
        &mut self,
        at_ns: u64,
        n: u32,
        change: impl FnOnce(&mut Packet),
    ) -> &mut Self {
        let mut packet = Packet {
            seq: 1,
            ack: self.isn.wrapping_add(n * SIZE),
            ..self.packet()
        };
        change(&mut packet);
        self.see(1, at_ns, &packet, false);
        self
    }
}

#[test]
fn sequence_numbers_wrap() {
    for isn in [0, 1, u32::MAX - 2500, 1 << 31, u32::MAX] {
        let mut tap = Tap::new(isn);
        tap.handshake(0);
        for n in 0..10 {
            let at = 3 * MS + u64::from(n) * 2 * MS;
            tap.data(at, n).ack(at + MS, n + 1);
        }
        let end = tap.tracker.totals(0);
        assert_eq!(
            (end.counts.delivered_bytes, end.counts.retransmits),
            (10_000, 0),
            "{isn}"
        );
        assert_eq!(end.counts.gap_bytes + end.counts.unseen_bytes, 0);
        assert!((end.rtt.mean_s() - 0.002).abs() < 1e-9);
    }
}

#[test]
fn a_capture_may_begin_in_the_middle() {
    let mut tap = Tap::new(u32::MAX - 100);
    tap.ack(0, 0).data(MS, 0).ack(2 * MS, 1).data(3 * MS, 1);
    let end = tap.tracker.totals(0);
    assert_eq!((end.counts.delivered_bytes, end.has_start), (2000, false));
    assert_eq!(end.established_ns, Some(0));
}

#[test]
fn a_window_of_unknown_scale_is_not_taken_for_a_small_one() {
    let mut tap = Tap::new(5);
    let small = |packet: &mut Packet| packet.window = 500;
    tap.data(MS, 0).answer(2 * MS, 1, small).data(3 * MS, 1);
    tap.answer(4 * MS, 1, small).data(40 * MS, 2);
    let counts = tap.tracker.totals(0).counts;
    assert_eq!(counts.window_max_bytes, None);
    assert_eq!(counts.stalls[Cause::Window as usize], 0);
    // a closed window is closed at any scale
    tap.answer(41 * MS, 1, |packet| packet.window = 0);
    assert_eq!(tap.tracker.totals(0).counts.zero_windows, 1);
}

#[test]
fn an_answer_to_duplicate_acks_is_a_fast_retransmission() {
    let mut tap = Tap::new(5);
    tap.handshake(0);
    tap.sent(3 * MS, 0, true, None);
    for n in 1..5 {
        tap.data(3 * MS + u64::from(n) * 1000, n)
            .ack(4 * MS + u64::from(n) * 1000, 0);
    }
    tap.data(5 * MS, 0).ack(6 * MS, 5);
    let counts = tap.tracker.totals(0).counts;
    assert_eq!(
        (counts.retransmits, counts.timeouts, counts.fast_recoveries),
        (1, 0, 1)
    );
    assert_eq!((counts.duplicate_acks, counts.delivered_bytes), (4, 5000));
}

#[test]
fn silence_before_the_first_outstanding_segment_is_a_timeout() {
    let mut tap = Tap::new(5);
    tap.handshake(0);
    tap.sent(3 * MS, 0, true, None);
    tap.sent(203 * MS, 0, true, None);
    tap.data(603 * MS, 0).ack(604 * MS, 1);
    let rows = tap.tracker.timeouts();
    let waited: Vec<(f64, f64, u32)> = rows
        .iter()
        .map(|row| {
            (
                row.start_s.as_secs_f64(),
                row.end_s.as_secs_f64(),
                row.backoff,
            )
        })
        .collect();
    assert_eq!(waited, [(0.003, 0.203, 0), (0.203, 0.603, 1)]);
    let counts = tap.tracker.totals(0).counts;
    assert_eq!(counts.stalled_ns[Cause::Timeout as usize], 600 * MS);
    assert_eq!(counts.stalls[Cause::Timeout as usize], 2);
    assert_eq!(counts.fast_recoveries, 0);
}

#[test]
fn a_retransmission_that_is_lost_too_ends_in_a_timeout_while_acks_keep_coming() {
    let mut tap = Tap::new(5);
    tap.handshake(0);
    tap.sent(3 * MS, 0, true, None);
    for n in 1..4 {
        tap.data(3 * MS + u64::from(n) * 1000, n)
            .ack(4 * MS + u64::from(n) * 1000, 0);
    }
    tap.sent(5 * MS, 0, true, None);
    // each duplicate ACK lets a new segment go
    for n in 4..14 {
        let at = 5 * MS + u64::from(n) * MS;
        tap.data(at, n).ack(at + MS / 2, 0);
    }
    tap.data(18 * MS + MS / 2, 0);
    let counts = tap.tracker.totals(0).counts;
    assert_eq!((counts.timeouts, counts.fast_recoveries), (1, 1));
}

#[test]
fn a_lost_retransmission_that_the_sender_knows_of_from_sack_is_no_timeout() {
    let mut tap = Tap::new(5);
    tap.handshake(0);
    tap.sent(3 * MS, 0, true, None);
    let with_block = |n: u32| {
        let [start, end] = [1, n + 1].map(|n| 5 + n * SIZE);
        move |packet: &mut Packet| {
            packet.sacks = SackList::new(&[SackBlock { start, end }]).unwrap();
        }
    };
    for n in 1..4 {
        let at = 3 * MS + u64::from(n) * 1000;
        tap.data(at, n).answer(at + MS, 0, with_block(n));
    }
    tap.sent(5 * MS, 0, true, None);
    // a busy sender takes 6 ms to send more; a round trip is 2 ms
    tap.data(11 * MS, 4).answer(12 * MS, 0, with_block(4));
    tap.data(13 * MS, 0);
    let counts = tap.tracker.totals(0).counts;
    assert_eq!((counts.timeouts, counts.retransmits), (0, 2));
}

#[test]
fn a_lost_syn_is_a_timeout() {
    let mut tap = Tap::new(5);
    let syn = Packet {
        flags: Flags::SYN,
        seq: 4,
        ..tap.packet()
    };
    tap.see(0, 0, &syn, true);
    tap.handshake(1000 * MS);
    assert_eq!(tap.tracker.totals(0).counts.timeouts, 1);
}

#[test]
fn a_needless_retransmission_is_spurious() {
    // the receiver says so (RFC 2883 4.1: a duplicate segment below the ACK)
    let mut tap = Tap::new(5);
    tap.handshake(0);
    tap.data(3 * MS, 0).data(203 * MS, 0).ack(203 * MS + 10, 1);
    tap.answer(204 * MS, 1, |packet| {
        let block = SackBlock {
            start: 5,
            end: 1005,
        };
        packet.sacks = SackList::new(&[block]).unwrap();
    });
    assert_eq!(tap.tracker.totals(0).counts.duplicate_sacks, 1);
    // the ACK echoes the original's stamp (RFC 3522)
    let mut tap = Tap::new(5);
    tap.handshake(0);
    tap.sent(3 * MS, 0, false, Some(3))
        .sent(203 * MS, 0, false, Some(203));
    tap.answer(204 * MS, 1, |packet| {
        packet.timestamps = Some(Timestamps { val: 1, ecr: 3 });
    });
    assert_eq!(tap.tracker.totals(0).counts.spurious, 1);
}

#[test]
fn segments_out_of_order_are_not_sent_again() {
    let mut tap = Tap::new(5);
    tap.handshake(0);
    tap.data(3 * MS, 1).data(3 * MS + 10_000, 0).ack(4 * MS, 2);
    let counts = tap.tracker.totals(0).counts;
    assert_eq!((counts.out_of_order, counts.retransmits), (1, 0));
    assert_eq!((counts.delivered_bytes, counts.gap_bytes), (2000, 1000));
}

#[test]
fn what_was_lost_before_the_tap_fills_its_gap_later() {
    let mut tap = Tap::new(5);
    tap.handshake(0);
    tap.data(3 * MS, 1)
        .ack(4 * MS, 0)
        .data(20 * MS, 0)
        .ack(21 * MS, 2);
    let counts = tap.tracker.totals(0).counts;
    assert_eq!(
        (counts.out_of_order, counts.retransmits, counts.timeouts),
        (0, 1, 1)
    );
}

#[test]
fn data_that_nobody_saw_but_the_receiver_has_was_lost_by_the_capture() {
    let mut tap = Tap::new(5);
    tap.handshake(0);
    tap.data(3 * MS, 0).data(3 * MS + 10, 2).ack(4 * MS, 3);
    let counts = tap.tracker.totals(0).counts;
    assert_eq!((counts.unseen_bytes, counts.delivered_bytes), (1000, 3000));
}

#[test]
fn the_last_data_of_a_capture_may_be_known_by_its_ack_alone() {
    let mut tap = Tap::new(5);
    tap.handshake(0);
    // the capture lacks segments 1 and 3: one before what it shows, one behind
    tap.data(3 * MS, 0).data(3 * MS + 10, 2).ack(4 * MS, 4);
    let counts = tap.tracker.totals(0).counts;
    assert_eq!((counts.unseen_bytes, counts.delivered_bytes), (2000, 4000));
}

#[test]
fn a_closed_window_is_its_own_kind_of_stall() {
    let mut tap = Tap::new(5);
    tap.handshake(0);
    tap.data(3 * MS, 0)
        .answer(4 * MS, 1, |packet| packet.window = 0);
    tap.answer(54 * MS, 1, |packet| packet.window = 1000)
        .data(55 * MS, 1);
    let counts = tap.tracker.totals(0).counts;
    assert_eq!((counts.zero_windows, counts.zero_window_ns), (1, 50 * MS));
    tap.ack(56 * MS, 2).data(256 * MS, 2);
    let counts = tap.tracker.totals(0).counts;
    assert_eq!(counts.stalled_ns[Cause::Window as usize], 52 * MS);
    assert_eq!(counts.stalled_ns[Cause::Idle as usize], 201 * MS);
    assert_eq!(counts.window_max_bytes, Some(60_000));
}

#[test]
fn a_sender_that_waits_for_an_ack_with_room_in_the_window_waits_for_the_network() {
    let mut tap = Tap::new(5);
    tap.handshake(0);
    tap.data(3 * MS, 0).data(3 * MS, 1).ack(4 * MS, 1);
    tap.data(104 * MS, 2);
    let counts = tap.tracker.totals(0).counts;
    let mut stalled_ns = [0; 4];
    stalled_ns[Cause::Network as usize] = 101 * MS;
    assert_eq!(counts.stalled_ns, stalled_ns);
}

#[test]
fn the_data_of_a_connection_goes_the_way_of_most_of_it() {
    let mut tap = Tap::new(5);
    tap.tracker = Tracker::new(10 * MS, Some((0, 6 * MS)));
    tap.handshake(0);
    tap.data(3 * MS, 0).data(3 * MS, 1).ack(4 * MS, 2);
    assert_eq!(tap.tracker.data_direction(0), 0);
    assert_eq!(
        tap.tracker.counts(0).in_flight_max_bytes,
        2 * u64::from(SIZE)
    );
    for n in 0..3 {
        tap.answer((5 + u64::from(n)) * MS, 2, |packet| {
            packet.seq = 1 + n * SIZE;
            packet.payload = SIZE;
        });
    }
    assert_eq!(tap.tracker.data_direction(0), 1);
    // the last one left after the measurement
    let measured = [0, 1].map(|direction| tap.tracker.totals(direction).measured_bytes);
    assert_eq!(measured, [2000, 1000]);
}

#[test]
fn windows_are_scaled_as_the_syn_says() {
    let mut tap = Tap::new(5);
    let syn = Packet {
        flags: Flags::SYN,
        seq: 4,
        window_scale: Some(3),
        ..tap.packet()
    };
    tap.see(0, 0, &syn, false);
    tap.answer(MS, 0, |packet| {
        packet.flags = Flags::from_bits(Flags::SYN.bits() | Flags::ACK.bits());
        packet.window_scale = Some(7);
    });
    tap.data(3 * MS, 0)
        .answer(4 * MS, 1, |packet| packet.window = 100);
    assert_eq!(tap.tracker.totals(0).counts.window_max_bytes, Some(12_800));
    tap.answer(5 * MS, 1, |packet| packet.window = 1000);
    assert_eq!(tap.tracker.totals(0).counts.window_max_bytes, Some(128_000));
}

#[test]
fn a_connection_with_nothing_to_send_is_idle_and_one_that_waits_for_a_timeout_is_not() {
    let mut idle = Tap::new(5);
    idle.handshake(0);
    idle.data(3 * MS, 0).ack(4 * MS, 1);
    // after a second it sends once more
    idle.data(1000 * MS, 1).ack(1001 * MS, 2);
    let end = idle.tracker.totals(0);
    assert_eq!(end.idle_ns(2000 * MS), 997 * MS + 1000 * MS);
    let mut starved = Tap::new(5);
    starved.handshake(0);
    starved.data(3 * MS, 0).ack(4 * MS, 1);
    starved.sent(5 * MS, 1, true, None);
    starved.sent(205 * MS, 1, true, None);
    assert_eq!(starved.tracker.totals(0).idle_ns(2000 * MS), 0);
}

#[test]
fn a_window_is_scaled_only_if_both_ends_offer_it() {
    let most = |scales: [Option<u8>; 2]| {
        let mut tap = Tap::new(1000);
        let [offer, answer] = scales;
        let syn = Packet {
            flags: Flags::SYN,
            window_scale: offer,
            ..tap.packet()
        };
        tap.see(1, 0, &syn, false);
        let answer = Packet {
            flags: Flags::from_bits(Flags::SYN.bits() | Flags::ACK.bits()),
            window_scale: answer,
            ..tap.packet()
        };
        tap.see(0, MS, &answer, false);
        // the end that opened the connection receives
        tap.data(2 * MS, 1).ack(3 * MS, 2);
        tap.tracker.counts(0).window_max_bytes
    };
    assert_eq!(most([Some(7), Some(2)]), Some(60_000 << 7));
    assert_eq!(most([Some(7), None]), Some(60_000));
}

#[test]
fn round_trips_count_within_the_measurement() {
    let mut tap = Tap::new(0);
    tap.tracker = Tracker::new(10 * MS, Some((50 * MS, 100 * MS)));
    tap.handshake(0);
    // round trips of 3 ms, then of 2 ms within the measurement, then of 5 ms
    for (n, at, back) in [(0, 10, 2), (1, 60, 1), (2, 90, 1), (3, 120, 4)] {
        tap.data(at * MS, n).ack((at + back) * MS, n + 1);
    }
    let end = tap.tracker.totals(0);
    let found = (end.rtt.min_s(), end.rtt.mean_s(), end.rtt.max_s());
    assert_eq!(found, (0.002, 0.002, 0.002));
    let samples: u64 = tap.tracker.rtt_bins(0).iter().map(|(_, n)| n).sum();
    assert_eq!(samples, 2);
}

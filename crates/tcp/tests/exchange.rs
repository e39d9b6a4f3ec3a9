//! Single endpoints against segments written by hand: the handshake, Nagle, windows, resets,
//! sequence numbers that wrap.

use crate::pair::{self, Log, Pair, stack};
use fairport_tcp::{Connection, Flags, Segment, Settings, SynOptions, Timestamps};
use fairport_units::{Duration, Instant};
use serde_json::json;

const PAYLOAD: u32 = 1460;

fn settings() -> Settings {
    stack(
        "linux-2.6",
        &json!({"timestamps": false, "ack_policy": "every-segment"}),
    )
}

/// An endpoint and what it says.
struct Bench {
    end: Connection,
    log: Log,
    now: Instant,
}

impl Bench {
    /// A client whose SYN was answered, with a window of `window` bytes.
    fn connected(settings: &Settings, window: u16) -> Self {
        let mut bench = Self {
            end: Connection::active(settings),
            log: Log::default(),
            now: Instant::ZERO,
        };
        assert_eq!(bench.sends().len(), 1);
        let mut answer = segment(0, 1, window);
        answer.flags |= Flags::SYN;
        answer.options.set_syn(SynOptions {
            mss: PAYLOAD as u16,
            window_scale: None,
            sack_permitted: true,
        });
        bench.now = Instant::from_ms(10);
        bench.gets(&answer);
        assert_eq!(shape(&bench.sends()), [(1, 0)]);
        bench
    }

    fn gets(&mut self, segment: &Segment) {
        self.end.on_segment(self.now, segment, &mut self.log);
    }

    fn sends(&mut self) -> Vec<Segment> {
        std::iter::from_fn(|| self.end.poll_transmit(self.now)).collect()
    }

    /// Waits for the timer and lets it fire: how long that took.
    fn wakes(&mut self) -> Duration {
        let before = self.now;
        self.now = self.end.poll_timer().expect("a timer");
        self.end.on_timer(self.now, &mut self.log);
        self.now - before
    }
}

/// An ACK without data.
fn segment(seq: u32, ack: u32, window: u16) -> Segment {
    Segment {
        seq,
        ack,
        window,
        flags: Flags::ACK,
        ..Segment::default()
    }
}

/// First number and payload.
fn shape(segments: &[Segment]) -> Vec<(u32, u16)> {
    segments.iter().map(|s| (s.seq, s.payload)).collect()
}

#[test]
fn the_handshake_agrees_on_what_both_sides_offer() {
    let full = json!({});
    let none = json!({"sack": false, "timestamps": false, "mss_bytes": 1000});
    for (server, payload, stamped) in [(&full, 1448, true), (&none, 1000, false)] {
        let mut pair = Pair::new(
            &stack("linux-2.6", &full),
            &stack("linux-2.6", server),
            Duration::from_us(10),
        );
        pair.client.write(100_000);
        pair.run();
        assert_eq!(pair.server.delivered_bytes(), 100_000);
        let flags: Vec<Flags> = pair.sent[..3].iter().map(|s| s.segment.flags).collect();
        assert_eq!(flags, [Flags::SYN, Flags::SYN | Flags::ACK, Flags::ACK]);
        let syn = pair.sent[0].segment.options.syn().unwrap();
        assert_eq!(
            (syn.mss, syn.window_scale, syn.sack_permitted),
            (1460, Some(7), true)
        );
        let first = pair.sent.iter().find(|s| s.data.is_some()).unwrap().segment;
        assert_eq!(first.payload, payload);
        assert_eq!(first.options.timestamps().is_some(), stamped);
    }
}

#[test]
fn a_peer_that_says_nothing_gets_segments_of_536_bytes_and_no_options() {
    let mut client = Connection::active(&stack("linux-2.6", &json!({})));
    client.write(2000);
    client.poll_transmit(Instant::ZERO).unwrap();
    let mut answer = segment(0, 1, 65_000);
    answer.flags |= Flags::SYN;
    client.on_segment(Instant::from_us(1), &answer, &mut ());
    let sent: Vec<Segment> =
        std::iter::from_fn(|| client.poll_transmit(Instant::from_us(1))).collect();
    assert_eq!(
        shape(&sent),
        [(1, 536), (537, 536), (1073, 536), (1609, 392)]
    );
    assert!(sent.iter().all(|s| s.header_bytes() == 40));
}

#[test]
fn nagle_holds_a_short_segment_while_data_is_unacknowledged() {
    for (nagle, at_once) in [(true, 1), (false, 2)] {
        let settings = stack("linux-2.6", &json!({"timestamps": false, "nagle": nagle}));
        let mut bench = Bench::connected(&settings, 60_000);
        bench.end.write(100);
        let mut sent = bench.sends();
        bench.end.write(100);
        sent.extend(bench.sends());
        assert_eq!(sent.len(), at_once, "nagle {nagle}");
        bench.end.write(50);
        bench.now += Duration::from_ms(1);
        bench.gets(&segment(1, 101, 60_000));
        sent.extend(bench.sends());
        let total: u32 = sent.iter().map(|s| u32::from(s.payload)).sum();
        assert_eq!(total, 250);
        if nagle {
            assert_eq!(shape(&sent), [(1, 100), (101, 150)]);
        }
    }
}

#[test]
fn nagle_lets_a_full_segment_and_the_end_of_the_stream_go() {
    let mut bench = Bench::connected(&settings(), 60_000);
    bench.end.write(100);
    bench.sends();
    bench.end.write(u64::from(PAYLOAD) + 10);
    assert_eq!(shape(&bench.sends()), [(101, 1460)]);
    bench.end.close();
    let last = bench.sends();
    assert_eq!(shape(&last), [(1561, 10)]);
    assert!(last[0].flags.contains(Flags::FIN));
}

#[test]
fn the_end_of_a_long_write_does_not_wait_unless_an_earlier_short_segment_is_under_way() {
    for (minshall, at_once) in [(true, vec![1460, 1460, 10]), (false, vec![1460, 1460])] {
        let settings = stack(
            "linux-2.6",
            &json!({"timestamps": false, "minshall": minshall}),
        );
        let mut bench = Bench::connected(&settings, 60_000);
        bench.end.write(2 * u64::from(PAYLOAD) + 10);
        let sent: Vec<u16> = bench.sends().iter().map(|s| s.payload).collect();
        assert_eq!(sent, at_once, "minshall {minshall}");
        // and now there is one in any case, sent or not
        bench.end.write(20);
        assert!(bench.sends().is_empty());
        bench.now += Duration::from_ms(1);
        bench.gets(&segment(1, 1 + 2 * PAYLOAD, 60_000));
        let rest: u32 = bench.sends().iter().map(|s| u32::from(s.payload)).sum();
        assert_eq!(rest, if minshall { 0 } else { 30 });
    }
}

#[test]
fn nothing_is_sent_beyond_the_peers_window() {
    let mut bench = Bench::connected(&settings(), 4 * 1460 + 100);
    bench.end.write_endless();
    assert_eq!(bench.sends().len(), 4);
    bench.now += Duration::from_ms(10);
    // two acknowledged, and the window's end stays
    bench.gets(&segment(1, 1 + 2 * PAYLOAD, 2 * 1460 + 100));
    assert_eq!(bench.sends().len(), 0);
    bench.gets(&segment(1, 1 + 2 * PAYLOAD, 3 * 1460));
    assert_eq!(shape(&bench.sends()), [(1 + 4 * PAYLOAD, 1460)]);
}

#[test]
fn a_small_window_is_filled_by_two_segments() {
    let mut bench = Bench::connected(&settings(), 2000);
    bench.end.write_endless();
    assert_eq!(shape(&bench.sends()), [(1, 1000), (1001, 1000)]);
}

#[test]
fn a_closed_window_is_probed_ever_more_seldom_until_it_opens() {
    let mut bench = Bench::connected(&settings(), 1460);
    bench.end.write_endless();
    bench.sends();
    bench.now += Duration::from_ms(10);
    bench.gets(&segment(1, 1461, 0));
    assert_eq!(bench.sends(), []);
    let mut waits = Vec::new();
    for _ in 0..4 {
        waits.push(bench.wakes().as_ps() / 1_000_000_000);
        // empty, and just below the window: it must be answered
        assert_eq!(shape(&bench.sends()), [(1460, 0)]);
        bench.gets(&segment(1, 1461, 0));
        assert_eq!(bench.sends(), []);
    }
    // SRTT 10 ms + 200 ms, doubled each time
    assert_eq!(waits, [210, 420, 840, 1680]);
    bench.gets(&segment(1, 1461, 1460));
    assert_eq!(shape(&bench.sends()), [(1461, 730), (2191, 730)]);
    assert_eq!(bench.end.counters().timeouts, 0);
}

#[test]
fn a_window_too_small_for_a_segment_is_used_once_the_persist_timer_fires() {
    let mut bench = Bench::connected(&settings(), 8 * 1460);
    bench.end.write_endless();
    let sent = bench.sends().len() as u32;
    bench.now += Duration::from_ms(10);
    bench.gets(&segment(1, 1 + sent * PAYLOAD, 100));
    assert_eq!(bench.sends(), []);
    bench.wakes();
    assert_eq!(shape(&bench.sends()), [(1 + sent * PAYLOAD, 100)]);
}

#[test]
fn a_lost_window_probe_does_not_stop_a_transfer() {
    // the receiver holds two segments, and the path loses a third of everything
    let small = stack(
        "linux-2.6",
        &json!({"receive_buffer_bytes": 2920, "window_scale": 0}),
    );
    let mut count = 0;
    let mut pair = Pair::new(&settings(), &small, Duration::from_us(100)).through(move |_| {
        count += 1;
        if count % 3 == 0 {
            pair::Fate::Lose
        } else {
            pair::Fate::Arrive
        }
    });
    pair.client.write(50_000);
    pair.client.close();
    pair.run();
    assert_eq!(pair.server.delivered_bytes(), 50_000);
}

#[test]
fn an_acknowledgement_of_what_was_not_sent_is_answered_and_ignored() {
    let mut bench = Bench::connected(&settings(), 60_000);
    bench.end.write(100);
    bench.sends();
    bench.gets(&segment(1, 5000, 60_000));
    assert_eq!(shape(&bench.sends()), [(101, 0)]);
    assert_eq!(bench.end.gauges().acked_bytes, 0);
}

#[test]
fn a_reset_in_place_ends_the_connection_and_any_other_does_not() {
    let mut bench = Bench::connected(&settings(), 60_000);
    bench.end.write_endless();
    bench.sends();
    let mut reset = segment(2, 1, 0);
    reset.flags = Flags::RST;
    bench.gets(&reset);
    assert!(bench.end.is_established());
    reset.seq = 1;
    bench.gets(&reset);
    assert!(bench.end.is_reset());
    assert_eq!(bench.sends(), []);
    assert_eq!(bench.end.poll_timer(), None);
}

#[test]
fn either_side_may_close_first_and_a_lost_fin_is_sent_again() {
    for lost in [&[][..], &[10], &[9, 10]] {
        let mut pair = Pair::same(&settings(), Duration::from_us(100))
            .connected()
            .losing(lost);
        pair.client.write(10 * 1460);
        pair.run_until(pair.now + Duration::from_us(50));
        pair.client.close();
        pair.run();
        assert_eq!(pair.server.delivered_bytes(), 14_600);
        assert!(
            pair.client.is_finished() && pair.server.is_finished(),
            "{lost:?}"
        );
    }
    let mut pair = Pair::same(&settings(), Duration::from_us(100)).connected();
    pair.server.close();
    pair.run();
    assert!(pair.client.is_finished() && pair.server.is_finished());
}

#[test]
fn sequence_numbers_wrap() {
    for isn in [u32::MAX, u32::MAX - 5000, u32::MAX / 2] {
        let settings = stack("linux-2.6", &json!({"rto_min_ps": 2_000_000_000_u64}));
        let mut pair = Pair::same(&settings, Duration::from_us(100));
        pair.client = pair.client.with_isn(isn);
        pair.server = pair.server.with_isn(isn.wrapping_add(7));
        let mut pair = pair.losing(&[1, 3, 7, 20]);
        pair.client.write(1_000_000);
        pair.client.close();
        pair.run();
        assert_eq!(pair.server.delivered_bytes(), 1_000_000);
        assert!(pair.client.is_finished());
    }
}

#[test]
fn five_gibibytes_arrive_although_the_sequence_space_has_four() {
    let size = 5 << 30;
    let overrides =
        json!({"mss_bytes": 65_495, "window_scale": 14, "receive_buffer_bytes": 20_000_000});
    let mut pair = Pair::same(&stack("linux-2.6", &overrides), Duration::from_us(100));
    pair.client.write(size);
    pair.client.close();
    pair.run_while(|pair| {
        assert!(pair.server.delivered_bytes() <= size);
        true
    });
    assert_eq!(pair.server.delivered_bytes(), size);
    assert_eq!(pair.client.gauges().acked_bytes, size);
}

#[test]
fn the_earliest_unacknowledged_timestamp_is_echoed() {
    // RFC 7323 4.3: with a delayed ACK, the sender measures the delay too
    let settings = stack("linux-2.6", &json!({"ack_policy": "delayed"}));
    let mut server = Connection::passive(&settings);
    let mut data = segment(0, 0, 1000);
    data.flags = Flags::SYN;
    data.options.set_syn(SynOptions::default());
    data.options.set_timestamps(Timestamps { val: 50, ecr: 0 });
    server.on_segment(Instant::ZERO, &data, &mut ());
    server.poll_transmit(Instant::ZERO).unwrap();
    let mut ecr = 0;
    for (number, val) in [(0, 100), (1, 200)] {
        let mut data = segment(1 + number * 1000, 1, 1000);
        data.payload = 1000;
        data.options.set_timestamps(Timestamps { val, ecr: 1 });
        server.on_segment(Instant::from_us(10), &data, &mut ());
        if let Some(ack) = server.poll_transmit(Instant::from_us(10)) {
            ecr = ack.options.timestamps().unwrap().ecr;
        }
    }
    assert_eq!(ecr, 100);
}

#[test]
fn ns2_counts_1040_bytes_a_packet_and_40_an_ack() {
    let mut pair = Pair::same(&stack("ns2", &json!({})), Duration::from_us(100));
    pair.client.write(5000);
    pair.run();
    for sent in &pair.sent {
        let expected = if sent.data.is_some() { 1040 } else { 40 };
        assert_eq!(sent.segment.wire_bytes(), expected);
    }
}

#[test]
fn an_application_that_stops_sends_fin_behind_what_was_sent_and_nothing_else() {
    let mut pair = Pair::same(&settings(), Duration::from_ms(50)).connected();
    pair.client.write_endless();
    pair.run_until(pair.now); // the initial window goes out
    pair.client.stop();
    pair.run();
    assert_eq!(pair.server.delivered_bytes(), 10 * u64::from(PAYLOAD));
    assert!(pair.client.is_finished() && pair.server.is_finished());
}

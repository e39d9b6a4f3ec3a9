//! When the receiver acknowledges.

use crate::pair::{self, Pair, stack};
use fairport_tcp::Settings;
use fairport_units::Duration;
use serde_json::{Value, json};

const ONE_WAY: Duration = Duration::from_us(100);

fn sends(overrides: &Value, segments: u64) -> Pair {
    let mut all = json!({"initial_window_segments": 100});
    for (key, value) in overrides.as_object().unwrap() {
        all[key] = value.clone();
    }
    let settings: Settings = stack("linux-2.6", &all);
    let mut pair = losing(&settings, &[]);
    pair.client.write(segments * 1448);
    pair.run();
    pair
}

/// A connection on which segments take 12 us each, and of the data these get lost.
fn losing(settings: &Settings, lost: &'static [usize]) -> Pair {
    let mut pair = Pair::same(settings, ONE_WAY)
        .spaced(Duration::from_us(12))
        .connected()
        .losing(lost);
    pair.sent.clear();
    pair
}

/// The number of segments that each ACK acknowledges.
fn steps(pair: &Pair) -> Vec<u32> {
    let mut before = 0;
    pair.acks()
        .iter()
        .map(|(_, bytes)| {
            let step = (bytes - before) / 1448;
            before = *bytes;
            step
        })
        .collect()
}

#[test]
fn every_segment_is_acknowledged_at_once_where_that_is_the_policy() {
    assert_eq!(
        steps(&sends(&json!({"ack_policy": "every-segment"}), 20)),
        [1; 20]
    );
}

#[test]
fn delayed_acks_come_for_every_second_segment_and_after_200_ms_for_a_last_odd_one() {
    let pair = sends(&json!({"ack_policy": "delayed"}), 9);
    assert_eq!(steps(&pair), [2, 2, 2, 2, 1]);
    let acks = pair.acks();
    let waited = acks[4].0 - acks[3].0;
    assert_eq!(waited, Duration::from_us(12) + Duration::from_ms(200));
}

#[test]
fn what_comes_within_the_span_of_receive_offload_is_acknowledged_as_one() {
    // a segment each 12 us: those at 0, 12, .. 60 us
    let span = json!({"receive_offload_ps": 60_000_000, "ack_policy": "every-segment"});
    assert_eq!(steps(&sends(&span, 18)), [6, 6, 6]);
    // the rules for ACKs see one large segment: Linux, too, acknowledges each at once
    let span = json!({"receive_offload_ps": 60_000_000});
    assert_eq!(steps(&sends(&span, 18)), [6, 6, 6]);
    // 64 KB are 45 full segments
    let long = json!({"receive_offload_ps": 10_000_000_000_u64});
    assert_eq!(steps(&sends(&long, 90)), [45, 45]);
}

#[test]
fn receive_offload_merges_nothing_across_a_gap() {
    let settings = stack("linux-6", &json!({"receive_offload_ps": 1_000_000_000_u64}));
    let mut pair = losing(&settings, &[4]);
    pair.client.write(10 * 1448);
    pair.run();
    // the first four wait for more; what is out of order is acknowledged at once, and the four with it
    let acks = pair.acks();
    let gap_shows = pair.sent[0].at + ONE_WAY + Duration::from_us(12) * 5;
    assert!(
        acks.iter().filter(|(at, _)| *at < gap_shows).count() == 0,
        "{acks:?}"
    );
    assert_eq!(acks[0].1, 4 * 1448);
    assert_eq!(pair.server.delivered_bytes(), 10 * 1448);
}

#[test]
fn a_delayed_ack_waits_for_a_tick_of_the_timer() {
    let tick = Duration::from_ms(4);
    let pair = sends(
        &json!({"ack_policy": "delayed", "clock_tick_ps": tick.as_ps()}),
        1,
    );
    let came = pair.sent[0].at + ONE_WAY;
    let acked = pair.acks()[0].0;
    assert_eq!(acked.as_ps() % tick.as_ps(), 0);
    let waited = acked - came;
    assert!(
        waited >= Duration::from_ms(200) && waited < Duration::from_ms(200) + tick,
        "{waited}"
    );
}

#[test]
fn linux_acknowledges_the_first_16_segments_at_once_and_then_every_second() {
    let pair = sends(&json!({}), 16 + 8);
    let steps = steps(&pair);
    assert_eq!(steps[..16], [1; 16]);
    assert_eq!(steps[16..], [2; 4]);
}

#[test]
fn linux_delays_an_odd_segment_by_40_ms_but_less_than_the_minimum_rto() {
    for (rto_min_ps, delay) in [
        (200_000_000_000_u64, Duration::from_ms(40)),
        (2_000_000_000, Duration::from_us(1999)),
    ] {
        let pair = sends(&json!({"rto_min_ps": rto_min_ps}), 17);
        let acks = pair.acks();
        assert_eq!(acks.len(), 17);
        assert_eq!(acks[16].0 - acks[15].0, Duration::from_us(12) + delay);
        // so that the delay is no timeout for the sender
        assert_eq!(pair.client.counters().timeouts, 0);
    }
}

#[test]
fn where_data_comes_every_30_ms_linux_delays_an_odd_segment_by_60_ms() {
    let settings: Settings = stack("linux-2.6", &json!({}));
    let mut pair = Pair::same(&settings, Duration::from_ms(100)).connected();
    pair.sent.clear();
    for _ in 0..41 {
        pair.client.write(1448);
        pair.run_until(pair.now + Duration::from_ms(30));
    }
    pair.run();
    let acks = pair.acks();
    let [.., before, last] = acks[..] else {
        panic!("ACKs: {acks:?}");
    };
    // the estimate is half of what it was and the gap, so it comes to twice the gap
    let delay = last.0 - before.0 - Duration::from_ms(30);
    assert!(
        (Duration::from_ms(59)..=Duration::from_ms(60)).contains(&delay),
        "{delay:?}"
    );
}

#[test]
fn before_linux_6_7_a_delayed_ack_is_a_timeout_for_a_sender_with_a_small_minimum_rto() {
    let overrides = json!({"rto_min_ps": 2_000_000_000_u64, "delayed_ack_below_rto_min": false});
    let pair = sends(&overrides, 17);
    assert_eq!(pair.client.counters().timeouts, 1);
    assert_eq!(pair.client.counters().retransmits, 1);
}

#[test]
fn linux_is_quick_again_after_a_gap_longer_than_the_timeout() {
    let mut pair = sends(&json!({}), 20);
    pair.run_until(pair.now + Duration::from_ms(500));
    pair.sent.clear();
    pair.client.write(6 * 1448);
    pair.run();
    assert_eq!(pair.acks().len(), 6);
}

#[test]
fn out_of_order_data_and_data_that_fills_a_gap_are_acknowledged_at_once() {
    let settings = stack(
        "linux-2.6",
        &json!({"initial_window_segments": 100, "ack_policy": "delayed"}),
    );
    let mut pair = losing(&settings, &[2]);
    pair.client.write(8 * 1448);
    pair.run();
    let acked: Vec<u32> = pair.acks().iter().map(|(_, bytes)| bytes / 1448).collect();
    assert_eq!(acked, [2, 2, 2, 2, 2, 2, 8]);
    assert_eq!(pair.client_log.timeouts, []);
}

#[test]
fn linux_is_quick_again_after_data_out_of_order() {
    let settings = stack("linux-2.6", &json!({"initial_window_segments": 100}));
    let mut pair = losing(&settings, &[30]);
    pair.client.write(40 * 1448);
    pair.run();
    // 16 at once, 14 in pairs, 9 out of order, the gap filled
    assert_eq!(pair.acks().len(), 16 + 7 + 9 + 1);
    pair.sent.clear();
    pair.client.write(20 * 1448);
    pair.run();
    // each of the 9 duplicates renewed the 16; one went with the last and one with the filled gap
    assert_eq!(pair.acks().len(), 14 + 3);
}

/// Segments of `linux-6`, each 12 us on the link, of which `lost` are lost: the times of the ACKs behind the
/// gap, by the time when the first segment behind it came.
fn acks_behind_a_gap(overrides: &Value, segments: u64, lost: &'static [usize]) -> Vec<Duration> {
    let mut all = json!({"initial_window_segments": 100});
    for (key, value) in overrides.as_object().unwrap() {
        all[key] = value.clone();
    }
    let mut pair = losing(&stack("linux-6", &all), lost);
    pair.client.write(segments * 1448);
    pair.run();
    assert_eq!(pair.server.delivered_bytes(), segments * 1448);
    let from = pair.sent[0].at + ONE_WAY + Duration::from_us(12) * (lost[0] as u64 + 2);
    let acks = pair.acks();
    acks.iter()
        .filter(|(at, bytes)| *at >= from && *bytes as usize == lost[0] * 1448)
        .map(|(at, _)| *at - from)
        .collect()
}

/// Behind 17 segments no ACK is quick any more.
const LOST: &[usize] = &[17];

#[test]
fn sack_compression_sends_three_duplicates_at_once_and_the_next_ones_as_one() {
    let us = Duration::from_us;
    // a twentieth of the round trip of 200 us, and the slack of 100 us, from the fourth on
    let expected = [us(0), us(12), us(24), us(36) + us(10) + us(100)];
    assert_eq!(acks_behind_a_gap(&json!({}), 17 + 1 + 10, LOST), expected);
}

#[test]
fn without_sack_compression_every_duplicate_goes_out_at_once() {
    let each: Vec<Duration> = (0..10).map(|i| Duration::from_us(12 * i)).collect();
    let off = json!({"sack_compression": 0});
    assert_eq!(acks_behind_a_gap(&off, 17 + 1 + 10, LOST), each);
    let no_sack = acks_behind_a_gap(&json!({"sack": false}), 17 + 1 + 10, LOST);
    assert_eq!(no_sack, each);
}

#[test]
fn sack_compression_holds_no_more_back_than_it_may() {
    // three at once, two held back, and the next says all that there is
    let acks = acks_behind_a_gap(&json!({"sack_compression": 2}), 17 + 1 + 7, LOST);
    let us = Duration::from_us;
    assert_eq!(acks[..4], [us(0), us(12), us(24), us(60)]);
}

#[test]
fn linux_6_is_not_quick_after_data_out_of_order() {
    let settings = stack("linux-6", &json!({"initial_window_segments": 100}));
    let mut pair = losing(&settings, &[30]);
    pair.client.write(40 * 1448);
    pair.run();
    pair.sent.clear();
    pair.client.write(20 * 1448);
    pair.run();
    assert_eq!(pair.acks().len(), 10);
}

#[test]
fn the_newest_sack_block_comes_first_and_older_ones_follow() {
    let settings = stack(
        "linux-2.6",
        &json!({"initial_window_segments": 100, "timestamps": false}),
    );
    let mut pair = losing(&settings, &[0, 2, 4, 6, 8]);
    pair.client.write(9 * 1460);
    let sacked = |pair: &Pair| -> Option<Vec<(u32, u32)>> {
        let ack = pair.sent.iter().rfind(|sent| !sent.forward)?;
        let segment = |number: u32| (number - 1) / 1460;
        let blocks = ack.segment.options.sacks();
        Some(blocks.map(|b| (segment(b.start), segment(b.end))).collect())
    };
    pair.run_until(pair.now + Duration::from_us(12 * 9) + ONE_WAY);
    assert_eq!(sacked(&pair), Some(vec![(7, 8), (5, 6), (3, 4), (1, 2)]));
}

#[test]
fn what_came_twice_is_reported_in_the_first_sack_block() {
    // RFC 2883 4.1.1: below the ACK; 4.2.1: within the second block
    let settings = stack(
        "linux-2.6",
        &json!({"timestamps": false, "dsack": true, "ack_policy": "every-segment"}),
    );
    let mut pair = Pair::same(&settings, ONE_WAY)
        .spaced(Duration::from_us(12))
        .connected()
        .through(|sent| match sent.data {
            Some(1 | 5) => pair::Fate::Twice,
            Some(3) => pair::Fate::Lose,
            _ => pair::Fate::Arrive,
        });
    pair.sent.clear();
    pair.client.write(8 * 1460);
    pair.run();
    let segment = |number: u32| number.wrapping_sub(1) / 1460;
    let reports: Vec<(u32, Vec<(u32, u32)>)> = pair
        .sent
        .iter()
        .filter(|sent| !sent.forward)
        .map(|sent| {
            let blocks = sent.segment.options.sacks();
            let blocks = blocks.map(|b| (segment(b.start), segment(b.end)));
            (segment(sent.segment.ack), blocks.collect())
        })
        .collect();
    assert_eq!(
        reports,
        [
            (1, vec![]),
            (2, vec![]),
            (2, vec![(1, 2)]),
            (3, vec![]),
            (3, vec![(4, 5)]),
            (3, vec![(4, 6)]),
            (3, vec![(5, 6), (4, 6)]),
            (3, vec![(4, 7)]),
            (3, vec![(4, 8)]),
            (8, vec![]),
        ]
    );
}

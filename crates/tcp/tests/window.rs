//! How the congestion window moves.

use crate::pair::{Fate, Pair, stack};
use fairport_tcp::{Connection, Flags, Segment, Settings, SynOptions};
use fairport_units::{Duration, Instant};
use serde_json::{Value, json};

const ONE_WAY: Duration = Duration::from_ms(50);
const RTT: Duration = Duration::from_ms(100);

fn linux(overrides: &Value) -> Settings {
    let mut all = json!({
        "ack_policy": "every-segment", "window_scale": 14, "receive_buffer_bytes": 500_000_000_u64
    });
    for (key, value) in overrides.as_object().unwrap() {
        all[key] = value.clone();
    }
    stack("linux-2.6", &all)
}

#[test]
fn the_initial_window_goes_out_at_once_and_slow_start_doubles_it_every_round_trip() {
    let mut pair = Pair::same(&linux(&json!({})), ONE_WAY).connected();
    pair.client.write_endless();
    let start = pair.now;
    for (round, expected) in [10, 30, 70, 150].into_iter().enumerate() {
        pair.run_until(start + RTT * round as u64);
        assert_eq!(pair.data().len(), expected, "after {round} round trips");
    }
}

#[test]
fn after_a_loss_the_window_is_the_algorithms_share_of_it() {
    for (control, share) in [("newreno", 50), ("bic", 79), ("cubic", 70)] {
        for (unit, sack) in [("segments", true), ("bytes", true), ("segments", false)] {
            let settings = linux(&json!({
                "congestion_control": control, "window_unit": unit, "sack": sack,
                "initial_window_segments": 100
            }));
            let mut pair = Pair::same(&settings, ONE_WAY).connected().losing(&[0]);
            pair.client.write(100 * 1448);
            pair.run();
            let gauges = pair.client.gauges();
            assert_eq!(gauges.ssthresh_bytes, share * 1448, "{control}");
            assert_eq!(gauges.cwnd_bytes, share * 1448, "{control}");
            assert_eq!(pair.client.counters().timeouts, 0);
        }
    }
}

#[test]
fn bic_halves_windows_of_14_segments_and_less() {
    for (window, after) in [(14, 7), (10, 5), (5, 2), (4, 2)] {
        let settings = linux(&json!({"initial_window_segments": window}));
        let mut pair = Pair::same(&settings, ONE_WAY).connected().losing(&[0]);
        pair.client.write(window * 1448);
        pair.run();
        assert_eq!(pair.client.gauges().cwnd_bytes, after * 1448, "{window}");
    }
}

#[test]
fn a_timeout_leaves_one_segment_and_the_share_as_threshold() {
    let settings = linux(&json!({
        "congestion_control": "cubic", "initial_window_segments": 100
    }));
    let mut pair = Pair::same(&settings, ONE_WAY).connected();
    pair = pair.through(|sent| match sent.data {
        Some(0..100) => Fate::Lose,
        _ => Fate::Arrive,
    });
    pair.client.write(100 * 1448);
    pair.run_while(|pair| pair.client.counters().timeouts == 0);
    assert_eq!(pair.client.gauges().cwnd_bytes, 1448);
    assert_eq!(pair.client.gauges().ssthresh_bytes, 70 * 1448);
}

#[test]
fn newreno_grows_by_a_segment_a_round_trip() {
    let settings = linux(&json!({
        "congestion_control": "newreno", "abc": true, "initial_window_segments": 20
    }));
    let mut pair = Pair::same(&settings, ONE_WAY).connected().losing(&[0]);
    pair.client.write_endless();
    pair.run_while(|pair| pair.client.gauges().acked_bytes < 21 * 1448);
    let start = pair.now;
    for round in 1..20 {
        pair.run_until(start + RTT * round + ONE_WAY);
        let segments = pair.client.gauges().cwnd_bytes / 1448;
        assert!(
            segments.abs_diff(10 + round) <= 1,
            "{segments} after {round}"
        );
    }
}

#[test]
fn appropriate_byte_counting_makes_up_for_delayed_acks() {
    // 8 segments, acknowledged by fours of two: one segment an ACK, or what was acknowledged
    for (abc, window) in [(false, 8 + 4), (true, 8 + 8)] {
        let settings = linux(&json!({
            "abc": abc, "ack_policy": "delayed", "initial_window_segments": 8
        }));
        let mut pair = Pair::same(&settings, ONE_WAY).connected();
        pair.client.write_endless();
        pair.run_until(pair.now + RTT);
        assert_eq!(pair.client.gauges().cwnd_bytes, window * 1448, "abc {abc}");
    }
}

#[test]
fn without_sack_linux_counts_what_duplicate_acks_reported_once() {
    // the second segment comes after the third and the fourth: two duplicates, then an ACK of three
    for (counted, window) in [(true, 10 + 1), (false, 10 + 3)] {
        let settings = linux(&json!({
            "sack": false, "abc": true, "abc_limit_segments": 0, "duplicate_acks_deliver": counted
        }));
        let mut pair = Pair::same(&settings, ONE_WAY)
            .spaced(Duration::from_ms(1))
            .connected()
            .through(|sent| match sent.data {
                Some(1) => Fate::Late(Duration::from_us(2500)),
                _ => Fate::Arrive,
            });
        // the first ACK changes the window, so that it would be no duplicate
        pair.client.write(1448);
        pair.run();
        pair.client.write_endless();
        pair.run_while(|pair| pair.client.gauges().acked_bytes == 1448);
        assert_eq!(pair.client.gauges().acked_bytes, 4 * 1448);
        assert_eq!(pair.client.gauges().cwnd_bytes, window * 1448, "{counted}");
    }
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut pair = Pair::same(&linux(&json!({})), ONE_WAY).connected();
    for _ in 0..20 {
        pair.client.write(1448);
        pair.run();
    }
    assert_eq!(pair.client.gauges().cwnd_bytes, 10 * 1448);
}

#[test]
fn a_window_that_is_larger_than_what_is_used_stays_as_long_as_acknowledgements_come() {
    let overrides = json!({"window_use_by_round": true, "slow_start_after_idle": true});
    let mut pair = Pair::same(&linux(&overrides), ONE_WAY).connected();
    pair.client.write(100 * 1448);
    pair.run();
    let window = pair.client.gauges().cwnd_bytes;
    assert!(window > 40 * 1448, "{window}");
    // two seconds, of which no retransmission timeout passes without data and its acknowledgement
    for _ in 0..20 {
        pair.client.write(1448);
        pair.run();
    }
    assert_eq!(pair.client.gauges().cwnd_bytes, window);
}

#[test]
fn hystart_leaves_slow_start_before_the_queue_is_full_and_plain_slow_start_does_not() {
    // 100 segments of 1 ms each fit on the path
    let threshold = |hystart: bool| {
        let settings = linux(&json!({"congestion_control": "cubic", "hystart": hystart}));
        let mut pair = Pair::same(&settings, ONE_WAY)
            .spaced(Duration::from_ms(1))
            .connected();
        pair.client.write_endless();
        pair.run_until(Instant::from_secs(3));
        pair.client.gauges().ssthresh_bytes
    };
    assert_eq!(threshold(false), u64::MAX);
    let found = threshold(true) / 1448;
    assert!((40..=200).contains(&found), "{found}");
}

/// A client whose SYN was answered after 100 ms, and that has sent all it may; how many segments those are.
/// The host says of each when it will have left: far later.
fn fills_its_host(settings: &Settings) -> (Connection, usize) {
    let mut client = Connection::active(settings);
    client.poll_transmit(Instant::ZERO).unwrap();
    let mut answer = Segment {
        ack: 1,
        flags: Flags::SYN | Flags::ACK,
        window: 60_000,
        ..Segment::default()
    };
    answer.options.set_syn(SynOptions {
        mss: 1460,
        ..SynOptions::default()
    });
    let now = Instant::from_ms(100);
    client.on_segment(now, &answer, &mut ());
    client.write_endless();
    let mut sent = 0;
    while let Some(segment) = client.poll_transmit(now) {
        client.queued_until(now + Duration::from_secs(1), &segment);
        sent += usize::from(segment.payload > 0);
    }
    (client, sent)
}

#[test]
fn a_slow_flow_has_three_segments_in_its_host_whatever_its_window() {
    // 1/1024 s at its rate is less than two segments; Linux stops at more than two (tcp_small_queue_check)
    for (limited, sent) in [(true, 3), (false, 10)] {
        let settings = stack("linux-6", &json!({"small_queue": limited}));
        assert_eq!(fills_its_host(&settings).1, sent, "limited: {limited}");
    }
}

#[test]
fn without_sack_each_duplicate_ack_counts_as_a_segment_that_has_arrived() {
    for unit in ["segments", "bytes"] {
        let settings = stack(
            "linux-6",
            &json!({"sack": false, "timestamps": false, "small_queue": false, "window_unit": unit}),
        );
        let (mut client, sent) = fills_its_host(&settings);
        assert_eq!(sent, 10);
        let duplicate = Segment {
            seq: 1,
            ack: 1,
            flags: Flags::ACK,
            window: 60_000,
            ..Segment::default()
        };
        for count in 1..=2 {
            client.on_segment(Instant::from_ms(200), &duplicate, &mut ());
            let info = client.info();
            assert_eq!((info.sacked, info.unacked), (count, 10), "in {unit}");
        }
    }
}

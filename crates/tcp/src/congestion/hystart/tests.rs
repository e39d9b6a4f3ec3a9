//! When slow start ends: examples worked out by hand.

use super::*;
use crate::recovery::State;
use crate::settings::Settings;

fn hystart(preset: &str) -> (HyStart, Window) {
    let settings = Settings::preset(preset).unwrap();
    let mut window = Window::new(&settings, 1448);
    window.cwnd = 20;
    let setup = Setup {
        settings: &settings,
        segment_bytes: 1448,
        unit: 1,
    };
    (HyStart::new(&setup), window)
}

fn ack(now: Instant, una: u64, nxt: u64) -> AckSample {
    AckSample {
        now,
        acked: 1,
        segments: 1,
        marked: 0,
        rtt: None,
        srtt: Some(Duration::from_ms(10)),
        una,
        nxt,
        state: State::Open,
        limited: true,
    }
}

#[test]
fn eight_samples_of_a_round_that_are_an_eighth_longer_end_slow_start() {
    let (mut hystart, window) = hystart("linux-2.6");
    let base = Duration::from_ms(80);
    let slow = Duration::from_ms(91);
    let mut now = Instant::from_secs(1);
    for i in 0..8 {
        assert_eq!(
            hystart.ends_slow_start(&window, slow, base, &ack(now, 1 + i, 100)),
            None
        );
        // gaps of 3 ms: no train
        now += Duration::from_ms(3);
    }
    assert_eq!(
        hystart.ends_slow_start(&window, slow, base, &ack(now, 9, 100)),
        Some(DecisionCause::HystartDelay)
    );
}

/// ACKs a millisecond apart until slow start ends.
fn train_ends_after(preset: &str, base: Duration) -> u64 {
    let (mut hystart, window) = hystart(preset);
    let mut now = Instant::from_secs(1);
    let mut acks = 0;
    loop {
        let sample = ack(now, 1 + acks, 1000);
        if let Some(cause) = hystart.ends_slow_start(&window, base, base, &sample) {
            assert_eq!(cause, DecisionCause::HystartTrain);
            return acks;
        }
        now += Duration::from_ms(1);
        acks += 1;
    }
}

#[test]
fn an_ack_train_of_half_the_delay_ends_slow_start() {
    assert_eq!(train_ends_after("linux-2.6", Duration::from_ms(10)), 6);
}

#[test]
fn today_a_train_may_be_half_of_the_bursts_time_longer() {
    // 4 * 65536 B at 2 * 20 * 1448 B per 10 ms take 45 ms, more than the 1 ms that is allowed
    let base = Duration::from_us(3200);
    assert_eq!(train_ends_after("linux-2.6", base), 2);
    assert_eq!(train_ends_after("linux-6", base), 3);
}

/// The delay must grow by an eighth of the smallest round trip, within 4 and 16 ms.
#[test]
fn the_delay_grows_when_the_smallest_of_eight_is_more_than_an_eighth_larger() {
    for (base_ms, growth_us) in [
        (10, 4_000),
        (32, 4_000),
        (40, 5_000),
        (128, 16_000),
        (400, 16_000),
    ] {
        for (more, ends) in [(0, false), (1, true)] {
            let (mut hystart, window) = hystart("linux-2.6");
            let base = Duration::from_ms(base_ms);
            let rtt = base + Duration::from_us(growth_us) + Duration::from_ps(more);
            let mut cause = None;
            for i in 0..9 {
                // gaps of 3 ms: no train
                let sample = ack(Instant::from_ms(1000 + 3 * i), 1 + i, 100);
                cause = hystart.ends_slow_start(&window, rtt, base, &sample);
            }
            assert_eq!(cause.is_some(), ends, "{base_ms} ms and {growth_us} us");
        }
    }
}

#[test]
fn one_of_eight_that_is_short_is_enough_against_a_growing_delay() {
    let (mut hystart, window) = hystart("linux-2.6");
    let base = Duration::from_ms(80);
    for i in 0..20 {
        let rtt = if i == 3 { base } else { base * 2 };
        let sample = ack(Instant::from_ms(1000 + 3 * i), 1 + i, 100);
        assert_eq!(hystart.ends_slow_start(&window, rtt, base, &sample), None);
    }
}

/// The first ACK beyond the end of the last round begins a new one, without samples and without a train.
#[test]
fn a_round_begins_when_more_than_its_end_is_acknowledged() {
    for (una, begins) in [(99, false), (100, false), (101, true)] {
        let (mut hystart, window) = hystart("linux-2.6");
        let base = Duration::from_ms(80);
        for i in 0..8 {
            let sample = ack(Instant::from_ms(1000 + 3 * i), 1 + i, 100);
            hystart.ends_slow_start(&window, base * 2, base, &sample);
        }
        let sample = ack(Instant::from_ms(1030), una, 200);
        let cause = hystart.ends_slow_start(&window, base * 2, base, &sample);
        assert_eq!(cause.is_none(), begins, "up to {una}");
    }
}

#[test]
fn slow_start_ends_once_until_a_timeout() {
    let (mut hystart, window) = hystart("linux-2.6");
    let base = Duration::from_ms(80);
    let mut ends = |from: u64, reset: bool| {
        if reset {
            hystart.on_timeout(Instant::from_ms(from), 0);
        }
        (0..9)
            .filter(|i| {
                let sample = ack(Instant::from_ms(from + 3 * i), 1 + i, 100);
                hystart
                    .ends_slow_start(&window, base * 2, base, &sample)
                    .is_some()
            })
            .count()
    };
    assert_eq!(ends(1000, false), 1);
    assert_eq!(ends(2000, false), 0);
    assert_eq!(ends(3000, true), 1);
}

/// `bictcp_state` calls `bictcp_hystart_reset` with the timeout: until more than what was sent before is acknowledged, it
/// is one round, whose train ended with the timeout.
#[test]
fn the_repair_of_a_timeout_is_one_round() {
    let base = Duration::from_ms(10);
    for (nxt, ends_at) in [(0, Some(6)), (10, Some(16)), (1000, None)] {
        let (mut hystart, window) = hystart("linux-2.6");
        hystart.on_timeout(Instant::from_ms(900), nxt);
        let ends = (0..100).find(|i| {
            let sample = ack(Instant::from_ms(1000 + i), 1 + i, 2000);
            hystart
                .ends_slow_start(&window, base, base, &sample)
                .is_some()
        });
        assert_eq!(ends, ends_at, "{nxt}");
    }
}

/// 20 ACKs, this far apart, on a path of 10 ms.
#[test]
fn acks_two_milliseconds_apart_are_a_train_and_those_farther_are_none() {
    for (gap, train) in [
        (Duration::from_ms(2), true),
        (Duration::from_ms(2) + Duration::from_ps(1), false),
    ] {
        let (mut hystart, window) = hystart("linux-2.6");
        let base = Duration::from_ms(10);
        let mut now = Instant::from_secs(1);
        let mut cause = None;
        for i in 0..8 {
            cause = cause.or(hystart.ends_slow_start(&window, base, base, &ack(now, 1 + i, 100)));
            now += gap;
        }
        assert_eq!(cause, train.then_some(DecisionCause::HystartTrain));
    }
}

/// `hystart_ack_delay`: 4 * 65536 B at 200 % of 20 segments of 1448 B per round trip of 100 us take 452.6 us.
#[test]
fn four_bursts_take_their_time_at_the_pacing_rate_and_count_for_a_millisecond_at_most() {
    let (_, window) = hystart("linux-6");
    let it = AckDelay {
        segment_bytes: 1448,
        paced: false,
    };
    let of = |us| it.of_bursts(&window, Some(Duration::from_us(us)));
    assert_eq!(of(100), Duration::from_ps(452_596_685));
    assert_eq!(of(220), Duration::from_ps(995_712_707));
    assert_eq!(of(221), Duration::from_ms(1));
    assert_eq!(it.of_bursts(&window, None), Duration::ZERO);
}

#[test]
fn a_paced_train_may_be_as_long_as_the_delay_and_the_bursts() {
    let mut settings = Settings::preset("linux-6").unwrap();
    let mut window = Window::new(&settings, 1448);
    window.cwnd = 20;
    let base = Duration::from_us(3200);
    for (pacing, acks) in [(Pacing::Off, 3), (Pacing::Linux, 5), (Pacing::Window, 5)] {
        settings.pacing = pacing;
        let mut hystart = HyStart::new(&Setup {
            settings: &settings,
            segment_bytes: 1448,
            unit: 1,
        });
        let ends = (0..20).find(|i| {
            let sample = ack(Instant::from_ms(1000 + i), 1 + i, 1000);
            hystart
                .ends_slow_start(&window, base, base, &sample)
                .is_some()
        });
        assert_eq!(ends, Some(acks), "{pacing:?}");
    }
}

#[test]
fn it_looks_from_sixteen_segments_on() {
    for (cwnd, looks) in [(15, false), (16, true)] {
        let (mut hystart, mut window) = hystart("linux-2.6");
        window.cwnd = cwnd;
        let base = Duration::from_ms(80);
        let ends = (0..9).any(|i| {
            let sample = ack(Instant::from_ms(1000 + 3 * i), 1 + i, 100);
            hystart
                .ends_slow_start(&window, base * 2, base, &sample)
                .is_some()
        });
        assert_eq!(ends, looks);
    }
}

#[test]
fn small_windows_are_left_alone() {
    let (mut hystart, mut window) = hystart("linux-2.6");
    window.cwnd = 15;
    let base = Duration::from_us(10);
    for i in 0..100 {
        let now = Instant::from_us(100 * i);
        let sample = ack(now, 1 + i, 1000);
        assert_eq!(
            hystart.ends_slow_start(&window, base * 2, base, &sample),
            None
        );
    }
}

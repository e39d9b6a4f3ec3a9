//! Losses repaired as today's Linux does: RACK-TLP, PRR, F-RTO, undo.

use crate::pair::transfer::{ONE_WAY, PAYLOAD, RTT, losing, sends};
use crate::pair::{self, Fate, Pair, stack};
use fairport_tcp::{Flags, Settings};
use fairport_units::Duration;
use serde_json::{Value, json};

/// CUBIC with all of it, and every time exact.
fn modern(overrides: &Value) -> Settings {
    let mut all = json!({
        "congestion_control": "cubic", "hystart": false, "abc": true, "ack_policy": "every-segment",
        "rack": true, "tail_loss_probe": true, "window_reduction": "prr", "undo": true, "frto": true
    });
    for (key, value) in overrides.as_object().unwrap() {
        all[key] = value.clone();
    }
    stack("linux-2.6", &all)
}

/// From the first byte to the ACK of the last.
fn duration(pair: &Pair) -> Duration {
    pair.client_log.finished.unwrap() - pair.data()[0].0
}

#[test]
fn a_lost_tail_is_probed_after_two_round_trips_and_costs_no_timeout() {
    let pair = sends(&modern(&json!({})), 10, losing(&[8, 9]));
    assert_eq!(pair.client_log.timeouts, []);
    let again = pair.retransmissions();
    assert_eq!(pair.resent_segments(), [9, 8]);
    // from the eighth ACK two smoothed round trips, then the probe's own
    let start = pair.data()[0].0;
    let probed = again[0].0 - start;
    assert!(
        probed > RTT * 3 && probed < RTT * 3 + Duration::from_ms(3),
        "{probed:?}"
    );
    assert!(duration(&pair) < RTT * 6);
    // without the probe: SRTT and the minimum of 200 ms
    let pair = sends(
        &modern(&json!({"tail_loss_probe": false})),
        10,
        losing(&[8, 9]),
    );
    assert_eq!(pair.client_log.timeouts.len(), 1);
    assert!(duration(&pair) > Duration::from_ms(200));
}

#[test]
fn a_lost_half_of_a_flight_is_repaired_by_the_probe_and_rack() {
    let pair = sends(&modern(&json!({})), 10, losing(&[5, 6, 7, 8, 9]));
    assert_eq!(pair.client_log.timeouts, []);
    assert_eq!(pair.resent_segments(), [9, 5, 6, 7, 8]);
    assert_eq!(pair.client.counters().fast_recoveries, 1);
}

#[test]
fn what_comes_late_by_less_than_a_quarter_of_a_round_trip_is_not_sent_again() {
    // once reordering was seen, the window of min_RTT / 4 = 5 ms holds however many are SACKed
    let path = |sent: &pair::Sent| match sent.data {
        Some(4) => Fate::Late(Duration::from_us(150)),
        Some(number) if number > 20 && number % 13 == 0 => Fate::Late(Duration::from_ms(3)),
        _ => Fate::Arrive,
    };
    let pair = sends(&modern(&json!({})), 300, path);
    assert_eq!(pair.retransmissions(), []);
    assert_eq!(pair.client.counters().fast_recoveries, 0);
}

/// The path stands still for longer than the timeout, and then delivers everything in order.
fn after_a_spike(settings: &Settings) -> (Pair, u64) {
    let mut pair = Pair::same(settings, ONE_WAY).connected();
    pair.client.write(30 * u64::from(PAYLOAD));
    pair.run();
    let before = pair.client.gauges().cwnd_bytes;
    let end = pair.now + Duration::from_ms(400);
    let mut pair = pair.through(move |sent| {
        if sent.forward && sent.at < end {
            Fate::Late(end - sent.at)
        } else {
            Fate::Arrive
        }
    });
    pair.client.write(60 * u64::from(PAYLOAD));
    pair.run();
    assert_eq!(pair.server.delivered_bytes(), 90 * u64::from(PAYLOAD));
    (pair, before)
}

#[test]
fn a_needless_timeout_is_undone_by_f_rto_or_by_timestamps() {
    for overrides in [
        json!({"tail_loss_probe": false, "undo": false}),
        json!({"tail_loss_probe": false, "frto": false}),
        json!({"tail_loss_probe": false, "undo": false, "timestamps": false}),
    ] {
        let (pair, before) = after_a_spike(&modern(&overrides));
        let after = pair.client.gauges();
        assert_eq!(pair.client.counters().timeouts, 1, "{overrides}");
        assert_eq!(pair.client.counters().retransmits, 1, "{overrides}");
        assert_eq!(after.ssthresh_bytes, u64::MAX, "{overrides}");
        assert!(after.cwnd_bytes >= before, "{overrides}");
    }
    let (pair, before) = after_a_spike(&modern(&json!({
        "tail_loss_probe": false, "undo": false, "frto": false
    })));
    assert!(pair.client.gauges().ssthresh_bytes < before);
}

#[test]
fn a_real_timeout_is_not_undone() {
    // a whole flight of ten is lost
    let lost = &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
    let pair = sends(&modern(&json!({})), 40, losing(lost));
    assert!(pair.client.gauges().ssthresh_bytes < u64::MAX);
    assert_eq!(pair.client.counters().timeouts, 1);
    assert!(
        !pair
            .sent
            .iter()
            .any(|sent| sent.segment.flags.contains(Flags::RST))
    );
}

#[test]
fn a_needless_fast_recovery_is_undone_by_duplicate_sacks() {
    // one segment comes later than the reordering window allows, and is sent again
    let path = |sent: &pair::Sent| match sent.data {
        Some(20) => Fate::Late(Duration::from_ms(9)),
        _ => Fate::Arrive,
    };
    for (dsack, undone) in [(true, true), (false, false)] {
        let settings = modern(&json!({"dsack": dsack, "timestamps": false}));
        let mut pair = sends(&settings, 60, path);
        assert_eq!(pair.client.counters().fast_recoveries, 1);
        assert_eq!(pair.retransmissions().len(), 1);
        let gauges = pair.client.gauges();
        assert_eq!(gauges.ssthresh_bytes == u64::MAX, undone, "{dsack}");
        // and the next segment that is as late is waited for longer
        pair.client.write(1460);
        pair.run();
    }
    // the echo of the original's timestamp shows it as well
    let pair = sends(&modern(&json!({})), 60, path);
    assert_eq!(pair.client.counters().fast_recoveries, 1);
    assert_eq!(pair.client.gauges().ssthresh_bytes, u64::MAX);
}

#[test]
fn a_probe_that_was_not_needed_leaves_the_window_alone() {
    // the last ACKs come late, and duplicate SACKs report the probe
    let settings = modern(&json!({"dsack": true}));
    let path = |sent: &pair::Sent| match sent.data {
        Some(8 | 9) => Fate::Late(Duration::from_ms(50)),
        _ => Fate::Arrive,
    };
    let mut pair = sends(&settings, 10, path);
    assert_eq!(pair.client_log.timeouts, []);
    assert_eq!(pair.retransmissions().len(), 1);
    pair.client.write(2 * u64::from(PAYLOAD));
    pair.run();
    assert_eq!(pair.client.gauges().ssthresh_bytes, u64::MAX);
}

#[test]
fn a_timeout_is_in_whole_ticks_and_the_timer_fires_at_the_edge_after_them() {
    let exact = modern(&json!({"tail_loss_probe": false}));
    let coarse = modern(&json!({"tail_loss_probe": false, "clock_tick_ps": 4_000_000_000_u64}));
    let [exact, coarse] = [&exact, &coarse].map(|settings| {
        let pair = sends(settings, 10, losing(&[9]));
        pair.client_log.timeouts[0]
    });
    assert_eq!(coarse.start, exact.start);
    let tick = Duration::from_ms(4).as_ps();
    assert_ne!(exact.rto.as_ps() % tick, 0);
    let ticks = exact.start.as_ps() / tick + exact.rto.as_ps().div_ceil(tick) + 1;
    assert_eq!(coarse.end.as_ps(), ticks * tick);
}

#[test]
fn an_rto_doubles_in_whole_ticks() {
    let settings = modern(&json!({
        "tail_loss_probe": false, "clock_tick_ps": 4_000_000_000_u64, "rto_min_ps": 8_000_000_000_u64,
    }));
    // the last segment, and again
    let pair = sends(&settings, 10, losing(&[9, 10]));
    let tick = Duration::from_ms(4).as_ps();
    let [first, second] = pair.client_log.timeouts[..] else {
        panic!("two timeouts")
    };
    let ticks = first.end.as_ps() / tick - first.start.as_ps() / tick - 1;
    assert_eq!((second.end - first.end).as_ps(), (2 * ticks + 1) * tick);
}

#[test]
fn slow_start_of_today_grows_by_all_that_an_ack_covers() {
    // ACKs get lost, and the next covers four segments
    for (limit, window) in [(0, 20), (2, 16)] {
        let settings = modern(&json!({"abc_limit_segments": limit}));
        let mut acks = 0;
        let mut pair = Pair::same(&settings, ONE_WAY)
            .connected()
            .through(move |sent| {
                let is_ack = !sent.forward && sent.segment.payload == 0;
                acks += u32::from(is_ack);
                if is_ack && acks % 4 != 2 {
                    Fate::Lose
                } else {
                    Fate::Arrive
                }
            });
        pair.client.write(40 * u64::from(PAYLOAD));
        pair.run_until(pair.now + RTT);
        // ACKs 2, 6 and 10 arrive: 2, 4 and 4 segments
        let cwnd = pair.client.gauges().cwnd_bytes / u64::from(PAYLOAD);
        assert_eq!(cwnd, window);
    }
}

#[test]
fn the_stack_of_today_survives_what_stops_that_of_then() {
    // the last three of a flight and a retransmission are lost: no timeout
    let then = stack("linux-2.6", &json!({}));
    let now = stack("linux-6", &json!({}));
    let lost = &[7, 8, 9];
    assert_eq!(sends(&then, 10, losing(lost)).client_log.timeouts.len(), 1);
    assert_eq!(sends(&now, 10, losing(lost)).client_log.timeouts, []);
}

#[test]
fn rate_halving_sends_one_segment_for_two_acks() {
    // 20 segments of an 80 ms path, spaced by 1 ms, of which the first is lost
    let settings = stack(
        "linux-2.6",
        &json!({
            "congestion_control": "newreno", "window_reduction": "rate-halving",
            "ack_policy": "every-segment", "initial_window_segments": 20,
        }),
    );
    let mut pair = Pair::same(&settings, Duration::from_ms(40))
        .connected()
        .spaced(Duration::from_ms(1))
        .through(losing(&[0]));
    pair.client.write(200 * u64::from(PAYLOAD));
    pair.run_while(|pair| pair.client.counters().fast_recoveries == 0);
    let start = pair.now;
    let acks = 16;
    let before = pair.data().len();
    pair.run_until(start + Duration::from_ms(acks) + Duration::from_us(500));
    let sent = pair.data().len() - before;
    assert!((7..=9).contains(&sent), "{sent} segments for {acks} ACKs");
    pair.run_while(|pair| {
        pair.client.gauges().in_flight_bytes > 0 && pair.client_log.timeouts.is_empty()
    });
    assert_eq!(pair.client_log.timeouts, []);
    assert_eq!(pair.client.counters().retransmits, 1);
    let gauges = pair.client.gauges();
    // half of the 20 that the window was
    assert_eq!(gauges.ssthresh_bytes / u64::from(PAYLOAD), 10);
}

/// A stack without SACK, 20 segments of a window on a path of 20 ms, one each 100 us.
fn without_sack(overrides: &Value, fate: Fate) -> Pair {
    let mut all = json!({
        "sack": false, "undo": true, "congestion_control": "newreno", "ack_policy": "every-segment",
        "initial_window_segments": 20,
    });
    for (key, value) in overrides.as_object().unwrap() {
        all[key] = value.clone();
    }
    let mut pair = Pair::same(&stack("linux-2.6", &all), ONE_WAY)
        .connected()
        .spaced(Duration::from_us(100))
        .through(move |sent| match sent.data {
            Some(5) => fate,
            _ => Fate::Arrive,
        });
    pair.client.write(40 * u64::from(PAYLOAD));
    pair
}

#[test]
fn without_sack_the_echo_of_an_older_timestamp_takes_the_reduction_back() {
    // late by ten segments: three duplicates come, and it is sent again needlessly
    let late = Fate::Late(Duration::from_ms(1));
    let mut pair = without_sack(&json!({}), late);
    pair.run_while(|pair| pair.client.counters().fast_recoveries == 0);
    assert!(pair.client.gauges().cwnd_bytes < 14 * u64::from(PAYLOAD));
    pair.run();
    assert_eq!(pair.client.counters().retransmits, 1);
    assert!(pair.client.gauges().cwnd_bytes >= 20 * u64::from(PAYLOAD));
    for (off, fate) in [
        (json!({"undo": false}), late),
        // without timestamps nothing shows which of the two arrived
        (json!({"timestamps": false}), late),
        (json!({}), Fate::Lose),
    ] {
        let mut pair = without_sack(&off, fate);
        pair.run();
        let gauges = pair.client.gauges();
        assert!(
            gauges.cwnd_bytes < 18 * u64::from(PAYLOAD),
            "{off}, {fate:?}"
        );
    }
}

#[test]
fn without_sack_a_timeout_before_late_acks_is_taken_back() {
    let mut pair = without_sack(&json!({"rto_min_ps": 5_000_000_000_u64}), Fate::Arrive);
    // the way back grows longer by more than the timeout, three round trips after the first
    pair = pair.through(|sent| {
        if sent.forward {
            Fate::Arrive
        } else {
            Fate::Late(Duration::from_ms(60))
        }
    });
    pair.run();
    let counters = pair.client.counters();
    assert!(counters.timeouts > 0);
    let gauges = pair.client.gauges();
    assert!(gauges.cwnd_bytes >= 20 * u64::from(PAYLOAD), "{gauges:?}");
}

#[test]
fn on_a_path_without_delay_new_data_after_a_retransmission_is_acknowledged_in_the_same_instant() {
    // it counts as a picosecond younger than the retransmission for the same ACK
    let settings = modern(&json!({"initial_window_segments": 12}));
    for lost in [&[3][..], &[0], &[5, 8], &[0, 5, 10]] {
        let mut pair = Pair::same(&settings, Duration::ZERO)
            .connected()
            .losing(lost);
        pair.client.write(60 * u64::from(PAYLOAD));
        pair.run();
        assert!(!pair.resent_segments().is_empty(), "{lost:?}");
        assert_eq!(pair.server.delivered_bytes(), 60 * u64::from(PAYLOAD));
    }
}

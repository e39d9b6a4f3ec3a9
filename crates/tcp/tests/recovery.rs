//! Losses and how they are repaired: fast retransmit, recovery with and without SACK, timeouts.

use crate::pair::{Fate, Pair, stack};
use fairport_tcp::{Settings, Timeout, TimeoutCause};
use fairport_units::{Duration, Instant};
use serde_json::{Value, json};

const ONE_WAY: Duration = Duration::from_us(100);
const RTT: Duration = Duration::from_us(200);
const PAYLOAD: u32 = 1448;

fn linux(overrides: &Value) -> Settings {
    let mut all = json!({"rto_min_ps": 2_000_000_000_u64, "ack_policy": "every-segment"});
    for (key, value) in overrides.as_object().unwrap() {
        all[key] = value.clone();
    }
    stack("linux-2.6", &all)
}

/// One window of ten segments that loses those of `lost`; run to the end.
fn window_of_ten(settings: &Settings, lost: &'static [usize]) -> Pair {
    let mut pair = Pair::same(settings, ONE_WAY).connected().losing(lost);
    pair.client.write(10 * u64::from(PAYLOAD));
    pair.run();
    assert_eq!(pair.server.delivered_bytes(), 10 * u64::from(PAYLOAD));
    pair
}

#[test]
fn a_lone_drop_in_a_window_of_ten_is_repaired_by_fast_retransmit() {
    for sack in [true, false] {
        let settings = linux(&json!({"sack": sack}));
        for lost in [&[0], &[3], &[6]] {
            let pair = window_of_ten(&settings, lost);
            assert_eq!(pair.client_log.timeouts, [], "sack {sack}, lost {lost:?}");
            let start = pair.data()[0].0;
            let byte = lost[0] as u32 * PAYLOAD;
            assert_eq!(pair.retransmissions(), [(start + RTT, byte)]);
            assert_eq!(pair.client.counters().fast_recoveries, 1);
        }
    }
}

#[test]
fn a_lost_tail_waits_for_exactly_srtt_plus_the_minimum_under_the_linux_rule() {
    // every round trip is 200 us, so SRTT is, and the deviation stays below the minimum of 2 ms
    let pair = window_of_ten(&linux(&json!({})), &[9]);
    let acked = pair.data()[0].0 + RTT;
    let rto = Duration::from_us(2200);
    assert_eq!(
        pair.client_log.timeouts,
        [Timeout {
            start: acked,
            end: acked + rto,
            rto,
            backoff: 0,
            seq: 1 + 9 * PAYLOAD,
            cause: TimeoutCause::Tail,
        }]
    );
    assert_eq!(pair.retransmissions(), [(acked + rto, 9 * PAYLOAD)]);
    assert_eq!(pair.client.counters().timeout_period, rto);
}

#[test]
fn a_lost_tail_waits_for_exactly_srtt_plus_four_deviations_under_rfc_6298() {
    let settings = stack(
        "rfc",
        &json!({
            "ack_policy": "every-segment",
            "rto_min_ps": 1_000_000, "clock_granularity_ps": 1_000_000
        }),
    );
    let mut pair = Pair::same(&settings, ONE_WAY).connected().losing(&[1]);
    pair.client.write(2 * u64::from(PAYLOAD));
    pair.run();
    // the SYN: SRTT 200, RTTVAR 100; the first segment: 200 and 75; 200 + 4 * 75
    assert_eq!(pair.client_log.timeouts.len(), 1);
    assert_eq!(pair.client_log.timeouts[0].rto, Duration::from_us(500));
}

#[test]
fn the_minimum_of_rfc_6298_is_a_floor_and_not_a_summand() {
    let settings = stack("rfc", &json!({"ack_policy": "every-segment"}));
    let pair = window_of_ten(&settings, &[9]);
    assert_eq!(pair.client_log.timeouts[0].rto, Duration::from_secs(1));
}

#[test]
fn two_duplicate_acks_are_too_few_and_the_timeout_says_so() {
    // segments 8 and 9 follow the lost one, and no new data does
    let pair = window_of_ten(&linux(&json!({})), &[7]);
    assert_eq!(pair.client_log.timeouts[0].cause, TimeoutCause::FewDupAcks);
}

#[test]
fn a_lost_retransmission_waits_for_the_timeout() {
    for sack in [true, false] {
        // the eleventh data segment is the retransmission
        let pair = window_of_ten(&linux(&json!({"sack": sack})), &[3, 10]);
        let timeouts = &pair.client_log.timeouts;
        assert_eq!(timeouts.len(), 1);
        assert_eq!(timeouts[0].cause, TimeoutCause::LostRetransmit);
        // Linux starts the timer again with the retransmission of the first segment
        assert_eq!(timeouts[0].start, pair.retransmissions()[0].0);

        // and others leave it as the last ACK of new data started it: that of segment 2
        let overrides = json!({"sack": sack, "rto_restarts_on_retransmit": false});
        let pair = window_of_ten(&linux(&overrides), &[3, 10]);
        let last = pair.acks().iter().position(|(_, acked)| *acked == 3 * 1448);
        let arrived = pair.acks()[last.expect("it was sent")].0 + ONE_WAY;
        assert_eq!(pair.client_log.timeouts[0].start, arrived);
    }
}

#[test]
fn a_whole_lost_window_is_sent_again_in_slow_start() {
    let lost = &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
    let pair = window_of_ten(&linux(&json!({})), lost);
    let start = pair.client_log.timeouts[0].end;
    assert_eq!(pair.client_log.timeouts.len(), 1);
    let rounds: Vec<u64> = pair
        .retransmissions()
        .iter()
        .map(|(at, _)| (*at - start).as_ps() / RTT.as_ps())
        .collect();
    // 1, then 2, then 4, then the last 3
    assert_eq!(rounds, [0, 1, 1, 2, 2, 2, 2, 3, 3, 3]);
}

#[test]
fn after_a_timeout_only_what_was_not_sacked_is_sent_again() {
    // 0, its retransmission and 5 are lost: 1 to 4 and 6 to 9 were SACKed
    let pair = window_of_ten(&linux(&json!({})), &[0, 5, 10]);
    assert_eq!(pair.resent_segments(), [0, 5, 0]);
}

/// From the first retransmission to the ACK of everything.
fn repair_time(settings: &Settings, lost: &'static [usize]) -> Duration {
    let pair = window_of_ten(settings, lost);
    assert_eq!(pair.client_log.timeouts, []);
    pair.client_log.finished.unwrap() - pair.retransmissions()[0].0
}

#[test]
fn sack_repairs_losses_of_a_window_in_one_round_trip_and_newreno_one_a_round_trip() {
    let losses: [&[usize]; 3] = [&[1], &[1, 3], &[1, 3, 5]];
    for (k, lost) in (1..).zip(losses) {
        assert_eq!(repair_time(&linux(&json!({"sack": true})), lost), RTT);
        assert_eq!(repair_time(&linux(&json!({"sack": false})), lost), RTT * k);
    }
}

#[test]
fn the_timeout_doubles_until_new_data_is_acknowledged_and_then_starts_over() {
    // the last of 10 is lost with four of its retransmissions; 2.2 ms doubles
    let mut pair = Pair::same(&linux(&json!({})), ONE_WAY)
        .connected()
        .losing(&[9, 10, 11, 12, 13, 15]);
    pair.client.write(10 * u64::from(PAYLOAD));
    pair.run();
    pair.client.write(u64::from(PAYLOAD));
    pair.run();
    let seen: Vec<(u64, u32)> = pair
        .client_log
        .timeouts
        .iter()
        .map(|timeout| (timeout.rto.as_ps() / 1_000_000, timeout.backoff))
        .collect();
    assert_eq!(
        seen[..5],
        [(2200, 0), (4400, 1), (8800, 2), (17600, 3), (35200, 4)]
    );
    assert_eq!(seen[5].1, 0);
    assert!(seen[5].0 < 2300);
}

#[test]
fn without_timestamps_a_retransmitted_segment_gives_no_round_trip_time() {
    // Karn's rule: of ten segments one was sent twice, and so was its ACK's round
    let pair = window_of_ten(&linux(&json!({"timestamps": false})), &[9]);
    assert_eq!(pair.client_log.rtts.len(), 9);
    assert!(pair.client_log.rtts.iter().all(|(_, rtt)| *rtt == RTT));
    // with timestamps, the echo shows which transmission was acknowledged
    let pair = window_of_ten(&linux(&json!({})), &[9]);
    assert_eq!(pair.client_log.rtts.len(), 10);
    assert!(pair.client_log.rtts.iter().all(|(_, rtt)| *rtt == RTT));
}

#[test]
fn in_ns3_an_ack_of_new_data_ends_the_backoff_without_a_round_trip_time() {
    for (ends, expected) in [(true, [0, 1, 0]), (false, [0, 1, 2])] {
        let settings = linux(&json!({"timestamps": false, "ack_ends_backoff": ends}));
        let mut pair = Pair::same(&settings, ONE_WAY)
            .connected()
            .losing(&[9, 10, 12]);
        pair.client.write(10 * 1460);
        pair.run();
        pair.client.write(1460);
        pair.run();
        let timeouts = &pair.client_log.timeouts;
        let backoffs: Vec<u32> = timeouts.iter().map(|it| it.backoff).collect();
        assert_eq!(backoffs, expected);
        // the last timeout is as long as the first again, or four times as long
        assert_eq!(timeouts[2].rto, timeouts[0].rto * (1 << expected[2]));
    }
}

#[test]
fn a_lost_syn_is_sent_again_after_the_initial_timeout_doubling() {
    let mut lost = 0;
    let mut pair = Pair::same(&linux(&json!({})), ONE_WAY).through(move |_| {
        lost += 1;
        if lost <= 2 { Fate::Lose } else { Fate::Arrive }
    });
    pair.client.write(100);
    pair.run();
    let ends: Vec<Instant> = pair.client_log.timeouts.iter().map(|t| t.end).collect();
    assert_eq!(ends, [Instant::from_secs(1), Instant::from_secs(3)]);
    assert!(
        pair.client_log
            .timeouts
            .iter()
            .all(|t| t.cause == TimeoutCause::Syn && t.seq == 0)
    );
    assert_eq!(
        pair.client_log.established,
        Some(Instant::from_secs(3) + RTT)
    );
    // the echoed timestamp measured the handshake
    assert_eq!(pair.client.gauges().srtt, Some(RTT));
    assert_eq!(pair.server.delivered_bytes(), 100);
}

#[test]
fn an_unmeasured_timeout_after_a_lost_syn_is_3_s() {
    let settings = linux(&json!({"timestamps": false}));
    let mut lost = 0;
    let mut pair = Pair::same(&settings, ONE_WAY).through(move |sent| {
        lost += 1;
        if lost == 1 || sent.data == Some(0) {
            Fate::Lose
        } else {
            Fate::Arrive
        }
    });
    pair.client.write(1460);
    pair.run();
    let rtos: Vec<Duration> = pair.client_log.timeouts.iter().map(|t| t.rto).collect();
    assert_eq!(rtos, [Duration::from_secs(1), Duration::from_secs(3)]);
}

#[test]
fn a_lost_syn_ack_is_sent_again_by_either_timer() {
    let mut pair = Pair::same(&linux(&json!({})), ONE_WAY);
    let mut answers = 0;
    pair = pair.through(move |sent| {
        answers += usize::from(!sent.forward);
        if !sent.forward && answers == 1 {
            Fate::Lose
        } else {
            Fate::Arrive
        }
    });
    pair.client.write(100);
    pair.run();
    assert_eq!(pair.server.delivered_bytes(), 100);
    assert!(pair.client_log.established.unwrap() < Instant::from_ms(1100));
}

#[test]
fn data_after_a_lost_ack_of_the_handshake_opens_the_server() {
    let mut forward = 0;
    let mut pair = Pair::same(&linux(&json!({})), ONE_WAY).through(move |sent| {
        forward += usize::from(sent.forward);
        if sent.forward && forward == 2 {
            Fate::Lose
        } else {
            Fate::Arrive
        }
    });
    pair.client.write(10 * 1448);
    pair.run();
    assert_eq!(pair.server.delivered_bytes(), 14480);
    assert_eq!(pair.server_log.timeouts, []);
}

#[test]
fn reordering_by_two_segments_starts_no_recovery() {
    for sack in [true, false] {
        let settings = linux(&json!({"sack": sack}));
        let mut pair = Pair::same(&settings, ONE_WAY)
            .spaced(Duration::from_us(10))
            .connected()
            .through(|sent| match sent.data {
                Some(5) => Fate::Late(Duration::from_us(25)),
                _ => Fate::Arrive,
            });
        pair.client.write(10 * 1448);
        pair.run();
        assert_eq!(pair.client.counters().retransmits, 0);
        assert_eq!(pair.client.counters().fast_recoveries, 0);
    }
}

#[test]
fn duplicates_of_different_acknowledgements_start_no_recovery() {
    for duplicate_acks_deliver in [true, false] {
        let overrides = json!({"sack": false, "duplicate_acks_deliver": duplicate_acks_deliver});
        let mut pair = Pair::same(&linux(&overrides), ONE_WAY)
            .spaced(Duration::from_us(10))
            .connected()
            .through(|sent| {
                if sent.forward {
                    Fate::Arrive
                } else {
                    Fate::Twice
                }
            });
        pair.client.write(20 * 1448);
        pair.run();
        assert_eq!(pair.client.counters().retransmits, 0);
        assert_eq!(pair.client.counters().fast_recoveries, 0);
    }
}

#[test]
fn limited_transmit_makes_a_third_duplicate_ack_out_of_two() {
    // a window of 3 whose first is lost: without the two new segments there are two duplicates
    for (limited_transmit, timeouts) in [(true, 0), (false, 1)] {
        let settings = linux(&json!({
            "initial_window_segments": 3, "limited_transmit": limited_transmit
        }));
        let mut pair = Pair::same(&settings, ONE_WAY).connected().losing(&[0]);
        pair.client.write(10 * 1448);
        pair.run();
        assert_eq!(pair.client_log.timeouts.len(), timeouts);
    }
}

#[test]
fn early_retransmit_repairs_a_flight_too_small_for_three_duplicates() {
    // RFC 5827: three segments of which the first is lost cause two duplicates, two cause one
    for sack in [true, false] {
        for (segments, early_retransmit, timeouts) in
            [(3, true, 0), (3, false, 1), (2, true, 0), (2, false, 1)]
        {
            let settings = linux(&json!({"sack": sack, "early_retransmit": early_retransmit}));
            let mut pair = Pair::same(&settings, ONE_WAY).connected().losing(&[1]);
            // the window is known as it is on the wire once an ACK has come
            pair.client.write(u64::from(PAYLOAD));
            pair.run();
            pair.client.write(segments * u64::from(PAYLOAD));
            pair.run();
            assert_eq!(
                pair.client_log.timeouts.len(),
                timeouts,
                "{segments}, {sack}"
            );
            assert_eq!(pair.client.counters().retransmits, 1);
        }
    }
    // where new data may follow, limited transmit asks for the third duplicate
    let settings = linux(&json!({"early_retransmit": true, "initial_window_segments": 3}));
    let mut pair = Pair::same(&settings, ONE_WAY).connected().losing(&[0]);
    pair.client.write(10 * u64::from(PAYLOAD));
    pair.run();
    assert_eq!(pair.client_log.timeouts, []);
}

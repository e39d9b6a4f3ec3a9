//! Paced segments, seen on the wire.

use crate::pair::{Pair, stack};
use crate::peer::{NOTHING, PAYLOAD, Peer, all, today};
use fairport_units::{Duration, Instant};
use serde_json::{Value, json};

/// A round trip of 10 ms, far above what the segments take on the link.
const ONE_WAY: Duration = Duration::from_ms(5);

fn transfer(overrides: &Value) -> Pair {
    let mut pair = Pair::same(&stack("rfc", overrides), ONE_WAY).connected();
    pair.client.write(400_000);
    pair.run();
    assert_eq!(pair.server.delivered_bytes(), 400_000);
    assert_eq!(pair.client.counters().timeouts, 0);
    pair
}

/// Times between the client's data segments.
fn gaps(pair: &Pair) -> Vec<Duration> {
    let data = pair.data();
    data.windows(2).map(|two| two[1].0 - two[0].0).collect()
}

#[test]
fn without_pacing_a_window_leaves_back_to_back() {
    let pair = transfer(&json!({}));
    assert!(gaps(&pair)[..9].iter().all(|gap| *gap == Duration::ZERO));
}

#[test]
fn a_window_is_spread_over_the_round_trip() {
    let pair = transfer(&json!({"pacing": "window"}));
    // ten segments over 10 ms
    for gap in &gaps(&pair)[..9] {
        assert_eq!(*gap, Duration::from_ms(1));
    }
}

#[test]
fn linux_sends_ten_and_then_at_twice_the_window_s_rate_in_slow_start() {
    let pair = transfer(&json!({"pacing": "linux", "ack_policy": "every-segment"}));
    let gaps = gaps(&pair);
    assert!(gaps[..9].iter().all(|gap| *gap == Duration::ZERO));
    // the second window, 20 segments, is out after half a round trip
    let second: Duration = gaps[10..29].iter().copied().sum();
    assert!(
        second > Duration::from_ms(3) && second < Duration::from_ms(7),
        "{second}"
    );
}

#[test]
fn the_window_grows_no_slower_for_pacing() {
    let plain = transfer(&json!({"ack_policy": "every-segment"}));
    let paced = transfer(&json!({"ack_policy": "every-segment", "pacing": "window"}));
    let cwnd = |pair: &Pair| pair.client.gauges().cwnd_bytes;
    assert!(
        cwnd(&paced) >= cwnd(&plain),
        "{} of {}",
        cwnd(&paced),
        cwnd(&plain)
    );
}

#[test]
fn a_coarse_timer_makes_trains() {
    let tick = json!({"pacing": "window", "pacing_granularity_ps": 5_000_000_000_u64});
    let pair = transfer(&tick);
    let times: Vec<Instant> = pair.data().iter().map(|(at, _)| *at).collect();
    // what is due within 5 ms leaves at one instant: 5 of the first ten segments
    let at_second_tick = times[1..10].iter().filter(|at| **at == times[2]).count();
    assert!((4..=6).contains(&at_second_tick), "{at_second_tick}");
}

#[test]
fn random_gaps_are_uniform_up_to_their_maximum() {
    let gap_max_ps = 1_000_000_u64;
    let pair = transfer(&json!({"send_gap_max_ps": gap_max_ps, "initial_window_segments": 40}));
    let gaps = &gaps(&pair)[..39];
    assert!(gaps.iter().all(|gap| gap.as_ps() <= gap_max_ps));
    let mean = gaps.iter().map(|gap| gap.as_ps()).sum::<u64>() / gaps.len() as u64;
    assert!((350_000..650_000).contains(&mean), "{mean}");
}

/// A host whose queue is full takes nothing at the instant at which the pacer lets the next segment out.
#[test]
fn a_paced_segment_that_finds_its_hosts_queue_full_waits_for_later() {
    let overrides = json!({"pacing": "window", "host_queue_pushback": true});
    let settings = stack("rfc", &overrides);
    let mut pair = Pair::same(&settings, ONE_WAY).connected();
    pair.client.write(400_000);
    pair.run_until(pair.now + Duration::from_ms(2));
    let due = pair.client.poll_timer().expect("the pacer's timer");
    assert!(due <= pair.now + Duration::from_ms(1));
    pair.client.on_timer(due, &mut ());
    assert!(pair.client.yields_to_host(due));
    // with data outstanding it waits for an ACK or for its retransmission timer
    let next = pair.client.poll_timer().expect("a timer");
    assert!(next > due, "it would be woken at {due} for ever");
    pair.client.on_timer(next, &mut ());
    assert!(pair.client.poll_transmit(next).is_some());
}

/// `tcp_pacing_delay`: the retransmission timer waits for the pacer first, in whole ticks.
#[test]
fn the_timeout_begins_when_the_next_segment_may_leave() {
    let timer = |pacing: &str, tick_us: u64| {
        let mut peer = Peer::opened(&today(&json!({
            "pacing": pacing, "tail_loss_probe": false, "clock_tick_ps": Duration::from_us(tick_us).as_ps()
        })));
        assert_eq!(peer.writes(11), all(0..10));
        assert_eq!(peer.at(100).acks(10), [10]);
        peer.end.poll_ticking_timer().unwrap()
    };
    // half of 2.5 ms, at twice the window of 20 segments per 100 ms: the sender is late
    for (tick_us, waits_us) in [(0, 1_250), (5_000, 0)] {
        let wait = timer("linux", tick_us) - timer("off", tick_us);
        assert_eq!(wait, Duration::from_us(waits_us));
    }
}

/// The pacer's timer sends lost segments first (`tcp_tsq_write`), but it only runs while there is new data
/// (`tcp_write_xmit`). F-RTO, which has sent the last of it, waits for the next ACK.
#[test]
fn without_more_new_data_the_pacer_does_not_repair_what_f_rto_doubts() {
    let repaired = |written: u64| {
        let mut peer = Peer::opened(&today(
            &json!({"pacing": "linux", "tail_loss_probe": false}),
        ));
        assert_eq!(peer.writes(10), all(0..10));
        assert_eq!(peer.wakes().1, [0]);
        peer.end.write(written * u64::from(PAYLOAD));
        assert_eq!(peer.at(400).acks(1)[0], 10);
        let (at_us, sent) = peer.wakes();
        assert!((400_000..500_000).contains(&at_us), "{at_us}");
        sent
    };
    assert_eq!(repaired(2), [1]);
    assert_eq!(repaired(1), NOTHING);
}

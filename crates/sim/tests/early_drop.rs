//! Disciplines that drop early, shapers and the edge classifier in a run with TCP.

use crate::common::{column, flow, outcast, run, seconds, single_flow};
use fairport_sim::Recorded;
use serde_json::{Value, json};

fn red(variant: &str) -> Value {
    json!({
        "kind": "red", "limit": {"packets": 100}, "count_in_service": false, "variant": variant,
        "min": {"packets": 5}, "max": {"packets": 15}, "max_p_ppb": 100_000_000,
        "weight_ppb": 2_000_000, "gentle": true, "ecn": true, "mean_packet_bytes": 500,
    })
}

fn through(queue: Value) -> Recorded {
    let mut job = outcast();
    job["queue"] = queue;
    run(&job)
}

/// The number of drops per reason, in the order of the reasons' numbers.
fn drops(results: &Recorded) -> [usize; 4] {
    let reasons = column(results, "drops", "reason");
    [0.0, 1.0, 2.0, 3.0].map(|number: f64| {
        let same = |reason: &&f64| (**reason - number).abs() < 0.5;
        reasons.iter().filter(same).count()
    })
}

/// The largest value of any port in a column.
fn most(results: &Recorded, name: &str) -> f64 {
    let values = column(results, "ports", name);
    values.into_iter().fold(0.0, f64::max)
}

/// The sum of all flows' goodput, in Mbit/s.
fn goodput_mbps(results: &Recorded, duration_s: f64) -> f64 {
    let delivered = column(results, "flows", "delivered_bytes");
    delivered.iter().sum::<f64>() * 8e-6 / duration_s
}

#[test]
fn red_drops_early_and_keeps_its_queue_between_the_thresholds() {
    for variant in ["ns2", "floyd-jacobson"] {
        let results = through(red(variant));
        let [full, early, ..] = drops(&results);
        assert!(
            early > 500 && early > 20 * full,
            "{variant}: {early} {full}"
        );
        let mean = most(&results, "queue_mean_bytes") / 1518.0;
        assert!((5.0..20.0).contains(&mean), "{variant}: {mean}");
    }
}

/// The average of an idle queue falls as if the line had sent packets meanwhile.
#[test]
fn a_shaper_that_is_faster_than_the_line_changes_nothing() {
    let mut job = outcast();
    job["queue"] = red("ns2");
    job["duration_ps"] = json!(seconds(0.2));
    let without = run(&job);
    job["shaper"] = json!({
        "kind": "tbf", "rate_bps": 100_000_000_000_u64, "burst_bytes": 20_000,
        "timer_lateness_ps": 0, "hosts": false,
    });
    assert_eq!(run(&job).fingerprint, without.fingerprint);
}

#[test]
fn linux_red_drops_at_its_upper_threshold_at_the_latest() {
    let results = through(json!({
        "kind": "red-linux", "limit": {"packets": 100}, "count_in_service": false,
        "min_bytes": 5 * 1518, "max_bytes": 15 * 1518, "max_p_ppb": 100_000_000,
        "weight_ppb": 2_000_000, "ecn": true, "mean_packet_bytes": 500,
    }));
    let [full, early, ..] = drops(&results);
    assert!(early > 500 && early > 20 * full, "{early} {full}");
}

#[test]
fn pie_holds_the_delay_that_it_is_told_to_hold() {
    let mut job = outcast();
    job["queue"] = json!({
        "kind": "pie", "limit": {"packets": 1000}, "count_in_service": false,
        "ecn": true, "mean_packet_bytes": 1000,
        "target_ps": seconds(0.015), "update_ps": seconds(0.015), "max_burst_ps": seconds(0.15),
    });
    job["link"]["rate_bps"] = json!(100_000_000);
    job["duration_ps"] = json!(seconds(20.0));
    let results = run(&job);
    let delay_ms = most(&results, "queue_mean_bytes") * 8e-5;
    assert!((10.0..20.0).contains(&delay_ms), "{delay_ms} ms");
    let goodput = goodput_mbps(&results, 20.0);
    assert!(goodput > 92.0, "{goodput}");
}

/// Two endless flows and 100 flows of 10 packets from `a` to `b`, whose own link is the bottleneck.
fn mice_and_elephants(queue: &Value) -> Recorded {
    let mut job = single_flow();
    let mut flows = vec![flow("a", "b"), flow("a", "b")];
    for i in 0..100 {
        let mut mouse = flow("a", "b");
        mouse["start_ps"] = json!(seconds(0.1 + 0.008 * f64::from(i)));
        mouse["size_bytes"] = json!(14_480);
        flows.push(mouse);
    }
    job["flows"] = json!(flows);
    job["topology"]["links"][1]["rate_bps"] = json!(100_000_000);
    job["queue"] = queue.clone();
    job["classifier"] = json!({
        "threshold_packets": 20, "flow_timeout_ps": seconds(1.0), "tuning": null,
    });
    run(&job)
}

#[test]
fn rio_drops_of_long_flows_before_it_drops_of_short_ones() {
    let results = mice_and_elephants(&json!({
        "kind": "rio", "limit": {"packets": 100}, "count_in_service": false,
        "short_min": {"packets": 15}, "short_max": {"packets": 35}, "short_max_p_ppb": 50_000_000,
        "long_min": {"packets": 5}, "long_max": {"packets": 15}, "long_max_p_ppb": 100_000_000,
        "weight_ppb": 2_000_000, "gentle": true, "ecn": true, "mean_packet_bytes": 500,
    }));
    let by_flow = column(&results, "flows", "drops");
    let elephants = by_flow[..2].iter().sum::<f64>();
    let mice = by_flow[2..].iter().sum::<f64>();
    assert!(
        elephants > 10.0 && mice < elephants / 10.0,
        "{elephants} {mice}"
    );
}

#[test]
fn weighted_tail_drop_keeps_the_rest_of_the_buffer_for_the_higher_class() {
    let results = mice_and_elephants(&json!({
        "kind": "weighted-tail-drop", "limit": {"packets": 100}, "count_in_service": false,
        "thresholds_ppb": [500_000_000, 1_000_000_000],
    }));
    let [full, _, over_share, _] = drops(&results);
    let by_flow = column(&results, "flows", "drops");
    assert!(over_share > 10 && full == 0, "{over_share} {full}");
    assert!(by_flow[2..].iter().sum::<f64>() < 1.0);
}

#[test]
fn a_shaped_link_carries_the_rate_of_its_shaper_and_is_full() {
    let tbf = json!({
        "kind": "tbf", "rate_bps": 100_000_000, "burst_bytes": 20_000,
        "hosts": false, "timer_lateness_ps": 10_000_000,
    });
    let htb = json!({
        "kind": "htb", "rate_bps": 100_000_000, "burst_bytes": 15_360, "cburst_bytes": 1_600,
        "hosts": false, "timer_lateness_ps": 10_000_000,
    });
    for shaper in [tbf, htb] {
        let mut job = single_flow();
        job["shaper"] = shaper;
        job["queue"] = json!({
            "kind": "drop-tail", "limit": {"bytes": 131_072}, "count_in_service": false,
        });
        let results = run(&job);
        // a shaper counts 1518 B for 1448 B of payload; the flow's start reduces the mean
        let goodput = goodput_mbps(&results, 1.0);
        assert!((92.0..95.4).contains(&goodput), "{goodput}");
        let busy = most(&results, "busy_share");
        assert!((0.95..=1.02).contains(&busy), "{busy}");
    }
}

#[test]
fn the_disciplines_that_draw_give_the_same_run_for_the_same_seed() {
    let [one, same] = [0, 1].map(|_| through(red("ns2")).fingerprint);
    assert_eq!(one, same);
}

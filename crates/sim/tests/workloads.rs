//! Workloads, whose flows start during the run: how much they offer, in what order, and what the tables record.

use crate::common::watched::run_watched;
use crate::common::{column, flow, outcast, run, run_in_slices, seconds};
use serde_json::{Value, json};

fn ends(hosts: std::ops::Range<usize>) -> Value {
    let end = |i| json!({"host": format!("h{i}"), "stack": 0});
    hosts.map(end).collect()
}

/// A job with a workload alone, on the outcast's fat-tree with large buffers.
fn job(senders: &Value, receivers: &Value, plan: &Value) -> Value {
    let mut job = outcast();
    job["queue"]["limit"]["bytes"] = json!(1_000_000);
    job["flows"] = json!([]);
    job["workloads"] = json!([{
        "traffic": 0, "start_ps": 0, "senders": senders, "receivers": receivers, "pattern": plan,
    }]);
    job
}

/// Half of the flows have 1 kB, the others up to 199 kB: 50.5 kB on average.
fn poisson(load_ppm: u64) -> Value {
    json!({
        "kind": "poisson", "load_ppm": load_ppm, "capacity_bps": 16_000_000_000_u64,
        "sizes": {"points": [[1000, 500_000_000], [199_000, 1_000_000_000]], "unit_bytes": 1},
    })
}

#[test]
fn poisson_arrivals_offer_the_load_that_was_asked_for() {
    let mut job = job(&ends(0..16), &ends(0..16), &poisson(300_000));
    job["duration_ps"] = json!(seconds(0.5));
    let results = run(&job);
    let sizes = column(&results, "flows", "size_bytes");
    // a compound Poisson process: the variance of the sum is n E(size^2)
    let mean = 0.5 * 1000.0 + 0.5 * 100_000.0;
    let offered = sizes.iter().sum::<f64>();
    let expected = 0.3 * 16e9 * 0.5 / 8.0;
    let squares = 0.5 * 1e6 + 0.5 * (199e3_f64.powi(3) - 1e9) / (3.0 * 198e3);
    let error = (expected / mean * squares).sqrt();
    assert!(
        (offered - expected).abs() < 4.0 * error,
        "{offered} for {expected} ± {error}"
    );
    let n = expected / mean;
    assert!((sizes.len() as f64 - n).abs() < 4.0 * n.sqrt());
}

#[test]
fn what_the_flows_sent_arrives_once_each_and_completes() {
    let mut job = job(&ends(0..16), &ends(0..16), &poisson(200_000));
    job["workloads"][0]["stop_ps"] = json!(seconds(0.2));
    job["duration_ps"] = json!(seconds(0.5));
    let results = run(&job); // asserts the conservation of every flow's packets
    let get = |name| column(&results, "flows", name);
    assert!(get("flow").len() > 1000);
    assert_eq!(get("delivered_bytes"), get("size_bytes"));
    assert!(get("start_s").is_sorted() && get("start_s").iter().all(|start| *start < 0.2));
    for (fct_s, ideal_s) in get("fct_s").iter().zip(get("ideal_fct_s")) {
        assert!(
            *fct_s > ideal_s,
            "{fct_s} s is faster than the empty network's {ideal_s} s"
        );
    }
}

#[test]
fn a_run_with_workloads_is_the_same_run_every_time_and_in_slices_of_any_size() {
    let mut job = job(&ends(0..16), &ends(0..16), &poisson(200_000));
    job["duration_ps"] = json!(seconds(0.05));
    let whole = run(&job).fingerprint;
    assert_eq!(whole, run_in_slices(&job, 13).fingerprint);
    job["seed"] = json!(2);
    assert_ne!(whole, run(&job).fingerprint);
}

#[test]
fn only_watched_flows_have_rows_over_time_and_watching_changes_nothing() {
    let mut job = job(&ends(0..16), &ends(0..16), &poisson(200_000));
    job["duration_ps"] = json!(seconds(0.05));
    let all = run(&job);
    job["probes"]["watched_flows"] = json!(3);
    job["probes"]["watched_ports"] = json!(2);
    let three = run(&job);
    assert_eq!(all.fingerprint, three.fingerprint);
    for table in ["series", "rtt"] {
        let flows = column(&three, table, "flow");
        assert!(
            !flows.is_empty() && flows.iter().all(|flow| *flow < 3.0),
            "{table}"
        );
    }
    let mut ports = column(&three, "queue", "port");
    ports.dedup();
    ports.sort_by(f64::total_cmp);
    ports.dedup();
    assert_eq!(ports.len(), 2);
}

fn incast(persistent: bool) -> Value {
    json!({
        "kind": "incast", "block_bytes": 64_000, "rounds": 5, "pause_ps": seconds(0.001),
        "jitter_ps": 0, "persistent": persistent,
    })
}

#[test]
fn a_round_of_incast_begins_when_the_last_one_has_arrived() {
    for persistent in [false, true] {
        let mut job = job(&ends(1..9), &ends(0..1), &incast(persistent));
        job["duration_ps"] = json!(seconds(1.0));
        let results = run(&job);
        let (starts, ends) = (
            column(&results, "rounds", "start_s"),
            column(&results, "rounds", "end_s"),
        );
        assert_eq!(
            column(&results, "rounds", "round"),
            [0.0, 1.0, 2.0, 3.0, 4.0]
        );
        for (end, next) in ends.iter().zip(&starts[1..]) {
            assert!((next - end - 0.001).abs() < 1e-12);
        }
        // at least the time of 8 blocks of 64 000 B at the receiver's line rate
        let least_s = 8.0 * 64_000.0 * 8.0 / 1e9 * 1538.0 / 1448.0;
        for completion_s in column(&results, "rounds", "completion_s") {
            assert!(
                (least_s..least_s + 0.003).contains(&completion_s),
                "{completion_s} s"
            );
        }
        let flows = if persistent { 8 } else { 40 };
        let delivered = column(&results, "flows", "delivered_bytes");
        assert_eq!(
            delivered,
            vec![2_560_000.0 / f64::from(flows); flows as usize]
        );
    }
}

#[test]
fn periodic_transfers_are_launched_every_period_and_one_at_a_time() {
    let plan = json!({
        "kind": "periodic", "size_bytes": 100_000, "period_ps": seconds(0.01), "jitter_ps": 0,
        "persistent": false,
    });
    let mut job = job(&ends(1..2), &ends(0..1), &plan);
    job["duration_ps"] = json!(seconds(0.095));
    let starts = column(&run(&job), "flows", "start_s");
    let expected: Vec<f64> = (0..10).map(|i| f64::from(i) * 0.01).collect();
    assert!(
        starts
            .iter()
            .zip(&expected)
            .all(|(a, b)| (a - b).abs() < 1e-12)
    );
    assert_eq!(starts.len(), 10);
    // 100 kB take 0.8 ms at 1 Gbit/s. At 10 Mbit/s they take 80 ms, so each transfer waits for the one before it.
    job["link"]["rate_bps"] = json!(10_000_000);
    job["duration_ps"] = json!(seconds(0.3));
    let results = run(&job);
    let (starts, ends) = (
        column(&results, "flows", "start_s"),
        column(&results, "flows", "end_s"),
    );
    assert!(starts.len() >= 3);
    assert!(
        ends.iter()
            .zip(&starts[1..])
            .all(|(end, next)| (next - end).abs() < 1e-12)
    );
}

/// Flows that start later may enter any port, so no packet may be forwarded ahead past one.
#[test]
fn flows_that_start_later_meet_the_packets_of_those_that_are_there() {
    let mut job = job(&ends(5..16), &ends(0..1), &poisson(50_000));
    job["queue"]["limit"]["bytes"] = json!(16_384);
    job["flows"] = json!([flow("h4", "h0")]);
    // nothing is forwarded ahead to ports whose queues are sampled
    job["probes"]["watched_ports"] = json!(1);
    job["duration_ps"] = json!(seconds(0.2));
    let results = run(&job);
    assert_eq!(results.fingerprint, run_watched(&job).fingerprint);
    let drops = column(&results, "flows", "drops");
    assert!(drops.len() > 20 && drops[0] > 0.0, "{drops:?}");
}

fn udp(pattern: &Value) -> Value {
    json!({
        "src": "h4", "dst": "h0", "start_ps": 0, "start_jitter_ps": 0, "size_bytes": null,
        "sender_stack": 0, "receiver_stack": 0, "traffic": 1,
        "udp": {"payload_bytes": 1000, "rate_bps": 100_000_000, "pattern": pattern},
    })
}

#[test]
fn a_constant_source_of_datagrams_delivers_its_rate_beside_tcp() {
    let mut job = outcast();
    job["flows"]
        .as_array_mut()
        .unwrap()
        .push(udp(&json!({"kind": "constant"})));
    let results = run(&job);
    let protocol = column(&results, "flows", "protocol");
    assert_eq!(protocol[14..], [0.0, 1.0]);
    let sent = column(&results, "flows", "segments_sent")[15];
    assert!((sent - 12_500.0).abs() <= 1.0, "{sent}");
    let lost = column(&results, "flows", "drops")[15];
    let delivered = column(&results, "flows", "delivered_bytes")[15] / 1000.0;
    assert!(lost > 0.0 && (0.0..=10.0).contains(&(sent - lost - delivered)));
}

/// 100 Mbit/s are 12,500 datagrams of 1000 B per second: 2,500 in 0.2 s.
#[test]
fn a_source_of_datagrams_sends_nothing_after_it_stops() {
    let mut job = outcast();
    let mut source = udp(&json!({"kind": "constant"}));
    source["stop_ps"] = json!(seconds(0.2));
    job["flows"] = json!([source]);
    let results = run(&job);
    let sent = column(&results, "flows", "segments_sent")[0];
    assert!((sent - 2_500.0).abs() <= 1.0, "{sent}");
    assert_eq!(
        column(&results, "flows", "delivered_bytes"),
        [sent * 1000.0]
    );
}

#[test]
fn a_flow_that_stops_delivers_what_it_had_sent_and_leaves_the_line_to_the_others() {
    let mut job = outcast();
    for flow in job["flows"].as_array_mut().unwrap() {
        if flow["src"] != "h4" {
            flow["stop_ps"] = json!(seconds(0.3));
        }
    }
    job["duration_ps"] = json!(seconds(1.0));
    job["probes"]["measure_from_ps"] = json!(seconds(0.5));
    let results = run(&job);
    let goodput = column(&results, "flows", "goodput_bps");
    assert!((goodput[3] / 941.5e6 - 1.0).abs() < 0.02, "{}", goodput[3]);
    assert_eq!(goodput.iter().filter(|rate| **rate > 0.0).count(), 1);
    let ends = column(&results, "flows", "end_s");
    assert!(
        ends.iter()
            .enumerate()
            .all(|(i, end)| i == 3 || (0.3..0.5).contains(end))
    );
}

#[test]
fn users_fetch_pages_of_some_objects_and_think() {
    let plan = json!({
        "kind": "web", "sessions": 20, "session_gap_mean_ps": seconds(0.001),
        "think_mean_ps": seconds(0.05), "think_from_start": false,
        "object_gap_mean_ps": seconds(0.001), "objects": [2, 7],
        "size_packets": [4, 1000], "shape_milli": 1200, "packet_bytes": 500,
    });
    let mut job = job(&ends(0..4), &ends(4..14), &plan);
    job["duration_ps"] = json!(seconds(5.0));
    let results = run(&job);
    let sizes = column(&results, "flows", "size_bytes");
    assert!(
        sizes
            .iter()
            .all(|size| (2e3..=5e5).contains(size) && size % 500.0 == 0.0)
    );
    // A page has 4.5 objects. Its cycle takes 50 ms of think time, 3.5 gaps of 1 ms, and the transfers.
    let pages = sizes.len() as f64 / 4.5;
    let cycle_s = 20.0 * 5.0 / pages;
    assert!((0.0535..0.0535 * 1.1).contains(&cycle_s), "{cycle_s}");
    let sources = column(&results, "flows", "src");
    assert!(sources.iter().all(|src| *src < 4.0));
}

#[test]
fn a_trace_is_played_back_as_it_was() {
    let plan = json!({
        "kind": "trace", "start_ps": [0, seconds(0.01), seconds(0.01), seconds(0.03)],
        "src": [0, 1, 0, 2], "dst": [1, 0, 2, 0], "bytes": [1, 1_000_000, 5000, 1448],
    });
    let mut job = job(&ends(0..3), &ends(0..3), &plan);
    job["workloads"][0]["start_ps"] = json!(seconds(0.1));
    let results = run(&job);
    let get = |name| column(&results, "flows", name);
    assert_eq!(get("src"), [0.0, 1.0, 0.0, 2.0]);
    assert_eq!(get("dst"), [1.0, 0.0, 2.0, 0.0]);
    assert_eq!(get("delivered_bytes"), [1.0, 1e6, 5000.0, 1448.0]);
    for (start, expected) in get("start_s").iter().zip([0.1, 0.11, 0.11, 0.13]) {
        assert!((start - expected).abs() < 1e-12);
    }
}

#[test]
fn transfers_that_would_begin_after_the_run_are_no_rounds() {
    let plan = json!({
        "kind": "periodic", "size_bytes": 1000, "period_ps": seconds(0.01), "jitter_ps": seconds(0.01),
        "persistent": true,
    });
    let mut job = job(&ends(1..16), &ends(0..1), &plan);
    job["duration_ps"] = json!(seconds(0.012));
    let starts = column(&run(&job), "rounds", "start_s");
    // of each pair of a sender's first two transfers some begin later than 12 ms
    assert!((15..30).contains(&starts.len()));
    assert!(starts.iter().all(|start| *start < 0.012));
}

#[test]
fn a_connection_that_stands_idle_between_transfers_starts_slowly_where_the_stack_says_so() {
    let plan = json!({
        "kind": "periodic", "size_bytes": 200_000, "period_ps": seconds(1.0), "jitter_ps": 0,
        "persistent": true,
    });
    let mut job = job(&ends(1..2), &ends(0..1), &plan);
    job["duration_ps"] = json!(seconds(2.9));
    let mut later_transfers = |slow_start_after_idle: bool| {
        job["stacks"][0]["overrides"]["slow_start_after_idle"] = json!(slow_start_after_idle);
        let results = run(&job);
        assert_eq!(column(&results, "flows", "delivered_bytes"), [600_000.0]);
        assert_eq!(column(&results, "rounds", "round"), [0.0, 1.0, 2.0]);
        column(&results, "rounds", "completion_s")[1..].to_vec()
    };
    let (slow, fast) = (later_transfers(true), later_transfers(false));
    assert!(
        slow.iter()
            .zip(&fast)
            .all(|(slow, fast)| *slow > 1.1 * fast),
        "{slow:?} {fast:?}"
    );
}

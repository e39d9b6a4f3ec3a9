//! Requests and responses on one connection: response times computed by hand, and what TCP adds to them.

use crate::common::{column, outcast, run, run_in_slices, seconds, single_flow};
use fairport_sim::Recorded;
use serde_json::{Value, json};

const RATE_BPS: f64 = 1e9;
const HOST_S: f64 = 10e-6;
const SWITCH_S: f64 = 25e-6;

/// The time of an IP packet from one application to the other, over the two links of an empty network.
fn packet_s(ip_bytes: f64) -> f64 {
    // IEEE 802.3 adds 38 bytes
    2.0 * HOST_S + SWITCH_S + 2.0 * (ip_bytes + 38.0) * 8.0 / RATE_BPS
}

/// The time of a TCP segment with timestamps from one application to the other.
fn segment_s(payload: f64) -> f64 {
    packet_s(payload + 52.0)
}

fn of_size(bytes: u64) -> Value {
    json!({"points": [[bytes, 1_000_000_000]], "unit_bytes": 1})
}

/// `a` sends requests to `b`, each `think_s` after the last response; nothing is random.
fn job(request_bytes: u64, response_bytes: u64, think_s: f64) -> Value {
    let mut job = single_flow();
    let end = |host| json!([{"host": host, "stack": 0}]);
    job["flows"] = json!([]);
    job["workloads"] = json!([{
        "traffic": 0, "start_ps": 0, "senders": end("b"), "receivers": end("a"),
        "pattern": {
            "kind": "request-response", "connections": 1, "requests": null,
            "request": of_size(request_bytes), "response": of_size(response_bytes),
            "think": {"kind": "constant", "value_ps": seconds(think_s)}, "jitter_ps": 0,
        },
    }]);
    job["queue"]["limit"]["bytes"] = json!(1_000_000);
    // longer than the delay of an ACK while the client thinks
    job["stacks"][0]["overrides"]["rto_min_ps"] = json!(seconds(0.2));
    job["link"]["clock_error_ppb"] = json!(0);
    job["host"]["delay_ps"] = json!(seconds(HOST_S));
    job["host"]["delay_spread_ps"] = json!(0);
    job["host"]["processing"] = json!({"kind": "constant", "value_ps": 0});
    job
}

fn requests(results: &Recorded, name: &str) -> Vec<f64> {
    column(results, "requests", name)
}

#[test]
fn a_response_takes_both_ways_and_the_first_one_a_handshake_more() {
    let mut job = job(100, 1000, 0.01);
    job["workloads"][0]["pattern"]["requests"] = json!(20);
    let results = run(&job);
    let both_ways = segment_s(100.0) + segment_s(1000.0);
    // SYN and SYN-ACK have 20 bytes of options. A new connection acknowledges the request at once, and the
    // response waits behind that ACK. From then on ACKs are carried by data.
    let first = 2.0 * packet_s(60.0) + both_ways + (52.0 + 38.0) * 8.0 / RATE_BPS;
    let times = requests(&results, "response_s");
    assert_eq!(times.len(), 20);
    assert!((times[0] - first).abs() < 1e-10, "{} {first}", times[0]);
    for time in &times[1..] {
        assert!((time - both_ways).abs() < 1e-10, "{time} {both_ways}");
    }
    let (starts, ends) = (requests(&results, "start_s"), requests(&results, "end_s"));
    for (end, next) in ends.iter().zip(&starts[1..]) {
        assert!((next - end - 0.01).abs() < 1e-10);
    }
    // one flow, from the server to the client: 20 requests and 20 responses of one segment each
    assert_eq!(column(&results, "flows", "src"), [1.0]);
    assert_eq!(column(&results, "flows", "delivered_bytes"), [20_000.0]);
    assert_eq!(column(&results, "flows", "segments_sent"), [40.0]);
}

#[test]
fn after_idle_an_answer_of_30_segments_takes_a_round_trip_more_where_the_stack_starts_slowly() {
    let mut job = job(100, 30 * 1448, 1.0);
    job["duration_ps"] = json!(seconds(10.5));
    // a window of ten segments is sent long before its first ACK is back
    let far_s = 0.001;
    job["host"]["delay_ps"] = json!(seconds(far_s));
    let mut later = |slow_start_after_idle: bool| {
        job["stacks"][0]["overrides"]["slow_start_after_idle"] = json!(slow_start_after_idle);
        let times = requests(&run(&job), "response_s");
        assert_eq!(times.len(), 11);
        times[6..].to_vec()
    };
    let way_s = 2.0 * (far_s - HOST_S);
    let at_once =
        segment_s(100.0) + segment_s(1448.0) + 29.0 * 1538.0 * 8.0 / RATE_BPS + 2.0 * way_s;
    for time in later(false) {
        assert!((time - at_once).abs() < 1e-9, "{time} {at_once}");
    }
    // 10 segments and then 20: the last one is sent when the ACK of the tenth has arrived
    let ten = 9.0 * 1538.0 * 8.0 / RATE_BPS;
    let round_trip = segment_s(1448.0) + segment_s(0.0) + 2.0 * way_s;
    for time in later(true) {
        let more = time - at_once;
        assert!((more - round_trip).abs() < 2.0 * ten, "{more} {round_trip}");
    }
}

/// 4 servers and 12 clients with 2 connections each; sizes and times are random.
fn many() -> Value {
    let mut many = outcast();
    let ends = |hosts: std::ops::Range<usize>| -> Value {
        let end = |i| json!({"host": format!("h{i}"), "stack": 0});
        hosts.map(end).collect()
    };
    many["workloads"] = job(1, 1, 0.0)["workloads"].clone();
    let workload = &mut many["workloads"][0];
    workload["senders"] = ends(0..4);
    workload["receivers"] = ends(3..15);
    workload["pattern"]["connections"] = json!(2);
    workload["pattern"]["jitter_ps"] = json!(seconds(0.001));
    workload["pattern"]["request"] =
        json!({"points": [[10, 0], [20_000, 1_000_000_000]], "unit_bytes": 1});
    workload["pattern"]["response"] =
        json!({"points": [[1, 0], [90_000, 1_000_000_000]], "unit_bytes": 1});
    workload["pattern"]["think"] = json!({"kind": "exponential", "mean_ps": seconds(0.001)});
    many["flows"] = json!([]);
    many
}

#[test]
fn what_is_asked_for_is_answered_once_even_where_requests_and_answers_are_lost() {
    let mut job = many();
    job["losses"] =
        json!([{"kind": "random", "at": "all-of-switches", "probability_ppb": 10_000_000}]);
    job["workloads"][0]["stop_ps"] = json!(seconds(0.5));
    job["duration_ps"] = json!(seconds(2.0));
    let results = run(&job); // asserts the conservation of every flow's packets
    assert!(
        requests(&results, "end_s")
            .iter()
            .all(|end| end.is_finite())
    );
    assert!(
        requests(&results, "start_s")
            .iter()
            .all(|start| *start < 0.5)
    );
    let by_flow = |flows: Vec<f64>, values: Vec<f64>| {
        let mut sums = vec![0.0; 24];
        for (flow, value) in flows.into_iter().zip(values) {
            sums[flow as usize] += value;
        }
        sums
    };
    let answers = requests(&results, "response_bytes");
    assert_eq!(
        by_flow(requests(&results, "flow"), answers),
        column(&results, "flows", "delivered_bytes")
    );
    // the timeouts of both ends have rows and are counted
    let rows = column(&results, "timeouts", "flow");
    assert!(!rows.is_empty());
    let ones = vec![1.0; rows.len()];
    assert_eq!(by_flow(rows, ones), column(&results, "flows", "timeouts"));
}

#[test]
fn servers_are_dealt_out_in_turn_and_none_to_itself() {
    let results = run(&many());
    // h3 is server and client. Its two connections go to h0 and h1, and those of h4 go to h2 and h3.
    let hosts = |name| {
        let column = column(&results, "flows", name);
        column.into_iter().map(|host| host as u32)
    };
    let mut pairs: Vec<(u32, u32)> = hosts("dst").zip(hosts("src")).collect();
    pairs.sort_unstable();
    assert_eq!(pairs.len(), 24);
    assert_eq!(pairs[..4], [(3, 0), (3, 1), (4, 2), (4, 3)]);
    assert!(pairs.iter().all(|(client, server)| client != server));
}

#[test]
fn a_dialogue_is_the_same_every_time_and_in_slices_of_any_size() {
    let mut job = many();
    job["duration_ps"] = json!(seconds(0.05));
    let whole = run(&job).fingerprint;
    assert_eq!(whole, run_in_slices(&job, 13).fingerprint);
    job["seed"] = json!(2);
    assert_ne!(whole, run(&job).fingerprint);
}

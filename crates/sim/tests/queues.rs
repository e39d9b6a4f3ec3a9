//! Queue disciplines in a run: their effect on TCP, and the agreement between the tables.

use crate::common::{column, outcast, run, seconds};
use serde_json::{Value, json};

/// A job with 15 DCTCP flows to one receiver through queues of this kind.
fn dctcp_through(queue: Value) -> Value {
    let mut job = outcast();
    job["duration_ps"] = json!(seconds(0.3));
    job["queue"] = queue;
    job["stacks"][0]["overrides"]["congestion_control"] = json!("dctcp");
    job
}

#[test]
fn the_tables_agree_about_marks() {
    let results = run(&dctcp_through(json!({
        "kind": "step-marking", "limit": {"packets": 100}, "count_in_service": false,
        "mark_above": {"packets": 20},
    })));
    let sum = |table, name| column(&results, table, name).iter().sum::<f64>() as usize;
    let rows = column(&results, "marks", "seq").len();
    assert!(rows > 100, "{rows} marks");
    assert_eq!(sum("flows", "marks"), rows);
    assert_eq!(sum("ports", "marks"), rows);
}

#[test]
fn dctcp_keeps_the_queue_near_k_and_loses_nothing_after_its_start() {
    let results = run(&dctcp_through(json!({
        "kind": "step-marking", "limit": {"packets": 100}, "count_in_service": false,
        "mark_above": {"packets": 20},
    })));
    let late = column(&results, "drops", "time_s");
    assert_eq!(late.iter().filter(|time_s| **time_s > 0.1).count(), 0);
    // Alizadeh 2010, 3.3: the queue oscillates just above K; 15 flows of at least one packet each
    let mean_bytes = column(&results, "ports", "queue_mean_bytes");
    let bottleneck = mean_bytes.into_iter().fold(0.0, f64::max);
    let packets = bottleneck / 1518.0;
    assert!((12.0..36.0).contains(&packets), "{packets} packets");
}

#[test]
fn a_shared_memory_that_is_never_full_marks_as_a_queue_of_ones_own() {
    let own = run(&dctcp_through(json!({
        "kind": "step-marking", "limit": {"bytes": 10_000_000}, "count_in_service": false,
        "mark_above": {"packets": 20},
    })));
    let shared = run(&dctcp_through(json!({
        "kind": "shared-buffer", "memory_bytes": 10_000_000, "alpha": 8.0,
        "mark_above": {"packets": 20},
    })));
    for name in ["delivered_bytes", "segments_sent", "retransmits"] {
        assert_eq!(column(&own, "flows", name), column(&shared, "flows", name));
    }
    // a scheduler marks as packets leave, so those that still wait at the end are not counted
    let marks = |results| column(results, "marks", "seq").len();
    let waiting = marks(&own) - marks(&shared);
    assert!(waiting < 40 && marks(&shared) > 1000, "{waiting}");
}

/// The queue setting for each discipline that decides at dequeue, small enough that it drops and marks.
fn schedulers() -> Vec<Value> {
    vec![
        json!({"kind": "sfq", "limit_packets": 40, "buckets": 4, "seed": 0, "placed": []}),
        json!({
            "kind": "linux-sfq", "limit_packets": 20, "depth_packets": 127, "divisor": 1024,
            "flows": 128, "quantum_bytes": null, "perturb_ps": seconds(0.05),
        }),
        json!({"kind": "drr", "limit": {"bytes": 16_384}, "quantum_bytes": null}),
        json!({"kind": "port-fair", "limit": {"bytes": 16_384}}),
        json!({
            "kind": "codel", "limit": {"packets": 100}, "target_ps": 50_000_000,
            "interval_ps": 500_000_000, "ecn": true,
        }),
        json!({
            "kind": "fq-codel", "limit": {"packets": 30}, "target_ps": 50_000_000,
            "interval_ps": 500_000_000, "ecn": true, "queues": 1024, "quantum_bytes": 1518,
        }),
        json!({"kind": "strict-priority", "limit": {"bytes": 16_384}}),
        json!({"kind": "shared-buffer", "memory_bytes": 65_536, "alpha": 0.5}),
        json!({
            "kind": "shared-buffer", "memory_bytes": 65_536, "alpha": 0.5,
            "mark_above": {"bytes": 8192},
        }),
    ]
}

#[test]
fn whatever_a_scheduler_drops_when_the_tables_agree_and_the_line_is_full() {
    for queue in schedulers() {
        let name = queue["kind"].as_str().expect("a name").to_string();
        let may_mark = !queue["ecn"].is_null() || !queue["mark_above"].is_null();
        let results = run(&dctcp_through(queue));
        let sum = |table, name| column(&results, table, name).iter().sum::<f64>() as usize;
        let drops = column(&results, "drops", "seq").len();
        assert!(drops > 0, "{name} dropped nothing");
        assert_eq!(sum("flows", "drops"), drops, "{name}");
        assert_eq!(sum("ports", "drops"), drops, "{name}");
        let marks = column(&results, "marks", "seq").len();
        assert_eq!(marks > 0, may_mark, "{name}: {marks} marks");
        assert_eq!(sum("flows", "marks"), marks, "{name}");
        assert_eq!(sum("ports", "marks"), marks, "{name}");
        let busy = column(&results, "ports", "busy_share");
        let busiest = busy.into_iter().fold(0.0, f64::max);
        assert!((0.85..=1.0).contains(&busiest), "{name}: {busiest}");
    }
}

#[test]
fn a_drop_row_counts_from_its_packets_own_arrival() {
    // DRR may drop a queued packet instead of the one that arrives. No arrival is dropped twice.
    let queue = json!({
        "kind": "drr", "limit": {"bytes": 16_384}, "quantum_bytes": null,
    });
    let results = run(&dctcp_through(queue));
    let ports = column(&results, "drops", "port");
    let mut arrivals: Vec<(u64, u64)> = ports
        .iter()
        .zip(column(&results, "drops", "port_arrival"))
        .map(|(port, arrival)| (*port as u64, arrival as u64))
        .collect();
    assert!(!arrivals.is_sorted(), "none was pushed out");
    let rows = arrivals.len();
    arrivals.sort_unstable();
    arrivals.dedup();
    assert_eq!(arrivals.len(), rows);
}

#[test]
fn who_shares_a_bucket_of_sfq_shares_its_part_of_the_line() {
    // h1 is alone in one of two buckets and all other hosts share the other, so h1 gets half the line
    let others: Vec<String> = (2..16).map(|n| format!("h{n}")).collect();
    let mut job = outcast();
    job["duration_ps"] = json!(seconds(1.0));
    job["queue"] = json!({
        "kind": "sfq", "limit_packets": 40, "buckets": 2, "seed": 0,
        "placed": [["h1"], others],
    });
    let goodput = column(&run(&job), "flows", "goodput_bps");
    let share = goodput[0] / goodput.iter().sum::<f64>();
    assert!((0.4..0.55).contains(&share), "{share}");
}

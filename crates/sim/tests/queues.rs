//! Queue disciplines in a run: what they do to TCP, and that the tables agree with each other.

mod common;

use common::{column, outcast, run, seconds};
use serde_json::{Value, json};

/// 15 DCTCP flows to one receiver through queues of this kind.
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
        "kind": "step-marking", "mark_above": {"packets": 20},
        "buffer": {"limit_bytes": null, "limit_packets": 100, "count_in_service": false},
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
        "kind": "step-marking", "mark_above": {"packets": 20},
        "buffer": {"limit_bytes": null, "limit_packets": 100, "count_in_service": false},
    })));
    let late = column(&results, "drops", "time_s");
    assert_eq!(late.iter().filter(|time_s| **time_s > 0.1).count(), 0);
    // Alizadeh 2010, 3.3: the queue oscillates just above K; 15 flows of at least one packet each
    let mean_bytes = column(&results, "ports", "queue_mean_bytes");
    let bottleneck = mean_bytes.into_iter().fold(0.0, f64::max);
    let packets = bottleneck / 1518.0;
    assert!((12.0..36.0).contains(&packets), "{packets} packets");
}

//! Losses that are not a queue discipline's decision.

use crate::common::watched::run_hiding_drops;
use crate::common::{column, outcast, run, seconds};
use serde_json::{Value, json};

#[test]
fn losses_at_a_port_are_told_from_drops_by_its_queue() {
    told_apart(outcast());
}

#[test]
fn losses_at_a_port_are_told_from_drops_by_its_scheduler() {
    let mut job = outcast();
    job["queue"] = json!({
        "kind": "drr", "limit": {"bytes": 16_384}, "quantum_bytes": null,
    });
    told_apart(job);
}

fn told_apart(mut job: Value) {
    job["losses"] = json!([
        {"kind": "on-off", "at": {"named": ["edge0.0:0"]}, "drops": 4, "off_ps": seconds(0.01)},
    ]);
    let results = run(&job);
    let reason = column(&results, "drops", "reason");
    let time = column(&results, "drops", "time_s");
    let arrival = column(&results, "drops", "port_arrival");
    let lost = |i: &usize| (reason[*i] - 4.0).abs() < 0.5;
    let lost: Vec<usize> = (0..reason.len()).filter(lost).collect();
    assert!(lost.len() < reason.len(), "the queue drops as well");
    // losses come in runs of 4 consecutive packets at the port, with 10 ms of no loss after each run
    for run in lost.chunks_exact(4) {
        assert!((arrival[run[3]] - arrival[run[0]] - 3.0).abs() < 0.5);
    }
    for (end, next) in lost
        .iter()
        .skip(3)
        .step_by(4)
        .zip(lost.iter().skip(4).step_by(4))
    {
        assert!(time[*next] - time[*end] >= 0.01 - 1e-9);
    }
    assert!((90..110).contains(&(lost.len() / 4)));
}

#[test]
fn a_loss_at_a_port_that_is_not_there_names_its_field() {
    let mut job = outcast();
    job["losses"] = json!([{"kind": "random", "at": {"named": ["s9:0"]}, "probability_ppb": 1}]);
    let job = serde_json::from_value(job).unwrap();
    let error = fairport_plan::Plan::new(job).expect_err("refused");
    assert_eq!(
        (error.field.as_str(), error.value.as_str()),
        ("losses.0.at", "s9:0")
    );
}

#[test]
#[should_panic(expected = "conservation of flow")]
fn a_packet_that_is_lost_without_a_record_is_missed() {
    let mut job = outcast();
    job["duration_ps"] = json!(seconds(0.05));
    run_hiding_drops(&job);
}

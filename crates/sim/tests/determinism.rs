//! One scenario, one seed, one version: the same packets.

use crate::common::{outcast, run, run_in_slices, seconds};
use serde_json::{Value, json};

#[test]
fn the_same_seed_gives_the_same_packets_and_another_seed_others() {
    let mut job = outcast();
    job["duration_ps"] = json!(seconds(0.1));
    let first = run(&job);
    assert_eq!(first.fingerprint, run(&job).fingerprint);
    job["seed"] = json!(2);
    assert_ne!(first.fingerprint, run(&job).fingerprint);
}

#[test]
fn probes_do_not_change_what_they_watch() {
    let mut job = outcast();
    job["duration_ps"] = json!(seconds(0.1));
    let before = run(&job).fingerprint;
    job["probes"] = json!({
        "series_interval_ps": 77_000_000, "queue_interval_ps": 1_300_000,
        "measure_from_ps": seconds(0.03), "measure_to_ps": seconds(0.06),
    });
    assert_eq!(before, run(&job).fingerprint);
}

#[test]
fn the_size_of_a_slice_does_not_matter() {
    let mut job = outcast();
    job["duration_ps"] = json!(seconds(0.05));
    let whole = run(&job).fingerprint;
    assert_eq!(whole, run_in_slices(&job, 7).fingerprint);
}

/// Paced responses over links of 5 ms. While a response is on a link no packet arrives soon, and the next
/// request may be due at any moment between two timers.
fn paced_answers() -> Value {
    let end = |host: &str| json!({"host": host, "stack": 0});
    let sizes =
        |from: u64, to: u64| json!({"points": [[from, 0], [to, 1_000_000_000]], "unit_bytes": 1});
    let mut job = outcast();
    job["duration_ps"] = json!(seconds(0.5));
    job["topology"] = json!({"kind": "dumbbell", "left": 4, "right": 3});
    job["link"]["delay_ps"] = json!(seconds(0.005));
    job["stacks"] = json!([{"preset": "linux-6", "overrides": {"pacing": "linux"}}]);
    job["flows"] = json!([]);
    job["workloads"] = json!([{
        "traffic": 0, "start_ps": 0, "stop_ps": null,
        "senders": [end("h0")], "receivers": [end("h1"), end("h3")],
        "pattern": {
            "kind": "request-response", "connections": 2, "requests": null,
            "request": sizes(100, 1000), "response": sizes(9999, 10_000),
            "think": {"kind": "exponential", "mean_ps": 100_000_000}, "jitter_ps": 0,
        },
    }]);
    job
}

#[test]
fn probes_do_not_change_requests_and_their_answers() {
    for seed in 1..5 {
        let mut job = paced_answers();
        job["seed"] = json!(seed);
        let before = run(&job).fingerprint;
        job["probes"]["queue_interval_ps"] = json!(77_000_000);
        assert_eq!(before, run(&job).fingerprint, "seed {seed}");
    }
}

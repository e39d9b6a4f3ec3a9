//! One scenario, one seed, one version: the same packets.

mod common;

use common::{outcast, run, seconds};
use serde_json::json;

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
    let job = serde_json::from_value(job).unwrap();
    let mut simulation = fairport_sim::Simulation::new(&job).unwrap();
    while !simulation.advance(7) {}
    assert_eq!(whole, simulation.into_results().fingerprint);
}

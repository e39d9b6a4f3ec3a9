//! What a plan says about the memory of flows, and about hosts with measured times.

use crate::common::{US, flow, job, plan};
use serde_json::{Value, json};

#[test]
fn the_memory_of_routes_grows_with_the_flows_and_their_paths() {
    let bytes = |flows: usize, topology: &Value| {
        let mut job = job(topology);
        job["flows"] = json!(vec![flow("h1", "h0"); flows]);
        let expected = plan(&job).expected().clone();
        assert_eq!(expected.watched_flows, flows.min(1000) as u64);
        expected.route_bytes
    };
    let star = json!({"kind": "star", "hosts": 3});
    // two paths of two ports of 4 bytes, and their routes
    let one = bytes(1, &star);
    assert!((16 + 16..500).contains(&one), "{one}");
    assert_eq!(bytes(100, &star), 100 * one);
    // of more than 100 flows a part is measured
    assert_eq!(bytes(1100, &star), 1100 * one);
    // over a leaf and a spine a path has four ports
    let spine = json!({"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 1});
    assert!(bytes(1, &spine) >= one + 16);
}

#[test]
fn a_measured_host_delays_what_arrives_only_by_its_jitter_and_interrupts() {
    let delays = |field: &str| {
        let mut job = job(&json!({"kind": "star", "hosts": 2}));
        let times =
            json!({"correlation_ppm": 0, "loads": [{"gap_min_ps": 0, "quantiles_ps": [5]}]});
        job["host"]["profile"] = json!({
            "levels_ppm": [0], "ack": times, "duplicate_ack": times, "data": times,
        });
        job["host"][field] = json!(US);
        let ports = plan(&job).ports().into_iter();
        ports.filter(|port| port.far_processing.is_some()).count()
    };
    assert_eq!(delays("delay_ps"), 0);
    assert_eq!(delays("jitter_ps"), 2);
    assert_eq!(delays("interrupt_interval_ps"), 2);
}

//! A job that cannot be run is refused, with an error that names the field.

use crate::common::{flow, outcast};
use fairport_plan::{BuildError, Job, Plan};
use serde_json::{Value, json};

fn refused(change: impl FnOnce(&mut Value)) -> BuildError {
    let mut job = outcast();
    change(&mut job);
    let job: Job = serde_json::from_value(job).expect("well-formed");
    match Plan::new(job) {
        Ok(_) => panic!("accepted"),
        Err(error) => error,
    }
}

fn udp(job: &mut Value, payload_bytes: u16, rate_bps: u64) {
    job["flows"][3]["udp"] = json!({
        "payload_bytes": payload_bytes, "rate_bps": rate_bps, "pattern": {"kind": "constant"},
    });
}

/// What turns a possible job into an impossible one.
type Change = fn(&mut Value);

#[test]
fn each_impossible_job_names_its_field() {
    let cases: [(&str, Change); 20] = [
        ("topology.k", |job| job["topology"]["k"] = json!(3)),
        ("duration", |job| job["duration_ps"] = json!(0)),
        ("link.rate", |job| job["link"]["rate_bps"] = json!(0)),
        ("queue.limit", |job| {
            job["queue"]["limit"]["bytes"] = json!(1517);
        }),
        ("queue.limit", |job| {
            job["queue"]["limit"] = json!({"packets": 0});
        }),
        ("queue.quantum", |job| {
            job["queue"] = json!({"kind": "drr", "limit": {"packets": 9}, "quantum_bytes": 63});
        }),
        ("flows.3.src", |job| job["flows"][3] = flow("h99", "h0")),
        ("flows.3.dst", |job| job["flows"][3] = flow("h1", "h99")),
        ("flows.0.src", |job| job["flows"][0] = flow("h0", "h0")),
        ("flows.3.udp", |job| udp(job, 0, 1)),
        ("flows.3.udp", |job| udp(job, 1, 0)),
        // the time from one datagram to the next would be less than a picosecond
        ("flows.3.rate_bps", |job| udp(job, 1, 8_000_000_000_001)),
        ("flows.3.on_mean_ps", |job| {
            udp(job, 1000, 80_000_000);
            let burst = json!({"kind": "on-off", "on_mean_ps": 99, "off_mean_ps": 1});
            job["flows"][3]["udp"]["pattern"] = burst; // and 100 us from datagram to datagram
        }),
        ("flows.3.payload_bytes", |job| udp(job, 1473, 1)),
        ("flows.3.size_bytes", |job| {
            job["flows"][3]["size_bytes"] = json!(0);
        }),
        ("flows.3.receiver_stack", |job| {
            job["flows"][3]["receiver_stack"] = json!(1);
        }),
        ("stacks.0.stack", |job| {
            job["stacks"][0]["preset"] = json!("x");
        }),
        ("stacks.0.mss_bytes", |job| {
            job["stacks"][0]["overrides"]["mss_bytes"] = json!(1461);
        }),
        // no header is smaller than 40 B on the wire, whatever the stack counts
        ("stacks.0.mss_bytes", |job| {
            job["stacks"][0]["overrides"] = json!({"mss_bytes": 1461, "fixed_header_bytes": 39});
        }),
        ("host.processing.min", |job| {
            job["host"]["processing"] = json!({"kind": "uniform", "min_ps": 2, "max_ps": 1});
        }),
    ];
    for (field, change) in cases {
        assert_eq!(refused(change).field, field);
    }
}

#[test]
fn a_host_that_no_link_leads_to_is_named() {
    let error = refused(|job| {
        job["topology"] = json!({
            "kind": "graph", "hosts": ["a", "b"], "switches": ["s", "t"],
            "links": [{"ends": ["a", "s"]}, {"ends": ["b", "t"]}],
        });
        job["flows"] = json!([flow("a", "b")]);
    });
    assert_eq!(
        (error.field.as_str(), error.value.as_str()),
        ("topology.hosts.1", "b")
    );
    assert!(error.problem.contains("is not connected with `a`"));
}

#[test]
fn routing_that_the_topology_does_not_allow_names_its_field() {
    let routed = |topology: Value, routing: Value| {
        let error = refused(|job| {
            job["topology"] = topology;
            job["routing"] = routing;
            job["flows"] = json!([flow("h1", "h0")]);
        });
        (error.field, error.value)
    };
    let pair = |field: &str, value: &str| (field.to_string(), value.to_string());
    let equal_length = |core| json!({"equal-length": {"core": core, "per": "flow"}});
    let star = json!({"kind": "star", "hosts": 4});
    let tree = json!({"kind": "fat-tree", "k": 4});
    assert_eq!(
        routed(star.clone(), equal_length(Value::Null)),
        pair("routing", "equal-length")
    );
    assert_eq!(
        routed(tree, equal_length(json!(4))),
        pair("routing.core", "4")
    );
    assert_eq!(
        routed(star, json!("two-level")),
        pair("routing", "two-level")
    );
}

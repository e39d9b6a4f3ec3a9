//! The largest or smallest value that a job may have is accepted, and the next one is refused.

use crate::common::{flow, job, parsed, workload};
use fairport_plan::Plan;
use serde_json::{Value, json};

/// The first field of a job that is refused. The job's second flow is from an unknown host, which is found after all
/// other values were checked. So nothing large is built.
fn refused(mut job: Value) -> String {
    let flows = job["flows"].as_array_mut().expect("a list");
    flows.push(flow("nobody", "h0"));
    Plan::new(parsed(&job)).expect_err("no such host").field
}

/// The field that is refused if none of the checked values is.
const NONE: &str = "flows.1.src";

/// Asserts that each field, given as a JSON pointer, may have the first value and not the second.
fn assert_limits(job: &Value, limits: Value) {
    let limits: Vec<(String, Value, Value, String)> = serde_json::from_value(limits).unwrap();
    assert_eq!(refused(job.clone()), NONE);
    for (pointer, most, more, field) in limits {
        for (value, expected) in [(most, NONE), (more, &field)] {
            let mut job = job.clone();
            *job.pointer_mut(&pointer).expect(&pointer) = value.clone();
            assert_eq!(refused(job), expected, "{pointer}: {value}");
        }
    }
}

#[test]
fn of_a_network_and_its_flows() {
    let mut job = job(&json!({"kind": "star", "hosts": 3}));
    let mut udp = flow("h1", "h0");
    udp["size_bytes"] = json!(1);
    // 10 us from one datagram to the next
    udp["udp"] = json!({
        "payload_bytes": 1000, "rate_bps": 800_000_000,
        "pattern": {"kind": "on-off", "on_mean_ps": 20, "off_mean_ps": 1},
    });
    job["flows"] = json!([udp]);
    job["host"]["processing"] = json!({"kind": "uniform", "min_ps": 5, "max_ps": 5});
    assert_limits(
        &job,
        json!([
            ["/duration_ps", 1, 0, "duration"],
            ["/link/mtu_bytes", 65_535, 65_536, "link.mtu_bytes"],
            ["/host/processing/min_ps", 5, 6, "host.processing.min"],
            [
                "/probes/series_interval_ps",
                1,
                0,
                "probes.series_interval_ps"
            ],
            [
                "/probes/queue_interval_ps",
                1,
                0,
                "probes.queue_interval_ps"
            ],
            ["/flows/0/src", "h1", "h0", "flows.0.src"],
            ["/flows/0/sender_stack", 0, 1, "flows.0.sender_stack"],
            ["/flows/0/receiver_stack", 0, 1, "flows.0.receiver_stack"],
            ["/flows/0/size_bytes", 1, 0, "flows.0.size_bytes"],
            // and 28 bytes of headers
            [
                "/flows/0/udp/payload_bytes",
                1472,
                1473,
                "flows.0.payload_bytes"
            ],
            [
                "/flows/0/udp/pattern/on_mean_ps",
                10,
                9,
                "flows.0.on_mean_ps"
            ],
        ]),
    );
}

fn assert_workload_limits(senders: &[u32], receivers: &[u32], pattern: &Value, limits: Value) {
    let mut job = job(&json!({"kind": "star", "hosts": 3}));
    job["flows"] = json!([flow("h1", "h0")]);
    job["workloads"] = json!([workload(senders, receivers, pattern)]);
    assert_limits(&job, limits);
}

/// Sizes up to 2^50 bytes.
fn sizes() -> Value {
    json!({"points": [[1, 0], [1_u64 << 49, 1_000_000_000]], "unit_bytes": 2})
}

#[test]
fn of_incast() {
    assert_workload_limits(
        &[1, 2],
        &[0],
        &json!({
            "kind": "incast", "block_bytes": 1, "rounds": null, "pause_ps": 0, "jitter_ps": 0,
            "persistent": false,
        }),
        json!([
            ["/workloads/0/pattern/block_bytes", 1, 0, "workloads.0.block_bytes"],
            ["/workloads/0/senders/1/stack", 0, 1, "workloads.0.senders"],
            ["/workloads/0/receivers/0/stack", 0, 1, "workloads.0.receivers"],
            ["/workloads/0/senders/0/host", "h1", "h0", "workloads.0.senders"],
            ["/workloads/0/receivers", [{"host": "h0", "stack": 0}], [], "workloads.0.receivers"],
        ]),
    );
}

#[test]
fn of_poisson_arrivals() {
    assert_workload_limits(
        &[0, 1],
        &[0, 1],
        &json!({"kind": "poisson", "load_ppm": 1, "capacity_bps": 1, "sizes": sizes()}),
        json!([
            [
                "/workloads/0/pattern/load_ppm",
                1,
                0,
                "workloads.0.load_ppm"
            ],
            [
                "/workloads/0/pattern/capacity_bps",
                null,
                0,
                "workloads.0.capacity_bps"
            ],
            [
                "/workloads/0/pattern/sizes/points/1/0",
                1_u64 << 49,
                (1_u64 << 49) + 1,
                "workloads.0.sizes"
            ],
            [
                "/workloads/0/pattern/sizes/points/1/0",
                1,
                0,
                "workloads.0.sizes"
            ],
            [
                "/workloads/0/pattern/sizes/points/1/1",
                1_000_000_000,
                999_999_999,
                "workloads.0.sizes"
            ],
            [
                "/workloads/0/pattern/sizes/points/0/1",
                1_000_000_000,
                1_000_000_001,
                "workloads.0.sizes"
            ],
            [
                "/workloads/0/pattern/sizes/unit_bytes",
                1,
                0,
                "workloads.0.sizes"
            ],
            // h1 may also receive from h0, but h0 alone could only send to itself
            [
                "/workloads/0/receivers/1/host",
                "h1",
                "h0",
                "workloads.0.senders"
            ],
        ]),
    );
}

#[test]
fn of_periodic_transfers() {
    assert_workload_limits(
        &[1],
        &[0],
        &json!({"kind": "periodic", "size_bytes": 1, "period_ps": 1, "jitter_ps": 0, "persistent": false}),
        json!([
            [
                "/workloads/0/pattern/size_bytes",
                1,
                0,
                "workloads.0.size_bytes"
            ],
            [
                "/workloads/0/pattern/period_ps",
                1,
                0,
                "workloads.0.period_ps"
            ],
            [
                "/workloads/0/senders/0/host",
                "h1",
                "h0",
                "workloads.0.senders"
            ],
        ]),
    );
}

#[test]
fn of_requests_and_responses() {
    assert_workload_limits(
        &[2],
        &[0, 1],
        &json!({
            "kind": "request-response", "connections": 1, "requests": null, "request": sizes(), "response": sizes(),
            "think": {"kind": "uniform", "min_ps": 5, "max_ps": 5}, "jitter_ps": 0,
        }),
        json!([
            // 2^20 in all
            [
                "/workloads/0/pattern/connections",
                1 << 19,
                (1 << 19) + 1,
                "workloads.0.connections"
            ],
            [
                "/workloads/0/pattern/connections",
                1,
                0,
                "workloads.0.connections"
            ],
            [
                "/workloads/0/pattern/request/unit_bytes",
                1,
                3,
                "workloads.0.request"
            ],
            [
                "/workloads/0/pattern/response/unit_bytes",
                1,
                3,
                "workloads.0.response"
            ],
            [
                "/workloads/0/pattern/think/min_ps",
                5,
                6,
                "workloads.0.think.min"
            ],
            [
                "/workloads/0/senders/0/host",
                "h2",
                "h1",
                "workloads.0.receivers"
            ],
        ]),
    );
}

#[test]
fn of_a_trace() {
    assert_workload_limits(
        &[0, 1],
        &[1, 2],
        &json!({"kind": "trace", "start_ps": [0, 7], "src": [0, 1], "dst": [0, 1], "bytes": [1, 1]}),
        json!([
            [
                "/workloads/0/pattern/start_ps",
                [7, 7],
                [7, 6],
                "workloads.0.start_ps"
            ],
            ["/workloads/0/pattern/src/0", 0, 2, "workloads.0.src"],
            ["/workloads/0/pattern/dst/0", 1, 2, "workloads.0.dst"],
            // the second sender is the first receiver
            ["/workloads/0/pattern/dst/1", 1, 0, "workloads.0.dst"],
            ["/workloads/0/pattern/bytes/1", 1, 0, "workloads.0.bytes"],
            ["/workloads/0/pattern/src", [0, 1], [0], "workloads.0.src"],
            [
                "/workloads/0/pattern/dst",
                [0, 1],
                [0, 1, 1],
                "workloads.0.dst"
            ],
            [
                "/workloads/0/pattern/bytes",
                [1, 1],
                [1],
                "workloads.0.bytes"
            ],
        ]),
    );
}

#[test]
fn of_web_sessions() {
    assert_workload_limits(
        &[1],
        &[0],
        &json!({
            "kind": "web", "sessions": 1, "session_gap_mean_ps": 0, "think_mean_ps": 1, "think_from_start": true,
            "object_gap_mean_ps": 0, "objects": [5, 5], "size_packets": [1, 5], "shape_milli": 1, "packet_bytes": 4,
        }),
        json!([
            [
                "/workloads/0/pattern/sessions",
                1 << 20,
                (1 << 20) + 1,
                "workloads.0.sessions"
            ],
            [
                "/workloads/0/pattern/shape_milli",
                1,
                0,
                "workloads.0.shape_milli"
            ],
            [
                "/workloads/0/pattern/packet_bytes",
                1,
                0,
                "workloads.0.packet_bytes"
            ],
            [
                "/workloads/0/pattern/think_mean_ps",
                1,
                0,
                "workloads.0.think_mean_ps"
            ],
            [
                "/workloads/0/pattern/objects/0",
                5,
                6,
                "workloads.0.objects"
            ],
            [
                "/workloads/0/pattern/objects/1",
                1 << 20,
                (1 << 20) + 1,
                "workloads.0.objects"
            ],
            // 2^50 bytes
            [
                "/workloads/0/pattern/size_packets/1",
                1_u64 << 48,
                (1_u64 << 48) + 1,
                "workloads.0.size_packets"
            ],
            [
                "/workloads/0/receivers/0/host",
                "h0",
                "h1",
                "workloads.0.receivers"
            ],
        ]),
    );
}

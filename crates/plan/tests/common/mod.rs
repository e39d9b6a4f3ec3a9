//! Jobs for tests: the parts that every job has, in a given topology.

use fairport_plan::{Job, Plan};
use serde_json::{Value, json};

/// One microsecond in picoseconds.
pub(crate) const US: u64 = 1_000_000;
/// One millisecond in picoseconds.
pub(crate) const MS: u64 = 1_000_000_000;

/// A job of 100 ms without traffic.
pub(crate) fn job(topology: &Value) -> Value {
    json!({
        "seed": 1,
        "duration_ps": 100 * MS,
        "topology": topology,
        "routing": "destination-suffix",
        "link": {
            "rate_bps": 1_000_000_000_u64, "delay_ps": US, "delay_spread_ps": US, "mtu_bytes": 1500,
            "framing": "ethernet", "clock_error_ppb": 50_000,
        },
        "switch": {
            "processing_delay_ps": US, "arbitration": "round-robin", "departure_first": true,
        },
        "queue": {"kind": "drop-tail", "limit": {"bytes": 16_384}, "count_in_service": true},
        "host": {
            "delay_ps": 5 * US, "delay_spread_ps": US, "queue_packets": 1000,
            "processing": {"kind": "constant", "value_ps": US},
        },
        "stacks": [{"preset": "linux-6", "overrides": {"mss_bytes": 1460}}],
        "flows": [],
        "probes": {
            "series_interval_ps": 10 * MS, "queue_interval_ps": MS,
            "measure_from_ps": null, "measure_to_ps": null,
        },
    })
}

/// A flow between two hosts of these names.
pub(crate) fn flow(src: &str, dst: &str) -> Value {
    json!({
        "src": src, "dst": dst, "start_ps": MS, "start_jitter_ps": MS, "size_bytes": null,
        "sender_stack": 0, "receiver_stack": 0,
    })
}

/// A workload from hosts to hosts, by their numbers.
pub(crate) fn workload(senders: &[u32], receivers: &[u32], pattern: &Value) -> Value {
    let end = |host: &u32| json!({"host": format!("h{host}"), "stack": 0});
    let ends = |hosts: &[u32]| -> Vec<Value> { hosts.iter().map(end).collect() };
    json!({
        "traffic": 0, "start_ps": 0, "senders": ends(senders), "receivers": ends(receivers),
        "pattern": pattern,
    })
}

pub(crate) fn parsed(job: &Value) -> Job {
    serde_json::from_value(job.clone()).expect("a job")
}

pub(crate) fn plan(job: &Value) -> Plan {
    Plan::new(parsed(job)).expect("a possible job")
}

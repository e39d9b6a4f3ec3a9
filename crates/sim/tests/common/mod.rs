//! Valid jobs for tests, which a test changes where it needs to.

#![allow(
    dead_code,
    reason = "`memory.rs`, a program of its own, uses a part of it"
)]

pub(crate) mod watched;

use fairport_plan::{Job, Plan};
use fairport_sim::{Recorded, Simulation};
use serde_json::{Value, json};

/// 15 senders to one receiver in a k = 4 fat-tree with 16 KiB buffers: the paper's experiment P1.
pub(crate) fn outcast() -> Value {
    let flows: Vec<Value> = (1..16).map(|i| flow(&format!("h{i}"), "h0")).collect();
    json!({
        "seed": 1,
        "duration_ps": seconds(1.0),
        "topology": {"kind": "fat-tree", "k": 4},
        "routing": "destination-suffix",
        "link": {
            "rate_bps": 1_000_000_000_u64, "delay_ps": 0, "delay_spread_ps": 0, "mtu_bytes": 1500,
            "framing": "ethernet", "clock_error_ppb": 50_000,
        },
        "switch": {
            "processing_delay_ps": 25_000_000, "arbitration": "round-robin", "departure_first": true,
        },
        "queue": {
            "kind": "drop-tail", "limit": {"bytes": 16_384}, "count_in_service": true,
        },
        "host": {
            "delay_ps": 80_000_000, "delay_spread_ps": 20_000_000, "queue_packets": 1000,
            "processing": {"kind": "uniform", "min_ps": 500_000, "max_ps": 1_500_000},
        },
        "stacks": [{"preset": "linux-2.6", "overrides": {"rto_min_ps": 2_000_000_000_u64}}],
        "flows": flows,
        "probes": {
            "series_interval_ps": 10_000_000_000_u64, "queue_interval_ps": 1_000_000_000,
            "measure_from_ps": null, "measure_to_ps": null,
        },
    })
}

/// Two hosts, `a` and `b`, at one switch; one endless flow from `a` to `b`.
pub(crate) fn single_flow() -> Value {
    let mut job = outcast();
    let link = |host: &str| json!({"ends": [host, "s"]});
    job["topology"] = json!({
        "kind": "graph", "hosts": ["a", "b"], "switches": ["s"], "links": [link("a"), link("b")],
    });
    job["flows"] = json!([flow("a", "b")]);
    job
}

/// An endless flow of the first stack that starts within the first 10 ms.
pub(crate) fn flow(src: &str, dst: &str) -> Value {
    json!({
        "src": src, "dst": dst, "start_ps": 0, "start_jitter_ps": 10_000_000_000_u64,
        "size_bytes": null, "sender_stack": 0, "receiver_stack": 0,
    })
}

/// Converts seconds to picoseconds.
pub(crate) fn seconds(s: f64) -> u64 {
    (s * 1e12) as u64
}

/// The plan of a job.
pub(crate) fn plan(job: &Value) -> Plan {
    let job: Job = serde_json::from_value(job.clone()).expect("a job");
    Plan::new(job).expect("a possible job")
}

/// Runs a job to its end.
pub(crate) fn run(job: &Value) -> Recorded {
    run_in_slices(job, 100_000)
}

/// Runs a job to its end, in slices of so many packet-hops.
pub(crate) fn run_in_slices(job: &Value, packet_hops: u64) -> Recorded {
    let mut simulation = Simulation::new(plan(job));
    while !simulation.advance(packet_hops) {}
    simulation.into_recorded()
}

/// Runs a job to its end in `regions` regions of its network, in parallel or on one thread.
pub(crate) fn run_in_regions(job: &Value, regions: u16, at_once: bool) -> Recorded {
    let mut simulation = Simulation::in_regions(plan(job), regions).at_once(at_once);
    while !simulation.advance(100_000) {}
    simulation.into_recorded()
}

/// A column of numbers, as f64.
pub(crate) fn column(results: &Recorded, table: &str, column: &str) -> Vec<f64> {
    let table = results.table(table).expect("the table");
    table.column(column).expect("the column").to_f64()
}

/// The number of a name in one of the record's lists of names.
pub(crate) fn number_of(results: &Recorded, list: &str, name: &str) -> usize {
    let names = results.names.iter().find(|(own, _)| *own == list);
    let (_, names) = names.expect("the list");
    let number = names.iter().position(|own| own == name);
    number.unwrap_or_else(|| panic!("{name} of {names:?}"))
}

//! What runs allocate, compared with the estimate of memory; and what changed jobs make of it.

#![allow(unsafe_code)] // an allocator that counts needs it

mod common;
#[path = "memory/mutated_jobs.rs"]
mod mutated_jobs;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::{flow, outcast, seconds};
use fairport_plan::{Job, Plan};
use fairport_sim::{Simulation, memory_bytes};
use serde_json::{Value, json};

/// The system's allocator, with a count per thread of the bytes allocated now, and of their maximum so far.
struct Counting;

thread_local! {
    // one count per thread, because tests on other threads allocate meanwhile
    static NOW: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    let now = NOW.get() + bytes;
    NOW.set(now);
    MOST.set(MOST.get().max(now));
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        unsafe { System.dealloc(pointer, layout) }
    }

    // The system moves or truncates large blocks by remapping their pages, so the old and the new block do not
    // count at the same time.
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size.cast_signed() - layout.size().cast_signed());
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The estimate divided by the maximum that a run allocated, and that maximum in bytes.
fn estimated_over_needed(job: &Value) -> (f64, usize) {
    let job: Job = serde_json::from_value(job.clone()).expect("a job");
    let run = || {
        let plan = Plan::new(job).expect("a possible job");
        let estimate = memory_bytes(&plan);
        let mut simulation = Simulation::new(plan);
        while !simulation.advance(100_000) {}
        drop(simulation.into_recorded());
        estimate
    };
    let (estimate, needed) = most_allocated(run);
    (estimate as f64 / needed as f64, needed)
}

/// What `run` returns, and the most bytes that it had allocated at one time.
fn most_allocated<T>(run: impl FnOnce() -> T) -> (T, usize) {
    let before = NOW.get();
    MOST.set(before);
    let result = run();
    (result, (MOST.get() - before).cast_unsigned())
}

/// The bytes still allocated after this many short flows, one after the other, are over.
fn left_of(flows: u64) -> f64 {
    let mut job = outcast();
    job["duration_ps"] = json!(flows * 500_000_000 + seconds(0.1));
    job["flows"] = json!([]);
    job["probes"]["watched_flows"] = json!(0);
    job["probes"]["series_interval_ps"] = json!(seconds(100.0));
    job["probes"]["queue_interval_ps"] = json!(seconds(100.0));
    let ends: Vec<Value> = (0..16)
        .map(|i| json!({"host": format!("h{i}"), "stack": 0}))
        .collect();
    let each = |value: fn(u64) -> u64| (0..flows).map(value).collect::<Vec<_>>();
    job["workloads"] = json!([{
        "traffic": 0, "start_ps": 0, "senders": ends, "receivers": ends,
        "pattern": {
            "kind": "trace", "start_ps": each(|i| i * 500_000_000), "src": each(|i| i % 16),
            "dst": each(|i| (i + 5) % 16), "bytes": each(|_| 1000),
        },
    }]);
    let plan = common::plan(&job);
    let before = NOW.get();
    let mut simulation = Simulation::new(plan);
    while !simulation.advance(100_000) {}
    let left = NOW.get() - before;
    let recorded = simulation.into_recorded();
    let ends = common::column(&recorded, "flows", "end_s");
    assert!(ends.iter().all(|end| end.is_finite()));
    left as f64
}

#[test]
fn of_a_flow_that_is_over_the_records_are_left() {
    // powers of two, so that vectors that double their capacity have none to spare
    let per_flow = (left_of(8192) - left_of(4096)) / 4096.0;
    println!("{per_flow:.0} bytes per flow");
    // a connection that was not freed would add thousands of bytes, and routes that were not released 224
    assert!((100.0..450.0).contains(&per_flow), "{per_flow}");
}

#[test]
fn the_estimate_is_enough_and_not_far_from_what_is_needed() {
    let mut cases: Vec<(&str, Value)> = Vec::new();

    let mut rows = outcast();
    rows["probes"]["series_interval_ps"] = json!(seconds(0.000_02));
    rows["probes"]["queue_interval_ps"] = json!(seconds(0.000_02));
    cases.push(("rows of series and queues", rows));

    let mut many = outcast();
    many["duration_ps"] = json!(seconds(0.5));
    many["flows"] = json!([]);
    let ends: Vec<Value> = (0..16)
        .map(|i| json!({"host": format!("h{i}"), "stack": 0}))
        .collect();
    many["workloads"] = json!([{
        "traffic": 0, "start_ps": 0, "senders": ends, "receivers": ends,
        "pattern": {
            "kind": "poisson", "load_ppm": 300_000, "capacity_bps": 16_000_000_000_u64,
            "sizes": {"points": [[10_000, 1_000_000_000]], "unit_bytes": 1},
        },
    }]);
    // A flow that has lost packets is also given up when it is over. A few flows lose their SYN and wait for a second.
    let mut lossy = many.clone();
    lossy["losses"] =
        json!([{"kind": "random", "at": "all-of-switches", "probability_ppb": 2_000_000}]);
    lossy["stacks"][0]["overrides"]["rto_min_ps"] = json!(seconds(0.005));
    cases.push(("30 000 short flows", many));
    cases.push((
        "30 000 short flows, of which one in ten loses packets",
        lossy,
    ));

    let mut overload = outcast();
    overload["duration_ps"] = json!(seconds(0.05));
    let mut udp = flow("h1", "h0");
    udp["start_jitter_ps"] = json!(0);
    udp["udp"] = json!({
        "payload_bytes": 100, "rate_bps": 10_000_000_000_u64, "pattern": {"kind": "constant"},
    });
    overload["flows"] = json!([udp]);
    cases.push(("UDP at ten times the rate of its link", overload));

    let mut requests = outcast();
    requests["flows"] = json!([]);
    requests["probes"]["watched_flows"] = json!(0);
    let sizes = json!({"points": [[100, 1_000_000_000]], "unit_bytes": 1});
    requests["workloads"] = json!([{
        "traffic": 0, "start_ps": 0, "senders": ends[1..], "receivers": [ends[0]],
        "pattern": {
            "kind": "request-response", "connections": 60, "request": sizes, "response": sizes,
            "think": {"kind": "constant", "value_ps": 0}, "jitter_ps": 0,
        },
    }]);
    cases.push(("requests without a pause", requests));

    let mut of_short_flows = Vec::new();
    for (name, job) in cases {
        let (ratio, needed) = estimated_over_needed(&job);
        println!("{name}: {ratio:.2} of {needed} bytes");
        assert!(
            needed > 2_000_000,
            "{name}: {needed} bytes are too few to compare"
        );
        assert!((1.0..2.5).contains(&ratio), "{name}: {ratio:.2}");
        if name.contains("short flows") {
            of_short_flows.push(needed as f64);
        }
    }
    let more = of_short_flows[1] / of_short_flows[0];
    println!("with losses: {more:.3} times as much");
    assert!(more < 1.15, "{more:.3}");
}

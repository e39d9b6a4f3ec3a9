//! A law of jobs: whatever a job's field says, there is a result or an error that names a field. There is no panic, no
//! call without end, and no allocation that the estimate of memory does not announce.

use fairport_plan::{Job, Plan};
use fairport_sim::{Simulation, memory_bytes};
use fairport_tcp::Settings;
use serde_json::{Value, json};

use crate::common::{flow, outcast};
use crate::most_allocated;

/// A part of a job, by the names and indices that lead to it.
type Path = Vec<String>;

/// No job of this file needs as much memory before it runs, or is run if its estimate is above this.
const MOST_BYTES: usize = 500_000_000;

/// Valid jobs of the simulator, each with the path of the part whose fields are changed.
fn valid_jobs() -> Vec<(Value, &'static str)> {
    let mut jobs = vec![(with_everything(), "")];
    for queue in queues() {
        let mut job = outcast();
        job["queue"] = queue;
        job["classifier"] = json!({"threshold_packets": 5, "flow_timeout_ps": 1_000_000_000});
        jobs.push((job, "queue"));
    }
    for topology in topologies() {
        let mut job = outcast();
        job["flows"] = json!([flow("h1", "h0")]);
        job["topology"] = topology;
        jobs.push((job, "topology"));
    }
    for pattern in patterns() {
        jobs.push((with_workload(&pattern), "workloads"));
    }
    for preset in Settings::PRESETS {
        let mut job = outcast();
        let settings = Settings::preset(preset).expect("a preset");
        let overrides = serde_json::to_value(settings).expect("settings");
        job["stacks"] = json!([{"preset": preset, "overrides": overrides}]);
        jobs.push((job, "stacks"));
    }
    jobs
}

/// A job whose only traffic is a workload with this pattern.
fn with_workload(pattern: &Value) -> Value {
    let end = |host: &str| json!({"host": host, "stack": 0});
    let mut job = outcast();
    job["flows"] = json!([]);
    job["workloads"] = json!([{
        "traffic": 0, "start_ps": 0, "stop_ps": null, "pattern": pattern,
        "senders": [end("h1"), end("h2"), end("h3")], "receivers": [end("h0"), end("h1")],
    }]);
    job
}

/// A job with every optional part that other jobs here do not have.
fn with_everything() -> Value {
    let mut job = outcast();
    job["fabric"] = json!({"rate_bps": 1_000_000_000, "delay_ps": 0, "limit_bytes": 16_384});
    job["failed_links"] = json!(["core3:1", "core2"]);
    job["shaper"] = json!({
        "kind": "htb", "rate_bps": 100_000_000, "burst_bytes": 15_360, "cburst_bytes": 1600,
        "timer_lateness_ps": 1000, "hosts": true,
    });
    job["classifier"] = json!({
        "threshold_packets": 50, "flow_timeout_ps": 1_000_000_000,
        "tuning": {"interval_ps": 100_000_000, "short_to_long_ppm": 1_000_000},
    });
    job["losses"] = json!([
        {"kind": "random", "at": "all-of-switches", "probability_ppb": 1_000_000},
        {"kind": "on-off", "at": {"named": ["core0:0"]}, "drops": 3, "off_ps": 1_000_000_000},
        {"kind": "outage", "at": {"named": ["core0:0"]}, "from_ps": 1_000_000, "to_ps": 2_000_000},
        {"kind": "periodic", "at": {"named": ["core0:0"]}, "every": 1000},
        {"kind": "numbered", "at": {"named": ["core0:0"]}, "packets": [20, 21, 35]},
    ]);
    let answer = json!({
        "correlation_ppm": 340_000,
        "loads": [
            {"gap_min_ps": 0, "quantiles_ps": [4_000_000, 11_000_000, 90_000_000]},
            {"gap_min_ps": 200_000_000, "quantiles_ps": [7_000_000, 22_000_000, 99_000_000]},
        ],
    });
    job["host"]["profile"] = json!({
        "levels_ppm": [0, 500_000, 999_000], "ack": answer, "duplicate_ack": answer, "data": answer,
    });
    job["host"]["jitter_ps"] = json!(1_000_000);
    job["host"]["interrupt_interval_ps"] = json!(20_000_000);
    let mut transfer = flow("h1", "h0");
    transfer["size_bytes"] = json!(20_000);
    transfer["stop_ps"] = json!(20_000_000_000_u64);
    let mut udp = flow("h2", "h0");
    udp["udp"] = json!({
        "payload_bytes": 1472, "rate_bps": 50_000_000,
        "pattern": {"kind": "on-off", "on_mean_ps": 5_000_000_000_u64, "off_mean_ps": 5_000_000_000_u64},
    });
    job["flows"] = json!([
        transfer,
        udp,
        flow("h3", "h0"),
        flow("h1", "h3"),
        flow("h3", "h1")
    ]);
    for permuted in [3, 4] {
        job["flows"][permuted]["traffic"] = json!(1);
    }
    job["permutations"] = json!([1]);
    job["probes"]["measure_from_ps"] = json!(1_000_000_000);
    job["probes"]["measure_to_ps"] = json!(9_000_000_000_u64);
    job["probes"]["watched_flows"] = json!(1000);
    job["probes"]["watched_ports"] = json!(100);
    job
}

fn queues() -> [Value; 15] {
    let limit = json!({"packets": 30});
    let red = json!({
        "limit": limit, "count_in_service": false, "weight_ppb": 2_000_000, "gentle": true, "ecn": true,
        "mean_packet_bytes": 500,
    });
    let and = |more: Value| {
        let mut queue = red.clone();
        queue
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        queue
    };
    let mut red_linux = and(json!({
        "kind": "red-linux", "max_p_ppb": 100_000_000, "min_bytes": 7500, "max_bytes": 22_500,
    }));
    red_linux
        .as_object_mut()
        .expect("an object")
        .remove("gentle");
    [
        json!({"kind": "drop-tail", "limit": limit, "count_in_service": true}),
        json!({
            "kind": "step-marking", "limit": limit, "count_in_service": false, "mark_above": {"packets": 20},
        }),
        and(json!({
            "kind": "red", "max_p_ppb": 100_000_000, "variant": "ns2", "min": {"packets": 5},
            "max": {"packets": 15},
        })),
        red_linux,
        and(json!({
            "kind": "rio", "short_min": {"packets": 15}, "short_max": {"packets": 30},
            "short_max_p_ppb": 20_000_000, "long_min": {"packets": 5}, "long_max": {"packets": 15},
            "long_max_p_ppb": 200_000_000,
        })),
        and(json!({
            "kind": "rio-ps", "short_min_ppb": 150_000_000, "short_max_ppb": 350_000_000,
            "short_max_p_ppb": 50_000_000, "long_min_ppb": 150_000_000, "long_max_ppb": 500_000_000,
            "long_max_p_ppb": 100_000_000,
        })),
        json!({
            "kind": "pie", "limit": limit, "count_in_service": false, "target_ps": 500_000_000,
            "update_ps": 500_000_000, "max_burst_ps": 0, "mean_packet_bytes": 1000, "ecn": true,
        }),
        json!({
            "kind": "weighted-tail-drop", "limit": limit, "count_in_service": false,
            "thresholds_ppb": [500_000_000, 1_000_000_000],
        }),
        json!({
            "kind": "sfq", "limit_packets": 40, "buckets": 4, "seed": 1, "placed": [["h1", "h2"], ["h3"]],
        }),
        json!({
            "kind": "linux-sfq", "limit_packets": 20, "depth_packets": 10, "divisor": 16, "flows": 8,
            "quantum_bytes": 1518, "perturb_ps": 1_000_000_000,
        }),
        json!({"kind": "drr", "limit": limit, "quantum_bytes": 1518}),
        json!({"kind": "port-fair", "limit": limit}),
        json!({
            "kind": "fq-codel", "limit": limit, "target_ps": 500_000_000, "interval_ps": 1_000_000_000,
            "ecn": true, "queues": 16, "quantum_bytes": 1518,
        }),
        json!({"kind": "shared-buffer", "memory_bytes": 524_288, "alpha": 1.0}),
        json!({"kind": "strict-priority", "limit": limit}),
    ]
}

fn topologies() -> [Value; 10] {
    let link = json!({"rate_bps": 10_000_000, "delay_ps": 20_000_000});
    [
        json!({"kind": "fat-tree", "k": 4}),
        json!({"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2}),
        json!({"kind": "three-tier", "aggs": 2, "edges_per_agg": 2, "hosts_per_edge": 2}),
        json!({"kind": "vl2", "d_a": 4, "d_i": 4, "hosts_per_rack": 2}),
        json!({"kind": "bcube", "n": 3, "k": 1}),
        json!({"kind": "star", "hosts": 5}),
        json!({"kind": "dumbbell", "left": 2, "right": 3}),
        json!({
            "kind": "dancehall", "server_routers": [link, link], "servers_per_router": 2, "left": link,
            "right": link, "clients": 4, "middle_clients": 0, "client_rate_bps": [22_000_000, 32_000_000],
            "client_delay_ps": [10_000_000, 100_000_000],
        }),
        json!({"kind": "two-switch", "peers": 4}),
        json!({
            "kind": "graph", "hosts": ["h0", "h1"], "hosts_forward": false, "switches": ["s"],
            "links": [
                {"ends": ["h0", "s"], "rate_bps": 10_000_000, "delay_ps": 0, "limit_bytes": 20_000},
                {"ends": ["h1", "s"]},
            ],
        }),
    ]
}

fn patterns() -> [Value; 6] {
    let sizes = json!({"points": [[1000, 500_000_000], [5000, 1_000_000_000]], "unit_bytes": 1});
    [
        json!({
            "kind": "incast", "block_bytes": 5000, "rounds": 3, "pause_ps": 0, "jitter_ps": 1000,
            "persistent": true,
        }),
        json!({
            "kind": "poisson", "load_ppm": 300_000, "capacity_bps": 1_000_000_000, "sizes": sizes,
            "flows": 100,
        }),
        json!({
            "kind": "periodic", "size_bytes": 5000, "period_ps": 1_000_000_000, "jitter_ps": 1000,
            "persistent": true,
        }),
        json!({
            "kind": "request-response", "connections": 2, "requests": 5, "request": sizes,
            "response": sizes, "think": {"kind": "uniform", "min_ps": 1000, "max_ps": 2000},
            "jitter_ps": 1000,
        }),
        json!({
            "kind": "trace", "start_ps": [0, 1000, 2000], "src": [0, 1, 2], "dst": [0, 0, 1],
            "bytes": [1000, 2000, 3000],
        }),
        json!({
            "kind": "web", "sessions": 5, "session_gap_mean_ps": 1000, "think_mean_ps": 1000,
            "think_from_start": false, "object_gap_mean_ps": 1000, "objects": [2, 7],
            "size_packets": [4, 20], "shape_milli": 1200, "packet_bytes": 500,
        }),
    ]
}

/// The paths of a value and of everything in it.
fn paths(value: &Value, path: &Path, found: &mut Vec<Path>) {
    let mut inner = |name: String, value: &Value| {
        let mut path = path.clone();
        path.push(name);
        found.push(path.clone());
        paths(value, &path, found);
    };
    match value {
        Value::Array(list) => list
            .iter()
            .enumerate()
            .for_each(|(i, it)| inner(i.to_string(), it)),
        Value::Object(fields) => fields.iter().for_each(|(name, it)| inner(name.clone(), it)),
        _ => {}
    }
}

fn at<'a>(job: &'a mut Value, path: &Path) -> &'a mut Value {
    let pointer = format!("/{}", path.join("/"));
    job.pointer_mut(&pointer).expect("a path of the job")
}

/// Other values of the same type, most of them wrong.
fn others(value: &Value) -> Vec<Value> {
    match value {
        Value::Number(number) if number.is_u64() => {
            let number = number.as_u64().unwrap_or_default();
            let near = [
                number / 1000,
                number.saturating_sub(1),
                number + 1,
                number.saturating_mul(1000),
            ];
            let far = [
                0,
                1,
                2,
                65_535,
                65_536,
                1_000_000_001,
                u32::MAX.into(),
                1 << 50,
            ];
            let end = [u64::MAX / 2, u64::MAX - 1, u64::MAX];
            let numbers = near.into_iter().chain(far).chain(end);
            numbers
                .map(Value::from)
                .chain([json!(-1), json!(0.5), Value::Null])
                .collect()
        }
        Value::Number(_) => [0.0, -1.0, 1e-300, 1e300].map(Value::from).to_vec(),
        Value::String(_) => ["", "nowhere", "h0", "h1"].map(Value::from).to_vec(),
        Value::Bool(is) => vec![json!(!is)],
        Value::Array(list) => {
            let reversed: Vec<_> = list.iter().rev().cloned().collect();
            let twice = [list.clone(), list.clone()].concat();
            let shorter = list[..list.len().saturating_sub(1)].to_vec();
            [Vec::new(), shorter, reversed, twice]
                .map(Value::from)
                .to_vec()
        }
        Value::Object(_) => vec![json!({}), Value::Null],
        Value::Null => vec![json!(0), json!(1), json!(u64::MAX)],
    }
}

/// Plans the job, and runs its first packets if its estimate of memory is small.
fn try_out(job: Value, change: &str) {
    let Ok(job) = serde_json::from_value::<Job>(job) else {
        return; // of another type: the error names the field or the place
    };
    let (plan, needed) = most_allocated(|| Plan::new(job));
    assert!(
        needed < MOST_BYTES,
        "{change}: the plan needs {needed} bytes"
    );
    match plan {
        Err(error) => assert!(!error.field.is_empty(), "{change}: {error}"),
        Ok(plan) if memory_bytes(&plan) > MOST_BYTES as u64 => {}
        Ok(plan) => {
            let (_, needed) = most_allocated(|| Simulation::new(plan).advance(3000));
            assert!(
                needed < MOST_BYTES,
                "{change}: the run needs {needed} bytes"
            );
        }
    }
}

#[test]
fn a_changed_job_gives_a_result_or_an_error_that_names_a_field() {
    let mut tried = 0;
    for (job, part) in valid_jobs() {
        let kind = format!(
            "{}",
            job.pointer(&format!("/{part}/kind"))
                .unwrap_or(&Value::Null)
        );
        try_out(job.clone(), &kind);
        let mut found = Vec::new();
        paths(&job, &Path::new(), &mut found);
        for path in found
            .into_iter()
            .filter(|path| part.is_empty() || path[0] == part)
        {
            for other in others(at(&mut job.clone(), &path)) {
                let change = format!("{} of {part} {kind} = {other}", path.join("."));
                let mut changed = job.clone();
                *at(&mut changed, &path) = other;
                try_out(changed, &change);
                tried += 1;
            }
        }
    }
    println!("{tried} changed jobs");
}

#[test]
fn an_impossible_workload_names_its_field() {
    let cases = [
        ("incast", "/pattern/block_bytes", json!(0), "block_bytes"),
        ("incast", "/receivers", json!([]), "receivers"),
        ("incast", "/receivers/0/host", json!("h2"), "senders"),
        ("incast", "/receivers/1/stack", json!(1), "receivers"),
        ("poisson", "/pattern/load_ppm", json!(0), "load_ppm"),
        ("poisson", "/pattern/sizes/points", json!([[5, 1]]), "sizes"),
        (
            "poisson",
            "/pattern/sizes/unit_bytes",
            json!(1_u64 << 50),
            "sizes",
        ),
        ("periodic", "/pattern/period_ps", json!(0), "period_ps"),
        (
            "request-response",
            "/pattern/connections",
            json!(1 << 20),
            "connections",
        ),
        (
            "request-response",
            "/pattern/think/min_ps",
            json!(2001),
            "think.min",
        ),
        ("trace", "/pattern/src", json!([0, 1]), "src"),
        ("trace", "/pattern/src/0", json!(3), "src"),
        ("trace", "/pattern/dst/0", json!(1), "dst"), // from h1 to h1
        ("trace", "/pattern/start_ps/0", json!(1001), "start_ps"),
        ("web", "/pattern/objects", json!([7, 2]), "objects"),
        ("web", "/pattern/objects/1", json!(1_u64 << 21), "objects"),
        ("web", "/pattern/size_packets/0", json!(0), "size_packets"),
    ];
    for (kind, place, value, field) in cases {
        let patterns = patterns();
        let pattern = patterns.iter().find(|it| it["kind"] == kind);
        let mut job = with_workload(pattern.expect("a pattern"));
        let changed = job["workloads"][0].pointer_mut(place);
        *changed.expect("a field") = value;
        let job: Job = serde_json::from_value(job).expect("well-formed");
        let error = Plan::new(job).expect_err(place);
        assert_eq!(error.field, format!("workloads.0.{field}"), "{error}");
    }
}

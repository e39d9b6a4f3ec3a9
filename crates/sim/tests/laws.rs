//! The laws of every record ([`fairport_record::laws`]), checked in random scenarios: topologies,
//! disciplines, shapers, stacks, workloads, UDP beyond the line rate.
//!
//! `PROPTEST_CASES` sets how many scenarios are tried; 60 without it.

use crate::common::watched::run_watched;
use crate::common::{flow, outcast, run, run_in_regions, seconds};
use fairport_record::Recorded;
use fairport_record::laws::{Limits, first_difference, violations};
use proptest::prelude::*;
use serde_json::{Value, json};

const MTU_BYTES: u32 = 1500;
/// A frame of the MTU as the buffer counts it: Ethernet header and FCS (IEEE 802.3).
const FRAME_BYTES: u32 = MTU_BYTES + 18;
/// A frame of the MTU on the wire, with preamble and gap.
const WIRE_BYTES: u32 = FRAME_BYTES + 20;
/// IPv4 and UDP headers, the shortest possible. TCP's is 12 bytes longer.
const HEADERS: u32 = 28;
/// The speed of the fastest clock allowed (IEEE 802.3: 100 ppm).
const FASTEST_CLOCK: f64 = 1.0001;

/// A topology, and how many hosts it has.
fn topology() -> impl Strategy<Value = (Value, usize)> {
    prop_oneof![
        Just((json!({"kind": "fat-tree", "k": 4}), 16)),
        (1..6_usize).prop_map(|peers| (json!({"kind": "two-switch", "peers": peers}), peers + 2)),
        (3..7_usize).prop_map(|hosts| (json!({"kind": "star", "hosts": hosts}), hosts)),
        (2..4_usize, 1..4_usize).prop_map(|(left, right)| {
            (
                json!({"kind": "dumbbell", "left": left, "right": right}),
                left + right,
            )
        }),
        Just((json!({"kind": "testbed"}), 4)),
    ]
}

fn limit() -> impl Strategy<Value = Value> {
    prop_oneof![
        (2 * FRAME_BYTES..64 * FRAME_BYTES).prop_map(|bytes| json!({"bytes": bytes})),
        (2..64_u32).prop_map(|packets| json!({"packets": packets})),
    ]
}

/// The largest number of bytes that a queue with this limit may hold.
fn limit_bytes(limit: &Value) -> Option<f64> {
    let packets = limit["packets"]
        .as_f64()
        .map(|n| n * f64::from(FRAME_BYTES));
    limit["bytes"].as_f64().or(packets)
}

/// A switch port's queue, and the bytes that it has room for.
fn queue() -> impl Strategy<Value = (Value, f64)> {
    (0..11_usize, limit(), any::<bool>(), any::<bool>()).prop_map(
        |(kind, limit, in_service, ecn)| {
            let room = limit_bytes(&limit).expect("a limit");
            let packets = (room / f64::from(FRAME_BYTES)).ceil() as u32;
            let memory = 8 * FRAME_BYTES;
            let queue = match kind {
                0 => json!({"kind": "drop-tail", "limit": limit, "count_in_service": in_service}),
                1 => json!({
                    "kind": "red", "limit": limit, "count_in_service": in_service, "variant": "ns2",
                    "min": {"packets": 2}, "max": {"packets": 8}, "max_p_ppb": 100_000_000,
                    "weight_ppb": 2_000_000, "gentle": true, "ecn": ecn, "mean_packet_bytes": 1000,
                }),
                2 => json!({
                    "kind": "pie", "limit": limit, "count_in_service": in_service,
                    "target_ps": seconds(0.001), "update_ps": seconds(0.001),
                    "max_burst_ps": seconds(0.005), "mean_packet_bytes": 1500, "ecn": ecn,
                }),
                3 => json!({
                    "kind": "step-marking", "limit": limit, "count_in_service": in_service,
                    "mark_above": {"packets": 5},
                }),
                4 => json!({
                    "kind": "sfq", "limit_packets": packets, "buckets": 4, "seed": 0, "placed": [],
                }),
                5 => json!({"kind": "drr", "limit": limit, "quantum_bytes": null}),
                6 => json!({
                    "kind": "codel", "limit": limit, "target_ps": seconds(0.001),
                    "interval_ps": seconds(0.01), "ecn": ecn,
                }),
                7 => json!({
                    "kind": "fq-codel", "limit": limit, "target_ps": seconds(0.001),
                    "interval_ps": seconds(0.01), "ecn": ecn, "queues": 64, "quantum_bytes": 1518,
                }),
                8 => json!({
                    "kind": "linux-sfq", "limit_packets": packets, "depth_packets": 127,
                    "divisor": 1024, "flows": 128, "quantum_bytes": null, "perturb_ps": 0,
                }),
                9 => json!({"kind": "port-fair", "limit": limit}),
                _ => json!({
                    "kind": "shared-buffer", "memory_bytes": memory, "alpha": 1.0,
                    "mark_above": ecn.then(|| json!({"packets": 2})),
                }),
            };
            let room = match kind {
                4 | 8 => f64::from(packets * FRAME_BYTES),
                10 => f64::from(memory),
                _ => room,
            };
            (queue, room)
        },
    )
}

/// A token bucket or no shaper. Disciplines that decide at dequeue have none.
fn shaper() -> impl Strategy<Value = Option<Value>> {
    let tbf = (1..20_u64, 2..70_u32, any::<bool>()).prop_map(|(mbps, frames, is_late)| {
        json!({
            "kind": "tbf", "rate_bps": mbps * 1_000_000, "burst_bytes": frames * FRAME_BYTES,
            "timer_lateness_ps": if is_late { seconds(50e-6) } else { 0 }, "hosts": false,
        })
    });
    prop::option::weighted(0.25, tbf)
}

fn stack() -> impl Strategy<Value = Value> {
    const PRESETS: [&str; 6] = ["linux-2.6", "linux-3.0", "linux-6", "ns2", "ns3", "rfc"];
    const CONTROLS: [&str; 3] = ["newreno", "cubic", "bic"];
    (prop::sample::select(&PRESETS[..]), prop::sample::select(&CONTROLS[..]), any::<bool>())
        .prop_map(|(preset, control, sack)| {
            json!({
                "preset": preset,
                "overrides": {"congestion_control": control, "sack": sack, "rto_min_ps": seconds(0.002)},
            })
        })
}

/// The traffic besides the flows to `h0`.
#[derive(Clone, Copy, Debug)]
enum Besides {
    Nothing,
    /// `percent` of the line's rate, which may be more than 100
    Udp {
        percent: u64,
        payload_bytes: u16,
    },
    /// short transfers between all hosts
    Transfers,
    Requests,
    Incast,
    Periodic,
}

fn besides() -> impl Strategy<Value = Besides> {
    prop_oneof![
        Just(Besides::Nothing),
        (10..300_u64, 100..1472_u16).prop_map(|(percent, payload_bytes)| Besides::Udp {
            percent,
            payload_bytes
        }),
        Just(Besides::Transfers),
        Just(Besides::Requests),
        Just(Besides::Incast),
        Just(Besides::Periodic),
    ]
}

/// What happens in the same picosecond, and whether this is frequent: nothing then spreads the phases.
#[derive(Clone, Debug)]
struct Ties {
    arbitration: &'static str,
    departure_first: bool,
    are_frequent: bool,
}

fn ties() -> impl Strategy<Value = Ties> {
    let arbitration = prop::sample::select(&["round-robin", "fixed", "random"][..]);
    let drawn = (arbitration, any::<bool>(), any::<bool>());
    drawn.prop_map(|(arbitration, departure_first, are_frequent)| Ties {
        arbitration,
        departure_first,
        are_frequent,
    })
}

/// A random job, and what its record is checked against.
#[derive(Clone, Debug)]
struct Drawn {
    job: Value,
    hosts: usize,
    rate_bps: u64,
    /// room of a switch port's queue
    room_bytes: f64,
    host_room_bytes: f64,
    /// a host's processing time per packet, and whether packets may arrive faster than that
    processing_s: f64,
    is_slow: bool,
    /// whether adapters interrupt seldom
    is_bunched: bool,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let network = (
        topology(),
        queue(),
        shaper(),
        prop::sample::select(&[10, 100, 1000][..]),
        ties(),
    );
    let interrupts = prop::sample::select(&[0, 0, 0, 20, 300, 5000_u64][..]);
    let hosts = (
        0..100_u64,
        prop::bool::weighted(0.2),
        1..1000_u32,
        interrupts,
    );
    let traffic = (
        stack(),
        1..6_usize,
        prop::option::of(10_000..200_000_u64),
        prop::option::of(5..20_u64),
        besides(),
    );
    let probes = (
        any::<u64>(),
        20..80_u64,
        prop::option::of(0..15_u64),
        prop::option::of(16..30_u64),
    );
    (network, hosts, traffic, probes).prop_map(|parts| {
        let (network, hosts, traffic, probes) = parts;
        let ((topology, count), (queue, room_bytes), shaper, mbps, ties) = network;
        let (delay_us, is_slow, queue_packets, interrupts_us) = hosts;
        let (stack, flows, size_bytes, stop_ms, besides) = traffic;
        let (seed, duration_ms, from_ms, to_ms) = probes;
        let rate_bps = mbps * 1_000_000;
        let is_scheduled = queue.get("count_in_service").is_none();
        let mut job = outcast();
        job["seed"] = json!(seed);
        job["duration_ps"] = json!(duration_ms * seconds(0.001));
        job["topology"] = topology;
        job["queue"] = queue;
        job["switch"]["arbitration"] = json!(ties.arbitration);
        job["switch"]["departure_first"] = json!(ties.departure_first);
        if ties.are_frequent {
            job["link"]["clock_error_ppb"] = json!(0);
            for part in ["link", "host"] {
                job[part]["delay_spread_ps"] = json!(0);
            }
        }
        job["link"]["rate_bps"] = json!(rate_bps);
        job["link"]["delay_ps"] = json!(delay_us * 1_000_000);
        job["host"]["queue_packets"] = json!(queue_packets);
        // a host that takes longer than the gap between its datagrams has a growing backlog
        let processing_s = if is_slow { 100e-6 } else { 0.5e-6 };
        job["host"]["processing"] = json!({"kind": "constant", "value_ps": seconds(processing_s)});
        job["host"]["interrupt_interval_ps"] = json!(interrupts_us * 1_000_000);
        job["stacks"] = json!([stack]);
        if !is_scheduled {
            job["shaper"] = json!(shaper);
        }
        let sender = |i: usize| format!("h{}", 1 + i % (count - 1));
        let flows: Vec<Value> = (0..flows)
            .map(|i| {
                let mut flow = flow(&sender(i), "h0");
                flow["size_bytes"] = json!(size_bytes);
                if ties.are_frequent {
                    flow["start_jitter_ps"] = json!(0);
                }
                flow["stop_ps"] = json!(stop_ms.map(|ms| ms * seconds(0.001)));
                flow
            })
            .collect();
        job["flows"] = json!(flows);
        add(&mut job, besides, count, rate_bps);
        job["probes"] = json!({
            "series_interval_ps": seconds(0.007), "queue_interval_ps": seconds(0.003),
            "measure_from_ps": from_ms.map(|ms| ms * seconds(0.001)),
            "measure_to_ps": to_ms.map(|ms| ms * seconds(0.001)),
        });
        let host_room_bytes = f64::from(queue_packets * FRAME_BYTES);
        Drawn {
            job,
            hosts: count,
            rate_bps,
            room_bytes,
            host_room_bytes,
            processing_s,
            is_slow,
            is_bunched: interrupts_us > 0,
        }
    })
}

/// Adds traffic to a job.
fn add(job: &mut Value, besides: Besides, hosts: usize, rate_bps: u64) {
    let end = |host: &str| json!({"host": host, "stack": 0});
    let ends: Vec<Value> = (1..hosts).map(|i| end(&format!("h{i}"))).collect();
    let everybody: Vec<Value> = (0..hosts).map(|i| end(&format!("h{i}"))).collect();
    let mut workload = |plan: Value, senders: Value, receivers: Value| {
        job["workloads"] = json!([{
            "traffic": 1, "start_ps": 0, "stop_ps": null, "senders": senders,
            "receivers": receivers, "pattern": plan,
        }]);
    };
    let sizes = json!({"points": [[100, 0], [20_000, 1_000_000_000]], "unit_bytes": 1});
    match besides {
        Besides::Nothing => {}
        Besides::Udp {
            percent,
            payload_bytes,
        } => {
            let mut udp = flow("h1", "h0");
            udp["udp"] = json!({
                "payload_bytes": payload_bytes, "rate_bps": rate_bps / 100 * percent,
                "pattern": {"kind": "constant"},
            });
            let flows = job["flows"].as_array_mut().expect("a list");
            flows.push(udp);
        }
        Besides::Transfers => workload(
            json!({
                "kind": "poisson", "load_ppm": 300_000, "capacity_bps": rate_bps, "flows": null,
                "sizes": sizes,
            }),
            json!(everybody),
            json!(everybody),
        ),
        Besides::Requests => workload(
            json!({
                "kind": "request-response", "connections": 2, "requests": null,
                "request": sizes, "response": sizes,
                "think": {"kind": "exponential", "mean_ps": 100_000_000}, "jitter_ps": 0,
            }),
            json!([end("h0")]),
            json!(ends),
        ),
        Besides::Incast => workload(
            json!({
                "kind": "incast", "block_bytes": 20_000, "rounds": null, "pause_ps": 0,
                "jitter_ps": 100_000_000, "persistent": true,
            }),
            json!(ends),
            json!([end("h0")]),
        ),
        Besides::Periodic => workload(
            json!({
                "kind": "periodic", "size_bytes": 10_000, "period_ps": seconds(0.002),
                "jitter_ps": 1_000_000, "persistent": false,
            }),
            json!(ends),
            json!([end("h0")]),
        ),
    }
}

/// The limits that the record must not exceed. Ports of hosts have names such as `h3:0`.
fn limits(drawn: &Drawn, recorded: &Recorded) -> Limits {
    let ports = recorded.names.iter().find(|(list, _)| *list == "port");
    let room = |name: &String| {
        if name.starts_with('h') {
            drawn.host_room_bytes
        } else {
            drawn.room_bytes
        }
    };
    let payload_share = f64::from(MTU_BYTES - HEADERS) / f64::from(WIRE_BYTES);
    let line_bps = drawn.rate_bps as f64 * payload_share * FASTEST_CLOCK;
    let host_bps = f64::from(MTU_BYTES - HEADERS) * 8.0 / drawn.processing_s;
    // A slow host may already have a backlog of small datagrams when the measurement begins, and packets may wait for an
    // interrupt then.
    let payload_bps = if drawn.is_slow || drawn.is_bunched {
        line_bps.max(host_bps)
    } else {
        line_bps
    };
    Limits {
        payload_bps: vec![payload_bps; drawn.hosts],
        queue_bytes: ports.expect("names of ports").1.iter().map(room).collect(),
        segment_bytes: f64::from(MTU_BYTES - HEADERS),
    }
}

fn cases() -> u32 {
    let cases = std::env::var("PROPTEST_CASES").ok();
    cases.and_then(|cases| cases.parse().ok()).unwrap_or(60)
}

/// Checks that two runs of the job have the same record, row for row.
fn check_equal(one: &Recorded, other: &Recorded, job: &Value) -> Result<(), TestCaseError> {
    prop_assert_eq!(first_difference(one, other), None, "{}", job);
    prop_assert_eq!(one.fingerprint, other.fingerprint, "{}", job);
    prop_assert_eq!(one.packet_hops, other.packet_hops, "{}", job);
    prop_assert_eq!(one.events, other.events, "{}", job);
    for (one, other) in one.tables.iter().zip(&other.tables) {
        for ((name, one), (_, other)) in one.columns.iter().zip(&other.columns) {
            // compared as text, because NaN is not equal to NaN
            prop_assert_eq!(
                format!("{one:?}"),
                format!("{other:?}"),
                "{}: {}",
                name,
                job
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn every_record_obeys_the_laws(drawn in drawn()) {
        let recorded = run(&drawn.job);
        let broken = violations(&recorded, &limits(&drawn, &recorded));
        prop_assert!(broken.is_empty(), "{broken:#?}\n{}", drawn.job);
    }

    #[test]
    fn probes_change_nothing(drawn in drawn()) {
        let one = run(&drawn.job);
        let mut job = drawn.job.clone();
        job["probes"] = json!({
            "series_interval_ps": seconds(0.0011), "queue_interval_ps": 77_000_000,
            "measure_from_ps": seconds(0.005), "measure_to_ps": seconds(0.01),
        });
        let other = run(&job);
        prop_assert_eq!(first_difference(&one, &other), None, "{}", drawn.job);
        prop_assert_eq!(one.fingerprint, other.fingerprint);
    }

    /// Nothing is forwarded ahead to a port that is watched.
    #[test]
    fn forwarding_ahead_changes_nothing(drawn in drawn()) {
        let ahead = run(&drawn.job);
        let by_events = run_watched(&drawn.job);
        check_equal(&ahead, &by_events, &drawn.job)?;
    }

    /// A run in several regions has the same record as the run in one.
    #[test]
    fn regions_change_nothing(drawn in drawn()) {
        let one = run(&drawn.job);
        for (regions, at_once) in [(2, true), (3, true), (8, true), (2, false), (5, false)] {
            let other = run_in_regions(&drawn.job, regions, at_once);
            check_equal(&one, &other, &drawn.job)?;
        }
    }
}

//! What a plan says about a job: draws, what is watched, what is expected.

use std::collections::BTreeSet;

use crate::common::{MS, US, flow, job, parsed, plan, workload};
use fairport_net::PortId;
use fairport_plan::flow::ListedFlow;
use fairport_plan::{MeasureFrom, Plan};
use fairport_units::{Duration, Instant};
use serde_json::{Value, json};

#[test]
fn each_link_into_a_bcube_host_has_random_times_of_its_own() {
    let mut job = job(&json!({"kind": "bcube", "n": 2, "k": 1}));
    job["host"]["processing"] = json!({"kind": "exponential", "mean_ps": US});
    let plan = plan(&job);
    let topology = plan.topology();
    let host = topology.hosts()[0];
    let into_host = (0..).map(PortId).zip(plan.ports());
    let mut servers: Vec<_> = into_host
        .filter(|(port, _)| topology.far_node(*port) == host)
        .filter_map(|(_, config)| config.far_processing)
        .collect();
    assert_eq!(servers.len(), 2, "one link per level");
    let [first, second] = [0, 1].map(|i| {
        let server = &mut servers[i];
        [0, 1, 2].map(|ms| server.serve(Instant::from_ms(ms)))
    });
    assert!(first.iter().zip(second).all(|(a, b)| *a != b));
}

#[test]
fn a_measurement_begins_at_a_time_or_when_the_listed_flows_without_end_are_established() {
    let mut job = job(&json!({"kind": "star", "hosts": 3}));
    let mut sized = flow("h1", "h0");
    sized["size_bytes"] = json!(1000);
    job["flows"] = json!([flow("h1", "h0"), flow("h2", "h0"), sized]);
    let from = |job: &Value| plan(job).measurement().from;
    assert_eq!(from(&job), MeasureFrom::Established { flows: 2 });
    job["probes"]["measure_from_ps"] = json!(5 * MS);
    assert_eq!(from(&job), MeasureFrom::At(Instant::from_ms(5)));
    assert_eq!(plan(&job).end(), Instant::from_ms(100));
}

fn udp(src: &str, rate_bps: u64, payload_bytes: u16) -> Value {
    let mut flow = flow(src, "h0");
    flow["start_jitter_ps"] = json!(0);
    flow["start_ps"] = json!(0);
    let pattern = json!({"kind": "constant"});
    flow["udp"] = json!({"payload_bytes": payload_bytes, "rate_bps": rate_bps, "pattern": pattern});
    flow
}

#[test]
fn datagrams_for_which_a_link_has_no_room_are_expected_to_be_dropped() {
    let mut job = job(&json!({"kind": "star", "hosts": 3}));
    let drops = |job: &Value| plan(job).expected().drops;
    // 1000 bytes and 66 of headers, preamble and gap: half of 1 Gbit/s fits
    job["flows"] = json!([udp("h1", 450_000_000, 1000), udp("h2", 450_000_000, 1000)]);
    assert_eq!(drops(&job), 0);
    // two sources that fill their own links share that of the receiver: of 2 * 11 250 datagrams in
    // 100 ms, 1 Gbit/s / (8 * 1066 bits) carries 11 726
    job["flows"] = json!([udp("h1", 900_000_000, 1000), udp("h2", 900_000_000, 1000)]);
    let dropped = drops(&job);
    assert!((10_700..10_850).contains(&dropped), "{dropped}");
    // datagrams of one byte each, of which 29 in 30 exceed the sender's own link
    job["flows"] = json!([udp("h1", 1_000_000_000, 1)]);
    let dropped = drops(&job) as f64 / 12_500_000.0;
    assert!(dropped > 0.95 && dropped < 1.0, "{dropped}");
}

#[test]
fn a_round_of_incast_takes_at_least_three_trips() {
    let flows = |delay_ps: u64, persistent: bool| {
        let mut job = job(&json!({"kind": "star", "hosts": 3}));
        job["link"]["delay_ps"] = json!(delay_ps);
        let pattern = json!({
            "kind": "incast", "block_bytes": 1, "rounds": null, "pause_ps": 0, "jitter_ps": 0,
            "persistent": persistent,
        });
        job["workloads"] = json!([workload(&[1, 2], &[0], &pattern)]);
        plan(&job).expected().flows
    };
    // a trip is two links of 1 ms and some 15 us in hosts and the switch; the run lasts for 100 ms
    assert_eq!(flows(MS, false), 2 * (100_000 / 6_045 + 1));
    assert!((2 * 1_500..2 * 3_000).contains(&flows(US, false)));
    assert_eq!(flows(MS, true), 2);
}

/// Links of their own rates: one to each host of a star, in Gbit/s.
fn star(gbps: &[u64]) -> Value {
    let names: Vec<String> = (0..gbps.len()).map(|i| format!("h{i}")).collect();
    let link = |(name, gbps): (&String, &u64)| json!({"ends": [name, "s"], "rate_bps": gbps * 1_000_000_000});
    let links: Vec<Value> = names.iter().zip(gbps).map(link).collect();
    json!({"kind": "graph", "hosts": names, "switches": ["s"], "links": links})
}

#[test]
fn estimates_follow_the_rates_of_the_links_themselves() {
    let drops = |gbps: &[u64]| {
        let mut job = job(&star(gbps));
        job["flows"] = json!([flow("h1", "h0"), flow("h2", "h0")]);
        plan(&job).expected().drops
    };
    // a tenth of what the port that two flows share can send in 100 ms, or of what the two can send
    assert_eq!(drops(&[1, 1, 1]), 833);
    assert_eq!(drops(&[10, 1, 1]), 1666);
    assert_eq!(drops(&[10, 100, 100]), 8333);
    let rounds = |gbps: &[u64]| {
        let mut job = job(&star(gbps));
        let pattern = json!({
            "kind": "incast", "block_bytes": 1_000_000, "rounds": null, "pause_ps": 0,
            "jitter_ps": 0, "persistent": false,
        });
        job["workloads"] = json!([workload(&[1, 2], &[0], &pattern)]);
        plan(&job).expected().flows / 2
    };
    // 2 MB take 16 ms at 1 Gbit/s
    assert_eq!(rounds(&[1, 10, 10]), 7);
    assert_eq!(rounds(&[10, 10, 10]), 61);
}

#[test]
fn a_port_by_which_a_host_reaches_itself_is_not_watched() {
    let mut job = job(&json!({"kind": "bcube", "n": 2, "k": 1}));
    job["flows"] = json!([flow("h1", "h0"), flow("h1", "h0")]);
    let plan = plan(&job);
    let names = plan.topology().port_names();
    assert_eq!(names[plan.watch().traced.0 as usize], "h1:0");
    let queues = plan.watch().queues.iter();
    let queues: Vec<_> = queues.map(|port| &*names[port.0 as usize]).collect();
    assert_eq!(queues, ["sw0.0:0", "h1:0"]);
    // and its rate of 10 Tbit/s is that of no link
    assert_eq!(plan.expected().drops, 833);
}

#[test]
fn a_hash_of_datagrams_takes_their_own_protocol() {
    let spine = |is_udp: bool| {
        let mut job = job(&json!({
            "kind": "leaf-spine", "leaves": 2, "spines": 8, "hosts_per_leaf": 1,
        }));
        job["routing"] = json!("ecmp");
        let flow = if is_udp {
            udp("h1", 1_000_000, 1000)
        } else {
            flow("h1", "h0")
        };
        job["flows"] = json!(vec![flow; 40]);
        let layout = fairport_plan::layout(&parsed(&job), 1000).unwrap();
        let of_flows = layout.flows.iter();
        of_flows.map(|flow| flow.forward[0][1]).collect::<Vec<_>>()
    };
    let alike = spine(false).into_iter().zip(spine(true));
    // one in eight would take the same by chance
    assert!(alike.filter(|(tcp, udp)| tcp == udp).count() < 15);
}

/// The ideal completion time of one transfer of this size from `h1` to `h0`.
fn ideal(mut job: Value, size_bytes: u64) -> Duration {
    job["link"]["clock_error_ppb"] = json!(0);
    job["flows"] = json!([flow("h1", "h0")]);
    job["flows"][0]["size_bytes"] = json!(size_bytes);
    let plan = plan(&job);
    let ports = plan.ports();
    let mut built = plan.into_parts(&ports);
    let first = built.flows[0];
    let (flow, _) = built
        .factory
        .create(&built.topology, 0, first.start, first.spec);
    flow.ideal
}

#[test]
fn a_short_last_segment_is_faster_than_a_full_one_after_the_slowest_link() {
    // 1448 B of payload take 1538 B on the wire, and 1000 B take 448 B less
    let fast_last = job(&star(&[10, 1, 1]));
    let full = ideal(fast_last.clone(), 2 * 1448);
    let short = ideal(fast_last, 1448 + 1000);
    // 8 ns per byte on the slow link, and 0.8 ns behind it
    assert_eq!(full - short, Duration::from_ps(448 * (8_000 + 800)));
    // the other way round it waits for the full one in front of the slow link, whatever its size
    let slow_last = job(&star(&[1, 10, 10]));
    let full = ideal(slow_last.clone(), 2 * 1448);
    let short = ideal(slow_last, 1448 + 1000);
    assert_eq!(full - short, Duration::from_ps(448 * 8_000));
}

#[test]
fn a_transfer_of_less_than_a_segment_takes_a_short_packet() {
    let ideal = |size_bytes| ideal(job(&star(&[1, 1, 1])), size_bytes);
    // over two links of 8 ns per byte
    assert_eq!(ideal(1000) - ideal(400), Duration::from_ns(600 * 8 * 2));
    // 1448 B are a whole segment, and one byte more is a second packet, which is 1447 B shorter
    let second = (1538 - 1447) * 8;
    assert_eq!(ideal(1449) - ideal(1448), Duration::from_ns(second));
}

#[test]
fn a_transfer_that_would_take_years_has_no_ideal_completion_time() {
    let mut slow = job(&json!({"kind": "star", "hosts": 3}));
    slow["link"]["rate_bps"] = json!(2_100);
    let ideal = |size_bytes: u64| ideal(slow.clone(), size_bytes);
    // 4 GB and 6 % of headers, preambles and gaps
    let days = ideal(4_000_000_000).as_secs_f64() / 86_400.0;
    assert!((185.0..190.0).contains(&days), "{days}");
    for size_bytes in [5_000_000_000, i64::MAX as u64, u64::MAX] {
        assert_eq!(ideal(size_bytes), Duration::NEVER);
    }
}

#[test]
fn the_largest_workloads_have_an_estimate() {
    let endless = u64::MAX / 4;
    let sizes = json!({"points": [[1_u64 << 50, 1_000_000_000]], "unit_bytes": 1});
    let patterns = [
        json!({
            "kind": "incast", "block_bytes": endless, "rounds": null, "pause_ps": endless,
            "jitter_ps": 0, "persistent": false,
        }),
        json!({
            "kind": "periodic", "size_bytes": endless, "period_ps": 1, "jitter_ps": 0,
            "persistent": false,
        }),
        json!({
            "kind": "poisson", "load_ppm": 1, "capacity_bps": 1, "sizes": sizes,
        }),
        json!({
            "kind": "web", "sessions": 1_000_000, "session_gap_mean_ps": 0, "think_mean_ps": 1,
            "think_from_start": false, "object_gap_mean_ps": 0, "objects": [1, 1 << 20],
            "size_packets": [1, 1_u64 << 50], "shape_milli": 1200, "packet_bytes": 1,
        }),
    ];
    for pattern in patterns {
        let mut job = job(&json!({"kind": "star", "hosts": 12}));
        job["duration_ps"] = json!(endless);
        job["workloads"] = json!([workload(
            &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
            &[0],
            &pattern
        )]);
        let flows = plan(&job).expected().flows;
        let is_few = matches!(pattern["kind"].as_str(), Some("incast" | "poisson"));
        assert_eq!(flows < 100, is_few, "{pattern}: {flows}");
    }
}

#[test]
fn counts_by_output_and_ingress_port_grow_with_the_square_of_a_switch() {
    let pairs = |hosts: u64| {
        let plan = plan(&job(&json!({"kind": "star", "hosts": hosts})));
        plan.expected().port_pairs
    };
    assert_eq!(pairs(10), 10 * 10 + 10);
    assert_eq!(pairs(65_535), 65_535 * 65_535 + 65_535);
}

#[test]
fn every_switch_port_has_memory_for_its_queues() {
    let bytes = |queue: &Value| {
        let mut job = job(&json!({"kind": "star", "hosts": 10}));
        job["queue"] = queue.clone();
        plan(&job).expected().queue_bytes
    };
    let fq_codel = |queues: u64| {
        json!({
            "kind": "fq-codel", "limit": {"bytes": 65_536}, "target_ps": US, "interval_ps": MS, "ecn": false,
            "queues": queues, "quantum_bytes": null,
        })
    };
    assert_eq!(bytes(&fq_codel(1024)), 10 * 1024 * 64);
    assert_eq!(bytes(&fq_codel(65_536)), 64 * bytes(&fq_codel(1024)));
    let sfq = json!({"kind": "sfq", "limit_packets": 40, "buckets": 16, "seed": null, "placed": [["h0"]]});
    assert!(bytes(&sfq) >= 10 * (16 + 10) * 8);
    let drop_tail =
        json!({"kind": "drop-tail", "limit": {"bytes": 65_536}, "count_in_service": true});
    assert_eq!(bytes(&drop_tail), 0);
}

#[test]
fn a_workload_of_many_pairs_is_sampled_and_finds_the_busy_ports() {
    // 432 senders to 432 receivers are 186 192 pairs: more than are counted one by one
    let mut job = job(&json!({"kind": "fat-tree", "k": 12}));
    let all: Vec<u32> = (0..432).collect();
    let pattern = json!({
        "kind": "poisson", "load_ppm": 100_000, "capacity_bps": 1_000_000_000,
        "sizes": {"points": [[1000, 1_000_000_000]], "unit_bytes": 1},
    });
    job["probes"]["watched_ports"] = json!(36);
    job["routing"] = json!("spanning-tree");
    job["workloads"] = json!([workload(&all, &all, &pattern)]);
    let plan = plan(&job);
    // all that leaves a pod passes the one root: its 12 ports, and those up to it, carry most
    let names = plan.topology().port_names();
    let mut watched = plan
        .watch()
        .queues
        .iter()
        .map(|port| &names[port.0 as usize]);
    for pod in 0..12 {
        let core = format!("core0:{pod}");
        assert!(watched.clone().any(|name| *name == core), "{core}");
    }
    assert!(watched.all(|name| name.starts_with("core0")
        || name.starts_with("agg")
        || name.starts_with("edge")));
    assert_eq!(plan.watch().queues.len(), 36);
}

#[test]
fn a_poisson_load_is_a_share_of_the_senders_own_links() {
    let expected = |topology: &Value, senders: &[u32]| {
        let mut job = job(topology);
        let pattern = json!({
            "kind": "poisson", "load_ppm": 500_000, "capacity_bps": null,
            "sizes": {"points": [[125_000, 1_000_000_000]], "unit_bytes": 1},
        });
        job["workloads"] = json!([workload(senders, &[3], &pattern)]);
        plan(&job).expected().flows
    };
    // 100 ms at half of the links' rate in flows of 1 Mbit: 50 flows per Gbit/s
    let star = json!({
        "kind": "graph", "hosts": ["h0", "h1", "h2", "h3"], "switches": ["s"],
        "links": [
            {"ends": ["h0", "s"], "rate_bps": 10_000_000_000_u64},
            {"ends": ["h1", "s"], "rate_bps": 2_000_000_000_u64},
            {"ends": ["h2", "s"]},
            {"ends": ["h3", "s"]},
        ],
    });
    assert_eq!(expected(&star, &[0]), 500);
    assert_eq!(expected(&star, &[0, 1, 2]), 650);
    // two links, and the fast ports by which a host that forwards reaches itself
    let bcube = json!({"kind": "bcube", "n": 2, "k": 1});
    assert_eq!(expected(&bcube, &[0]), 100);
}

#[test]
fn the_flows_of_a_trace_are_between_the_pairs_that_it_lists() {
    let mut job = job(&json!({"kind": "star", "hosts": 4}));
    let pattern = json!({
        "kind": "trace", "start_ps": [0, 1, 2], "src": [0, 1, 0], "dst": [0, 1, 0],
        "bytes": [1, 1, 1],
    });
    job["workloads"] = json!([workload(&[0, 1], &[2, 3], &pattern)]);
    let layout = fairport_plan::layout(&parsed(&job), 4).unwrap();
    let pairs = layout.flows.iter().map(|flow| (&*flow.src, &*flow.dst));
    assert_eq!(pairs.collect::<Vec<_>>(), [("h0", "h2"), ("h1", "h3")]);
    // each has a path for data and one for ACKs
    let refused = fairport_plan::layout(&parsed(&job), 3).unwrap_err();
    assert_eq!(refused.field, "routing.kind");
    // two flows share the port to h2, and one has that to h3 for itself
    let plan = plan(&job);
    let names = plan.topology().port_names();
    let watched = plan
        .watch()
        .queues
        .iter()
        .map(|port| &*names[port.0 as usize]);
    assert_eq!(watched.collect::<Vec<_>>(), ["s0:2"]);
}

#[test]
fn without_spread_every_seed_gives_the_same_constants() {
    let mut job = job(&json!({"kind": "star", "hosts": 3}));
    job["link"]["delay_spread_ps"] = json!(0);
    job["host"]["delay_spread_ps"] = json!(0);
    job["link"]["clock_error_ppb"] = json!(0);
    let timing = plan(&job).timing().clone();
    assert!(timing.link_extra.iter().all(|it| *it == Duration::ZERO));
    assert!(timing.clock_errors_ppb.iter().all(|it| *it == 0));
    job["seed"] = json!(2);
    assert_eq!(timing, *plan(&job).timing());
}

#[test]
fn a_queue_is_emptied_by_its_line_where_the_shaper_is_faster() {
    let queue = |shaper_bps: Option<u64>| {
        let mut job = job(&json!({"kind": "star", "hosts": 3}));
        job["queue"] = json!({
            "kind": "red", "limit": {"bytes": 16_384}, "count_in_service": false, "variant": "ns2",
            "min": {"packets": 5}, "max": {"packets": 15}, "max_p_ppb": 100_000_000,
            "weight_ppb": 2_000_000, "gentle": true, "ecn": false, "mean_packet_bytes": 500,
        });
        if let Some(rate_bps) = shaper_bps {
            job["shaper"] = json!({
                "kind": "tbf", "rate_bps": rate_bps, "burst_bytes": 20_000, "timer_lateness_ps": 0,
                "hosts": false,
            });
        }
        let plan = plan(&job);
        let of_switch =
            |port: &PortId| !plan.topology().port_names()[port.0 as usize].starts_with('h');
        let port = plan.topology().port_ids().find(of_switch);
        let port = port.expect("the switch has ports").0 as usize;
        format!("{:?}", plan.ports()[port].queueing)
    };
    // how fast the average of an idle queue falls depends on the rate
    let line = queue(None);
    assert_eq!(queue(Some(10_000_000_000)), line);
    assert_ne!(queue(Some(100_000_000)), line);
}

#[test]
fn flows_that_a_trace_starts_after_the_end_are_not_expected() {
    let mut job = job(&json!({"kind": "star", "hosts": 3}));
    let pattern = json!({
        "kind": "trace", "start_ps": [0, 99 * MS, 100 * MS, 200 * MS], "src": [0, 0, 0, 0],
        "dst": [0, 0, 0, 0], "bytes": [1, 1, 1, 1],
    });
    job["workloads"] = json!([workload(&[1], &[0], &pattern)]);
    assert_eq!(plan(&job).expected().flows, 2);
    job["workloads"][0]["stop_ps"] = json!(50 * MS);
    assert_eq!(plan(&job).expected().flows, 1);
}

#[test]
fn in_a_permutation_every_host_sends_to_one_other_and_receives_from_one() {
    let mut job = job(&json!({"kind": "star", "hosts": 6}));
    job["stacks"] = json!(vec![job["stacks"][0].clone(); 6]);
    let listed = |host: usize, traffic: u32| {
        let (src, dst) = (host % 6, (host + 1) % 6);
        let mut flow = flow(&format!("h{src}"), &format!("h{dst}"));
        flow["traffic"] = json!(traffic);
        flow["sender_stack"] = json!(src);
        flow["receiver_stack"] = json!(dst);
        flow
    };
    // two flows of each host in the permutation, and one that is not a part of it
    let flows = (0..12).map(|flow| listed(flow / 2, 1));
    job["flows"] = flows.chain([listed(0, 0)]).collect();
    job["permutations"] = json!([1]);
    let mut found = BTreeSet::new();
    for seed in 0..20 {
        job["seed"] = json!(seed);
        let plan = plan(&job);
        let ends = |flow: &ListedFlow| [flow.spec.src, flow.spec.dst];
        let pairs: Vec<_> = plan.flows().iter().map(ends).collect();
        assert_eq!(pairs[12].map(|end| end.host), [0, 1]);
        assert!(pairs[..12].chunks(2).all(|two| two[0] == two[1]));
        assert!(pairs.iter().flatten().all(|end| end.host == end.stack));
        let to: Vec<u32> = pairs[..12].iter().step_by(2).map(|it| it[1].host).collect();
        assert!((0..6).zip(&to).all(|(src, dst)| src != *dst));
        assert_eq!(to.iter().collect::<BTreeSet<_>>().len(), 6);
        found.insert(to);
    }
    assert!(found.len() > 15, "265 are possible");
}

#[test]
fn a_permutation_needs_hosts_that_send_and_receive() {
    let mut job = job(&json!({"kind": "star", "hosts": 3}));
    job["flows"] = json!([flow("h1", "h0"), flow("h2", "h0")]);
    for number in [0, 1] {
        job["permutations"] = json!([number]);
        let error = Plan::new(parsed(&job)).expect_err("no host sends and receives");
        assert_eq!(error.field, "permutations.0");
    }
}

#[test]
fn a_queue_whose_backlog_cannot_be_counted_in_32_bits_is_refused() {
    let refused = |job: &Value| Plan::new(parsed(job)).expect_err("4 GiB").field;
    let mut job = job(&json!({"kind": "star", "hosts": 2}));
    job["flows"] = json!([flow("h1", "h0")]);
    let many = json!(3_000_000);
    job["host"]["queue_packets"] = many.clone();
    assert_eq!(refused(&job), "host.queue");
    job["host"]["queue_packets"] = json!(1000);
    let limit = json!({"packets": many});
    for queue in [
        json!({"kind": "drop-tail", "limit": limit, "count_in_service": true}),
        json!({"kind": "drr", "limit": limit, "quantum_bytes": null}),
        json!({"kind": "sfq", "limit_packets": many, "buckets": 16, "seed": null, "placed": []}),
        json!({
            "kind": "linux-sfq", "limit_packets": many, "depth_packets": 127, "divisor": 1024,
            "flows": 128, "quantum_bytes": null, "perturb_ps": 0,
        }),
    ] {
        job["queue"] = queue;
        assert_eq!(refused(&job), "queue.limit");
    }
}

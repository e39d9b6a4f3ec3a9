//! Laws of plans, held by random small jobs.

use crate::common::{MS, US, flow, job, parsed, plan};
use fairport_net::{NodeId, PortId, Topology};
use fairport_plan::{Parts, Plan};
use fairport_units::Duration;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A topology and its number of hosts.
fn topology() -> impl Strategy<Value = (Value, u32)> {
    prop_oneof![
        prop_oneof![Just(2_u32), Just(4), Just(6)]
            .prop_map(|k| (json!({"kind": "fat-tree", "k": k}), k * k * k / 4)),
        (1..4_u32, 1..3_u32, 1..4_u32).prop_map(|(leaves, spines, hosts)| (
            json!({
                "kind": "leaf-spine", "leaves": leaves + 1, "spines": spines, "hosts_per_leaf": hosts,
            }),
            (leaves + 1) * hosts
        )),
        (1..3_u32, 1..3_u32, 2..4_u32).prop_map(|(aggs, edges, hosts)| (
            json!({
                "kind": "three-tier", "aggs": aggs, "edges_per_agg": edges, "hosts_per_edge": hosts,
            }),
            aggs * edges * hosts
        )),
        (2..4_u32, 0..3_u32)
            .prop_map(|(n, k)| (json!({"kind": "bcube", "n": n, "k": k}), n.pow(k + 1))),
        (2..9_u32).prop_map(|hosts| (json!({"kind": "star", "hosts": hosts}), hosts)),
        (1..5_u32, 1..5_u32).prop_map(|(left, right)| (
            json!({"kind": "dumbbell", "left": left, "right": right}),
            left + right
        )),
    ]
}

fn routing() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!("destination-suffix")),
        Just(json!("ecmp")),
        Just(json!("ripl-hash")),
        Just(json!("spanning-tree")),
        Just(json!("spray")),
    ]
}

/// What a flow has beside its ends: start, jitter, stop and size.
type Times = (u64, u64, Option<u64>, Option<u64>);

fn times() -> impl Strategy<Value = Times> {
    (
        0..50 * MS,
        prop_oneof![Just(0), 0..20 * MS],
        prop::option::of(0..100 * MS),
        prop::option::of(1..1_000_000_u64),
    )
}

prop_compose! {
    /// A job with up to ten flows between random hosts, some of them UDP.
    fn any_job()
        ((topology, hosts) in topology(), routing in routing(), seed in any::<u64>(), spread in 0..10 * US)
        (
            flows in prop::collection::vec(
                (0..hosts, 1..hosts, times(), any::<bool>()), 0..10
            ),
            topology in Just(topology), routing in Just(routing), seed in Just(seed),
            spread in Just(spread), hosts in Just(hosts),
        ) -> Value {
        let mut job = job(&topology);
        job["seed"] = json!(seed);
        job["routing"] = routing;
        job["link"]["delay_spread_ps"] = json!(spread);
        let flows = flows.into_iter().map(|(src, step, times, is_udp)| {
            let (start, jitter, stop, size) = times;
            let dst = (src + step) % hosts;
            let mut flow = flow(&format!("h{src}"), &format!("h{dst}"));
            flow["start_ps"] = json!(start);
            flow["start_jitter_ps"] = json!(jitter);
            flow["stop_ps"] = json!(stop);
            flow["size_bytes"] = json!(size);
            if is_udp {
                flow["udp"] = json!({
                    "payload_bytes": 1000, "rate_bps": 1_000_000, "pattern": {"kind": "poisson"},
                });
            }
            flow
        });
        job["flows"] = flows.collect();
        job
    }
}

/// Asserts that each port of the path is at the node to which the one before it leads.
fn leads(topology: &Topology, path: &[PortId], from: NodeId, to: NodeId) {
    let mut node = from;
    for port in path {
        assert_eq!(topology.port(*port).node, node, "a port of the node");
        node = topology.far_node(*port);
    }
    assert_eq!(node, to, "the path's end");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_document_is_read_as_it_was_written(job in any_job()) {
        let written = serde_json::to_value(parsed(&job)).unwrap();
        let again = serde_json::to_value(parsed(&written)).unwrap();
        prop_assert_eq!(&written, &again);
        // and says at least what it was made from
        prop_assert_eq!(&written["topology"], &job["topology"]);
        prop_assert_eq!(&written["routing"], &job["routing"]);
        for (flow, given) in written["flows"].as_array().unwrap().iter().zip(
            job["flows"].as_array().unwrap()
        ) {
            for (key, value) in given.as_object().unwrap() {
                prop_assert_eq!(&flow[key], value);
            }
        }
    }

    #[test]
    fn the_same_job_gives_the_same_plan(job in any_job()) {
        let text = |plan: &Plan| serde_json::to_string(plan).unwrap();
        let plans = [plan(&job), plan(&job)];
        prop_assert_eq!(text(&plans[0]), text(&plans[1]));
        let ports = plans.map(|plan| format!("{:?}", plan.ports()));
        prop_assert_eq!(&ports[0], &ports[1]);
    }

    #[test]
    fn what_is_drawn_lies_in_its_range(job in any_job()) {
        let plan = plan(&job);
        for (flow, given) in plan.flows().iter().zip(&plan.job().flows) {
            let earliest = given.start_ps;
            prop_assert!(flow.start >= earliest);
            prop_assert!(flow.start <= earliest + given.start_jitter_ps);
            prop_assert_eq!(flow.stop.is_some(), given.stop_ps.is_some());
            prop_assert!(flow.stop.is_none_or(|stop| stop >= flow.start));
        }
        let link = &plan.job().link;
        let timing = plan.timing();
        prop_assert!(timing.link_extra.iter().all(|extra| *extra <= link.delay_spread_ps));
        let most = link.clock_error_ppb;
        prop_assert!(timing.clock_errors_ppb.iter().all(|error| error.unsigned_abs() <= most));
        let host = &plan.job().host;
        let longest = host.delay_ps + host.delay_spread_ps;
        let within = |latency: &Duration| (host.delay_ps..=longest).contains(latency);
        prop_assert!(timing.host_latency.iter().all(within));
    }

    #[test]
    fn every_path_leads_from_the_source_to_the_destination_and_back(job in any_job()) {
        let plan = plan(&job);
        let ports = plan.ports();
        let Parts { topology, mut factory, flows, .. } = plan.into_parts(&ports);
        for (number, listed) in (0..).zip(flows) {
            let [src, dst] = [listed.spec.src, listed.spec.dst];
            let [from, to] = [src, dst].map(|end| topology.hosts()[end.host as usize]);
            let (flow, paths) = factory.create(&topology, number, listed.start, listed.spec);
            prop_assert!(!paths.forward.is_empty() && !paths.backward.is_empty());
            for path in &paths.forward {
                leads(&topology, path, from, to);
                prop_assert!(path.len() >= flow.hops as usize, "no path is shorter than the shortest");
            }
            for path in &paths.backward {
                leads(&topology, path, to, from);
            }
        }
    }

    #[test]
    fn watched_ports_are_forwarding_nodes_ports_that_two_flows_or_more_pass_or_else_one(job in any_job()) {
        let mut job = job;
        job["probes"]["watched_ports"] = json!(1000); // more than there are
        let plan = plan(&job);
        let queues = plan.watch().queues.clone();
        let ports = plan.ports();
        prop_assert!(queues.is_sorted_by(|a, b| a < b), "in order, each once");
        let Parts { topology, mut factory, flows, .. } = plan.into_parts(&ports);
        let mut passing = vec![0; topology.ports().len()];
        for (number, flow) in (0..).zip(flows) {
            factory.paths(&topology, number, &flow.spec).count(&mut passing);
        }
        let forwards = |port| topology.node(topology.port(port).node).forwards && topology.leads_on(port);
        let passing: Vec<_> = (0..).map(PortId).zip(passing).filter(|(port, _)| forwards(*port)).collect();
        let is_shared = passing.iter().any(|(_, passing)| *passing >= 2);
        for (port, passing) in passing {
            prop_assert_eq!(queues.contains(&port), passing >= if is_shared { 2 } else { 1 });
        }
    }
}

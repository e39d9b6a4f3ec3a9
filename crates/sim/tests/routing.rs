//! The effect of routing on a run: which flow is in which hop class, and what becomes of the outcast.

use crate::common::{self, column, flow, number_of, outcast, run};
use serde_json::{Value, json};

fn outcast_by(routing: Value) -> Value {
    let mut job = outcast();
    job["routing"] = routing;
    job
}

fn equal_length(per: &str) -> Value {
    json!({"equal-length": {"core": null, "per": per}})
}

fn hops(job: &Value) -> Vec<f64> {
    column(&run(job), "flows", "hops")
}

#[test]
fn a_flows_hop_class_is_its_distance_however_it_is_routed() {
    let mut short = outcast();
    short["duration_ps"] = json!(common::seconds(0.01));
    let distances = hops(&short);
    assert_eq!(distances[..4], [2.0, 4.0, 4.0, 6.0]);
    for routing in [equal_length("flow"), equal_length("packet"), json!("spray")] {
        short["routing"] = routing;
        assert_eq!(hops(&short), distances);
    }
}

#[test]
fn equal_length_routing_gives_the_outcast_its_share() {
    let ratio = |job: &Value| {
        let goodput = column(&run(job), "flows", "goodput_bps");
        let peers: f64 = goodput[3..].iter().sum();
        goodput[0] / (peers / 12.0)
    };
    let (before, after) = (ratio(&outcast()), ratio(&outcast_by(equal_length("flow"))));
    assert!(before < 0.5 && after > 2.0 * before, "{before} and {after}");
}

/// The packets that each port sent when one flow had the network to itself for 0.1 s.
fn packets_by_port(routing: Value, sender: &str) -> impl Fn(&str) -> f64 {
    let mut job = outcast_by(routing);
    job["duration_ps"] = json!(common::seconds(0.1));
    job["flows"] = json!([flow(sender, "h0")]);
    let results = run(&job);
    let packets = column(&results, "ports", "packets");
    move |name| packets[number_of(&results, "port", name)]
}

#[test]
fn packets_that_draw_a_path_each_use_every_way() {
    // there are 4 paths of 6 links; 2 of them use each upward port of the sender's edge switch
    for (routing, sender, edge) in [
        (json!("spray"), "h15", "edge3.1"),
        (equal_length("packet"), "h15", "edge3.1"),
        (equal_length("packet"), "h1", "edge0.0"),
    ] {
        let of = packets_by_port(routing, sender);
        let (one, other) = (of(&format!("{edge}:2")), of(&format!("{edge}:3")));
        assert!(one > 1000.0 && other > 1000.0);
        assert!((one / other - 1.0).abs() < 0.1, "{one} and {other}");
        for core in 0..4 {
            assert!(of(&format!("core{core}:0")) > 500.0);
        }
    }
}

#[test]
fn hosts_of_a_bcube_pass_on_what_is_for_others() {
    let mut job = outcast();
    job["topology"] = json!({"kind": "bcube", "n": 4, "k": 1});
    job["duration_ps"] = json!(common::seconds(0.1));
    let results = run(&job);
    let mut hops = column(&results, "flows", "hops");
    hops.sort_by(f64::total_cmp);
    assert_eq!((&hops[..6], &hops[6..]), (&[2.0; 6][..], &[4.0; 9][..]));
    let total: f64 = column(&results, "flows", "goodput_bps").iter().sum();
    // more than the rate of one port, because the receiver has two
    assert!(total > 1e9, "{total}");
}

//! The load that a plan expects at every port is the share of the time in which the port of a run sends.

use crate::common::{column, outcast, plan, run, seconds};
use serde_json::{Value, json};

/// Every host sends UDP to one of four hosts, each at another rate.
fn job(topology: &Value, routing: &Value, hosts: u32, failed: &[&str]) -> Value {
    let mut job = outcast();
    let flow = |host: u32| {
        let dst = (host % 4 * 3 + 1) % hosts;
        let dst = if dst == host { (host + 1) % hosts } else { dst };
        json!({
            "src": format!("h{host}"), "dst": format!("h{dst}"), "start_ps": 0,
            "start_jitter_ps": 0, "size_bytes": null, "sender_stack": 0, "receiver_stack": 0,
            "udp": {
                "payload_bytes": 1000, "rate_bps": 20_000_000 + 1_000_000 * u64::from(host),
                "pattern": {"kind": "constant"},
            },
        })
    };
    job["topology"] = topology.clone();
    job["routing"] = routing.clone();
    job["failed_links"] = json!(failed);
    job["duration_ps"] = json!(seconds(0.2));
    job["queue"]["limit"]["bytes"] = json!(200_000);
    job["flows"] = (0..hosts).map(flow).collect();
    job
}

#[test]
fn ports_send_for_the_share_of_the_time_that_their_offered_load_takes() {
    let leaf_spine = json!({
        "kind": "leaf-spine", "leaves": 3, "spines": 3, "hosts_per_leaf": 4,
    });
    let networks = [
        (json!({"kind": "fat-tree", "k": 4}), 16, vec![]),
        (leaf_spine.clone(), 12, vec![]),
        (leaf_spine, 12, vec!["spine1:0"]),
    ];
    let by_packet = json!({"equal-length": {"core": null, "per": "packet"}});
    for (topology, hosts, failed) in networks {
        for routing in [
            json!("ecmp"),
            json!("ecmp-shared-hash"),
            json!("spray"),
            by_packet.clone(),
        ] {
            let name = format!("{routing} in {topology} without {failed:?}");
            if routing.is_object() && !failed.is_empty() {
                continue; // needs every spine above every host
            }
            let job = job(&topology, &routing, hosts, &failed);
            let mut plan = plan(&job);
            let offered = plan.offered_bps().unwrap();
            let busy = column(&run(&job), "ports", "busy_share");
            for (port, rate_bps) in plan.topology().port_ids().zip(plan.rates_bps()) {
                let [offered, busy] = [&offered, &busy].map(|by_port| by_port[port.0 as usize]);
                let expected = offered / rate_bps as f64;
                // at the end packets are under way, and packets that draw paths do so at random
                let drawn = routing == "spray" || routing.is_object();
                let tolerance = 0.02 * expected + if drawn { 0.01 } else { 0.0 };
                let port = plan.topology().port_name(port);
                assert!(
                    (expected - busy).abs() <= tolerance,
                    "{name}, {port}: {expected} {busy}"
                );
            }
        }
    }
}

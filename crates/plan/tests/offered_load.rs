//! What traffic of its own rate offers to the ports of a star, computed by hand.

use std::slice::from_ref;

use crate::common::{MS, flow, job, plan, workload};
use fairport_plan::Plan;
use serde_json::{Value, json};

/// A datagram of 1000 B takes 1066 B on the wire, with 28 B of headers and 38 B of Ethernet.
const OF_UDP: f64 = 1.066;
/// 1460 B of payload in a TCP packet of 1500 B take 1538 B on the wire.
const OF_TCP: f64 = 1538.0 / 1460.0;

/// 400 Mbit/s of payload from `h1` to `h0`, from and until these times in ms.
fn udp(start_ms: u64, stop_ms: Option<u64>, pattern: &Value) -> Value {
    let mut flow = flow("h1", "h0");
    flow["start_ps"] = json!(start_ms * MS);
    flow["start_jitter_ps"] = json!(0);
    flow["stop_ps"] = json!(stop_ms.map(|ms| ms * MS));
    flow["udp"] = json!({"payload_bytes": 1000, "rate_bps": 400_000_000, "pattern": pattern});
    flow
}

/// What the switch's port to this host is offered in a run of 400 ms, in Mbit/s; none if no port is offered anything.
fn offered(flows: &[Value], workloads: &[Value], host: usize) -> Option<f64> {
    let plan = &mut planned(flows, workloads);
    let offered = plan.offered_bps()?;
    let topology = plan.topology();
    let name = format!("s0:{host}");
    let port = topology
        .port_ids()
        .find(|port| topology.port_name(*port) == name);
    Some(offered[port.expect("the switch has a port per host").0 as usize] / 1e6)
}

fn planned(flows: &[Value], workloads: &[Value]) -> Plan {
    let mut job = job(&json!({"kind": "star", "hosts": 3}));
    job["duration_ps"] = json!(400 * MS);
    job["flows"] = json!(flows);
    job["workloads"] = json!(workloads);
    plan(&job)
}

fn assert_mbps(found: Option<f64>, expected: f64) {
    let found = found.expect("traffic with a load of its own");
    assert!(
        (found / expected - 1.0).abs() < 1e-6,
        "{found}: {expected} expected"
    );
}

#[test]
fn datagrams_load_their_path_while_they_are_sent() {
    let constant = json!({"kind": "constant"});
    let one = udp(0, Some(50), &constant);
    let of_one = 400.0 * OF_UDP;
    assert_mbps(offered(from_ref(&one), &[], 0), of_one);
    // what begins when another ends does not come on top
    assert_mbps(
        offered(&[one.clone(), udp(50, None, &constant)], &[], 0),
        of_one,
    );
    assert_mbps(
        offered(&[one.clone(), udp(49, None, &constant)], &[], 0),
        2.0 * of_one,
    );
    // 2.5 MB take 50 ms at 400 Mbit/s
    let mut sized = udp(0, None, &constant);
    sized["size_bytes"] = json!(2_500_000);
    assert_mbps(
        offered(&[sized.clone(), udp(50, None, &constant)], &[], 0),
        of_one,
    );
    assert_mbps(
        offered(&[sized, udp(49, None, &constant)], &[], 0),
        2.0 * of_one,
    );
    // on for a quarter of the time: a quarter of the load, and the same data takes four times as long
    let mut bursts = udp(
        0,
        None,
        &json!({"kind": "on-off", "on_mean_ps": MS, "off_mean_ps": 3 * MS}),
    );
    bursts["size_bytes"] = json!(2_500_000);
    assert_mbps(offered(from_ref(&bursts), &[], 0), of_one / 4.0);
    assert_mbps(
        offered(&[bursts.clone(), udp(199, None, &constant)], &[], 0),
        1.25 * of_one,
    );
    assert_mbps(
        offered(&[bursts, udp(200, None, &constant)], &[], 0),
        of_one,
    );
    // nothing is offered after the end of the run
    assert_eq!(offered(&[udp(400, None, &constant)], &[], 0), None);
}

#[test]
fn poisson_arrivals_load_what_their_hosts_routing_gives_on_average() {
    let poisson = |senders: &[u32], receivers: &[u32], flows: Option<u64>| {
        let pattern = json!({
            "kind": "poisson", "load_ppm": 500_000, "capacity_bps": 1_000_000_000, "flows": flows,
            "sizes": {"points": [[125_000, 1_000_000_000]], "unit_bytes": 1},
        });
        workload(senders, receivers, &pattern)
    };
    let all = 500.0 * OF_TCP;
    // each of two senders has half; h1 sends to both receivers, and h2 to the other one alone
    let two = poisson(&[1, 2], &[0, 2], None);
    assert_mbps(offered(&[], from_ref(&two), 0), all * 0.75);
    assert_mbps(offered(&[], &[two], 2), all * 0.25);
    // 100 flows of 1 Mbit take 200 ms
    let constant = json!({"kind": "constant"});
    let sized = poisson(&[1], &[0], Some(100));
    let of_udp = 400.0 * OF_UDP;
    assert_mbps(
        offered(&[udp(200, None, &constant)], from_ref(&sized), 0),
        all,
    );
    assert_mbps(
        offered(&[udp(199, None, &constant)], &[sized], 0),
        all + of_udp,
    );
}

#[test]
fn the_fullest_link_is_the_first_of_those_with_the_largest_share() {
    let constant = json!({"kind": "constant"});
    let full = |count: usize| {
        let flows = vec![udp(0, None, &constant); count];
        planned(&flows, &[]).fullest_link().expect("a load")
    };
    let two = full(2);
    // h1's port and the one to h0 are equally full, and the link of h0 comes first
    assert_eq!((&*two.port, &*two.to), ("s0:0", "h0"));
    assert_eq!((two.rate_bps, two.overfilled_ports), (1_000_000_000, 0));
    assert!((two.offered_bps / (8e8 * OF_UDP) - 1.0).abs() < 1e-6);
    assert_eq!(full(3).overfilled_ports, 2);
    assert_eq!(planned(&[flow("h1", "h0")], &[]).fullest_link(), None);
}

#[test]
fn a_workload_is_expected_to_start_one_more_flow_than_whole_gaps_fit() {
    let flows = |pattern: Value, receivers: &[u32]| {
        planned(&[], &[workload(&[1, 2], receivers, &pattern)])
            .expected()
            .clone()
    };
    // at 0, 30 .. 390 ms, from each of two senders
    let periodic = json!({
        "kind": "periodic", "size_bytes": 1, "period_ps": 30 * MS, "jitter_ps": 0, "persistent": false,
    });
    assert_eq!(flows(periodic, &[0]).flows, 2 * 14);
    // three users fetch pages of 4 objects on average, one page per think time
    let web = json!({
        "kind": "web", "sessions": 3, "session_gap_mean_ps": 0, "think_mean_ps": 30 * MS, "think_from_start": false,
        "object_gap_mean_ps": 0, "objects": [3, 5], "size_packets": [1, 1], "shape_milli": 1200, "packet_bytes": 1,
    });
    assert_eq!(flows(web, &[0]).flows, 3 * 14 * 4);
}

#[test]
fn a_client_is_expected_to_send_one_more_request_than_whole_exchanges_fit() {
    let mut job = job(&json!({"kind": "star", "hosts": 2}));
    job["link"]["delay_ps"] = json!(MS);
    let size = json!({"points": [[1, 1_000_000_000]], "unit_bytes": 1});
    let pattern = json!({
        "kind": "request-response", "connections": 1, "requests": null, "request": size, "response": size,
        "think": {"kind": "constant", "value_ps": 6 * MS}, "jitter_ps": 0,
    });
    job["workloads"] = json!([workload(&[1], &[0], &pattern)]);
    // two links there, two back, less than 0.1 ms in hosts and the switch, and 6 ms to think: 9.9 exchanges in 100 ms
    assert_eq!(plan(&job).expected().logged, 10);
}

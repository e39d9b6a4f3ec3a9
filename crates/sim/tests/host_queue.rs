//! A host's own queue is full: which connections wait, and which lose packets there.

use crate::common::{column, flow, number_of, outcast, run, seconds, single_flow};
use fairport_sim::Recorded;
use serde_json::json;

/// The value of the port `name` in the column `of`.
fn at_port(results: &Recorded, name: &str, of: &str) -> f64 {
    column(results, "ports", of)[number_of(results, "port", name)]
}

/// In Linux, `tcp_write_xmit` keeps a segment that the queue discipline refused (`NET_XMIT_DROP`); in ns-2 it is lost.
#[test]
fn a_full_host_queue_holds_linux_back_and_drops_what_others_send() {
    for pushback in [true, false] {
        let mut job = single_flow();
        job["link"]["rate_bps"] = json!(100_000_000_u64);
        job["link"]["delay_ps"] = json!(seconds(1e-3));
        job["queue"]["limit"]["bytes"] = json!(1_000_000);
        job["host"]["queue_packets"] = json!(20);
        job["stacks"][0]["preset"] = json!("linux-6");
        job["stacks"][0]["overrides"] =
            json!({"small_queue": false, "host_queue_pushback": pushback});
        let results = run(&job);
        let drops = at_port(&results, "a:0", "drops");
        assert_eq!(drops == 0.0, pushback, "{drops}");
        // the queue was full with the frames of 20 full segments and never held more
        let most = at_port(&results, "a:0", "queue_max_bytes");
        assert!((most - 20.0 * 1518.0).abs() < 1.0, "{most}");
        let goodput = column(&results, "flows", "goodput_bps")[0];
        assert!(goodput > 0.9e8 * 1448.0 / 1538.0, "{goodput}");
    }
}

/// In this cube, host h0 has one adapter towards h1 and another towards h2.
#[test]
fn a_connection_does_not_wait_for_an_adapter_that_it_does_not_use() {
    let mut job = outcast();
    job["topology"] = json!({"kind": "bcube", "n": 2, "k": 1});
    job["host"]["queue_packets"] = json!(20);
    job["duration_ps"] = json!(seconds(0.2));
    let mut datagrams = flow("h0", "h1");
    datagrams["start_jitter_ps"] = json!(0);
    datagrams["udp"] = json!({
        "payload_bytes": 1000, "rate_bps": 2_000_000_000_u64, "pattern": {"kind": "constant"},
    });
    job["flows"] = json!([datagrams, flow("h0", "h2")]);
    job["probes"]["measure_from_ps"] = json!(seconds(0.1));
    let results = run(&job);
    let lost = column(&results, "flows", "drops");
    assert!(lost[0] > 1000.0, "{lost:?}");
    let goodput = column(&results, "flows", "goodput_bps");
    let line = 1e9 * 1448.0 / 1538.0;
    assert!(goodput[1] > 0.95 * line, "{goodput:?}");
}

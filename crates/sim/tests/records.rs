//! The contents of a record, compared with values computed by hand.

#![expect(
    clippy::float_cmp,
    reason = "sizes and counts are whole numbers, which f64 holds exactly"
)]

use crate::common::{column, flow, number_of, outcast, run, seconds};
use fairport_record::Recorded;
use serde_json::{Value, json};

/// UDP senders to `h0` at one switch, each with `rate_bps` of payload in datagrams of `payload_bytes`.
fn datagrams(senders: usize, payload_bytes: u64, rate_bps: u64) -> Value {
    let mut job = outcast();
    job["topology"] = json!({"kind": "star", "hosts": senders + 1});
    let udp = |i: usize| {
        let mut flow = flow(&format!("h{i}"), "h0");
        flow["udp"] = json!({
            "payload_bytes": payload_bytes, "rate_bps": rate_bps, "pattern": {"kind": "constant"},
        });
        flow
    };
    job["flows"] = json!((1..=senders).map(udp).collect::<Vec<_>>());
    job
}

fn sum(recorded: &Recorded, table: &str, name: &str) -> f64 {
    column(recorded, table, name).iter().sum()
}

#[test]
fn a_packets_size_is_what_the_buffer_counts_for_it() {
    let mut job = datagrams(2, 1000, 800_000_000);
    job["duration_ps"] = json!(seconds(0.05));
    job["host"]["processing"] = json!({"kind": "constant", "value_ps": 0});
    job["queue"]["limit"] = json!({"bytes": 10_460});
    let recorded = run(&job);
    // UDP and IPv4 add 28 bytes (RFC 768, RFC 791), the Ethernet header and FCS 18 (IEEE 802.3)
    let frame_bytes = 1000.0 + 28.0 + 18.0;
    for table in ["drops", "trace"] {
        let sizes = column(&recorded, table, "size_bytes");
        assert!(!sizes.is_empty(), "{table} has no rows");
        assert!(sizes.iter().all(|size| *size == frame_bytes), "{table}");
    }
    // ten of these frames fill the limit of 10 460 bytes
    let most = column(&recorded, "ports", "queue_max_bytes");
    assert!(most.contains(&(10.0 * frame_bytes)), "{most:?}");
}

#[test]
fn a_datagrams_sequence_number_counts_the_bytes_before_it() {
    let mut job = datagrams(2, 1000, 800_000_000);
    job["duration_ps"] = json!(seconds(0.05));
    let recorded = run(&job);
    let flows = column(&recorded, "drops", "flow");
    let numbers = column(&recorded, "drops", "seq");
    // all datagrams of a flow take the same path, so they are dropped in the order in which they were sent
    for flow in [0.0, 1.0] {
        let rows = (0..flows.len()).filter(|row| flows[*row] == flow);
        let lost: Vec<f64> = rows.map(|row| numbers[row]).collect();
        assert!(lost.len() > 10, "{lost:?}");
        assert!(lost.windows(2).all(|pair| pair[0] < pair[1]), "{lost:?}");
        assert!(lost.iter().all(|number| number % 1000.0 == 0.0), "{lost:?}");
    }
}

#[test]
fn what_a_host_has_yet_to_send_at_the_end_is_not_dropped_within_the_run() {
    // The application writes a datagram every 8 us, and the host takes 100 us to process one. At the end of the
    // run most are still to be processed, and the NIC, which is slower still, will drop many of them.
    let mut job = datagrams(2, 100, 100_000_000);
    job["duration_ps"] = json!(seconds(0.1));
    job["link"]["rate_bps"] = json!(10_000_000);
    job["host"]["processing"] = json!({"kind": "constant", "value_ps": seconds(100e-6)});
    job["host"]["queue_packets"] = json!(10);
    let recorded = run(&job);
    let times = column(&recorded, "drops", "time_s");
    assert!(!times.is_empty());
    assert!(times.iter().all(|time| *time <= 0.1), "{times:?}");
    assert_eq!(sum(&recorded, "flows", "drops"), times.len() as f64);
    assert_eq!(sum(&recorded, "ports", "drops"), times.len() as f64);
}

#[test]
fn a_decision_is_dated_and_names_its_window() {
    let mut job = outcast();
    job["duration_ps"] = json!(seconds(0.2));
    let recorded = run(&job);
    let timeouts = column(&recorded, "timeouts", "end_s");
    let rto = number_of(&recorded, "what", "rto") as f64;
    let kinds = column(&recorded, "decisions", "what");
    let times = column(&recorded, "decisions", "time_s");
    let after = column(&recorded, "decisions", "cwnd_after_bytes");
    let of_rto: Vec<usize> = (0..kinds.len()).filter(|row| kinds[*row] == rto).collect();
    assert!(!of_rto.is_empty());
    let dated: Vec<f64> = of_rto.iter().map(|row| times[*row]).collect();
    assert_eq!(dated, timeouts);
    // RFC 5681 3.1: the loss window is one segment, here of 1448 bytes
    assert!(of_rto.iter().all(|row| after[*row] == 1448.0));
}

//! Segmentation offload in a host: a burst is handled once and reaches the NIC as a whole.

use crate::common::{column, run, seconds, single_flow};
use serde_json::json;

/// Runs one flow over 1 Gbit/s and a round trip of about 0.5 ms, which a window of 45 segments would fill. Returns
/// its goodput in bit/s and the longest queue of any port, in bytes. The host takes `processing_us` per segment
/// and the NIC 12.3 us.
fn flow_with(offload: bool, window_segments: u64, processing_us: u64) -> (f64, f64) {
    let mut job = single_flow();
    job["duration_ps"] = json!(seconds(0.5));
    job["link"]["delay_ps"] = json!(seconds(40e-6));
    job["host"]["processing"] = json!({"kind": "constant", "value_ps": processing_us * 1_000_000});
    job["stacks"][0]["preset"] = json!("linux-6");
    job["stacks"][0]["overrides"] = json!({
        "segmentation_offload": offload, "receive_buffer_bytes": window_segments * 1448,
        "ack_policy": "every-segment",
    });
    job["probes"]["measure_from_ps"] = json!(seconds(0.1));
    let results = run(&job);
    let waits = column(&results, "ports", "queue_max_bytes");
    (
        column(&results, "flows", "goodput_bps")[0],
        waits.into_iter().fold(0.0, f64::max),
    )
}

#[test]
fn a_burst_reaches_the_nic_as_a_whole() {
    // The initial window of 10 is one burst: the NIC sends the first segment while the others wait. If the host
    // handles segments one by one, they reach the NIC more slowly than it sends them.
    let (_, waits_bytes) = flow_with(true, 40, 13);
    assert!(waits_bytes >= 9.0 * 1518.0, "{waits_bytes}");
    let (_, waits_bytes) = flow_with(false, 40, 13);
    assert!(waits_bytes <= 1518.0, "{waits_bytes}");
}

#[test]
fn the_goodput_is_the_same_where_a_third_of_the_window_is_to_spare() {
    let payload_bps = 1e9 * 1448.0 / 1538.0;
    for offload in [true, false] {
        let (goodput_bps, _) = flow_with(offload, 100, 10);
        assert!(goodput_bps > 0.99 * payload_bps, "{offload}: {goodput_bps}");
    }
}

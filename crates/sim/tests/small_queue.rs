//! How much data of a flow waits in its own host, with the small-queue limit and without.

use crate::common::{column, run, seconds, single_flow};
use serde_json::json;

/// Runs one flow of today's Linux over a round trip of 4 ms; the host's own link of 100 Mbit/s is the bottleneck.
/// Returns the goodput in bit/s, the longest round trip in s, and the longest queue of any port, in bytes.
fn flow_with(small_queue: bool) -> (f64, f64, f64) {
    let mut job = single_flow();
    job["duration_ps"] = json!(seconds(3.0));
    job["link"]["rate_bps"] = json!(100_000_000_u64);
    job["link"]["delay_ps"] = json!(seconds(1e-3));
    job["queue"]["limit"]["bytes"] = json!(1_000_000);
    job["stacks"][0]["preset"] = json!("linux-6");
    job["stacks"][0]["overrides"] = json!({"small_queue": small_queue});
    job["probes"]["measure_from_ps"] = json!(seconds(1.0));
    let results = run(&job);
    let waits = column(&results, "ports", "queue_max_bytes");
    (
        column(&results, "flows", "goodput_bps")[0],
        column(&results, "flows", "rtt_max_s")[0],
        waits.into_iter().fold(0.0, f64::max),
    )
}

#[test]
fn the_limit_keeps_the_hosts_queue_short_at_the_same_goodput() {
    let (goodput_bps, rtt_s, waits_bytes) = flow_with(true);
    let (goodput_without, rtt_without, waits_without) = flow_with(false);
    let payload_bps = 1e8 * 1448.0 / 1538.0;
    assert!(goodput_bps > 0.99 * payload_bps, "{goodput_bps}");
    assert!(goodput_without > 0.99 * payload_bps, "{goodput_without}");
    // The limit is 1 ms at the pacing rate, which in slow start is twice the window per round trip: 2 ms at the
    // line rate, and more where the window exceeds what the line carries. Without the limit, the NIC's queue of
    // 1000 packets lets the window grow.
    assert!(rtt_s < 0.012, "{rtt_s} s, {waits_bytes} B");
    assert!(rtt_without > 0.1, "{rtt_without} s, {waits_without} B");
    assert!(waits_bytes < waits_without / 5.0);
}

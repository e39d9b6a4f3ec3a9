//! One flow on a clean path, compared with values computed by hand.

use crate::common::{column, run, seconds, single_flow};
use serde_json::{Value, json};

/// Runs one flow at `rate_bps` over a path with a delay of `delay_s` per link and a buffer larger than the
/// bandwidth-delay product. Returns its goodput in the run's second half, as a share of the line's payload rate.
fn share_of_payload_rate(rate_bps: u64, delay_s: f64, mtu_bytes: u32, duration_s: f64) -> f64 {
    let mut job = single_flow();
    let bdp_bytes = (rate_bps as f64 * 4.0 * delay_s / 8.0) as u64;
    job["duration_ps"] = json!(seconds(duration_s));
    job["link"]["rate_bps"] = json!(rate_bps);
    job["topology"]["links"][0]["rate_bps"] = json!(10 * rate_bps); // the switch is the bottleneck
    job["link"]["delay_ps"] = json!(seconds(delay_s));
    job["link"]["mtu_bytes"] = json!(mtu_bytes);
    job["link"]["clock_error_ppb"] = json!(0);
    job["queue"]["limit"]["bytes"] = json!(2 * bdp_bytes + 100 * u64::from(mtu_bytes));
    job["switch"]["processing_delay_ps"] = json!(1_000_000);
    job["host"]["delay_ps"] = json!(1_000_000);
    job["host"]["processing"] = json!({"kind": "constant", "value_ps": 10_000});
    job["stacks"][0]["overrides"]["mss_bytes"] = json!(mtu_bytes - 40);
    job["stacks"][0]["overrides"]["window_scale"] = json!(14);
    job["stacks"][0]["overrides"]["receive_buffer_bytes"] = json!(8 * bdp_bytes + 4_000_000);
    job["probes"]["measure_from_ps"] = json!(seconds(duration_s / 2.0));
    let results = run(&job);
    let payload = f64::from(mtu_bytes) - 52.0; // IPv4 20, TCP 20, timestamps 12
    let wire = f64::from(mtu_bytes) + 38.0;
    column(&results, "flows", "goodput_bps")[0] / (rate_bps as f64 * payload / wire)
}

#[test]
fn one_flow_fills_a_gigabit_with_941_5_mbit_of_goodput() {
    let share = share_of_payload_rate(1_000_000_000, 20e-6, 1500, 1.0);
    assert!((share - 1.0).abs() < 0.01, "{share}");
    let payload_bps = 1e9 * 1448.0 / 1538.0;
    assert!((share * payload_bps / 1e6 - 941.5).abs() < 9.4);
}

#[test]
fn one_flow_fills_10_and_100_gigabit() {
    for (rate_bps, duration_s) in [(10_000_000_000, 0.2), (100_000_000_000, 0.05)] {
        let share = share_of_payload_rate(rate_bps, 5e-6, 1500, duration_s);
        assert!((share - 1.0).abs() < 0.01, "{rate_bps} bit/s: {share}");
    }
}

#[test]
fn one_flow_fills_10_gigabit_with_frames_of_9000() {
    let share = share_of_payload_rate(10_000_000_000, 5e-6, 9000, 0.2);
    assert!((share - 1.0).abs() < 0.01, "{share}");
}

#[test]
fn one_flow_fills_1_25_megabit_over_100_ms() {
    let share = share_of_payload_rate(1_250_000, 0.05, 1500, 120.0);
    assert!((share - 1.0).abs() < 0.01, "{share}");
}

#[test]
fn a_finite_flow_delivers_its_size_and_ends() {
    let mut job = single_flow();
    job["flows"][0]["size_bytes"] = json!(1_000_000);
    let results = run(&job);
    assert_eq!(column(&results, "flows", "delivered_bytes"), [1_000_000.0]);
    let fct_s = column(&results, "flows", "fct_s")[0];
    // 691 segments at 12.3 us are 8.5 ms; slow start over 0.45 ms adds a few round trips
    assert!((0.0085..0.020).contains(&fct_s), "{fct_s} s");
}

#[test]
fn only_a_flow_that_has_delivered_its_size_has_a_completion_time() {
    // one flow is stopped, one has more to send than fits into the run, and one completes
    let mut job = single_flow();
    let mut flows = vec![job["flows"][0].clone(); 3];
    flows[0]["stop_ps"] = json!(seconds(0.1));
    flows[1]["size_bytes"] = json!(1_000_000_000_u64);
    flows[2]["size_bytes"] = json!(10_000);
    job["flows"] = json!(flows);
    let results = run(&job);
    let times = column(&results, "flows", "fct_s");
    assert!(times[0].is_nan() && times[1].is_nan(), "{times:?}");
    assert!(times[2] < 0.5, "{times:?}");
    let ends = column(&results, "flows", "end_s");
    assert!(ends[0] >= 0.1 && ends[1].is_nan(), "{ends:?}");
}

/// A flow of one segment, with delays that are all known.
fn one_segment() -> Value {
    let mut job = single_flow();
    job["flows"][0]["size_bytes"] = json!(1448);
    job["link"]["clock_error_ppb"] = json!(0);
    job["host"]["delay_spread_ps"] = json!(0);
    job["host"]["processing"] = json!({"kind": "constant", "value_ps": 1_000_000});
    job
}

#[test]
fn the_first_round_trip_is_the_sum_of_its_delays() {
    let results = run(&one_segment());
    let rtt_s = column(&results, "flows", "rtt_max_s")[0];
    // out and back: 80 us in each host each way, 25 us in the switch, 1 us of processing in each
    // host each way; 2 full frames of 1538 B; 2 frames of the ACK (52 + 38 B)
    let expected_s = 4.0 * 80e-6 + 2.0 * 25e-6 + 4.0 * 1e-6 + 2.0 * 12.304e-6 + 2.0 * 0.72e-6;
    assert!(
        (rtt_s - expected_s).abs() < 2e-6,
        "{rtt_s} s, expected {expected_s} s"
    );
}

#[test]
fn a_flow_of_one_segment_is_complete_after_one_and_a_half_round_trips() {
    let fct_s = column(&run(&one_segment()), "flows", "fct_s")[0];
    // SYN and SYN-ACK of 60 + 38 B each over two links, then a full frame; delays as above. The
    // handshake's ACK rides on the data.
    let handshake_s = 4.0 * 80e-6 + 2.0 * 25e-6 + 4.0 * 1e-6 + 4.0 * 0.784e-6;
    let data_s = 2.0 * 80e-6 + 25e-6 + 2.0 * 1e-6 + 2.0 * 12.304e-6;
    let expected_s = handshake_s + data_s;
    assert!(
        (fct_s - expected_s).abs() < 1e-8,
        "{fct_s} s, expected {expected_s} s"
    );
}

#[test]
fn an_event_is_a_packet_at_a_port_or_a_timer_that_had_something_to_do() {
    // The second of two segments waits for the ACK of the first, which comes at once or is delayed by 40 ms.
    // The retransmission timer is set in both cases and never expires.
    for (policy, timers) in [("every-segment", 0), ("delayed", 1)] {
        let mut job = single_flow();
        job["flows"][0]["size_bytes"] = json!(2_000);
        job["stacks"][0]["overrides"]["initial_window_segments"] = json!(1);
        job["stacks"][0]["overrides"]["ack_policy"] = json!(policy);
        job["stacks"][0]["overrides"]["delayed_ack_max_ps"] = json!(seconds(0.04));
        let results = run(&job);
        assert_eq!(column(&results, "flows", "delivered_bytes"), [2_000.0]);
        assert_eq!(results.events - results.packet_hops, timers, "{policy}");
    }
}

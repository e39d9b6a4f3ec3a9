//! The measurement: when it begins and ends, and what counts in it.

use crate::common::{column, flow, run, run_in_regions, seconds, single_flow};
use fairport_sim::Recorded;
use fairport_units::{Duration, Instant};
use serde_json::{Value, json};

/// Endless flows from `a` to `b` that start at these times. Hosts take no processing time, and clocks are exact.
fn flows_that_start_at(starts_s: &[f64]) -> Value {
    let mut job = single_flow();
    job["duration_ps"] = json!(seconds(0.2));
    job["link"]["clock_error_ppb"] = json!(0);
    job["host"]["delay_spread_ps"] = json!(0);
    job["host"]["processing"] = json!({"kind": "constant", "value_ps": 0});
    job["queue"]["limit"]["bytes"] = json!(10_000_000);
    let flow = |start_s: &f64| {
        let mut flow = flow("a", "b");
        flow["start_jitter_ps"] = json!(0);
        flow["start_ps"] = json!(seconds(*start_s));
        flow
    };
    job["flows"] = starts_s.iter().map(flow).collect();
    job
}

/// Bytes that each flow's receiver received within the measurement, computed from its goodput.
fn measured_bytes(results: &Recorded) -> Vec<f64> {
    let span_s = (results.measure_to - results.measure_from).as_secs_f64();
    let goodput = column(results, "flows", "goodput_bps");
    goodput.iter().map(|bps| bps * span_s / 8.0).collect()
}

#[test]
fn without_a_given_begin_it_begins_when_the_last_flow_is_established() {
    let job = flows_that_start_at(&[0.0, 0.003, 0.001]);
    // SYN and SYN-ACK each take 80 us in each host, 25 us in the switch, and two links. With 20 bytes of options
    // and Ethernet's 38 they have 98 bytes.
    let handshake_ns = 2 * (2 * 80_000 + 25_000 + 2 * 98 * 8);
    let begin = Instant::from_ms(3) + Duration::from_ns(handshake_ns);
    let runs = [
        run(&job),
        run_in_regions(&job, 2, false),
        run_in_regions(&job, 2, true),
    ];
    for results in runs {
        // packets of the flows that started before may be queued in front of the SYN
        let waited = results.measure_from - begin;
        assert!(waited < Duration::from_ms(1), "{waited:?}");
        let established = column(&results, "flows", "established_s");
        let last = established.iter().copied().fold(0.0, f64::max);
        let from_s = (results.measure_from - Instant::ZERO).as_secs_f64();
        assert!((from_s - last).abs() < 1e-15, "{from_s} {established:?}");
        assert_eq!(results.measure_to, Instant::from_ms(200));
        let delivered = column(&results, "flows", "delivered_bytes");
        let measured = measured_bytes(&results);
        // before the measurement the last flow has delivered nothing, but the others have
        assert!((measured[1] - delivered[1]).abs() < 0.5);
        for before in [0, 2] {
            let missing = delivered[before] - measured[before];
            assert!(missing > 10_000.0 && missing < 400_000.0, "{missing}");
        }
    }
    // nothing is queued in front of a single flow's SYN
    let alone = run(&flows_that_start_at(&[0.003]));
    assert_eq!(alone.measure_from, begin);
}

#[test]
fn a_flow_with_a_size_does_not_delay_it() {
    let mut job = flows_that_start_at(&[0.0, 0.1]);
    job["flows"][1]["size_bytes"] = json!(100_000);
    let alone = run(&flows_that_start_at(&[0.0]));
    assert_eq!(run(&job).measure_from, alone.measure_from);
    // with no other flow, it begins with the run
    job["flows"][0]["size_bytes"] = json!(100_000);
    assert_eq!(run(&job).measure_from, Instant::ZERO);
}

#[test]
fn what_arrives_between_its_begin_and_its_end_counts() {
    let mut job = flows_that_start_at(&[0.0]);
    job["probes"]["measure_from_ps"] = json!(seconds(0.1));
    job["probes"]["measure_to_ps"] = json!(seconds(0.15));
    let results = run(&job);
    let times = [results.measure_from, results.measure_to];
    assert_eq!(times, [Instant::from_ms(100), Instant::from_ms(150)]);
    // a full segment of 1448 bytes takes 1538 bytes of the line
    let segments = measured_bytes(&results)[0] / 1448.0;
    let fit = 0.05 * 1e9 / 8.0 / 1538.0;
    assert!((segments - fit).abs() < 1.0, "{segments} {fit}");
}

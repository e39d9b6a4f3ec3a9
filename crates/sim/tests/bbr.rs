//! BBR across a bottleneck of 10 Mbit/s with a round trip of 40 ms and a deep buffer.

use crate::common::{column, flow, run, seconds, single_flow};
use fairport_sim::Recorded;
use serde_json::{Value, json};

const RATE_BPS: f64 = 10e6;
const RTT_S: f64 = 0.040;
/// The payload rate of 10 Mbit/s, with segments of 1448 B in frames of 1538 B.
const PAYLOAD_BPS: f64 = RATE_BPS * 1448.0 / 1538.0;
const PRODUCT_BYTES: f64 = RATE_BPS * RTT_S / 8.0;

/// BBR flows, each from a host of its own, through one switch to one host.
fn bottleneck(preset: &str, starts_s: &[f64], duration_s: f64) -> Value {
    let mut job = single_flow();
    let hosts: Vec<String> = (0..starts_s.len()).map(|i| format!("a{i}")).collect();
    let mut links = vec![json!({
        "ends": ["b", "s"], "rate_bps": RATE_BPS as u64, "delay_ps": seconds(RTT_S / 2.0 - 0.001),
    })];
    let mut flows = Vec::new();
    for (host, start_s) in hosts.iter().zip(starts_s) {
        links.push(json!({"ends": [host, "s"], "delay_ps": seconds(0.001)}));
        let mut flow = flow(host, "b");
        flow["start_ps"] = json!(seconds(*start_s));
        flows.push(flow);
    }
    let mut all = hosts;
    all.push("b".to_owned());
    job["topology"] = json!({"kind": "graph", "hosts": all, "switches": ["s"], "links": links});
    job["flows"] = json!(flows);
    job["queue"]["limit"]["bytes"] = json!(10 * PRODUCT_BYTES as u64);
    job["host"]["delay_ps"] = json!(0);
    job["switch"]["processing_delay_ps"] = json!(1_000_000);
    job["stacks"] = json!([{"preset": preset, "overrides": {"congestion_control": "bbr"}}]);
    job["duration_ps"] = json!(seconds(duration_s));
    job
}

/// The mean and the largest queue after `after_s`, from the round-trip times, in bandwidth-delay products.
fn queued(results: &Recorded, after_s: f64) -> (f64, f64) {
    let times = column(results, "series", "time_s");
    let rows = |name| {
        let rows = times.iter().copied().zip(column(results, "series", name));
        let late = rows.filter(|(at, rtt)| *at > after_s && rtt.is_finite());
        late.map(|(_, rtt)| rtt / RTT_S - 1.0).collect::<Vec<f64>>()
    };
    let (means, largest) = (rows("rtt_mean_s"), rows("rtt_max_s"));
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    (mean, largest.into_iter().fold(0.0, f64::max))
}

#[test]
fn one_flow_fills_a_clean_path_with_less_than_its_product_in_the_queue() {
    let stacks = [
        ("linux-6", json!({})),
        (
            "linux-6",
            json!({"segmentation_offload": true, "pacing": "linux"}),
        ),
        ("linux-2.6", json!({})),
        ("rfc", json!({})),
        ("ns2", json!({})),
    ];
    for (preset, overrides) in stacks {
        let mut job = bottleneck(preset, &[0.0], 20.0);
        for (setting, value) in overrides.as_object().unwrap() {
            job["stacks"][0]["overrides"][setting] = value.clone();
        }
        job["probes"]["measure_from_ps"] = json!(seconds(2.0));
        let results = run(&job);
        let share = column(&results, "flows", "goodput_bps")[0] / PAYLOAD_BPS;
        assert!(share > 0.95, "{preset}: {share}");
        assert_eq!(column(&results, "flows", "drops"), [0.0], "{preset}");
        let (mean, largest) = queued(&results, 2.0);
        // the largest occurs when a receiver delays the ACK of the last of four segments
        assert!(mean < 0.5 && largest < 1.2, "{preset}: {mean}, {largest}");
    }
}

#[test]
fn two_flows_share_within_a_fifth_after_a_minute() {
    for seed in 1..=3 {
        let mut job = bottleneck("linux-6", &[0.0, 5.0], 90.0);
        job["seed"] = json!(seed);
        job["probes"]["measure_from_ps"] = json!(seconds(60.0));
        let results = run(&job);
        let goodput = column(&results, "flows", "goodput_bps");
        let (a, b) = (goodput[0], goodput[1]);
        // each flow takes the bandwidth of its best rounds as its share, so both fill their windows
        let (mean, _) = queued(&results, 60.0);
        assert!(mean < 2.5, "seed {seed}: {mean}");
        assert!(a.min(b) > 0.8 * a.max(b), "seed {seed}: {a} and {b}");
        assert!(a + b > 0.93 * PAYLOAD_BPS, "seed {seed}: {a} and {b}");
    }
}

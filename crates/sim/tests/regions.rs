//! Which runs are cut into regions.

use crate::common::{column, flow, outcast, plan, run, run_in_regions, seconds};
use fairport_sim::{RegionChoice, Simulation};
use serde_json::{Value, json};

/// The simulated time at which it is decided to cut a run on two cores, and the number of regions.
fn cut(job: &Value) -> Option<(f64, u16)> {
    let plan = plan(job);
    let mut choice = RegionChoice::new(&plan, 2);
    let mut run = Simulation::new(plan);
    while !run.advance(50_000) {
        if let Some(regions) = choice.look(&run) {
            return Some((run.simulated().as_secs_f64(), regions));
        }
    }
    None
}

/// Each host i of a k = 4 fat-tree sends to host i + 8 (modulo 16). The first starts at once, the others later.
fn all_to_all_halves(later_s: f64, duration_s: f64) -> Value {
    let mut job = outcast();
    let mut flows: Vec<Value> = (0..16)
        .map(|i| flow(&format!("h{i}"), &format!("h{}", (i + 8) % 16)))
        .collect();
    for late in &mut flows[1..] {
        late["start_ps"] = json!(seconds(later_s));
    }
    job["routing"] = json!("ecmp");
    job["flows"] = json!(flows);
    job["duration_ps"] = json!(seconds(duration_s));
    job
}

#[test]
fn a_run_whose_load_grows_is_cut_once_it_pays() {
    // one flow has few packet-hops within the lookahead of about 26 us: 0.2 million of them take it 0.3 s
    let (cut_s, regions) = cut(&all_to_all_halves(0.5, 50.0)).expect("it pays");
    assert_eq!(regions, 2);
    assert!(0.5 < cut_s && cut_s < 2.0, "{cut_s}");
}

#[test]
fn a_run_that_has_gone_far_is_not_begun_again() {
    assert_eq!(cut(&all_to_all_halves(0.5, 1.5)), None);
}

/// The last end of a connection may be in any region.
#[test]
fn a_flow_that_is_stopped_is_over_when_its_last_end_is_whatever_the_regions() {
    let mut job = all_to_all_halves(0.0, 0.1);
    for flow in job["flows"].as_array_mut().expect("a list") {
        flow["stop_ps"] = json!(seconds(0.05));
    }
    let ends = column(&run(&job), "flows", "end_s");
    assert!(ends.iter().all(|end| *end > 0.05));
    assert_eq!(
        column(&run_in_regions(&job, 2, false), "flows", "end_s"),
        ends
    );
}

/// A job without any spread of phases, so that many packets arrive in the same picosecond.
fn in_phase(mut job: Value, arbitration: &str) -> Value {
    job["switch"]["arbitration"] = json!(arbitration);
    job["link"]["clock_error_ppb"] = json!(0);
    job["host"]["delay_spread_ps"] = json!(0);
    job["host"]["processing"] = json!({"kind": "constant", "value_ps": 500_000});
    for flow in job["flows"].as_array_mut().expect("a list") {
        flow["start_jitter_ps"] = json!(0);
    }
    job
}

/// The first packets, which flows send as they start, are in the same order, too; and a rule that draws does not draw
/// where one link alone has packets.
#[test]
fn arrivals_of_the_same_instant_are_in_the_same_order_whatever_the_regions() {
    let mut two_to_one = outcast();
    two_to_one["topology"] = json!({"kind": "star", "hosts": 3});
    two_to_one["flows"] = json!([flow("h1", "h0"), flow("h2", "h0")]);
    two_to_one["duration_ps"] = json!(seconds(0.02));
    let halves = all_to_all_halves(0.0, 0.02);
    for arbitration in ["round-robin", "fixed", "random"] {
        for job in [&two_to_one, &halves] {
            let job = in_phase(job.clone(), arbitration);
            let fingerprint = run(&job).fingerprint;
            for at_once in [false, true] {
                let other = run_in_regions(&job, 2, at_once).fingerprint;
                assert_eq!(other, fingerprint, "{arbitration}, at once: {at_once}");
            }
        }
    }
}

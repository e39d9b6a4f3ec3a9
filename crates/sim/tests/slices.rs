//! A run advances in slices: how long a slice is, and how far the run reports that it has come.

use crate::common::{self, flow, outcast, plan, run, seconds, single_flow};
use fairport_sim::Simulation;
use fairport_units::Duration;
use serde_json::{Value, json};

fn simulation(job: &Value, regions: u16) -> Simulation {
    Simulation::in_regions(plan(job), regions)
}

#[test]
fn a_slice_goes_on_for_the_packet_hops_that_it_is_given() {
    let mut job = outcast();
    job["duration_ps"] = json!(seconds(0.05));
    // a short lookahead, so that a stretch (a thousand lookaheads) takes two milliseconds instead of thirty
    job["switch"]["processing_delay_ps"] = json!(1_000_000);
    let in_all = run(&job).packet_hops;
    // `None`: a run of several regions tries whether it is faster in parallel or on one thread
    for (regions, at_once) in [(1, None), (2, Some(false)), (2, Some(true)), (2, None)] {
        let mut run = simulation(&job, regions);
        if let Some(at_once) = at_once {
            run = run.at_once(at_once);
        }
        let (mut before, mut slices) = (0, 0);
        loop {
            let has_ended = run.advance(5000);
            let hops = run.packet_hops() - before;
            before += hops;
            slices += 1;
            if has_ended {
                break;
            }
            // with several regions, a slice ends only between two stretches
            let most = if regions == 1 {
                5000..=5100
            } else if at_once == Some(true) {
                5000..=10_000
            } else {
                1..=10_000
            };
            assert!(most.contains(&hops), "{hops} in {regions} regions");
        }
        assert_eq!(before, in_all);
        assert!(regions > 1 || slices == in_all.div_ceil(5000), "{slices}");
        assert!(slices > 3, "{slices} of {in_all}");
    }
}

#[test]
fn a_slice_that_is_worth_the_start_of_threads_is_four_times_as_long() {
    let slices = [1, 2].map(|regions| simulation(&outcast(), regions).slice());
    assert_eq!(slices, [200_000, 800_000]);
    // an overflow would end the run at once, or never
    let mut run = simulation(&single_flow(), 2);
    assert!(run.advance(u64::MAX));
}

#[test]
fn a_run_says_how_far_it_has_come() {
    let mut job = outcast();
    job["duration_ps"] = json!(seconds(0.05));
    let mut run = simulation(&job, 1);
    assert_eq!(run.simulated(), Duration::ZERO);
    let mut before = Duration::ZERO;
    while !run.advance(2000) {
        let now = run.simulated();
        assert!(before < now && now <= Duration::from_ms(50), "{now:?}");
        // Flows start within the first 10 ms. From then on the busy bottleneck makes about 150,000 packet-hops
        // per 100 ms, so 2000 of them take 1 to 5 ms.
        assert!(
            now.as_ps() - before.as_ps() < seconds(0.01),
            "{now:?} after {before:?}"
        );
        before = now;
    }
    assert_eq!(run.simulated(), Duration::from_ms(50));
}

#[test]
fn where_no_packet_moves_a_slice_is_so_many_steps() {
    // no flow starts within the run; a sample is taken every microsecond
    let mut job = single_flow();
    job["flows"][0]["start_ps"] = json!(seconds(5.0));
    job["duration_ps"] = json!(seconds(0.001));
    job["probes"]["queue_interval_ps"] = json!(seconds(0.000_001));
    let mut run = simulation(&job, 1);
    let mut slices = 1;
    while !run.advance(10) {
        assert_eq!(run.packet_hops(), 0);
        slices += 1;
    }
    // 1000 queue samples, the few samples of the series, and the end of the run
    assert!((90..=110).contains(&slices), "{slices}");
}

#[test]
fn a_datagram_takes_its_way_and_the_last_one_ends_its_flow() {
    let mut job = single_flow();
    job["duration_ps"] = json!(seconds(0.1));
    job["link"]["clock_error_ppb"] = json!(0);
    job["host"]["delay_spread_ps"] = json!(0);
    job["host"]["processing"] = json!({"kind": "constant", "value_ps": 0});
    let mut datagrams = flow("a", "b");
    datagrams["start_jitter_ps"] = json!(0);
    datagrams["size_bytes"] = json!(10_500);
    datagrams["udp"] = json!({
        "payload_bytes": 1000, "rate_bps": 8_000_000, "pattern": {"kind": "constant"},
    });
    job["flows"] = json!([datagrams]);
    let results = run(&job);
    let get = |name| common::column(&results, "flows", name)[0];
    // ten datagrams of 1000 bytes, 1 ms apart, and one with the remaining 500
    assert!((get("segments_sent") - 11.0).abs() < 1e-9);
    assert!((get("delivered_bytes") - 10_500.0).abs() < 1e-9);
    // 80 us in each host, 25 us in the switch, two links of 1 Gbit/s; UDP and IPv4 are 28 bytes, and
    // Ethernet's preamble, header, FCS and gap 38
    let way_s = |payload: f64| 2.0 * 80e-6 + 25e-6 + 2.0 * (payload + 66.0) * 8.0 / 1e9;
    assert!(
        (get("rtt_max_s") - way_s(1000.0)).abs() < 1e-8,
        "{}",
        get("rtt_max_s")
    );
    assert!(
        (get("rtt_min_s") - way_s(500.0)).abs() < 1e-8,
        "{}",
        get("rtt_min_s")
    );
    let mean_s = (10.0 * way_s(1000.0) + way_s(500.0)) / 11.0;
    assert!(
        (get("rtt_mean_s") - mean_s).abs() < 1e-8,
        "{}",
        get("rtt_mean_s")
    );
    // each was sent when its time had come, and passed two links
    assert_eq!((results.packet_hops, results.events), (2 * 11, 3 * 11));
    let last_s = get("end_s") - get("start_s") - way_s(500.0);
    assert!((0.0095..=0.0105).contains(&last_s), "{last_s}");
}

#[test]
fn a_flow_has_a_row_per_interval_from_its_start_to_its_end() {
    let mut job = single_flow();
    let mut short = flow("a", "b");
    short["start_ps"] = json!(seconds(0.035));
    short["start_jitter_ps"] = json!(0);
    short["size_bytes"] = json!(2_500_000);
    job["flows"] = json!([short]);
    job["duration_ps"] = json!(seconds(0.2));
    let results = run(&job);
    let get = |name| common::column(&results, "series", name);
    let end_s = common::column(&results, "flows", "end_s")[0];
    // 2.5 MB take 21.3 ms at 941.5 Mbit/s, and slow start some more
    assert!((0.057..0.069).contains(&end_s), "{end_s}");
    let times: Vec<u64> = get("time_s")
        .iter()
        .map(|s| (s * 1000.0).round() as u64)
        .collect();
    let last = (end_s * 100.0).ceil() as u64;
    assert_eq!(times, (4..=last).map(|n| 10 * n).collect::<Vec<_>>());
    let delivered: f64 = get("goodput_bps").iter().map(|bps| bps * 0.01 / 8.0).sum();
    assert!((delivered - 2_500_000.0).abs() < 1.0, "{delivered}");
    let windows = get("cwnd_bytes");
    assert!(
        windows[..windows.len() - 1]
            .iter()
            .all(|cwnd| *cwnd > 14_000.0),
        "{windows:?}"
    );
}

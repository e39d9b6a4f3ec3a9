//! Workloads without a simulator: a driver that has only a clock, and delivers whatever is sent
//! after a fixed time.

use std::collections::BTreeMap;

use crate::common::{MS, US, job, plan, workload};
use fairport_plan::Parts;
use fairport_plan::flow::{FlowSpec, Side};
use fairport_plan::workload::{Action, Log};
use fairport_units::{Duration, Instant};
use serde_json::{Value, json};

/// From a write to its delivery.
const DELAY: Duration = Duration::from_us(200);

/// A flow that was started, with what its sender was asked to send.
struct Started {
    at: Instant,
    spec: FlowSpec,
    sent_bytes: u64,
}

/// Runs a workload between hosts of a star until `end`, and returns its flows and its log.
fn drive(workload: &Value, end: Instant) -> (Vec<Started>, Log) {
    let mut job = job(&json!({"kind": "star", "hosts": 8}));
    job["workloads"] = json!([workload]);
    job["duration_ps"] = json!(end.saturating_sub(Instant::ZERO).as_ps());
    let plan = plan(&job);
    let ports = plan.ports();
    let Parts { mut workloads, .. } = plan.into_parts(&ports);
    let mut flows: Vec<Started> = Vec::new();
    // deliveries by time, in the order in which they were sent
    let mut deliveries: BTreeMap<(Instant, usize), (u32, Side)> = BTreeMap::new();
    let mut serial = 0;
    let mut now = Instant::ZERO;
    loop {
        let delivery = deliveries.first_key_value().map(|(key, _)| key.0);
        let next = workloads
            .schedule
            .next_at()
            .min(delivery.unwrap_or(Instant::NEVER));
        if next > end {
            return (flows, workloads.log);
        }
        assert!(next >= now, "time goes on");
        now = next;
        let mut send = |flow: u32, side: Side| {
            serial += 1;
            deliveries.insert((now + DELAY, serial), (flow, side));
        };
        if delivery == Some(now) {
            let (_, (flow, side)) = deliveries.pop_first().expect("it is due");
            let origin = flows[flow as usize].spec.origin;
            workloads.delivered(side, origin, now, flow);
            continue;
        }
        match workloads.schedule.pop().expect("it is due") {
            Action::Start(spec) => {
                let asks = spec.application.request_bytes().is_some();
                let side = if asks { Side::Receiver } else { Side::Sender };
                send(flows.len() as u32, side);
                flows.push(Started {
                    at: now,
                    spec,
                    sent_bytes: spec.application.size_bytes().expect("a size"),
                });
            }
            Action::Write(flow, side, bytes) => {
                send(flow, side);
                if side == Side::Sender {
                    flows[flow as usize].sent_bytes += bytes;
                }
            }
            Action::Wake(workload, token) => workloads.wake(workload, now, token),
            Action::Open(_) | Action::Stop(_) => unreachable!("no flow is listed"),
        }
    }
}

#[test]
fn an_incast_round_begins_when_all_blocks_of_the_last_have_arrived() {
    for persistent in [false, true] {
        let pattern = json!({
            "kind": "incast", "block_bytes": 1000, "rounds": 4, "pause_ps": MS,
            "jitter_ps": 50 * US, "persistent": persistent,
        });
        let incast = workload(&[1, 2, 3], &[0], &pattern);
        let (flows, log) = drive(&incast, Instant::from_ms(50));
        assert_eq!(log.rounds.len(), 4, "as many rounds as were asked for");
        assert_eq!(flows.len(), if persistent { 3 } else { 12 });
        let sent: u64 = flows.iter().map(|flow| flow.sent_bytes).sum();
        assert_eq!(sent, 12 * 1000);
        for (_, round) in &log.rounds {
            let took = round.end - round.start;
            assert!(took >= DELAY && took <= DELAY + Duration::from_us(50));
        }
        for pair in log.rounds.windows(2) {
            assert_eq!(pair[1].1.start - pair[0].1.end, Duration::from_ms(1));
        }
    }
}

#[test]
fn a_periodic_transfer_starts_once_per_period() {
    let pattern = json!({
        "kind": "periodic", "size_bytes": 5000, "period_ps": 10 * MS, "jitter_ps": 0,
        "persistent": false,
    });
    let (flows, log) = drive(&workload(&[1], &[0], &pattern), Instant::from_ms(95));
    let starts: Vec<Instant> = flows.iter().map(|flow| flow.at).collect();
    let expected: Vec<Instant> = (0..10).map(|i| Instant::from_ms(10 * i)).collect();
    assert_eq!(starts, expected);
    assert_eq!(log.rounds.len(), 10);
}

#[test]
fn what_is_under_way_at_the_end_has_a_start_and_no_end() {
    let incast = json!({
        "kind": "incast", "block_bytes": 1000, "rounds": null, "pause_ps": 0, "jitter_ps": 0,
        "persistent": true,
    });
    let periodic = json!({
        "kind": "periodic", "size_bytes": 1000, "period_ps": MS, "jitter_ps": 0, "persistent": true,
    });
    for pattern in [incast, periodic] {
        // the second transfer and the sixth round begin at 1 ms
        let until = Instant::from_us(1001);
        let (_, log) = drive(&workload(&[1], &[0], &pattern), until);
        let [.., (_, done), (_, last)] = &*log.rounds else {
            panic!("{log:?}");
        };
        assert!(
            done.end <= last.start && last.end == Instant::NEVER,
            "{log:?}"
        );
    }
}

#[test]
fn poisson_arrivals_come_at_their_mean_rate_between_different_hosts() {
    // 1 Gbit/s at load 0.8 in flows of 10 kB: 10 000 flows per second
    let pattern = json!({
        "kind": "poisson", "load_ppm": 800_000, "capacity_bps": 1_000_000_000,
        "sizes": {"points": [[10_000, 1_000_000_000]], "unit_bytes": 1},
    });
    let all = [0, 1, 2, 3];
    let (flows, _) = drive(&workload(&all, &all, &pattern), Instant::from_secs(1));
    assert!(flows.iter().all(|flow| flow.spec.src != flow.spec.dst));
    // within four standard deviations of a Poisson number of mean 10 000
    assert!((9_600..=10_400).contains(&flows.len()), "{}", flows.len());
}

#[test]
fn a_client_sends_its_next_request_when_it_has_the_answer_and_has_thought() {
    let pattern = json!({
        "kind": "request-response", "connections": 2, "requests": 5,
        "request": {"points": [[100, 1_000_000_000]], "unit_bytes": 1},
        "response": {"points": [[4000, 1_000_000_000]], "unit_bytes": 1},
        "think": {"kind": "constant", "value_ps": MS}, "jitter_ps": 0,
    });
    let (flows, log) = drive(&workload(&[1], &[0], &pattern), Instant::from_ms(50));
    assert_eq!(flows.len(), 2, "one flow per connection");
    assert!(flows.iter().all(|flow| flow.sent_bytes == 5 * 4000));
    assert_eq!(log.exchanges.len(), 10);
    for (_, exchange) in &log.exchanges {
        assert_eq!(exchange.response_time(), DELAY + DELAY, "there and back");
        let cycle = DELAY + DELAY + Duration::from_ms(1);
        let before = cycle.as_ps() * u64::from(exchange.number);
        assert_eq!(exchange.start.as_ps(), before);
    }
}

#[test]
fn a_request_that_has_arrived_has_its_flow_before_it_is_answered() {
    let pattern = json!({
        "kind": "request-response", "connections": 1, "requests": 5,
        "request": {"points": [[100, 1_000_000_000]], "unit_bytes": 1},
        "response": {"points": [[4000, 1_000_000_000]], "unit_bytes": 1},
        "think": {"kind": "constant", "value_ps": MS}, "jitter_ps": 0,
    });
    let flow_at = |us| {
        let (_, log) = drive(&workload(&[1], &[0], &pattern), Instant::from_us(us));
        let [(_, exchange)] = &*log.exchanges else {
            panic!("one request by then");
        };
        assert_eq!(exchange.end, Instant::NEVER);
        exchange.flow
    };
    // it arrives after 200 us, and its answer after another 200 us
    assert_eq!((flow_at(199), flow_at(201)), (None, Some(0)));
}

#[test]
fn a_trace_starts_its_flows_when_the_file_says() {
    let pattern = json!({
        "kind": "trace", "start_ps": [0, 3 * MS, 3 * MS], "src": [0, 1, 0], "dst": [1, 0, 1],
        "bytes": [10, 20, 30],
    });
    let ends = [4, 5];
    let (flows, _) = drive(&workload(&ends, &ends, &pattern), Instant::from_ms(50));
    let rows: Vec<_> = flows
        .iter()
        .map(|it| (it.at, it.spec.src.host, it.spec.dst.host, it.sent_bytes))
        .collect();
    let three = Instant::from_ms(3);
    assert_eq!(
        rows,
        [
            (Instant::ZERO, 4, 5, 10),
            (three, 5, 4, 20),
            (three, 4, 5, 30)
        ]
    );
}

#[test]
fn a_page_is_complete_before_its_user_thinks_about_the_next() {
    let pattern = json!({
        "kind": "web", "sessions": 1, "session_gap_mean_ps": MS, "think_mean_ps": 10 * MS,
        "think_from_start": false, "object_gap_mean_ps": US, "objects": [3, 3],
        "size_packets": [1, 100], "shape_milli": 1200, "packet_bytes": 500,
    });
    let (flows, _) = drive(&workload(&[1, 2], &[0], &pattern), Instant::from_secs(1));
    assert!(flows.len() > 60, "{} objects", flows.len());
    for page in flows.chunks(3) {
        assert!(
            page.iter().all(|it| it.spec.src == page[0].spec.src),
            "one server"
        );
    }
    for pages in flows.chunks_exact(3).collect::<Vec<_>>().windows(2) {
        let last_object = pages[0]
            .iter()
            .map(|it| it.at)
            .max()
            .expect("three objects");
        assert!(pages[1][0].at >= last_object + DELAY);
    }
}

/// As in ns-2's `webtraf.cc` before November 2001: the time between pages does not depend on what arrives.
#[test]
fn pages_overlap_if_a_user_thinks_from_their_start_on() {
    let pattern = json!({
        "kind": "web", "sessions": 1, "session_gap_mean_ps": MS, "think_mean_ps": 50 * US,
        "think_from_start": true, "object_gap_mean_ps": 0, "objects": [3, 3],
        "size_packets": [1, 100], "shape_milli": 1200, "packet_bytes": 500,
    });
    let (flows, _) = drive(&workload(&[1, 2], &[0], &pattern), Instant::from_ms(100));
    // 2000 pages are expected, with a standard deviation of 45; one at a time would be 400 at most
    let pages = flows.len() / 3;
    assert!((1850..2150).contains(&pages), "{pages} pages");
    let waits = flows.windows(4).step_by(3);
    let waits = waits.map(|page| page[3].at.saturating_sub(page[0].at));
    // of exponential times 86 % are below twice the mean
    let short = waits.filter(|wait| *wait < Duration::from_us(100)).count() as f64;
    assert!((0.83..0.9).contains(&(short / pages as f64)), "{short}");
}

//! A connection says why its window or its phase changed.

use crate::pair::{Fate, Pair, stack};
use fairport_tcp::{Decision, DecisionCause, DecisionKind, Settings};
use fairport_units::{Duration, Instant};
use serde_json::{Value, json};

const RTT: Duration = Duration::from_ms(20);
const SEGMENT: u64 = 1448;

/// `linux-6` with one algorithm, over a link of a segment per 100 us.
fn linux(overrides: &Value) -> Settings {
    stack("linux-6", overrides)
}

fn connected(settings: &Settings) -> Pair {
    Pair::same(settings, RTT / 2)
        .spaced(Duration::from_us(100))
        .connected()
}

/// The decisions of congestion control, each with its cause.
fn made(pair: &Pair) -> Vec<(DecisionKind, DecisionCause)> {
    let decisions = &pair.client_log.decisions;
    decisions
        .iter()
        .map(|(_, it)| (it.what, it.cause))
        .collect()
}

fn only(pair: &Pair, what: DecisionKind) -> (Instant, Decision) {
    let decisions = &pair.client_log.decisions;
    let mut them = decisions.iter().filter(|(_, it)| it.what == what);
    let found = *them.next().expect("it was decided");
    assert_eq!(them.next(), None, "{what:?} once");
    found
}

#[test]
fn a_loss_ends_slow_start_and_says_what_the_window_was() {
    let settings = linux(&json!({"congestion_control": "newreno", "window_reduction": "at-once"}));
    let mut pair = connected(&settings).losing(&[30]);
    pair.client.write(100 * SEGMENT);
    pair.run();
    let (_, it) = only(&pair, DecisionKind::SlowStartEnd);
    assert_eq!(it.cause, DecisionCause::Loss);
    assert_eq!(
        it.ssthresh_bytes,
        it.cwnd_before_bytes / SEGMENT / 2 * SEGMENT
    );
    assert_eq!(it.cwnd_after_bytes, it.ssthresh_bytes);
}

#[test]
fn hystart_says_whether_the_train_or_the_delay_ended_slow_start() {
    // the train: ACKs 100 us apart for longer than half of the round trip
    let settings = linux(&json!({"congestion_control": "cubic"}));
    let mut pair = connected(&settings);
    pair.client.write(2000 * SEGMENT);
    pair.run();
    let (_, it) = only(&pair, DecisionKind::SlowStartEnd);
    assert_eq!(it.cause, DecisionCause::HystartTrain);
    // the window stays, and is the threshold from then on
    assert_eq!(it.cwnd_before_bytes, it.ssthresh_bytes);

    // the delay: from 30 segments on a segment takes 3 ms, so no two ACKs make a train
    let mut pair = Pair::same(&settings, RTT / 2)
        .spaced(Duration::from_ms(3))
        .connected();
    pair.client.write(200 * SEGMENT);
    pair.run();
    let (_, it) = only(&pair, DecisionKind::SlowStartEnd);
    assert_eq!(it.cause, DecisionCause::HystartDelay);
}

#[test]
fn a_mark_reduces_the_window_and_ends_slow_start() {
    for reduction in ["at-once", "prr"] {
        let settings = linux(&json!({
            "congestion_control": "newreno", "ecn": true, "window_reduction": reduction
        }));
        let mut pair = connected(&settings).through(|sent| match sent.data {
            Some(30) => Fate::Mark,
            _ => Fate::Arrive,
        });
        pair.client.write(100 * SEGMENT);
        pair.run();
        assert_eq!(
            made(&pair),
            [
                (DecisionKind::SlowStartEnd, DecisionCause::Mark),
                (DecisionKind::EcnReduction, DecisionCause::Mark)
            ],
            "{reduction}"
        );
        let (_, it) = only(&pair, DecisionKind::EcnReduction);
        assert_eq!(
            it.ssthresh_bytes,
            it.cwnd_before_bytes / SEGMENT / 2 * SEGMENT
        );
        let falls_at_once = it.cwnd_after_bytes == it.ssthresh_bytes;
        assert_eq!(falls_at_once, reduction == "at-once");
    }
}

#[test]
fn after_a_timeout_slow_start_ends_at_the_threshold() {
    let settings = linux(&json!({"congestion_control": "newreno", "tail_loss_probe": false}));
    let mut pair = connected(&settings).through(|sent| match sent.data {
        // the whole first flight
        Some(0..10) => Fate::Lose,
        _ => Fate::Arrive,
    });
    pair.client.write(100 * SEGMENT);
    pair.run();
    let (_, it) = only(&pair, DecisionKind::SlowStartEnd);
    assert_eq!(it.cause, DecisionCause::Threshold);
    assert_eq!(it.ssthresh_bytes, 5 * SEGMENT);
}

#[test]
fn a_window_that_was_idle_is_reduced_when_data_goes_out_again() {
    let settings = linux(&json!({"congestion_control": "newreno"}));
    let mut pair = connected(&settings);
    pair.client.write(100 * SEGMENT);
    pair.run();
    let paused = pair.now;
    pair.run_until(paused + Duration::from_secs(2));
    let resumed = pair.now;
    pair.client.write(20 * SEGMENT);
    pair.run();
    let (at, it) = only(&pair, DecisionKind::IdleRestart);
    assert_eq!((at, it.cause), (resumed, DecisionCause::Idle));
    assert_eq!(it.cwnd_after_bytes, 10 * SEGMENT);
    assert!(it.cwnd_before_bytes >= 100 * SEGMENT, "{it:?}");
}

#[test]
fn a_window_that_was_not_used_for_a_timeouts_time_is_reduced() {
    let settings = linux(&json!({"congestion_control": "newreno"}));
    let mut pair = connected(&settings).through(|sent| match sent.data {
        Some(100) => Fate::Late(Duration::from_ms(60)),
        _ => Fate::Arrive,
    });
    pair.client.write(100 * SEGMENT);
    pair.run_while(|pair| pair.client.gauges().acked_bytes < 100 * SEGMENT);
    let full = pair.now;
    // never idle for the timeout, some 230 ms, but for so long no ACK used the window
    for ms in [190, 240] {
        pair.run_until(full + Duration::from_ms(ms));
        pair.client.write(SEGMENT);
    }
    let reduced = pair.now;
    pair.run();
    let (at, it) = only(&pair, DecisionKind::UnusedWindow);
    assert_eq!((at, it.cause), (reduced, DecisionCause::ApplicationLimited));
    assert_eq!(
        it.cwnd_after_bytes,
        it.cwnd_before_bytes.midpoint(10 * SEGMENT)
    );
}

#[test]
fn bbr_says_which_state_it_enters_and_why() {
    let settings = linux(&json!({"congestion_control": "bbr"}));
    let mut pair = connected(&settings);
    pair.client.write_endless();
    pair.run_until(Instant::from_secs(11));
    assert_eq!(
        made(&pair),
        [
            (DecisionKind::BbrDrain, DecisionCause::PipeFull),
            (DecisionKind::BbrProbeBandwidth, DecisionCause::QueueDrained),
            (DecisionKind::BbrProbeRtt, DecisionCause::MinRttExpired),
            (
                DecisionKind::BbrProbeBandwidth,
                DecisionCause::MinRttMeasured
            ),
        ]
    );
    let (at, it) = only(&pair, DecisionKind::BbrProbeRtt);
    assert!(at > Instant::from_secs(10), "{at}");
    assert_eq!(it.cwnd_after_bytes, 4 * SEGMENT);
    assert!(it.cwnd_before_bytes > 200 * SEGMENT, "{it:?}");
}

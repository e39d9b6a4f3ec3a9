//! A connection says why recovery began and how it ended.

use crate::pair::transfer::{PAYLOAD, losing, sends};
use crate::pair::{Fate, Pair, Sent, stack};
use fairport_tcp::{Decision, DecisionCause, DecisionKind};
use fairport_units::Duration;
use serde_json::{Value, json};

/// What loss recovery decided in a transfer, in order.
fn decided(
    stack_name: &str,
    overrides: &Value,
    segments: u64,
    path: impl FnMut(&Sent) -> Fate + 'static,
) -> Vec<Decision> {
    let pair = sends(&stack(stack_name, overrides), segments, path);
    of_recovery(&pair)
}

fn of_recovery(pair: &Pair) -> Vec<Decision> {
    use DecisionKind::{EnterRecovery, LeaveRecovery, ReorderingWindow, Rto, TailLossProbe, Undo};
    let kinds = [
        EnterRecovery,
        LeaveRecovery,
        ReorderingWindow,
        Rto,
        TailLossProbe,
        Undo,
    ];
    let decisions = pair.client_log.decisions.iter();
    decisions
        .map(|(_, it)| *it)
        .filter(|it| kinds.contains(&it.what))
        .collect()
}

fn causes(decisions: &[Decision]) -> Vec<(DecisionKind, DecisionCause)> {
    decisions.iter().map(|it| (it.what, it.cause)).collect()
}

#[test]
fn recovery_is_entered_for_what_showed_the_loss_and_left_when_all_is_acknowledged() {
    for (name, overrides, cause) in [
        ("rfc", json!({"sack": false}), DecisionCause::DuplicateAcks),
        ("rfc", json!({}), DecisionCause::Sack),
        ("linux-3.0", json!({}), DecisionCause::Fack),
        ("linux-6", json!({}), DecisionCause::Rack),
    ] {
        let decisions = decided(name, &overrides, 60, losing(&[12]));
        assert_eq!(
            causes(&decisions),
            [
                (DecisionKind::EnterRecovery, cause),
                (DecisionKind::LeaveRecovery, DecisionCause::Acknowledged),
            ],
            "{name} {overrides}"
        );
        let [entered, left] = decisions[..] else {
            panic!("two decisions")
        };
        // the window falls at once, or gradually to the threshold
        assert!(entered.ssthresh_bytes < entered.cwnd_before_bytes, "{name}");
        let at_once = name == "rfc";
        assert_eq!(
            entered.cwnd_after_bytes < entered.cwnd_before_bytes,
            at_once,
            "{name}"
        );
        assert!(left.cwnd_after_bytes <= left.ssthresh_bytes, "{name}");
    }
    let settings = json!({"early_retransmit": true, "initial_window_segments": 3});
    let decisions = decided("rfc", &settings, 3, losing(&[0]));
    let entered = (DecisionKind::EnterRecovery, DecisionCause::EarlyRetransmit);
    assert_eq!(causes(&decisions)[0], entered);
}

#[test]
fn a_timeout_has_its_cause_and_takes_the_window_to_one_segment() {
    let decisions = decided("rfc", &json!({}), 10, losing(&[9]));
    let [timeout, left] = decisions[..] else {
        panic!("{:?}", causes(&decisions))
    };
    assert_eq!(
        (timeout.what, timeout.cause),
        (DecisionKind::Rto, DecisionCause::RtoTail)
    );
    assert!(timeout.cwnd_before_bytes > u64::from(PAYLOAD));
    assert_eq!(timeout.cwnd_after_bytes, u64::from(PAYLOAD));
    assert_eq!(left.what, DecisionKind::LeaveRecovery);
}

#[test]
fn a_probe_of_the_tail_is_followed_by_the_loss_that_it_found() {
    let settings = json!({"congestion_control": "newreno"});
    let decisions = decided("linux-6", &settings, 10, losing(&[8, 9]));
    assert_eq!(
        causes(&decisions)[..2],
        [
            (DecisionKind::TailLossProbe, DecisionCause::ProbeTimer),
            (DecisionKind::EnterRecovery, DecisionCause::Rack),
        ]
    );
}

#[test]
fn an_undo_says_what_showed_that_nothing_was_lost_and_restores_the_window() {
    let late = |sent: &Sent| match sent.data {
        Some(20) => Fate::Late(Duration::from_ms(9)),
        _ => Fate::Arrive,
    };
    for (timestamps, cause) in [
        (true, DecisionCause::Timestamps),
        (false, DecisionCause::Dsack),
    ] {
        // timestamps must be finer than the time by which the segment is late
        let settings = json!({"timestamps": timestamps, "congestion_control": "newreno"});
        let decisions = decided("linux-6", &settings, 60, late);
        let undo = decisions
            .iter()
            .find(|it| it.what == DecisionKind::Undo)
            .unwrap_or_else(|| panic!("{:?}", causes(&decisions)));
        assert_eq!(undo.cause, cause);
        assert!(undo.cwnd_after_bytes > undo.cwnd_before_bytes);
        assert_eq!(undo.ssthresh_bytes, u64::MAX);
    }
}

#[test]
fn rack_waits_once_something_came_late_and_was_not_lost() {
    // overtaken by one segment, which is too few to count as lost
    let late = |sent: &Sent| match sent.data {
        Some(20) => Fate::Late(Duration::from_us(150)),
        _ => Fate::Arrive,
    };
    let decisions = decided("linux-6", &json!({}), 60, late);
    let waits = (DecisionKind::ReorderingWindow, DecisionCause::Reordering);
    assert_eq!(causes(&decisions), [waits]);
}

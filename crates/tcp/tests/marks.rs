//! The sender's answer to ECE, ACK by ACK (RFC 3168 6.1.2; `tcp_enter_cwr`).

use crate::peer::{PAYLOAD, Peer, all, ms, today};
use fairport_tcp::{CaState, DecisionCause, DecisionKind, Ecn, Flags, SackBlock, Segment};
use serde_json::{Value, json};

const ECE: Flags = Flags::ECE;

fn opened(overrides: &Value) -> Peer {
    let mut all = json!({"ecn": true});
    for (key, value) in overrides.as_object().unwrap() {
        all[key] = value.clone();
    }
    Peer::opened(&today(&all))
}

/// An ACK of the segments below `number`, with ECE or without; returns what goes out.
fn acks(peer: &mut Peer, number: u32, marked: bool) -> Vec<Segment> {
    let mut segment = peer.segment(number * PAYLOAD);
    if marked {
        segment.flags |= ECE;
    }
    peer.gets(&segment);
    peer.polls()
}

fn carries_cwr(sent: &[Segment]) -> Vec<bool> {
    sent.iter()
        .map(|it| it.flags.contains(Flags::CWR))
        .collect()
}

/// Of a window of ten, one segment goes out for every second ACK, down to five.
#[test]
fn a_mark_reduces_the_window_gradually_once_in_a_window_of_data() {
    let mut peer = opened(&json!({}));
    assert_eq!(peer.writes(40), all(0..10));
    let sent = acks(peer.at(100), 1, true);
    assert_eq!(carries_cwr(&sent), [true]);
    assert_eq!(
        (peer.info().ca_state, peer.window().1),
        (CaState::Cwr, Some(5))
    );
    let mut counts = Vec::new();
    for number in 2..=10 {
        let sent = acks(&mut peer, number, number == 4);
        assert!(!carries_cwr(&sent).contains(&true));
        counts.push(sent.len());
    }
    // with five in the network one goes out for one
    assert_eq!(counts, [0, 1, 0, 1, 0, 1, 0, 0, 1]);
    // all that was sent before the mark is acknowledged; the answer lies behind it
    assert_eq!((peer.info().ca_state, peer.window().0), (CaState::Cwr, 5));
    acks(peer.at(200), 11, false);
    assert_eq!(
        (peer.info().ca_state, peer.window()),
        (CaState::Open, (5, Some(5)))
    );
    assert_eq!(peer.info().delivered_ce, 2);
    // the next mark is of another window
    acks(&mut peer, 12, true);
    assert_eq!(
        (peer.info().ca_state, peer.window().1),
        (CaState::Cwr, Some(2))
    );
    assert_eq!(peer.info().delivered_ce, 3);
}

/// The losses go with the mark: one reduction for both, and nothing takes it back.
#[test]
fn a_loss_while_the_window_is_reduced_for_a_mark_reduces_it_no_further() {
    let mut peer = opened(&json!({}));
    peer.writes(40);
    acks(peer.at(100), 1, true);
    assert_eq!(peer.window().1, Some(5));
    peer.sacks(1, &[(2, 5)]);
    assert_eq!(
        (peer.info().ca_state, peer.window().1),
        (CaState::Recovery, Some(5))
    );
    // the duplicate SACK of the only retransmission shows that it was needless
    peer.at(110).sacks(9, &[(1, 2)]);
    assert_eq!(peer.window().1, Some(5));
    // the episode ends where the reduction would have
    let mut peer = opened(&json!({}));
    peer.writes(40);
    acks(peer.at(100), 1, true);
    peer.at(110).sacks(1, &[(2, 5)]);
    peer.at(120).acks(9);
    assert_eq!(peer.info().ca_state, CaState::Recovery);
    peer.acks(10);
    assert_eq!(
        (peer.info().ca_state, peer.window()),
        (CaState::Open, (5, Some(5)))
    );
}

#[test]
fn a_mark_with_the_ack_that_starts_recovery_is_no_second_reduction() {
    let mut peer = opened(&json!({}));
    peer.writes(40);
    let mut segment = peer.at(100).segment(0);
    segment.flags |= ECE;
    segment.options.push_sack(SackBlock {
        start: 1001,
        end: 4001,
    });
    peer.gets(&segment);
    peer.polls();
    assert_eq!(
        (peer.info().ca_state, peer.window().1),
        (CaState::Recovery, Some(5))
    );
    // and it stays, although the duplicate SACK shows that nothing was lost
    peer.at(110).sacks(10, &[(0, 1)]);
    assert_eq!(peer.window().1, Some(5));
}

/// `tcp_enter_loss`: in the window of the mark the threshold has fallen already.
#[test]
fn a_timeout_in_the_window_of_a_mark_lowers_the_threshold_no_further() {
    let mut peer = opened(&json!({"tail_loss_probe": false}));
    peer.writes(10);
    acks(peer.at(100), 1, true);
    assert_eq!(peer.wakes(), (400_000, vec![1]));
    assert_eq!(
        (peer.info().ca_state, peer.window()),
        (CaState::Loss, (1, Some(5)))
    );

    // once all of it is acknowledged, it is lowered: half of the seven that the window was by then
    let mut peer = opened(&json!({"tail_loss_probe": false}));
    peer.writes(10);
    acks(peer.at(100), 1, true);
    acks(&mut peer, 10, false);
    let (cwnd, ssthresh) = peer.window();
    assert_eq!((peer.info().ca_state, ssthresh), (CaState::Cwr, Some(5)));
    peer.at(110).writes(1);
    peer.wakes();
    assert_eq!(peer.window(), (1, Some((cwnd / 2).max(2))));
}

#[test]
fn after_a_loss_and_after_a_timeout_new_data_carries_cwr_as_well() {
    let mut peer = opened(&json!({"tail_loss_probe": false}));
    peer.writes(13);
    let mut segment = peer.at(100).segment(0);
    let block = SackBlock {
        start: 1001,
        end: 4001,
    };
    segment.options.push_sack(block);
    peer.gets(&segment);
    // the repetition, and a new one
    assert_eq!(carries_cwr(&peer.polls()), [false, true]);
    let mut peer = opened(&json!({"tail_loss_probe": false}));
    peer.writes(12);
    peer.wakes();
    let sent = acks(peer.at(310), 1, false);
    assert_eq!(carries_cwr(&sent), [true, false]);
    // data that was never sent again is acknowledged, so the timeout was needless and there is nothing to report
    let mut peer = opened(&json!({"tail_loss_probe": false}));
    peer.writes(12);
    peer.wakes();
    let sent = acks(peer.at(310), 10, false);
    assert_eq!(carries_cwr(&sent), [false, false]);
}

/// Without a gradual reduction the window falls at once, and grows again above what was sent by then.
#[test]
fn where_the_window_falls_at_once_a_mark_halves_it_once_in_a_window_of_data() {
    for unit in ["segments", "bytes"] {
        let mut peer = opened(&json!({
            "window_reduction": "at-once", "window_unit": unit, "window_use_by_round": false
        }));
        assert_eq!(peer.writes(60), all(0..10));
        assert_eq!(acks(peer.at(100), 1, true).len(), 0);
        assert_eq!(peer.window(), (5, Some(5)), "{unit}");
        for number in 2..=9 {
            acks(&mut peer, number, true);
        }
        // what ends at the mark's own window is of it
        acks(peer.at(200), 10, true);
        assert_eq!(peer.window(), (5, Some(5)), "{unit}");
        assert_eq!(peer.info().ca_state, CaState::Open);
        acks(&mut peer, 11, true);
        // 2500 bytes are two segments and a part of a third
        let half = if unit == "bytes" { 3 } else { 2 };
        assert_eq!(peer.window(), (half, Some(half)), "{unit}");
        let marks = peer
            .log
            .decisions
            .iter()
            .filter(|(_, it)| it.cause == DecisionCause::Mark);
        let of_ecn = marks.filter(|(_, it)| it.what == DecisionKind::EcnReduction);
        let at: Vec<_> = of_ecn.map(|(at, _)| *at).collect();
        assert_eq!(at.len(), 2);
        assert_eq!(at[1] - at[0], ms(100));
    }
}

#[test]
fn a_repetition_carries_no_cwr_and_pure_acks_are_not_ecn_capable() {
    let mut peer = opened(&json!({}));
    peer.writes(10);
    peer.at(100).sacks(0, &[(1, 3)]);
    let mut segment = peer.segment(0);
    segment.flags |= ECE;
    segment.options.push_sack(SackBlock {
        start: 1001,
        end: 4001,
    });
    peer.gets(&segment);
    let again = peer.end.poll_transmit(peer.now).unwrap();
    assert_eq!((again.seq, again.flags.contains(Flags::CWR)), (1, false));
    assert_eq!(peer.end.codepoint(), Ecn::NotEct);
}

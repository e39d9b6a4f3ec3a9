//! Recovery, undo and F-RTO of today's Linux, ACK by ACK.

use crate::peer::{NOTHING, PAYLOAD, Peer, all, today};
use fairport_tcp::{CaState, DecisionCause, DecisionKind};
use serde_json::json;

/// Decisions so far, the end of slow start left out.
fn decided(peer: &Peer) -> Vec<(DecisionKind, DecisionCause)> {
    let made = peer.log.decisions.iter().map(|(_, it)| (it.what, it.cause));
    made.filter(|it| it.0 != DecisionKind::SlowStartEnd)
        .collect()
}

/// Ten segments went out at 0; the first is lost, and three are SACKed at 100 ms.
fn in_recovery(overrides: &serde_json::Value) -> Peer {
    let mut peer = Peer::opened(&today(overrides));
    assert_eq!(peer.writes(30), all(0..10));
    assert_eq!(peer.at(100).sacks(0, &[(1, 2)]), [10]);
    assert_eq!(peer.sacks(0, &[(1, 3)]), [11]);
    assert_eq!(peer.sacks(0, &[(1, 4)]), [0]);
    assert_eq!(peer.info().ca_state, CaState::Recovery);
    assert_eq!(peer.window().1, Some(5));
    assert_eq!(peer.flight(), [12, 3, 1, 1]);
    peer
}

/// RFC 6937: of a window of ten with a threshold of five, a segment goes out for every second that is delivered.
#[test]
fn prr_lets_a_segment_out_for_every_second_ack() {
    let mut peer = in_recovery(&json!({}));
    let sent: Vec<usize> = (5..11).map(|to| peer.sacks(0, &[(1, to)]).len()).collect();
    // with the last of them five are in the network, which is the threshold
    assert_eq!(sent, [0, 1, 0, 1, 0, 0]);
    assert_eq!(peer.at(200).acks(11), [14, 15]);
    assert_eq!(peer.info().ca_state, CaState::Recovery);
    // the episode ends where the flight of its beginning does
    peer.acks(12);
    assert_eq!(
        (peer.info().ca_state, peer.window()),
        (CaState::Open, (5, Some(5)))
    );
    assert_eq!(
        decided(&peer),
        [
            (DecisionKind::EnterRecovery, DecisionCause::Rack),
            (DecisionKind::LeaveRecovery, DecisionCause::Acknowledged)
        ]
    );
}

/// Both came: the duplicate SACK of the only retransmission takes the reduction back (RFC 3708).
#[test]
fn a_duplicate_sack_of_every_retransmission_takes_the_reduction_back() {
    let mut peer = in_recovery(&json!({}));
    peer.at(110).sacks(0, &[(1, 10)]);
    let before = peer.info().delivered;
    peer.at(120).acks(10);
    assert_eq!(peer.info().ca_state, CaState::Recovery);
    assert_eq!(peer.info().delivered, before + 1);
    peer.at(130).sacks(10, &[(0, 1)]);
    assert_eq!(peer.info().ca_state, CaState::Open);
    assert_eq!(peer.info().delivered, before + 2);
    // ten again, and what slow start made of it until then
    assert!(peer.window().0 >= 10);
    assert_eq!(peer.window().1, None);
    assert_eq!(
        decided(&peer)[1],
        (DecisionKind::Undo, DecisionCause::Dsack)
    );
}

/// RFC 2883 5, `tcp_check_dsack`: what a first block may report. `delivered` counts what is believed.
#[test]
fn a_duplicate_sack_is_believed_where_it_can_be_true() {
    let kilo = PAYLOAD;
    for (ack, blocks, believed) in [
        // below the ACK
        (10, vec![(0, kilo)], 1),
        (10, vec![(9 * kilo, 10 * kilo)], 1),
        (10, vec![(9 * kilo, 10 * kilo + 1)], 0), // two segments, of which one was sent again
        // not below, and no second block
        (0, vec![(kilo, 2 * kilo)], 0),
        // within the second, also as a whole and at its ends
        (0, vec![(kilo, 2 * kilo), (kilo, 10 * kilo)], 1),
        (0, vec![(9 * kilo, 10 * kilo), (kilo, 10 * kilo)], 1),
        (0, vec![(kilo, 2 * kilo), (kilo + 1, 10 * kilo)], 0),
        (0, vec![(9 * kilo, 10 * kilo), (kilo, 10 * kilo - 1)], 0),
        // empty, or the wrong way round
        (10, vec![(kilo, kilo)], 0),
        (10, vec![(2 * kilo, kilo)], 0),
        // before the first byte, or beyond the last
        (10, vec![(u32::MAX - 1, 10)], 0),
        (10, vec![(u32::MAX, 10)], 0),
    ] {
        let mut peer = in_recovery(&json!({"undo": false}));
        peer.at(110).sacks(0, &[(1, 10)]);
        let before = peer.info();
        peer.at(120);
        let blocks: Vec<(u32, u32)> = blocks;
        let mut segment = peer.segment(ack * kilo);
        for (from, to) in &blocks {
            segment.options.push_sack(fairport_tcp::SackBlock {
                start: from.wrapping_add(1),
                end: to.wrapping_add(1),
            });
        }
        peer.gets(&segment);
        let after = peer.info();
        let known = u64::from(ack > 0);
        assert_eq!(
            after.delivered - before.delivered - known,
            believed,
            "{ack} {blocks:?}"
        );
    }
}

/// Eifel (RFC 3522): the ACK of the original echoes a stamp from before the retransmission.
#[test]
fn an_echo_of_the_original_ends_recovery_at_once() {
    let stamped = json!({"timestamps": true, "mss_bytes": 1012});
    // stamps count milliseconds of the client, which began at 1: the data left at 101, the repetition at 201
    for (echo, undone) in [(101, true), (200, true), (201, false), (0, false)] {
        let mut peer = Peer::opened(&today(&stamped));
        peer.echo = Some(101);
        peer.writes(10);
        peer.at(100).sacks(0, &[(1, 4)]);
        assert_eq!(peer.info().ca_state, CaState::Recovery);
        peer.echo = Some(echo);
        peer.at(110).acks(4);
        let expected = if undone {
            CaState::Open
        } else {
            CaState::Recovery
        };
        assert_eq!(peer.info().ca_state, expected, "{echo}");
        assert_eq!(peer.window().1.is_none(), undone);
    }
}

/// Five are outstanding and nothing is heard; without a probe the timeout is needless or not.
fn timed_out(overrides: &serde_json::Value) -> Peer {
    let mut all = json!({"tail_loss_probe": false});
    for (key, value) in overrides.as_object().unwrap() {
        all[key] = value.clone();
    }
    let mut peer = Peer::opened(&today(&all));
    peer.writes(5);
    assert_eq!(peer.due_us(), Some(300_000));
    assert_eq!(peer.wakes(), (300_000, vec![0]));
    assert_eq!((peer.window(), peer.flight()), ((1, Some(5)), [5, 0, 5, 1]));
    peer
}

/// RFC 5682 3.1: after the ACK of the repetition new data goes out, and an ACK of what was sent once shows that
/// the timeout was needless.
#[test]
fn f_rto_sends_new_data_and_takes_a_needless_timeout_back() {
    let mut peer = timed_out(&json!({}));
    peer.end.write(5 * u64::from(PAYLOAD));
    assert_eq!(peer.sends(), NOTHING);
    // step 2.b: two of new data
    assert_eq!(peer.at(310).acks(1), [5, 6]);
    assert_eq!(peer.info().ca_state, CaState::Loss);
    // step 3.b
    peer.at(320).acks(2);
    assert_eq!(peer.info().ca_state, CaState::Open);
    assert_eq!(peer.window().1, None);
    assert_eq!(peer.flight(), [8, 0, 0, 0]);
    assert_eq!(decided(&peer)[1], (DecisionKind::Undo, DecisionCause::Frto));
}

#[test]
fn f_rto_takes_a_gap_above_new_data_for_a_loss() {
    let mut peer = timed_out(&json!({}));
    peer.end.write(5 * u64::from(PAYLOAD));
    assert_eq!(peer.at(310).acks(1), [5, 6]);
    // step 3.a: the new data arrived and nothing of before
    peer.at(410).sacks(1, &[(5, 6)]);
    assert_eq!(peer.info().ca_state, CaState::Loss);
    assert_eq!(peer.window().1, Some(5));
    peer.sacks(1, &[(5, 7)]);
    assert!(peer.flight()[3] > 0, "what is lost goes out again");
    // nothing that comes later takes it back
    peer.at(510).acks(3);
    assert_eq!(
        (peer.info().ca_state, peer.window().1),
        (CaState::Loss, Some(5))
    );
}

#[test]
fn without_new_data_f_rto_goes_on_with_what_is_lost() {
    let mut peer = timed_out(&json!({}));
    assert_eq!(peer.at(400).acks(1), [1, 2]);
    assert_eq!(peer.info().ca_state, CaState::Loss);
    assert_eq!(peer.at(500).acks(3), [3, 4]);
    peer.at(600).acks(5);
    assert_eq!(
        (peer.info().ca_state, peer.window().1),
        (CaState::Open, Some(5))
    );
    assert_eq!(
        decided(&peer),
        [
            (DecisionKind::Rto, DecisionCause::RtoTail),
            (DecisionKind::LeaveRecovery, DecisionCause::Acknowledged)
        ]
    );
}

#[test]
fn an_ack_of_more_than_the_repetition_shows_a_needless_timeout_at_once() {
    let mut peer = timed_out(&json!({}));
    peer.at(310).acks(2);
    assert_eq!(
        (peer.info().ca_state, peer.window().1),
        (CaState::Open, None)
    );
    assert_eq!(peer.flight(), [3, 0, 0, 0]);
}

/// `tcp_enter_loss`: the threshold falls once per window of data, whatever follows.
#[test]
fn a_timeout_amid_recovery_lowers_the_threshold_no_further() {
    let mut peer = in_recovery(&json!({"tail_loss_probe": false}));
    assert_eq!(peer.window().1, Some(5));
    // the reordering timer finds nothing more, and leaves the timeout of the retransmission
    assert_eq!(peer.wakes(), (127_000, vec![]));
    assert_eq!(
        (peer.wakes(), peer.window().1),
        ((400_000, vec![0]), Some(5))
    );
    assert_eq!(peer.info().ca_state, CaState::Loss);
    assert_eq!(
        decided(&peer)[1],
        (DecisionKind::Rto, DecisionCause::RtoLostRetransmit)
    );
    // and the next of the series neither
    peer.wakes();
    assert_eq!((peer.window(), peer.log.timeouts.len()), ((1, Some(5)), 2));
}

/// RFC 5961 5.2: an ACK below `SND.UNA` is taken as late within the largest window, its SACKs are read; one from
/// longer ago, or from before the connection, is not.
#[test]
fn an_old_ack_counts_within_the_largest_window() {
    let mut peer = Peer::with_window(&today(&json!({"answers_invalid_acks": true})), 5000);
    for number in 0..4 {
        peer.writes(3);
        peer.acks(3 * (number + 1));
    }
    peer.writes(4);
    for (ack, valid) in [(7000, true), (6999, false), (11_999, true)] {
        let segment = peer.segment(ack);
        peer.gets(&segment);
        assert_eq!(peer.polls().len(), usize::from(!valid), "{ack}");
    }
    peer.sacks_bytes(7000, &[(13_000, 14_000)]);
    assert_eq!(peer.flight()[..2], [4, 1]);
    peer.sacks_bytes(6999, &[(14_000, 15_000)]);
    assert_eq!(peer.flight()[..2], [4, 1]);

    let mut peer = Peer::opened(&today(&json!({"answers_invalid_acks": true})));
    peer.writes(4);
    peer.acks(3);
    for (ack, valid) in [(0, true), (u32::MAX, false)] {
        let segment = peer.segment(ack);
        peer.gets(&segment);
        assert_eq!(peer.polls().len(), usize::from(!valid), "{ack}");
    }
}

/// RFC 5682 3.1 step 2.b: where the peer's window takes no new data, what is lost goes out again.
#[test]
fn f_rto_needs_room_for_new_data_in_the_peers_window() {
    for (window, sent) in [(4000, vec![1, 2]), (5000, vec![5]), (6000, vec![5, 6])] {
        let mut peer = timed_out(&json!({}));
        peer.end.write(5 * u64::from(PAYLOAD));
        peer.window = window;
        assert_eq!(peer.at(310).acks(1), sent, "{window}");
    }
}

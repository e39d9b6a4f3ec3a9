//! Recovery without SACK as Linux has it, ACK by ACK: each duplicate is taken for a SACKed segment
//! (`tcp_add_reno_sack`, `tcp_remove_reno_sacks`, `tcp_is_non_sack_preventing_reopen`).

use crate::peer::{Peer, all, today};
use fairport_tcp::CaState;
use serde_json::{Value, json};

fn opened(overrides: &Value) -> Peer {
    let mut all = json!({"sack": false});
    for (key, value) in overrides.as_object().unwrap() {
        all[key] = value.clone();
    }
    Peer::opened(&today(&all))
}

/// The first of ten is lost: of twelve, two sent for duplicates, three are counted as arrived.
fn in_recovery() -> Peer {
    let mut peer = opened(&json!({}));
    assert_eq!(peer.writes(30), all(0..10));
    assert_eq!(peer.at(100).acks(0), [10]);
    assert_eq!(peer.info().ca_state, CaState::Disorder);
    assert_eq!(peer.acks(0), [11]);
    assert_eq!(peer.flight(), [12, 2, 0, 0]);
    assert_eq!(peer.acks(0), [0]);
    assert_eq!(
        (peer.info().ca_state, peer.window().1),
        (CaState::Recovery, Some(5))
    );
    assert_eq!(peer.flight(), [12, 3, 1, 1]);
    peer
}

#[test]
fn a_partial_ack_repeats_the_next_segment_as_far_as_the_window_goes() {
    let mut peer = in_recovery();
    let sent: Vec<usize> = (0..6).map(|_| peer.acks(0).len()).collect();
    assert_eq!(sent, [0, 1, 0, 1, 0, 0]);
    assert_eq!(peer.flight(), [14, 9, 1, 1]);
    // three: the hole, and two that duplicates had counted; the fourth is lost as well
    assert_eq!(peer.at(200).acks(3), [3, 14]);
    assert_eq!(peer.flight(), [12, 7, 1, 1]);
    assert_eq!(peer.info().ca_state, CaState::Recovery);
    // at the end of the episode the state is kept until more is acknowledged (RFC 6582 3.2)
    peer.at(300).acks(12);
    assert_eq!(peer.info().ca_state, CaState::Recovery);
    peer.acks(13);
    assert_eq!(
        (peer.info().ca_state, peer.window()),
        (CaState::Open, (5, Some(5)))
    );
}

#[test]
fn an_ack_with_data_or_another_window_is_no_duplicate() {
    let mut peer = opened(&json!({}));
    peer.writes(10);
    let mut data = peer.at(100).segment(0);
    for _ in 0..4 {
        data.payload = 10;
        peer.gets(&data);
        data.seq += 10;
    }
    assert_eq!(peer.info().sacked, 0);
    peer.window = 50_000;
    // the peer's data moved its number on, so the window is news
    data.payload = 0;
    data.window = 50_000;
    peer.gets(&data);
    assert_eq!(peer.info().sacked, 0);
    peer.gets(&data);
    assert_eq!(peer.info().sacked, 1);
}

/// `tcp_check_reno_reordering`: more duplicates than segments above the hole mean that something came late.
#[test]
fn too_many_duplicates_raise_the_number_that_shows_a_loss() {
    let mut peer = opened(&json!({"limited_transmit": false}));
    peer.writes(3);
    for _ in 0..3 {
        peer.at(100).acks(0);
    }
    assert_eq!((peer.info().reordering, peer.info().reord_seen), (3, 1));
    assert_eq!(
        (peer.info().sacked, peer.info().ca_state),
        (2, CaState::Disorder)
    );
    // what was counted is gone with the ACK of all
    peer.at(110).acks(3);
    assert_eq!(
        (peer.info().sacked, peer.info().ca_state),
        (0, CaState::Open)
    );
}

#[test]
fn after_a_timeout_duplicates_of_the_old_flight_count_for_nothing() {
    let mut peer = opened(&json!({}));
    peer.writes(5);
    assert_eq!(peer.wakes(), (300_000, vec![0]));
    assert_eq!(peer.flight(), [5, 0, 5, 1]);
    peer.at(310).acks(0);
    assert_eq!(
        (peer.flight(), peer.info().ca_state),
        ([5, 0, 5, 1], CaState::Loss)
    );
    peer.at(400).acks(2);
    peer.at(500).acks(5);
    assert_eq!(peer.info().unacked, 0);
}

#[test]
fn with_nothing_outstanding_a_repeated_ack_is_no_duplicate() {
    // RFC 5681 2: the receiver of the ACK has outstanding data
    for emulates in [true, false] {
        let mut peer = opened(&json!({"duplicate_acks_deliver": emulates}));
        peer.writes(2);
        peer.at(100).acks(2);
        for _ in 0..4 {
            peer.at(110).acks(2);
        }
        assert_eq!((peer.info().reordering, peer.info().reord_seen), (3, 0));
        assert_eq!(
            (peer.info().sacked, peer.info().ca_state),
            (0, CaState::Open)
        );
    }
}

#[test]
fn sack_blocks_that_were_not_agreed_on_are_not_read() {
    for emulates in [true, false] {
        let mut peer = opened(&json!({"duplicate_acks_deliver": emulates}));
        peer.writes(10);
        peer.at(100).sacks(2, &[(4, 9)]);
        assert_eq!(
            (peer.flight()[1..3].to_vec(), peer.info().ca_state),
            (vec![0, 0], CaState::Open)
        );
    }
}

//! What rare ACKs say: duplicate SACKs, such as were overtaken, and such as end within a segment.

use crate::peer::{NOTHING, Peer, all, today};
use fairport_tcp::{CaState, Flags};
use serde_json::json;

/// `tcp_is_sackblock_valid`: a duplicate SACK may end at `SND.NXT`, and not above it.
#[test]
fn a_duplicate_sack_of_the_last_byte_that_was_sent_counts() {
    for (end, dsacked) in [(2000, 1), (2001, 0)] {
        let mut peer = Peer::opened(&today(&json!({})));
        assert_eq!(peer.writes(2), all(0..2));
        let (_, probe) = peer.wakes();
        assert_eq!(probe, [1], "the last segment again");
        peer.at(290).sacks_bytes(2000, &[(1000, end)]);
        // SYN, two segments, and the copy
        assert_eq!(peer.info().delivered, 3 + dsacked, "{end}");
    }
}

/// `tcp_sacktag_write_queue`: what a duplicate SACK reports has left the network, so PRR lets as much out
/// (RFC 6937 2, `DeliveredData`).
#[test]
fn what_came_twice_lets_a_segment_out_in_a_proportional_reduction() {
    let settings = json!({"tail_loss_probe": false, "initial_window_segments": 20});
    let mut peer = Peer::opened(&today(&settings));
    assert_eq!(peer.writes(30), all(0..20));
    // 15 are in the network, and half as many go out as are delivered, down to ten: two for three, none for the fourth
    assert_eq!(peer.at(100).sacks(0, &[(2, 5)]), [0, 1]);
    assert_eq!(peer.at(101).sacks(0, &[(2, 6)]), NOTHING);
    // the fifth
    assert_eq!(peer.at(102).sacks(0, &[(2, 3), (2, 6)]), [20]);
}

/// `tcp_ack`: of an ACK below `SND.UNA` only SACK blocks are looked at (`old_ack`), and not its ECE, which would keep
/// a reduction from being taken back.
#[test]
fn the_mark_of_an_ack_that_was_overtaken_is_not_looked_at() {
    let known: &[(u32, u32)] = &[(3, 6)];
    for (ack, blocks, undone) in [(1, &[][..], true), (1, known, true), (2, known, false)] {
        let mut peer = Peer::opened(&today(&json!({"ecn": true, "tail_loss_probe": false})));
        assert_eq!(peer.writes(10), all(0..10));
        assert_eq!(peer.at(100).acks(2), NOTHING);
        assert_eq!(peer.at(101).sacks(2, &[(3, 6)]), [2]);
        assert_eq!(peer.info().ca_state, CaState::Recovery);
        peer.flags = Flags::ACK | Flags::ECE;
        peer.at(102).sacks(ack, blocks);
        peer.flags = Flags::ACK;
        // both copies of it came
        peer.at(200).sacks(6, &[(2, 3)]);
        assert_eq!(peer.window().1.is_none(), undone, "{ack} {blocks:?}");
    }
}

/// `tcp_clean_rtx_queue` calls `tcp_remove_reno_sacks` for whole segments that are acknowledged: part of one delivers none.
#[test]
fn without_sack_an_ack_within_a_segment_delivers_no_segment() {
    let mut peer = Peer::opened(&today(&json!({"sack": false})));
    assert_eq!(peer.writes(20), all(0..10));
    assert_eq!(peer.at(100).sacks_bytes(500, &[]), NOTHING);
    assert_eq!(peer.info().delivered, 1, "the SYN");
    assert_eq!(peer.window().0, 10);
    assert_eq!(peer.at(101).acks(1), [10, 11]);
}

/// `tcp_xmit_recovery`: F-RTO's new data is what fits the peer's window, and where none does, what is lost goes on
/// (RFC 5682 2.1 step 2b).
#[test]
fn after_a_timeout_what_is_lost_goes_on_where_the_window_takes_no_whole_new_segment() {
    for (window, next) in [(10_000, vec![10]), (9_500, vec![1, 2])] {
        let mut peer = Peer::opened(&today(&json!({"tail_loss_probe": false})));
        assert_eq!(peer.writes(20), all(0..10));
        let (due, sent) = peer.wakes();
        assert_eq!((due, sent), (300_000, vec![0]));
        peer.window = window;
        assert_eq!(peer.at(400).acks(1), next, "{window}");
    }
}

/// `tcp_check_sack_reordering` up to `tcp_highest_sack_seq`, which is `SND.UNA` where nothing is SACKed any more.
#[test]
fn what_came_late_was_late_by_all_that_the_ack_acknowledges() {
    for (acked, degree) in [(6, 6), (8, 8)] {
        let mut peer = Peer::opened(&today(&json!({"tail_loss_probe": false})));
        assert_eq!(peer.writes(10), all(0..10));
        peer.at(100).sacks(0, &[(5, 6)]);
        peer.at(101).acks(acked);
        assert_eq!(peer.info().reordering, degree);
    }
}

/// RFC 9293 3.10.7.4 lets an ACK below `SND.UNA` be ignored, and the RFCs' loss recovery does. Linux reads its SACK blocks.
#[test]
fn who_follows_the_rfcs_reads_no_sack_blocks_of_an_ack_that_was_overtaken() {
    let rfcs = json!({
        "rack": false, "tail_loss_probe": false, "dsack": false, "undo": false, "frto": false, "sack_rtt": false,
        "window_reduction": "at-once"
    });
    for (settings, sacked) in [(rfcs, 0), (json!({"tail_loss_probe": false}), 1)] {
        let mut peer = Peer::opened(&today(&settings));
        assert_eq!(peer.writes(10), all(0..10));
        peer.at(100).acks(2);
        peer.at(101).sacks(1, &[(5, 6)]);
        assert_eq!(peer.flight()[1], sacked);
    }
}

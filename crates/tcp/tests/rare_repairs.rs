//! Losses that are found or taken back in rare orders of events, ACK by ACK.

use crate::peer::{NOTHING, Peer, all, today};
use fairport_tcp::{CaState, Decision, DecisionCause, DecisionKind};
use serde_json::json;

/// A peer with segments 1 to 7 under way, of which 1 was sent again by the timer.
fn after_a_timeout() -> Peer {
    let settings = json!({"tail_loss_probe": false, "frto": false});
    after_a_timeout_of(Peer::opened(&today(&settings)))
}

fn after_a_timeout_of(mut peer: Peer) -> Peer {
    assert_eq!(peer.writes(6), all(0..6));
    peer.at(100).acks(1);
    // younger than a round trip when the timer fires, so not taken for lost by it
    assert_eq!(peer.at(350).writes(2), [6, 7]);
    assert_eq!(peer.wakes(), (400_000, vec![1]));
    peer
}

/// `tcp_fastretrans_alert`: the repair of a timeout becomes fast recovery where a retransmission is lost
/// (`FLAG_LOST_RETRANS`), and not where more of the flight is.
#[test]
fn more_losses_of_the_flight_leave_a_timeouts_repair_as_it_is() {
    let mut peer = after_a_timeout();
    assert_eq!(peer.flight(), [7, 0, 5, 1]);
    // the retransmission was sent after 6 and 7, and arrived
    peer.at(500).acks(2);
    assert_eq!(peer.flight()[2], 6);
    assert_eq!(peer.info().ca_state, CaState::Loss);
}

/// `tcp_cwnd_reduction`: below the threshold PRR adds a segment to what was delivered, but not where the ACK shows new
/// losses.
#[test]
fn an_ack_that_shows_new_losses_lets_out_no_more_than_it_delivers() {
    let settings = json!({"rack": false, "tail_loss_probe": false, "initial_window_segments": 20});
    let mut peer = Peer::opened(&today(&settings));
    assert_eq!(peer.writes(20), all(0..20));
    // seven in the network, and three delivered
    assert_eq!(peer.at(100).sacks(0, &[(10, 13)]), [0, 1, 2]);
    // one and three are delivered, 13 and 14 lost
    assert_eq!(peer.at(200).sacks(1, &[(15, 18), (10, 13)]), all(3..7));
}

/// `tcp_rack_mark_lost` looks where something was delivered (`rack.advanced`), and else when its timer fires.
#[test]
fn an_ack_that_delivers_nothing_shows_no_loss() {
    let mut peer = Peer::opened(&today(&json!({"tail_loss_probe": false})));
    assert_eq!(peer.writes(10), all(0..10));
    // overdue after a round trip and a quarter; the timer has 2 ms of slack
    assert_eq!(peer.at(100).sacks(0, &[(1, 2)]), NOTHING);
    assert_eq!(peer.due_us(), Some(127_000));
    assert_eq!(peer.at(126).sacks(0, &[(1, 2)]), NOTHING);
    assert_eq!(peer.flight()[2], 0);
    assert_eq!(peer.wakes(), (127_000, vec![0]));
}

/// `tcp_try_undo_loss`: without SACK the state stays until all is acknowledged that was sent before.
#[test]
fn without_sack_a_needless_timeout_leaves_the_state_as_it_is() {
    for (sack, state) in [(true, CaState::Open), (false, CaState::Loss)] {
        let settings = json!({
            "sack": sack, "timestamps": true, "mss_bytes": 1012, "tail_loss_probe": false, "frto": false
        });
        let mut peer = Peer::opened(&today(&settings));
        peer.echo = Some(101);
        assert_eq!(peer.writes(10), all(0..10));
        assert_eq!(peer.wakes(), (300_000, vec![0]));
        assert_eq!(peer.window(), (1, Some(5)));
        // of the original, which left at 101 of the client's clock
        peer.at(310).acks(1);
        assert_eq!((peer.info().ca_state, peer.window().1), (state, None));
        assert_eq!(peer.flight()[2], 0, "nothing is lost");
        peer.at(320).acks(10);
        peer.at(321).writes(1);
        peer.at(421).acks(11);
        assert_eq!(peer.info().ca_state, CaState::Open);
    }
}

/// `tcp_try_undo_partial`: an original that was only late is reordering, and while a retransmission is out nothing
/// more is looked for.
#[test]
fn an_original_that_comes_late_during_recovery_is_reordering() {
    for (echo, late) in [(101, 1), (201, 0)] {
        let settings =
            json!({"timestamps": true, "mss_bytes": 1012, "initial_window_segments": 20});
        let mut peer = Peer::opened(&today(&settings));
        peer.echo = Some(101);
        assert_eq!(peer.writes(20), all(0..20));
        assert_eq!(peer.at(100).sacks(0, &[(2, 5)]), [0, 1]);
        peer.echo = Some(echo);
        peer.at(110).sacks(1, &[(2, 5)]);
        assert_eq!(peer.info().reord_seen, late, "{echo}");
        assert_eq!(peer.info().ca_state, CaState::Recovery);
    }
}

/// `tcp_rack_mark_skb_lost`: a retransmission that an undo left in the network can be lost as any other.
#[test]
fn what_was_sent_again_needlessly_and_lost_is_lost_once_more() {
    let settings = json!({
        "timestamps": true, "mss_bytes": 1012, "tail_loss_probe": false, "frto": false
    });
    let mut peer = Peer::opened(&today(&settings));
    peer.echo = Some(101);
    assert_eq!(peer.writes(10), all(0..10));
    assert_eq!(peer.wakes(), (300_000, vec![0]));
    peer.echo = Some(401);
    assert_eq!(peer.at(400).acks(1), [1, 2]);
    // the original of 1: the timeout was needless, and the second copy of 2 is under way
    peer.echo = Some(101);
    assert_eq!(peer.at(405).sacks(2, &[(3, 10)]), NOTHING);
    assert_eq!(peer.info().ca_state, CaState::Disorder);
    assert_eq!(peer.flight(), [8, 7, 0, 1]);
    assert_eq!(peer.at(410).writes(3), all(10..13));
    // sent after the second copy
    assert_eq!(peer.at(510).sacks(2, &[(3, 13)]), [2]);
    assert_eq!(peer.info().ca_state, CaState::Recovery);
    assert_eq!(peer.flight(), [11, 10, 1, 1]);
}

/// `tcp_try_undo_partial`: what arrived late shows that more may be late, so nothing more is sent again for that ACK.
#[test]
fn a_late_segment_lets_out_new_data_while_a_retransmission_is_in_the_network() {
    let mut peer = Peer::opened(&today(&json!({"timestamps": true, "mss_bytes": 1012})));
    peer.echo = Some(101);
    assert_eq!(peer.writes(20), all(0..10));
    assert_eq!(peer.at(100).sacks(0, &[(4, 7)]), [0, 1]);
    assert_eq!(peer.flight(), [10, 3, 4, 2]);
    // the original of the first one
    assert_eq!(peer.at(101).sacks(1, &[(4, 7)]), [10]);
    assert_eq!(peer.flight(), [10, 3, 3, 1]);
    assert_eq!(peer.at(102).sacks(1, &[(4, 8)]), [2]);
}

/// `tcp_try_keep_open`: the state is not quite open (Disorder), and only in an open one is the tail probed.
#[test]
fn after_an_undo_a_tail_that_was_sent_again_is_not_probed() {
    let settings = json!({"timestamps": true, "mss_bytes": 1012, "frto": false});
    let mut peer = Peer::opened(&today(&settings));
    peer.echo = Some(101);
    assert_eq!(peer.writes(3), all(0..3));
    let (_, probe) = peer.wakes();
    assert_eq!(probe, [2]);
    let (due, again) = peer.wakes();
    assert_eq!(again, [0]);
    peer.at(due / 1000 + 100);
    // when the first one went out again
    peer.echo = Some(due as u32 / 1000 + 101);
    assert_eq!(peer.acks(1), [1, 2]);
    // the original of the second one
    peer.echo = Some(101);
    peer.at(due / 1000 + 105);
    assert_eq!(peer.acks(2), NOTHING);
    assert_eq!(peer.info().ca_state, CaState::Open);
    assert_eq!(peer.flight(), [1, 0, 0, 1]);
    assert_eq!(peer.wakes().1, [2]);
    assert_eq!(peer.info().ca_state, CaState::Loss);
}

/// `tcp_rack_detect_loss` looks at each retransmission, also at that of the first segment when others went out after it.
#[test]
fn of_two_retransmissions_the_first_can_be_lost_alone() {
    let mut peer = Peer::opened(&today(&json!({"tail_loss_probe": false})));
    assert_eq!(peer.writes(10), all(0..10));
    assert_eq!(peer.at(100).sacks(0, &[(2, 10)]), [0, 1]);
    // sent before the one that arrived, and nothing was ever reordered
    assert_eq!(peer.at(200).sacks(0, &[(1, 10)]), [0]);
    assert_eq!(peer.flight(), [10, 9, 1, 1]);
}

/// `tcp_fastretrans_alert`: a lost retransmission (`FLAG_LOST_RETRANS`) makes fast recovery of the repair of a timeout.
#[test]
fn a_lost_retransmission_ends_the_repair_of_a_timeout() {
    let mut peer = after_a_timeout();
    assert_eq!(peer.at(450).sacks(1, &[(6, 7)]), [2]);
    assert_eq!(peer.info().ca_state, CaState::Loss);
    // of 1 and 2, which were sent again, the later one came
    assert_eq!(peer.at(550).sacks(1, &[(2, 3), (6, 7)]), [1]);
    assert_eq!(peer.info().ca_state, CaState::Recovery);
}

/// `tcp_schedule_loss_probe`: the tail is not probed during recovery, also where nothing more is SACKed or lost.
#[test]
fn during_recovery_no_probe_takes_the_place_of_the_timer() {
    let settings = json!({"rack": false, "initial_window_segments": 20});
    let mut peer = Peer::opened(&today(&settings));
    assert_eq!(peer.writes(20), all(0..20));
    assert_eq!(peer.at(100).sacks(0, &[(1, 5)])[0], 0);
    peer.at(200).acks(7);
    assert_eq!(peer.info().ca_state, CaState::Recovery);
    assert_eq!(peer.flight(), [13, 0, 0, 0]);
    assert_eq!(peer.due_us(), Some(500_000), "a timeout of 300 ms");
}

/// `tcp_end_cwnd_reduction`: when all is repaired, the window is the threshold, wherever the reduction had come to.
#[test]
fn a_reduction_that_is_cut_short_ends_at_the_threshold() {
    let mut peer = Peer::opened(&today(&json!({"tail_loss_probe": false})));
    assert_eq!(peer.writes(10), all(0..10));
    // six in the network, and two more may go for the three that left it
    assert_eq!(peer.at(100).sacks(0, &[(1, 4)]), [0]);
    assert_eq!(peer.window(), (8, Some(5)));
    peer.at(200).acks(10);
    // and one more for the seven of this ACK
    assert_eq!(peer.window(), (6, Some(5)));
}

/// RFC 5827 3.2: a flight of one segment has no other that could show its loss.
#[test]
fn early_retransmit_needs_two_segments() {
    for (acked, again) in [(1, vec![1]), (2, vec![])] {
        let settings = json!({
            "sack": false, "duplicate_acks_deliver": false, "early_retransmit": true, "tail_loss_probe": false,
            "window_reduction": "at-once", "undo": false, "frto": false
        });
        let mut peer = Peer::opened(&today(&settings));
        assert_eq!(peer.writes(3), all(0..3));
        peer.at(100).acks(acked);
        assert_eq!(peer.at(101).acks(acked), again, "{acked} of 3");
    }
}

/// `tcp_retrans_stamp_cleanup`: while the first segment has been sent again, the stamp is that of its first
/// retransmission. So the ACK of that one, which was only late, does not show that nothing was lost.
#[test]
fn a_retransmission_that_was_only_late_does_not_undo_the_timeout() {
    let settings = json!({
        "tail_loss_probe": false, "frto": false, "timestamps": true, "mss_bytes": 1012
    });
    let mut peer = Peer::opened(&today(&settings));
    peer.echo = Some(101);
    let mut peer = after_a_timeout_of(peer);
    assert_eq!(peer.at(450).sacks(1, &[(6, 7)]), [2]);
    assert_eq!(peer.at(550).sacks(1, &[(2, 3), (6, 7)]), [1]);
    assert_eq!(peer.info().ca_state, CaState::Recovery);
    // stamps count milliseconds of the client, which began at 1: the timer sent 1 again at 501
    peer.echo = Some(501);
    peer.at(560).sacks(3, &[(6, 7)]);
    let undone = |(_, it): &(_, Decision)| it.what == DecisionKind::Undo;
    assert!(!peer.log.decisions.iter().any(undone));
    assert_eq!(peer.info().reord_seen, 0);
}

/// `tcp_rack_reo_timeout`: what RACK's timer finds lost makes fast recovery of the repair of a timeout, a retransmission
/// or not.
#[test]
fn a_loss_that_the_timer_of_late_segments_finds_ends_the_repair_of_a_timeout() {
    let mut peer = Peer::opened(&today(&json!({"tail_loss_probe": false})));
    assert_eq!(peer.writes(10), all(0..10));
    // 0 is late, so from now on a segment may be late by a quarter of a round trip
    assert_eq!(peer.at(100).sacks(0, &[(1, 2)]), NOTHING);
    assert_eq!(peer.at(101).acks(2), NOTHING);
    assert_eq!(peer.info().reord_seen, 1);
    assert_eq!(peer.at(110).acks(10), NOTHING);
    assert_eq!(peer.writes(5), all(10..15));
    let (due, again) = peer.wakes();
    assert_eq!((peer.info().ca_state, again), (CaState::Loss, vec![10]));
    // F-RTO sends new data, of which the second segment arrives
    let due = due / 1000;
    peer.end.write(5000);
    assert_eq!(peer.at(due + 100).acks(11), [15, 16]);
    peer.at(due + 200).sacks(11, &[(16, 17)]);
    assert_eq!(peer.info().ca_state, CaState::Loss);
    let lost = peer.info().lost;
    peer.wakes();
    assert_eq!(peer.info().lost, lost + 1);
    assert_eq!(peer.info().ca_state, CaState::Recovery);
}

/// `tcp_enter_recovery`: a probe of the tail leaves no stamp of an earlier recovery, so the echo of an original shows
/// that it was only late.
#[test]
fn after_a_probe_an_original_that_comes_late_undoes_a_second_recovery_too() {
    let settings = json!({"timestamps": true, "mss_bytes": 1012});
    let mut peer = Peer::opened(&today(&settings));
    peer.echo = Some(101);
    assert_eq!(peer.writes(10), all(0..10));
    assert_eq!(peer.at(100).sacks(0, &[(1, 4)]), [0]);
    peer.echo = Some(201);
    peer.at(200).acks(10);
    assert_eq!(peer.at(210).writes(5), all(10..15));
    let (due, probe) = peer.wakes();
    assert_eq!(probe, [14]);
    let due = due / 1000;
    peer.echo = Some(311);
    assert_eq!(peer.at(due + 10).sacks(10, &[(11, 14)]), [10]);
    assert_eq!(peer.info().ca_state, CaState::Recovery);
    peer.at(due + 20).acks(11);
    assert_eq!(peer.info().ca_state, CaState::Disorder);
}

/// RFC 8985 6.2 step 4: the window becomes narrow again after 16 recoveries, those from timeouts included
/// (`tcp_try_undo_recovery`).
#[test]
fn a_wider_reordering_window_lasts_for_sixteen_repairs_of_timeouts() {
    let mut peer = Peer::opened(&today(&json!({"tail_loss_probe": false})));
    assert_eq!(peer.writes(10), all(0..10));
    // 0 comes late, and then 10 comes twice
    assert_eq!(peer.at(100).sacks(0, &[(1, 2)]), NOTHING);
    assert_eq!(peer.at(101).acks(10), NOTHING);
    let times_out = |peer: &mut Peer, blocks: &[(u32, u32)]| {
        let next = peer.writes(1)[0];
        let (due, again) = peer.wakes();
        assert_eq!(again, [next]);
        peer.at(due / 1000 + 50).sacks(next + 1, blocks);
        peer.log
            .decisions
            .iter()
            .rev()
            .find(|(_, it)| it.what == DecisionKind::ReorderingWindow)
            .map(|(_, it)| it.cause)
    };
    let widened = Some(DecisionCause::Dsack);
    assert_eq!(times_out(&mut peer, &[(10, 11)]), widened);
    for number in 1..=15 {
        assert_eq!(times_out(&mut peer, &[]), widened, "{number}");
    }
    assert_eq!(times_out(&mut peer, &[]), Some(DecisionCause::NoReordering));
}

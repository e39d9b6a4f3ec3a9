//! Tail loss probes and the reordering timer, to the microsecond (RFC 8985 6 and 7, as Linux has them).

use crate::peer::{NOTHING, Peer, all, today};
use fairport_tcp::CaState;
use serde_json::json;

/// 2 SRTT and two ticks of the kernel's clock, 202 ms, but no later than the timeout of 300 ms from the first
/// outstanding segment (`tcp_schedule_loss_probe`).
#[test]
fn the_tail_is_probed_after_two_round_trips_but_not_after_the_timeout() {
    let mut peer = Peer::opened(&today(&json!({})));
    assert_eq!(peer.writes(2), all(0..2));
    assert_eq!(peer.due_us(), Some(202_000));
    assert_eq!(peer.at(50).writes(1), [2]);
    assert_eq!(peer.due_us(), Some(252_000));
    assert_eq!(peer.at(120).writes(1), [3]);
    assert_eq!(peer.due_us(), Some(300_000));
    // each ACK of new data starts it anew; it took 130 ms, so SRTT is 103.75
    peer.at(130).acks(1);
    assert_eq!(peer.due_us(), Some(339_500));
    peer.at(131).acks(1);
    assert_eq!(peer.due_us(), Some(339_500), "a duplicate does not");
    peer.at(140).acks(4);
    assert_eq!(peer.due_us(), None);
}

#[test]
fn a_lone_segment_is_given_the_time_of_a_delayed_ack() {
    let settings = today(&json!({"rto_min_ps": 50_000_000_000_u64}));
    for (segments, due) in [(1, 250_000), (2, 202_000)] {
        let mut peer = Peer::opened(&settings);
        peer.writes(segments);
        assert_eq!(peer.due_us(), Some(due), "{segments}");
    }
}

#[test]
fn the_probe_is_the_last_segment_again_and_a_full_timeout_follows() {
    let mut peer = Peer::opened(&today(&json!({})));
    peer.writes(4);
    assert_eq!(peer.wakes(), (202_000, vec![3]));
    // it counts as in the network once
    assert_eq!(peer.flight(), [4, 0, 0, 0]);
    assert_eq!(peer.info().total_retrans, 1);
    assert_eq!(peer.end.counters().segments_sent, 5);
    assert_eq!(peer.info().ca_state, CaState::Open);
    assert_eq!(peer.due_us(), Some(502_000));
    let (_, sent) = peer.wakes();
    assert_eq!((sent, peer.info().ca_state), (vec![0], CaState::Loss));
}

#[test]
fn the_probe_is_new_data_where_there_is_some_whatever_the_window_says() {
    let mut peer = Peer::opened(&today(&json!({})));
    assert_eq!(peer.writes(13), all(0..10));
    assert_eq!(peer.wakes(), (202_000, vec![10]));
    assert_eq!(
        (peer.flight(), peer.info().total_retrans),
        ([11, 0, 0, 0], 0)
    );
    assert_eq!(peer.due_us(), Some(502_000));
    // the window of ten grows by three, so five are still to come
    assert_eq!(peer.at(210).acks(3), [11, 12]);
    // SRTT is 113.75 and the deviation 260, so the timeout of what left at 0 comes before two round trips
    assert_eq!(peer.due_us(), Some(373_750));
    // while the probe is out there is no second: the timeout follows
    assert_eq!(peer.wakes(), (373_750, vec![]));
    assert_eq!(peer.due_us(), Some(373_751));
    assert_eq!(peer.log.timeouts, []);
    peer.wakes();
    assert_eq!(peer.log.timeouts.len(), 1);
}

/// Only the first outstanding segment may be sent again beyond the window (`__tcp_retransmit_skb`).
#[test]
fn where_the_peer_withdraws_its_window_a_lone_segment_is_probed_and_a_tail_is_not() {
    let settings = today(&json!({"rto_min_ps": 50_000_000_000_u64}));
    for (segments, probed) in [(1, vec![0]), (2, vec![])] {
        let mut peer = Peer::opened(&settings);
        peer.writes(segments);
        peer.window = 0;
        peer.at(50).acks(0);
        let (_, sent) = peer.wakes();
        assert_eq!((sent, peer.info().ca_state), (probed, CaState::Open));
    }
}

#[test]
fn nagle_holds_no_probe_back() {
    let mut peer = Peer::opened(&today(&json!({"minshall": false})));
    assert_eq!(peer.writes(3), all(0..3));
    peer.end.write(10);
    assert_eq!(peer.sends(), NOTHING);
    assert_eq!(peer.wakes(), (202_000, vec![3]));
    assert_eq!(peer.info().total_retrans, 0);
    peer.at(210).acks(3);
    peer.end.write(10);
    assert_eq!(peer.sends(), NOTHING, "Nagle holds again");
}

#[test]
fn with_something_sacked_the_timer_is_that_of_the_timeout_from_the_first_segment() {
    let mut peer = Peer::opened(&today(&json!({"rack": false})));
    peer.writes(5);
    assert_eq!(peer.due_us(), Some(202_000));
    peer.at(100).sacks(1, &[(2, 3)]);
    assert_eq!(peer.due_us(), Some(300_000));
    assert_eq!(peer.info().ca_state, CaState::Disorder);
}

/// A probe that repaired the only loss: congestion control hears of it once more is acknowledged (RFC 8985 7.4.2).
#[test]
fn a_loss_that_the_probe_repaired_halves_the_window_once() {
    let mut peer = Peer::opened(&today(&json!({})));
    peer.writes(10);
    peer.at(100).acks(9);
    assert_eq!(peer.window().1, None);
    let (at, sent) = peer.wakes();
    // a lone segment: no later than the timeout
    assert_eq!((at, sent), (400_000, vec![9]));
    peer.at(500).acks(10);
    assert_eq!(peer.window(), (20, None));
    assert_eq!(peer.at(510).writes(1), [10]);
    peer.at(610).acks(11);
    assert_eq!(peer.window(), (10, Some(10)));
    assert_eq!(peer.info().ca_state, CaState::Open);
}

/// All ten left at 0, the sixth is SACKed at 100: due is what left before it after 100 ms and a quarter of that,
/// and two ticks later the timer looks.
#[test]
fn what_may_be_late_is_lost_after_a_quarter_of_a_round_trip_more() {
    let mut peer = Peer::opened(&today(&json!({})));
    peer.writes(10);
    assert_eq!(peer.at(100).sacks(0, &[(5, 6)]), NOTHING);
    assert_eq!(
        (peer.flight(), peer.due_us()),
        ([10, 1, 0, 0], Some(127_000))
    );
    let (at, sent) = peer.wakes();
    // of ten, five are lost, one arrived, four are out: the threshold lets one go
    assert_eq!((at, sent), (127_000, vec![0]));
    assert_eq!(peer.flight(), [10, 1, 5, 1]);
    assert_eq!(peer.info().ca_state, CaState::Recovery);
    assert_eq!(peer.window(), (5, Some(5)));
    // the first segment went out again, and its timer began again
    assert_eq!(peer.due_us(), Some(427_000));
    assert_eq!(peer.at(130).sacks(0, &[(5, 7)]), [1]);
    assert_eq!(peer.flight(), [10, 2, 5, 2]);
    // what left at 0 took 130 ms, longer than the repetition is under way: it is no sign that this is lost
    assert_eq!(peer.due_us(), Some(433_750));
}

#[test]
fn three_sacked_segments_leave_nothing_to_wait_for() {
    let mut peer = Peer::opened(&today(&json!({})));
    peer.writes(10);
    assert_eq!(peer.at(100).sacks(0, &[(5, 8)]), [0, 1, 2]);
    assert_eq!(peer.flight(), [10, 3, 5, 3]);
    assert_eq!(peer.info().ca_state, CaState::Recovery);
}

/// The retransmission is lost as well: what was sent after it arrives, and so it is late.
#[test]
fn a_lost_retransmission_is_sent_again_once_what_was_sent_later_arrives() {
    let mut peer = Peer::opened(&today(&json!({})));
    peer.writes(10);
    // everything but the first arrives, in recovery new data goes out
    peer.at(100).sacks(0, &[(1, 10)]);
    assert_eq!(peer.flight(), [10, 9, 1, 1]);
    assert_eq!(peer.at(110).writes(5), [10, 11, 12, 13]);
    // a segment sent at 110 arrived, and a round trip has passed since the retransmission at 100
    assert_eq!(peer.at(210).sacks(0, &[(1, 11)])[0], 0);
    assert_eq!(peer.flight()[2..], [1, 1]);
    assert_eq!(peer.info().total_retrans, 2);
}

#[test]
fn fewer_than_three_sacked_at_the_timeout_say_nothing_of_reordering() {
    let mut peer = Peer::opened(&today(&json!({})));
    peer.writes(2);
    assert_eq!(peer.wakes(), (202_000, vec![1]));
    let (at, sent) = peer.wakes();
    assert_eq!((at, sent), (502_000, vec![0]));
    assert_eq!(peer.window(), (1, Some(5)));
    assert_eq!(peer.flight(), [2, 0, 2, 1]);
    // the timeout doubles
    assert_eq!(peer.due_us(), Some(1_102_000));
    let (_, sent) = peer.wakes();
    assert_eq!((sent, peer.window()), (vec![0], (1, Some(5))));
    assert_eq!(peer.due_us(), Some(2_302_000));
}

//! What the sender makes of a window that it does not use, of an idle time, of the peer's window, and of what
//! the application writes, ACK by ACK.

use crate::peer::{NOTHING, Peer, today};
use fairport_tcp::{CaState, Flags};
use serde_json::json;

/// `tcp_is_cwnd_limited`: in slow start the window grows where more than half of it was under way.
#[test]
fn slow_start_goes_on_while_more_than_half_of_the_window_is_used() {
    for (segments, grown) in [(5, 10), (6, 16), (10, 20)] {
        let mut peer = Peer::opened(&today(&json!({})));
        peer.writes(segments);
        peer.at(100).acks(segments as u32);
        assert_eq!(peer.window().0, grown, "{segments}");
    }
    // by the rule of before, only where it was full
    for (segments, grown) in [(6, 10), (9, 10), (10, 20)] {
        let mut peer = Peer::opened(&today(&json!({"window_use_by_round": false})));
        peer.writes(segments);
        peer.at(100).acks(segments as u32);
        assert_eq!(peer.window().0, grown, "{segments}");
    }
}

/// RFC 2861 3.1, `tcp_cwnd_restart`: each timeout of 300 ms without sending halves the window, down to the
/// initial one.
#[test]
fn each_timeouts_time_of_silence_halves_the_window() {
    // four rounds of slow start make 32 segments of the two; the last was sent at 400
    for (ms, window) in [
        (700, 32),
        (701, 16),
        (1000, 16),
        (1001, 8),
        (1301, 4),
        (1601, 2),
        (9000, 2),
    ] {
        let settings = json!({"slow_start_after_idle": true, "initial_window_segments": 2});
        let mut peer = Peer::opened(&today(&settings));
        let mut sent = 0;
        for round in 0..4 {
            let fits = 2 << round;
            peer.at(100 * round).writes(fits);
            sent += fits as u32;
            peer.at(100 * (round + 1)).acks(sent);
        }
        assert_eq!(peer.window().0, 32);
        peer.at(400).writes(1);
        peer.at(500).acks(sent + 1);
        let before = peer.window().0;
        assert_eq!(before, 32, "one of 32 is not what limits it");
        peer.at(ms).writes(1);
        assert_eq!(peer.window().0, window, "at {ms} ms");
    }
    // a pause within a flight is none
    let mut peer = Peer::opened(&today(
        &json!({"slow_start_after_idle": true, "tail_loss_probe": false}),
    ));
    peer.writes(1);
    peer.at(299).writes(1);
    assert_eq!(peer.window().0, 10);
}

/// RFC 9293 3.8.6: a peer that takes back its window is sent nothing beyond it, but for the first segment. One that
/// lies across its end is cut there (`__tcp_retransmit_skb`).
#[test]
fn beyond_a_window_that_was_taken_back_only_the_first_segment_is_sent_again() {
    for (window, again) in [
        (60_000, vec![1, 2, 3]),
        (3000, vec![1, 2, 3]),
        (2001, vec![1, 2, 3]),
        (2000, vec![1, 2]),
        (1001, vec![1, 2]),
        (1000, vec![1]),
        (0, vec![1]),
    ] {
        let mut peer = Peer::opened(&today(&json!({})));
        peer.writes(10);
        peer.window = window;
        assert_eq!(peer.at(100).sacks(1, &[(4, 9)]), again, "{window}");
        assert_eq!(peer.info().ca_state, CaState::Recovery);
    }
}

/// `tcp_send_loss_probe`: the tail is not probed, and the retransmission timer, which counts from the first segment,
/// goes on.
#[test]
fn a_tail_beyond_a_window_that_was_taken_back_is_not_probed() {
    for (window, woken) in [
        (2000, [(302_000, vec![2]), (602_000, vec![1])]),
        (1000, [(302_000, vec![]), (302_001, vec![1])]),
    ] {
        let mut peer = Peer::opened(&today(&json!({})));
        peer.writes(3);
        peer.window = window;
        assert_eq!(peer.at(100).acks(1), NOTHING);
        assert_eq!([peer.wakes(), peer.wakes()], woken);
    }
}

/// `tcp_rack_reo_timeout`, `tcp_retransmit_timer`: only `tcp_write_xmit` looks whether the window is used, and timers do
/// not call it.
#[test]
fn what_a_timer_sends_again_is_no_use_of_the_window() {
    let mut peer = Peer::opened(&today(&json!({"initial_window_segments": 4})));
    peer.writes(2);
    assert_eq!(peer.at(100).sacks(0, &[(1, 2)]), NOTHING);
    assert_eq!(peer.wakes(), (127_000, vec![0]));
    // one segment is under way and the window is one, but half of the window before it was never used
    peer.at(227).acks(2);
    assert_eq!(peer.window(), (2, Some(2)));
    assert_eq!(peer.writes(2), [2, 3]);
    peer.at(327).acks(3);
    assert_eq!(peer.window().0, 2);
    peer.acks(4);
    assert_eq!(peer.window().0, 3);
}

/// RFC 6298 5.1: sending starts the timer only where it does not run.
#[test]
fn the_timeout_counts_from_the_first_segment_and_from_each_ack_of_new_data() {
    let mut peer = Peer::opened(&today(&json!({"tail_loss_probe": false, "rack": false})));
    peer.writes(1);
    peer.at(50).writes(1);
    assert_eq!(peer.due_us(), Some(300_000));
    peer.at(100).acks(1);
    assert_eq!(peer.due_us(), Some(400_000));
    // a SACK of what was sent later is none of new data
    peer.at(120).writes(2);
    peer.at(150).acks(1);
    assert_eq!(peer.due_us(), Some(400_000));
    peer.at(160).acks(4);
    assert_eq!(peer.due_us(), None);
}

/// RFC 9293 3.8.6.1: the closed window is probed after a timeout, then after twice, four times that.
#[test]
fn a_closed_window_is_probed_from_below_ever_more_seldom() {
    let mut peer = Peer::with_window(&today(&json!({})), 2000);
    assert_eq!(peer.writes(5), [0, 1]);
    peer.window = 0;
    assert_eq!(peer.at(100).acks(2), NOTHING);
    assert_eq!(peer.due_us(), Some(400_000));
    for due in [400, 1000, 2200] {
        let timer = peer.end.poll_timer().unwrap();
        peer.now = timer;
        assert_eq!(peer.due_us(), Some(1000 * due));
        peer.end.on_timer(timer, &mut ());
        let probe = peer.polls();
        assert_eq!(probe.len(), 1);
        assert_eq!(
            (probe[0].seq, probe[0].payload, probe[0].flags),
            (2000, 0, Flags::ACK)
        );
    }
    // a window of half a segment is used once the timer fires
    peer.window = 500;
    assert_eq!(peer.at(2300).acks(2), NOTHING);
    let timer = peer.end.poll_timer().unwrap();
    peer.now = timer;
    peer.end.on_timer(timer, &mut ());
    let sent = peer.polls();
    assert_eq!((sent.len(), sent[0].seq, sent[0].payload), (1, 2001, 500));
    peer.window = 10_000;
    assert_eq!(peer.sacks_bytes(2500, &[]), [2, 3, 4]);
}

/// `tcp_ack_probe`: the peer is there.
#[test]
fn each_ack_that_leaves_the_window_closed_begins_the_wait_for_a_probe_again() {
    let mut peer = Peer::with_window(&today(&json!({})), 2000);
    assert_eq!(peer.writes(5), [0, 1]);
    peer.window = 0;
    peer.at(100).acks(2);
    peer.at(250).acks(2);
    assert_eq!(peer.wakes(), (550_000, vec![]));
    assert_eq!(peer.due_us(), Some(1_150_000));
    peer.at(650).acks(2);
    assert_eq!(peer.due_us(), Some(1_250_000));
}

/// `tcp_probe0_base` is the timeout, which timeouts have doubled, and `tcp_probe0_when` doubles it as often again.
#[test]
fn timeouts_lengthen_the_wait_for_a_probe() {
    let mut peer = Peer::with_window(&today(&json!({"tail_loss_probe": false})), 2000);
    assert_eq!(peer.writes(1), [0]);
    assert_eq!(peer.wakes(), (300_000, vec![0]));
    peer.window = 0;
    peer.at(400).acks(1);
    assert_eq!(peer.writes(1), NOTHING);
    assert_eq!(peer.wakes(), (1_000_000, vec![]));
    assert_eq!(peer.due_us(), Some(3_400_000));
}

/// `tcp_write_wakeup`: only a write, or a window that opens, restarts the window after an idle time.
#[test]
fn a_probe_with_data_leaves_the_window_as_it_is() {
    let settings = json!({"slow_start_after_idle": true, "initial_window_segments": 2});
    let mut peer = Peer::opened(&today(&settings));
    peer.writes(2);
    peer.at(100).acks(2);
    peer.writes(4);
    peer.window = 500;
    peer.at(200).acks(6);
    assert_eq!((peer.writes(1), peer.window().0), (vec![], 8));
    assert_eq!(peer.wakes(), (500_000, vec![6]));
    assert_eq!(peer.window().0, 8);
}

/// The FIN goes with the last segment where the window has room for its number as well (RFC 9293 3.4).
#[test]
fn a_fin_takes_a_number_of_the_window() {
    for (window, last) in [
        (2001, [(1001, 1000, true)].as_slice()),
        (2000, &[(1001, 1000, false)]),
    ] {
        let mut peer = Peer::with_window(&today(&json!({})), window);
        peer.end.write(2000);
        peer.end.close();
        let sent = peer.polls();
        let shape: Vec<(u32, u16, bool)> = sent[1..]
            .iter()
            .map(|it| (it.seq, it.payload, it.flags.contains(Flags::FIN)))
            .collect();
        assert_eq!(shape, last);
    }
}

/// `tcp_clean_rtx_queue`: what is SACKed and left before the first segment's last transmission says nothing of that.
#[test]
fn a_sack_of_what_left_before_the_repetition_starts_the_timer_anew() {
    let mut peer = Peer::opened(&today(&json!({"tail_loss_probe": false})));
    peer.writes(10);
    assert_eq!(peer.at(100).sacks(0, &[(1, 4)])[0], 0);
    assert_eq!(peer.due_us(), Some(400_000));
    // sent at 0, SACKed at 150: 150 ms, the repetition being 50 old; SRTT is 106.25, the timeout 306.25
    peer.at(150).sacks(0, &[(1, 5)]);
    assert_eq!(peer.due_us(), Some(456_250));
    // without that rule the timer goes on
    let mut peer = Peer::opened(&today(
        &json!({"tail_loss_probe": false, "sack_rtt": false}),
    ));
    peer.writes(10);
    peer.at(100).sacks(0, &[(1, 4)]);
    peer.at(150).sacks(0, &[(1, 5)]);
    assert_eq!(peer.due_us(), Some(400_000));
}

/// Duplicate SACKs of what was sent again and is SACKed show how late the first copy came (`tcp_sacktag_one`).
#[test]
fn a_needless_repetition_that_is_sacked_says_how_late_the_original_came() {
    let mut peer = Peer::opened(&today(&json!({"undo": false})));
    peer.writes(10);
    assert_eq!(peer.at(100).sacks(0, &[(5, 8)]), [0, 1, 2]);
    assert_eq!((peer.info().reordering, peer.info().reord_seen), (3, 0));
    peer.at(110).sacks(0, &[(1, 2), (5, 8)]);
    assert_eq!((peer.info().reordering, peer.info().reord_seen), (3, 0));
    // from the second segment to the eighth
    peer.at(120).sacks(0, &[(1, 2), (1, 2), (5, 8)]);
    assert_eq!((peer.info().reordering, peer.info().reord_seen), (7, 1));
}

/// `tcp_check_sack_reordering`: what was sent once and arrives below something SACKed came late.
#[test]
fn what_arrives_below_something_sacked_came_late_by_all_from_it_to_that() {
    let mut peer = Peer::opened(&today(&json!({})));
    peer.writes(10);
    peer.at(100).sacks(0, &[(4, 6)]);
    peer.at(101).sacks(0, &[(2, 3), (4, 6)]);
    assert_eq!((peer.info().reordering, peer.info().reord_seen), (4, 1));
    peer.at(102).acks(1);
    assert_eq!((peer.info().reordering, peer.info().reord_seen), (6, 2));
}

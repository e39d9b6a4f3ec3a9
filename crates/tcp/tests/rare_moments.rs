//! Events that seldom come together: a probe and the ACK of its tail, a held segment and a full window, a duplicate SACK
//! and data.

use crate::peer::{NOTHING, Peer, all, ms, today};
use fairport_tcp::{Connection, Flags, SackBlock, Segment, SynOptions, Timestamps};
use fairport_units::{Duration, Instant};
use serde_json::json;

/// RFC 6582 3.2 step 2: duplicate ACKs count where more is acknowledged than was sent before the last recovery, and early
/// retransmit (RFC 5827 3.2) only lowers their number.
#[test]
fn early_retransmit_waits_until_more_than_the_last_recovery_is_acknowledged() {
    for (more, again) in [(0, vec![]), (1, vec![11])] {
        let settings = json!({
            "sack": false, "duplicate_acks_deliver": false, "early_retransmit": true, "tail_loss_probe": false,
            "window_reduction": "at-once", "undo": false, "frto": false
        });
        let mut peer = Peer::opened(&today(&settings));
        assert_eq!(peer.writes(10), all(0..10));
        let repeated: Vec<u32> = (0..3).flat_map(|_| peer.at(100).acks(0)).collect();
        assert_eq!(repeated, [0]);
        assert_eq!(peer.at(200).acks(10), NOTHING);
        if more > 0 {
            assert_eq!(peer.writes(1), [10]);
            peer.at(300).acks(11);
        }
        peer.writes(2);
        assert_eq!(peer.at(400).acks(10 + more), again, "{more}");
    }
}

/// RFC 2883 4, `tcp_ack`: a duplicate SACK counts whatever carries it, also where nothing is outstanding any more.
#[test]
fn a_duplicate_sack_on_data_counts_when_all_is_acknowledged() {
    let mut peer = Peer::opened(&today(&json!({})));
    assert_eq!(peer.writes(2), all(0..2));
    let (due, probe) = peer.wakes();
    assert_eq!(probe, [1], "the last segment again");
    peer.at(due / 1000 + 50).acks(2);
    assert_eq!(peer.info().delivered, 3, "with the SYN");
    let mut data = peer.segment(2000);
    data.payload = 100;
    data.options.push_sack(SackBlock {
        start: 1001,
        end: 2001,
    });
    peer.gets(&data);
    assert_eq!(peer.info().delivered, 4, "and the copy");
}

/// RFC 8985 7.3: a probe is for the tail of what is outstanding. If all is acknowledged before it leaves, new data goes out
/// as always, with a timer.
#[test]
fn a_probe_whose_tail_is_acknowledged_before_it_leaves_is_none() {
    for written in [10, 11] {
        let mut peer = Peer::opened(&today(&json!({})));
        assert_eq!(peer.writes(written), all(0..10));
        peer.now = peer.end.poll_timer().expect("a timer");
        peer.end.on_timer(peer.now, &mut peer.log);
        assert_eq!(peer.acks(10), all(10..written as u32));
        assert_eq!(peer.due_us().is_some(), written > 10);
        assert_eq!(peer.info().total_retrans, 0);
    }
}

/// RFC 9293 3.8.6.1: the persist timer probes the window, and not the tail of what went out meanwhile.
#[test]
fn the_timer_of_a_closed_window_repeats_nothing_that_is_under_way() {
    let mut peer = Peer::with_window(&today(&json!({})), 2000);
    assert_eq!(peer.writes(5), all(0..2));
    peer.window = 0;
    assert_eq!(peer.at(100).acks(2), NOTHING);
    peer.now = peer.end.poll_timer().expect("a timer");
    peer.end.on_timer(peer.now, &mut peer.log);
    // the window opens before the probe leaves
    peer.window = 2000;
    assert_eq!(peer.acks(2), [2, 3]);
    assert_eq!(peer.end.counters().retransmits, 0);
}

/// `tcp_cwnd_validate`: a sender that its own host holds back uses its window only if that is full as well.
#[test]
fn a_sender_held_by_its_host_uses_its_window_if_that_is_full() {
    for (window, grown) in [(10, 10), (3, 4)] {
        let settings = json!({
            "small_queue": true, "tail_loss_probe": false, "window_use_by_round": false,
            "initial_window_segments": window
        });
        let mut peer = Peer::opened(&today(&settings));
        peer.end.write(20_000);
        let mut sent = 0;
        while let Some(segment) = peer.end.poll_transmit(peer.now) {
            peer.end.queued_until(peer.now + ms(150), &segment);
            sent += 1;
        }
        assert_eq!(sent, 3, "two wait besides the one that is being sent");
        peer.at(100).acks(1);
        assert_eq!(peer.window().0, grown);
    }
}

/// `__tcp_send_ack`: pure ACKs do not count in small queues, nor does what the host had no room for.
#[test]
fn neither_acks_nor_what_the_host_dropped_wait_in_it() {
    for (payload, departs, sent) in [
        (1000, Instant::from_secs(9), 0),
        (0, Instant::from_secs(9), 3),
        (1000, Instant::NEVER, 3),
    ] {
        let settings = json!({"small_queue": true, "tail_loss_probe": false});
        let mut peer = Peer::opened(&today(&settings));
        peer.end.write(20_000);
        let mut first = peer.end.poll_transmit(peer.now).expect("a segment");
        peer.end.poll_transmit(peer.now).expect("another");
        first.payload = payload;
        // so many that ACKs alone would be too much
        for _ in 0..200 {
            peer.end.queued_until(departs, &first);
        }
        let more = (0..3).filter(|_| peer.end.poll_transmit(peer.now).is_some());
        assert_eq!(more.count(), sent, "{payload} {departs}");
    }
}

/// `tcp_small_queue_check` (since 6.7): with one segment outstanding nothing waits, since nothing else would let it go on.
#[test]
fn with_one_segment_outstanding_the_host_holds_nothing_back() {
    for (acked, sent) in [(1, 0), (2, 1)] {
        let settings = json!({"small_queue": true, "tail_loss_probe": false});
        let mut peer = Peer::opened(&today(&settings));
        peer.end.write(20_000);
        while let Some(segment) = peer.end.poll_transmit(peer.now) {
            peer.end.queued_until(peer.now + ms(150), &segment);
        }
        assert_eq!(peer.flight()[0], 3);
        // none of the three has left the host, as far as it says
        let mut ack = peer.at(100).segment(1000 * acked);
        ack.window = 60_000;
        peer.gets(&ack);
        let mut count = 0;
        while let Some(segment) = peer.end.poll_transmit(peer.now) {
            peer.end.queued_until(peer.now + ms(150), &segment);
            count += 1;
        }
        assert_eq!(count, sent, "{acked} of 3");
    }
}

/// `tcp_ack_update_rtt`: where the SYN was sent again, the timestamp that its answer echoes says which one was answered.
#[test]
fn the_echo_of_a_syn_that_was_sent_again_measures_the_round_trip() {
    for (answered, rtt) in [(0, 1100), (1, 100)] {
        let mut client = Connection::active(&today(&json!({"timestamps": true})));
        let stamp = |segment: Segment| segment.options.timestamps().expect("an offer").val;
        let first = client.poll_transmit(Instant::ZERO).expect("a SYN");
        let due = client.poll_timer().expect("a timer");
        assert_eq!(due, Instant::from_secs(1));
        client.on_timer(due, &mut ());
        let second = client.poll_transmit(due).expect("a SYN");
        let mut answer = Segment {
            ack: 1,
            flags: Flags::SYN | Flags::ACK,
            window: 60_000,
            ..Segment::default()
        };
        answer.options.set_timestamps(Timestamps {
            val: 1,
            ecr: [stamp(first), stamp(second)][answered],
        });
        answer.options.set_syn(SynOptions {
            mss: 1460,
            window_scale: None,
            sack_permitted: true,
        });
        client.on_segment(Instant::from_ms(1100), &answer, &mut ());
        assert!(client.is_established());
        assert_eq!(client.info().rtt, Some(Duration::from_ms(rtt)));
    }
}

/// `tcp_xmit_retransmit_queue`: the timer starts again when the first segment goes out again, and not for others.
#[test]
fn a_later_retransmission_leaves_the_timer_as_it_is() {
    for restarts in [true, false] {
        let settings = json!({
            "rto_restarts_on_retransmit": restarts, "rack": false, "tail_loss_probe": false, "sack_rtt": false,
            "initial_window_segments": 20
        });
        let mut peer = Peer::opened(&today(&settings));
        assert_eq!(peer.writes(20), all(0..20));
        assert_eq!(peer.at(100).sacks(0, &[(1, 5)]), [0]);
        let due = if restarts { 400_000 } else { 300_000 };
        assert_eq!(peer.due_us(), Some(due), "the first");
        assert_eq!(peer.at(150).sacks(0, &[(6, 14), (1, 5)]), [5]);
        assert_eq!(peer.due_us(), Some(due), "a later one");
    }
}

/// `tcp_cwnd_validate`: a window that is full is used, though the pacer holds the next segment as well.
#[test]
fn a_full_window_is_used_while_the_pacer_holds_the_next_segment() {
    for (sent, grown) in [(5, 6), (4, 5)] {
        let mut peer = Peer::opened(&today(
            &json!({"pacing": "linux", "tail_loss_probe": false}),
        ));
        assert_eq!(peer.writes(10), all(0..10));
        assert_eq!(peer.at(100).sacks(0, &[(1, 10)]), [0]);
        while peer.due_us() < Some(200_000) {
            assert_eq!(peer.wakes().1, NOTHING);
        }
        peer.at(200).acks(10);
        assert_eq!(peer.window(), (5, Some(5)), "half, and so no slow start");
        peer.end.write_endless();
        let mut count = peer.sends().len();
        while count < sent {
            count += peer.wakes().1.len();
        }
        // before the next may leave
        let now_us = peer.now.as_ps() / 1_000_000 - 100_000;
        peer.at_us(now_us + 1).acks(10 + sent as u32);
        assert_eq!(peer.window().0, grown, "{sent} of 5");
    }
}

//! What loss recovery and acknowledgement make of rare orders of events, ACK by ACK.

use crate::peer::{NOTHING, Peer, all, today};
use fairport_tcp::{CaState, Connection, Flags, Segment, SynOptions};
use fairport_units::Instant;
use serde_json::json;

/// `__tcp_ack_snd_check`: each gap has three ACKs at once before some are held back, also where it begins just where a
/// gap of short segments was filled.
#[test]
fn a_gap_behind_one_that_was_filled_has_three_acks_at_once_as_well() {
    let mut peer = Peer::opened(&today(&json!({"ack_policy": "delayed"})));
    let mut arrives = |seq: u32, payload: u16| {
        let mut data = peer.segment(0);
        (data.seq, data.payload) = (seq, payload);
        peer.gets(&data);
        peer.polls().len()
    };
    // two full segments are acknowledged
    assert_eq!((arrives(1, 1000), arrives(1001, 1000)), (0, 1));
    // a gap of one short segment, and what fills it
    assert_eq!((arrives(2101, 100), arrives(2001, 100)), (1, 1));
    // the next gap begins at 2201
    let acks: Vec<usize> = (0..5).map(|it| arrives(2301 + 100 * it, 100)).collect();
    assert_eq!(acks, [1, 1, 1, 0, 0]);
}

/// RFC 5682 3.1 step 1, `tcp_enter_loss`: a timeout during loss recovery is not questioned. So what is lost goes out
/// again, and not new data first.
#[test]
fn after_a_timeout_during_recovery_what_is_lost_goes_before_new_data() {
    for (during_recovery, next) in [(true, vec![1, 2]), (false, vec![10, 11])] {
        let mut peer = Peer::opened(&today(&json!({"tail_loss_probe": false})));
        assert_eq!(peer.writes(20), all(0..10));
        if during_recovery {
            peer.at(100).sacks(0, &[(7, 10)]);
            assert_eq!(peer.info().ca_state, CaState::Recovery);
        }
        let (due, sent) = peer.wakes();
        assert_eq!(
            (peer.info().ca_state, sent),
            (CaState::Loss, vec![0]),
            "{due}"
        );
        let blocks: &[(u32, u32)] = if during_recovery { &[(7, 10)] } else { &[] };
        peer.at(due / 1000 + 100);
        assert_eq!(peer.sacks(1, blocks), next, "{during_recovery}");
    }
}

/// RFC 5827 3.2: each ACK is looked at, and one that acknowledges what was late leaves a small flight as well.
#[test]
fn early_retransmit_repairs_a_flight_that_became_small_without_a_new_sack() {
    for (early_retransmit, again) in [(true, vec![2]), (false, vec![])] {
        let settings = json!({
            "early_retransmit": early_retransmit, "rack": false, "tail_loss_probe": false, "dsack": false,
            "undo": false, "frto": false, "sack_rtt": false, "window_reduction": "at-once"
        });
        let mut peer = Peer::opened(&today(&settings));
        assert_eq!(peer.writes(4), all(0..4));
        // 0 and 1 are late, and 2 is lost
        assert_eq!(peer.at(100).sacks(0, &[(3, 4)]), NOTHING);
        assert_eq!(peer.at(101).sacks(2, &[(3, 4)]), again);
    }
}

/// `tcp_mark_lost_retrans`: a retransmission is lost once something is SACKed that begins above `SND.NXT` as it was then,
/// which the first new segment does not.
#[test]
fn under_fack_the_second_segment_sent_after_a_retransmission_shows_its_loss() {
    let mut peer = Peer::opened(&today(&json!({
        "rack": false, "fack": true, "tail_loss_probe": false, "frto": false, "window_reduction": "at-once"
    })));
    assert_eq!(peer.writes(30), all(0..10));
    assert_eq!(peer.at(100).sacks(0, &[(1, 5)]), [0]);
    let again = |peer: &Peer| peer.end.counters().retransmits;
    // the window of five has room for new data
    assert_eq!(peer.at(101).sacks(0, &[(1, 8)]), [10, 11]);
    assert_eq!(again(&peer), 1);
    peer.at(201).sacks(0, &[(1, 11)]);
    assert_eq!(again(&peer), 1, "the first one sent after it");
    peer.at(202).sacks(0, &[(1, 12)]);
    assert_eq!(again(&peer), 2, "the second one");
}

/// A window that the pacer spreads over the round trip is used, though it never is full (`tcp_is_cwnd_limited`).
#[test]
fn a_window_that_sets_the_pace_grows() {
    for by_round in [true, false] {
        let mut peer = Peer::opened(&today(
            &json!({"pacing": "window", "window_use_by_round": by_round}),
        ));
        peer.end.write_endless();
        assert_eq!(peer.sends(), [0]);
        for number in 1..9 {
            assert_eq!(peer.wakes(), (10_000 * u64::from(number), vec![number]));
        }
        peer.at(89).acks(1);
        assert_eq!(peer.window().0, 11, "{by_round}");
    }
}

/// `TCP_NODELAY`, switched on and off again.
#[test]
fn without_nagle_a_short_segment_does_not_wait() {
    let mut peer = Peer::opened(&today(&json!({"nagle": true, "minshall": false})));
    let mut writes = |nagle: bool| {
        peer.end.set_nagle(nagle);
        peer.end.write(10);
        peer.polls().len()
    };
    // the first finds nothing unacknowledged
    assert_eq!([true, true, false, true].map(&mut writes), [1, 0, 1, 0]);
}

/// RFC 7323 2.2, 2.3: the window of a SYN is not scaled, and that of the ACK which ends the handshake is.
#[test]
fn who_was_called_scales_the_window_of_the_ack_that_ends_the_handshake() {
    let mut server = Connection::passive(&today(&json!({})));
    let mut syn = Segment {
        flags: Flags::SYN,
        window: 1000,
        ..Segment::default()
    };
    syn.options.set_syn(SynOptions {
        mss: 1000,
        window_scale: Some(3),
        sack_permitted: true,
    });
    server.on_segment(Instant::ZERO, &syn, &mut ());
    assert!(server.poll_transmit(Instant::ZERO).is_some());
    let ack = Segment {
        seq: 1,
        ack: 1,
        flags: Flags::ACK,
        window: 625,
        ..Segment::default()
    };
    let now = Instant::from_ms(100);
    server.on_segment(now, &ack, &mut ());
    server.write(20_000);
    let sent: Vec<u16> = std::iter::from_fn(|| server.poll_transmit(now))
        .map(|it| it.payload)
        .collect();
    assert_eq!(sent, [1000; 5]);
}

/// RFC 2018 4: an ACK reports as many blocks as it has room for. Three fit beside timestamps; the fourth is known all the
/// same (`selective_acks`), and is reported again once two of them have become one.
#[test]
fn a_block_for_which_there_was_no_room_is_reported_when_there_is() {
    let mut peer = Peer::opened(&today(
        &json!({"timestamps": true, "ack_policy": "every-segment", "sack_compression": 0}),
    ));
    peer.echo = Some(100);
    let mut reported = Vec::new();
    for seq in [1001, 1201, 1401, 1601, 1501] {
        let mut data = peer.segment(0);
        (data.seq, data.payload) = (seq, 100);
        peer.gets(&data);
        let acks = peer.polls();
        let blocks = acks[0].options.sacks();
        reported = blocks.map(|it| (it.start, it.end)).collect();
    }
    assert_eq!(reported, [(1401, 1701), (1201, 1301), (1001, 1101)]);
}

/// `tcp_sack_new_ofo_skb`: what is held back goes out at once, as one ACK, where data extends none of the first two
/// blocks. It serves for that data, too, whose block comes first only in the next one.
#[test]
fn acks_that_are_held_back_go_out_before_a_third_block_is_put_first() {
    let mut peer = Peer::opened(&today(&json!({"timestamps": true})));
    peer.echo = Some(100);
    let mut arrives = |seq: u32| {
        let mut data = peer.segment(0);
        (data.seq, data.payload) = (seq, 100);
        peer.gets(&data);
        let acks = peer.polls();
        let starts = |it: &Segment| it.options.sacks().map(|it| it.start).collect();
        acks.iter().map(starts).collect::<Vec<Vec<u32>>>()
    };
    assert_eq!(arrives(1001), [[1001]]);
    assert_eq!(arrives(2001), [[2001, 1001]]);
    assert_eq!(arrives(3001), [[3001, 2001, 1001]]);
    // three went out at once; nothing is held back yet, so the third block waits
    assert_eq!(arrives(1101), [[0; 0]; 0]);
    // the second block grows: the ACK goes on waiting
    assert_eq!(arrives(3101), [[0; 0]; 0]);
    // the third grows
    assert_eq!(arrives(2101), [[3001, 1001, 2001]]);
    assert_eq!(arrives(2201), [[0; 0]; 0]);
    // a fourth begins, and is not in the ACK that goes out for it
    assert_eq!(arrives(4001), [[2001, 3001, 1001]]);
    assert_eq!(arrives(4101), [[0; 0]; 0]);
}

//! What counts as use of the window, in which units marks are counted, and what is one burst.

use crate::peer::{NOTHING, Peer, all, today};
use fairport_tcp::{CaState, DecisionKind, Flags};
use serde_json::json;

/// `tcp_slow_start_after_idle_check`: a pause of just a timeout is none.
#[test]
fn the_window_restarts_after_more_than_a_timeout_of_silence() {
    for (us, restarts) in [(400_000, 0), (400_001, 1)] {
        let mut peer = Peer::opened(&today(&json!({"slow_start_after_idle": true})));
        peer.writes(10);
        peer.at(100).acks(10);
        peer.writes(1);
        peer.at(200).acks(11);
        assert_eq!(peer.info().rto.as_ps(), 300_000_000_000);
        peer.at_us(us).writes(1);
        peer.at_us(us + 100_000).acks(12);
        let is_restart = |kind| kind == DecisionKind::IdleRestart;
        let decisions = peer.log.decisions.iter();
        let seen = decisions.filter(|(_, it)| is_restart(it.what)).count();
        assert_eq!(seen, restarts, "{us}");
    }
}

/// `tcp_write_xmit` calls `tcp_cwnd_validate`, and `tcp_xmit_retransmit_queue` does not: what goes out again is no use of
/// a window that the application left open.
#[test]
fn retransmissions_that_fill_the_window_do_not_make_it_grow() {
    for (segments, grown) in [(9, 5), (10, 6)] {
        let mut peer = Peer::opened(&today(&json!({"tail_loss_probe": false})));
        assert_eq!(peer.writes(segments), all(0..segments as u32));
        assert!(!peer.at(100).sacks(0, &[(3, 6)]).is_empty());
        assert_eq!(peer.window(), (5, Some(5)));
        let [out, sacked, lost, again] = peer.flight();
        assert_eq!(out - sacked - lost + again, 5, "the window is full");
        assert_eq!(peer.at(200).acks(segments as u32), NOTHING);
        assert_eq!(peer.info().ca_state, CaState::Open);
        assert_eq!(peer.window().0, grown, "{segments}");
    }
}

/// `tcp_info.tcpi_delivered_ce` counts segments, also where the window is an amount of data.
#[test]
fn marked_segments_are_counted_whole_where_the_window_is_in_bytes() {
    for window_unit in ["bytes", "segments"] {
        let settings = json!({"ecn": true, "window_unit": window_unit});
        let mut peer = Peer::opened(&today(&settings));
        assert_eq!(peer.writes(10), all(0..10));
        peer.flags = Flags::ACK | Flags::ECE;
        peer.at(100).acks(3);
        assert_eq!(peer.info().delivered_ce, 3, "{window_unit}");
    }
}

/// What is in flight is what was sent and not acknowledged, whatever arrived, is lost or went out again, and with or
/// without SACK.
#[test]
fn in_flight_are_the_bytes_from_the_first_unacknowledged_one() {
    for sack in [true, false] {
        let mut peer = Peer::opened(&today(
            &json!({"sack": sack, "nagle": false, "tail_loss_probe": false}),
        ));
        let in_flight = |peer: &Peer| peer.end.gauges().in_flight_bytes;
        peer.end.write(9100);
        peer.end.close();
        peer.sends();
        assert_eq!(in_flight(&peer), 9100, "the FIN is no data");
        for to in [4, 5, 6] {
            let blocks: &[(u32, u32)] = if sack { &[(3, to)] } else { &[] };
            peer.at(100).sacks(0, blocks);
        }
        assert_eq!(peer.info().ca_state, CaState::Recovery);
        assert_eq!(in_flight(&peer), 9100, "SACK {sack}");
        peer.at(110).sacks_bytes(9000, &[]);
        assert_eq!(in_flight(&peer), 100);
        // and the FIN
        peer.at(111).sacks_bytes(9101, &[]);
        assert_eq!(in_flight(&peer), 0);
    }
}

/// A host cuts a burst into segments in its adapter: the first begins it, and the others go on.
#[test]
fn of_a_burst_all_segments_but_the_first_go_on_with_it() {
    for (segmentation_offload, follows) in [
        (true, [false, true, false, true]),
        (false, [false, false, false, false]),
    ] {
        let settings = json!({"segmentation_offload": segmentation_offload});
        let mut peer = Peer::opened(&today(&settings));
        peer.end.write(4000);
        let seen = [(); 4].map(|()| {
            let sent = peer.end.poll_transmit(peer.now);
            assert!(sent.is_some_and(|it| it.payload == 1000));
            peer.end.continues_burst()
        });
        // ten segments a round trip of 100 ms are less than two in a millisecond, and two are the least
        assert_eq!(seen, follows);
    }
}

//! How a connection ends, and what its host's full queue does to it, segment by segment.

use crate::peer::{NOTHING, Peer, all, today};
use fairport_tcp::{CaState, Connection, Ecn, Flags};
use fairport_units::Instant;
use serde_json::{Value, json};

/// The peer's FIN behind nothing, with an ACK up to byte `ack`.
fn fin(peer: &mut Peer, ack: u32) -> Vec<(u32, u32, bool)> {
    let mut segment = peer.segment(ack);
    segment.flags |= Flags::FIN;
    peer.gets(&segment);
    shape(peer)
}

/// What goes out: number, acknowledgement, and whether it carries FIN.
fn shape(peer: &mut Peer) -> Vec<(u32, u32, bool)> {
    let sent = peer.polls();
    let one = |it: &fairport_tcp::Segment| (it.seq, it.ack, it.flags.contains(Flags::FIN));
    sent.iter().map(one).collect()
}

/// Whether the peer's FIN is refused with a reset (RFC 9293 3.10.7.1).
fn is_refused(peer: &mut Peer, ack: u32) -> bool {
    let mut segment = peer.segment(ack);
    segment.flags |= Flags::FIN;
    peer.gets(&segment);
    let sent = peer.polls();
    sent.len() == 1 && (sent[0].flags, sent[0].seq) == (Flags::RST, segment.ack)
}

/// RFC 9293 3.6: FIN-WAIT, then TIME-WAIT, in which a FIN that comes once more is acknowledged.
#[test]
fn the_end_that_closes_first_acknowledges_a_fin_that_comes_again() {
    let mut peer = Peer::opened(&today(&json!({})));
    peer.end.write(1000);
    peer.end.close();
    assert_eq!(shape(&mut peer), [(1, 1, true)]);
    peer.at(100).sacks_bytes(1001, &[]);
    assert_eq!(peer.end.gauges().acked_bytes, 1000);
    assert!(!peer.end.is_finished() && peer.log.finished.is_none());
    assert_eq!(fin(peer.at(110), 1001), [(1002, 2, false)]);
    assert!(peer.end.is_finished());
    assert_eq!(peer.log.finished, Some(peer.now));
    assert_eq!(fin(peer.at(120), 1001), [(1002, 2, false)]);
    assert_eq!(peer.due_us(), None);
}

/// RFC 9293 3.6: CLOSE-WAIT, then LAST-ACK, and once its FIN is acknowledged there is nobody.
#[test]
fn the_end_that_closes_last_is_gone_once_its_fin_is_acknowledged() {
    let mut peer = Peer::opened(&today(&json!({})));
    // it has nothing to send, so its FIN goes with the ACK
    assert_eq!(fin(peer.at(10), 0), [(1, 2, true)]);
    assert!(!peer.end.is_finished());
    let mut last = peer.at(110).segment(1);
    last.seq = 2;
    peer.gets(&last);
    assert!(peer.end.is_finished());
    assert_eq!((peer.log.finished, peer.due_us()), (Some(peer.now), None));
    assert!(is_refused(peer.at(120), 1));
    assert_eq!(peer.end.gauges().acked_bytes, 0);
}

/// RFC 9293 3.6: it was done before its peer closed, and its FIN is waited for all the same. Its data is
/// acknowledged before the peer's FIN comes, with it, or with the last ACK.
#[test]
fn who_has_sent_everything_before_its_peer_closes_is_gone_once_its_fin_is_acknowledged() {
    for acknowledged in ["before", "with", "after"] {
        let mut peer = Peer::opened(&today(&json!({})));
        assert_eq!(peer.writes(2), all(0..2));
        if acknowledged == "before" {
            peer.at(100).acks(2);
            assert_eq!(peer.log.finished, Some(peer.now));
        }
        let known = if acknowledged == "after" { 0 } else { 2000 };
        assert_eq!(
            fin(peer.at(110), known),
            [(2001, 2, true)],
            "{acknowledged}"
        );
        assert!(!peer.end.is_finished(), "its FIN is on its way");
        let mut last = peer.at(210).segment(2001);
        last.seq = 2;
        peer.gets(&last);
        assert!(peer.end.is_finished());
        assert_eq!(
            (peer.log.finished, peer.due_us()),
            (Some(peer.now), None),
            "{acknowledged}"
        );
        assert!(is_refused(peer.at(220), 2001), "{acknowledged}");
        assert_eq!(peer.end.gauges().acked_bytes, 2000);
    }
}

/// RFC 9293 3.6, half-close: one side is done, and the other goes on.
#[test]
fn who_does_not_close_with_its_peer_goes_on_writing() {
    let mut peer = Peer::opened(&today(&json!({})));
    peer.end.set_closes_with_peer(false);
    // the ACK of the FIN waits, and rides on the data
    assert_eq!(fin(peer.at(10), 0), []);
    assert_eq!(peer.writes(2), all(0..2));
    peer.end.close();
    assert_eq!(shape(&mut peer), [(2001, 2, true)]);
    let mut last = peer.at(110).segment(2001);
    last.seq = 2;
    peer.gets(&last);
    assert!(peer.end.is_finished());
    assert_eq!(peer.end.gauges().acked_bytes, 2000);
    // it closed last all the same, so it is gone
    assert!(is_refused(peer.at(120), 2000));
}

/// F-RTO's new data is sent before the FIN of the same segment is taken in (`tcp_xmit_recovery` in `tcp_ack`), with the
/// flags and the codepoint that it has as new data.
#[test]
fn what_an_ack_releases_does_not_acknowledge_the_fin_of_the_same_segment() {
    let mut peer = Peer::opened(&today(&json!({"ecn": true})));
    assert_eq!(peer.writes(20), all(0..10));
    let mut marked = peer.at(50).segment(0);
    marked.payload = 500;
    let now = peer.now;
    peer.end.on_packet(now, &marked, Ecn::Ce, &mut peer.log);
    assert!(peer.polls()[0].flags.contains(Flags::ECE));
    while peer.wakes().1 != [0] {}
    let mut fin = peer.segment(1000);
    (fin.seq, fin.flags) = (501, Flags::ACK | Flags::FIN);
    peer.gets(&fin);
    let mut sent = Vec::new();
    while let Some(it) = peer.end.poll_transmit(peer.now) {
        let cwr = it.flags.contains(Flags::CWR);
        assert!(it.flags.contains(Flags::ECE));
        sent.push(((it.seq - 1) / 1000, it.ack, cwr, peer.end.codepoint()));
    }
    let released = [(11, 501, true, Ecn::Ect0), (12, 501, false, Ecn::Ect0)];
    assert_eq!(sent, released);
}

#[test]
fn what_was_written_is_finished_each_time_that_all_of_it_is_acknowledged() {
    let mut peer = Peer::opened(&today(&json!({})));
    assert!(!peer.end.is_finished(), "there was nothing to send");
    peer.writes(2);
    peer.at(100).acks(1);
    assert!(!peer.end.is_finished());
    peer.acks(2);
    assert_eq!(peer.log.finished, Some(peer.now));
    let first = peer.now;
    peer.at(200).acks(2);
    assert_eq!(peer.log.finished, Some(first));
    peer.writes(1);
    assert!(!peer.end.is_finished());
    peer.at(300).acks(3);
    assert_eq!(peer.log.finished, Some(peer.now));
}

/// RFC 9293 3.10.7.4. A pure ACK may itself be such an answer, so it is answered twice per second at most
/// (`tcp_oow_rate_limited`).
#[test]
fn a_pure_ack_below_the_window_is_answered_twice_per_second_and_data_each_time() {
    let mut peer = Peer::opened(&today(&json!({})));
    let mut data = peer.segment(0);
    data.payload = 1000;
    peer.gets(&data);
    assert_eq!(peer.polls().len(), 1);
    let mut answers = |ms: u64, payload: u16| {
        let mut below = peer.at(ms).segment(0);
        (below.seq, below.payload) = (1u32.wrapping_sub(1000), payload);
        peer.gets(&below);
        peer.polls().len()
    };
    let pure = [100, 200, 599, 600, 700].map(|ms| answers(ms, 0));
    assert_eq!(pure, [1, 0, 0, 1, 0]);
    assert_eq!([701, 702].map(|ms| answers(ms, 500)), [1, 1]);
}

/// `tcp_timewait_state_process`: what takes up sequence space is answered each time, and a pure ACK only if it is out of
/// place, twice per second at most.
#[test]
fn in_time_wait_a_pure_ack_is_answered_only_out_of_place() {
    let mut peer = Peer::opened(&today(&json!({})));
    peer.end.close();
    assert_eq!(shape(&mut peer), [(1, 1, true)]);
    assert_eq!(fin(peer.at(100), 1), [(2, 2, false)]);
    let mut answers = |ms: u64, seq: u32, payload: u16| {
        let mut again = peer.at(ms).segment(1);
        (again.seq, again.payload) = (seq, payload);
        peer.gets(&again);
        shape(&mut peer)
    };
    assert_eq!(answers(200, 2, 0), []);
    assert_eq!(answers(201, 1, 0), [(2, 2, false)]);
    assert_eq!(answers(202, 1, 0), []);
    assert_eq!(answers(203, 2, 10), [(2, 2, false)]);
}

#[test]
fn a_segment_without_ack_is_dropped_and_what_lies_beyond_the_window_is_answered() {
    let mut peer = Peer::opened(&today(
        &json!({"receive_buffer_bytes": 5000, "window_scale": 0}),
    ));
    let mut data = peer.segment(0);
    data.payload = 10;
    data.flags = Flags::NONE;
    peer.gets(&data);
    assert_eq!((peer.polls().len(), peer.end.arrived_bytes()), (0, 0));
    data.flags = Flags::ACK;
    data.seq = 5002;
    peer.gets(&data);
    assert_eq!((peer.polls().len(), peer.end.arrived_bytes()), (1, 0));
    data.seq = 101;
    peer.gets(&data);
    assert_eq!(
        (peer.end.delivered_bytes(), peer.end.arrived_bytes()),
        (0, 10)
    );
}

fn pushed_back(overrides: &Value) -> Peer {
    let mut all = json!({"host_queue_pushback": true});
    for (key, value) in overrides.as_object().unwrap() {
        all[key] = value.clone();
    }
    Peer::opened(&today(&all))
}

/// `tcp_enter_cwr` in `__tcp_transmit_skb`: the window is reduced as for a mark, and with nothing outstanding the
/// sender tries again after a timeout (`tcp_check_probe_timer`).
#[test]
fn a_full_queue_of_the_host_reduces_the_window_and_is_tried_again() {
    let mut peer = pushed_back(&json!({}));
    peer.end.write(5000);
    assert!(peer.end.yields_to_host(peer.now));
    assert_eq!(
        (peer.info().ca_state, peer.window().1),
        (CaState::Cwr, Some(5))
    );
    assert_eq!(peer.due_us(), Some(300_000));
    // once in a window of data
    assert!(peer.end.yields_to_host(peer.now));
    assert_eq!(peer.window().1, Some(5));
    assert_eq!(peer.wakes(), (300_000, all(0..5)));

    // with something outstanding its ACK comes
    let mut peer = pushed_back(&json!({}));
    peer.writes(3);
    peer.end.write(1000);
    assert!(peer.end.yields_to_host(peer.now));
    assert_eq!(
        (peer.info().ca_state, peer.due_us()),
        (CaState::Cwr, Some(202_000))
    );
}

#[test]
fn a_full_queue_is_no_matter_to_who_has_nothing_to_send_or_no_window() {
    for (segments, sent) in [(3, 3), (12, 10)] {
        let mut peer = pushed_back(&json!({}));
        assert_eq!(peer.writes(segments), all(0..sent));
        assert!(peer.end.yields_to_host(peer.now));
        assert_eq!(
            (peer.info().ca_state, peer.window().1),
            (CaState::Open, None)
        );
    }
    let mut peer = pushed_back(&json!({"host_queue_pushback": false}));
    peer.end.write(1000);
    assert!(!peer.end.yields_to_host(peer.now));
    assert_eq!(
        (peer.info().ca_state, peer.sends()),
        (CaState::Open, vec![0])
    );
    let mut opening = Connection::active(&today(&json!({"host_queue_pushback": true})));
    assert!(!opening.yields_to_host(Instant::ZERO));
}

/// What the application takes back is never sent; FIN follows what was.
#[test]
fn an_endless_writer_fills_its_window_and_stops_at_what_was_sent() {
    let mut peer = Peer::opened(&today(&json!({})));
    peer.end.write_endless();
    assert_eq!(peer.sends(), all(0..10));
    peer.end.stop();
    assert_eq!(shape(&mut peer), []);
    // the FIN waits for the window
    peer.at(100);
    let mut ack = peer.segment(1000);
    ack.seq = 1;
    peer.gets(&ack);
    assert_eq!(shape(&mut peer), [(10_001, 1, true)]);
    assert_eq!(peer.sends(), NOTHING);
}

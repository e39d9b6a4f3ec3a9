//! What an ACK says to a congestion control from outside the crate.

use std::sync::Mutex;

use crate::peer::{Peer, all, today};
use fairport_tcp::{AckSample, CongestionControl, Controller, EcnAck, Flags, Setup, Window};
use serde_json::json;

/// The window grows by a segment for each that is newly acknowledged.
#[derive(Debug)]
struct Counts;

impl Controller for Counts {
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        window.cwnd += u64::from(ack.segments) * window.unit();
    }
}

fn counts(_setup: &Setup<'_>) -> Box<dyn Controller> {
    Box::new(Counts)
}

/// `tcp_may_raise_cwnd`: on a path that reorders, an ACK that SACKs counts as one that acknowledges, in segments that are
/// newly delivered (`tcp_newly_delivered`).
#[test]
fn where_the_path_reorders_the_segments_that_an_ack_sacks_are_counted() {
    for window_unit in ["bytes", "segments"] {
        let mut settings = today(&json!({"tail_loss_probe": false, "window_unit": window_unit}));
        settings.congestion_control = CongestionControl::custom("counts", counts);
        let mut peer = Peer::opened(&settings);
        assert_eq!(peer.writes(10), all(0..10));
        // five segments are late
        peer.at(100).sacks(0, &[(5, 6)]);
        assert_eq!(peer.window().0, 10, "not known to reorder yet");
        peer.at(101).acks(6);
        assert!(peer.info().reordering > 3);
        let before = peer.window().0;
        peer.at(102).sacks(6, &[(8, 10)]);
        assert_eq!(peer.window().0 - before, 2, "{window_unit}");
        assert_eq!(peer.info().reord_seen, 1);
    }
}

/// The ACK of two short segments counts two, also where windows are in bytes.
#[test]
fn short_segments_are_counted_one_by_one() {
    for window_unit in ["bytes", "segments"] {
        let mut settings = today(&json!({
            "tail_loss_probe": false, "window_unit": window_unit, "nagle": false
        }));
        settings.congestion_control = CongestionControl::custom("counts", counts);
        let mut peer = Peer::opened(&settings);
        for _ in 0..2 {
            peer.end.write(100);
            assert_eq!(peer.polls().len(), 1);
        }
        peer.at(100).sacks_bytes(200, &[]);
        assert_eq!(peer.window().0, 12, "{window_unit}");
    }
}

/// `tcp_newly_delivered`: what was SACKed before is not delivered once more when it is acknowledged.
#[test]
fn an_ack_counts_no_segment_that_was_sacked_before() {
    let mut settings = today(&json!({"tail_loss_probe": false}));
    settings.congestion_control = CongestionControl::custom("counts", counts);
    let mut peer = Peer::opened(&settings);
    assert_eq!(peer.writes(10), all(0..10));
    peer.at(100).sacks(0, &[(1, 3)]);
    assert_eq!(peer.window().0, 10);
    peer.at(101).acks(4);
    // the first and the fourth
    assert_eq!(peer.window().0, 12);
}

/// The totals of each ACK: delivered, and marked.
static TOTALS: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

/// Notes the totals of each ACK.
#[derive(Debug)]
struct Totals;

impl Controller for Totals {
    fn on_ecn_ack(&mut self, ack: &EcnAck) {
        TOTALS.lock().unwrap().push((ack.delivered, ack.marked));
    }
}

/// `tcp_count_delivered`: the totals include what an ACK acknowledges or SACKs itself, once.
#[test]
fn what_an_ack_delivers_is_in_its_totals() {
    let mut settings = today(&json!({"tail_loss_probe": false, "ecn": true}));
    settings.congestion_control = CongestionControl::custom("totals", |_| Box::new(Totals));
    let mut peer = Peer::opened(&settings);
    assert_eq!(peer.writes(10), all(0..10));
    peer.at(100).acks(1);
    peer.flags |= Flags::ECE;
    peer.at(101).sacks(1, &[(2, 4)]);
    peer.at(102).acks(5);
    peer.flags = Flags::ACK;
    peer.at(103).acks(6);
    assert_eq!(*TOTALS.lock().unwrap(), [(1, 0), (3, 2), (5, 4), (6, 4)]);
}

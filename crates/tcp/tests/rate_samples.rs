//! What is reported to a congestion control that asks how fast the network delivers, ACK by ACK
//! (draft-cheng-iccrg-delivery-rate-estimation-02; `tcp_rate.c`).

use std::cell::RefCell;

use crate::peer::{PAYLOAD, Peer, all, ms, today};
use fairport_tcp::{
    AckSample, CongestionControl, Controller, RateSample, RecoveryState as State, Settings, Setup,
    Window,
};
use fairport_units::Instant;
use serde_json::json;

thread_local! {
    static SAMPLES: RefCell<Vec<(AckSample, RateSample)>> = const { RefCell::new(Vec::new()) };
    static RESUMED: RefCell<Vec<Instant>> = const { RefCell::new(Vec::new()) };
}

/// `NewReno` that writes down what is reported to it, and sends as fast as it can: by a pace, or without any.
#[derive(Debug)]
struct Listener {
    pace: Option<u64>,
}

impl Controller for Listener {
    fn on_rate_sample(&mut self, _window: &mut Window, ack: &AckSample, rate: &RateSample) {
        SAMPLES.with_borrow_mut(|it| it.push((*ack, *rate)));
    }
    fn on_resume(&mut self, _window: &mut Window, now: Instant) {
        RESUMED.with_borrow_mut(|it| it.push(now));
    }
    fn wants_rate_samples(&self) -> bool {
        true
    }
    fn pacing_rate(&self) -> Option<u64> {
        self.pace
    }
}

fn settings(pace: Option<u64>) -> Settings {
    let mut settings = today(&json!({}));
    let listener = move |_: &Setup<'_>| -> Box<dyn Controller> { Box::new(Listener { pace }) };
    settings.congestion_control = CongestionControl::custom("listener", listener);
    settings
}

fn opened() -> Peer {
    opened_with(Some(1 << 60))
}

fn opened_with(pace: Option<u64>) -> Peer {
    SAMPLES.with_borrow_mut(Vec::clear);
    RESUMED.with_borrow_mut(Vec::clear);
    Peer::opened(&settings(pace))
}

fn last() -> (AckSample, RateSample) {
    SAMPLES.with_borrow(|it| *it.last().expect("a sample"))
}

fn resumed() -> usize {
    RESUMED.with_borrow(Vec::len)
}

#[test]
fn each_ack_says_what_it_delivered_and_what_was_in_the_network() {
    let mut peer = opened();
    assert_eq!(peer.writes(10), all(0..10));
    peer.at(100).acks(2);
    let (ack, rate) = last();
    assert_eq!(
        (ack.acked, ack.segments, ack.marked, ack.state),
        (2, 0, 0, State::Open)
    );
    assert_eq!((ack.una - (1 << 32), ack.nxt - (1 << 32)), (2001, 10_001));
    assert_eq!(ack.srtt, Some(ms(100)));
    assert_eq!((rate.newly_delivered, rate.newly_lost), (2, 0));
    assert_eq!((rate.prior_in_flight, rate.in_flight), (10, 8));
    assert_eq!((rate.delivered, rate.interval), (2, Some(ms(100))));
    assert_eq!(
        (
            rate.prior_delivered,
            rate.totals.delivered,
            rate.totals.lost
        ),
        (0, 2, 0)
    );
    assert_eq!(rate.rtt, Some(ms(100)));
    // the next may have left when the last did
    assert_eq!(rate.next_departure, Instant::from_ms(100));
    // one that is SACKed counts, and what it shows to be lost
    peer.at(110).sacks(2, &[(5, 8)]);
    let (ack, rate) = last();
    assert_eq!(
        (ack.acked, rate.newly_delivered, rate.newly_lost),
        (3, 3, 3)
    );
    assert_eq!(
        (ack.state, rate.prior_in_flight, rate.in_flight),
        (State::Fast, 8, 2)
    );
    assert_eq!((rate.totals.delivered, rate.totals.lost), (5, 3));
    // what was SACKed is not delivered once more
    peer.at(200).acks(10);
    let (_, rate) = last();
    assert_eq!((rate.newly_delivered, rate.totals.delivered), (5, 10));
}

/// `tcp_rate_gen`: an ACK that delivers nothing shows neither a rate nor a round trip.
#[test]
fn an_ack_that_delivers_nothing_shows_no_rate() {
    let mut peer = opened();
    assert_eq!(peer.writes(10), all(0..10));
    peer.at(100).acks(2);
    assert!(last().1.rtt.is_some());
    peer.at(101).acks(2);
    let (_, rate) = last();
    assert_eq!((rate.rtt, rate.interval, rate.delivered), (None, None, 0));
    assert_eq!(rate.totals.delivered, 2);
}

/// `is_ack_delayed` of `tcp_rate.c`: a receiver delays the ACK of a lone short segment.
#[test]
fn the_ack_of_a_lone_short_segment_may_have_been_delayed() {
    for (bytes, delayed) in [(1, true), (999, true), (1000, false), (1001, false)] {
        let mut peer = opened();
        peer.end.write(bytes);
        peer.sends();
        peer.at(100).sacks_bytes(bytes as u32, &[]);
        assert_eq!(last().1.ack_delayed, delayed, "{bytes}");
    }
    // an ACK of nothing, and one after a SACK
    let mut peer = opened();
    peer.writes(3);
    peer.at(100).acks(0);
    assert!(!last().1.ack_delayed);
    peer.at(101).sacks_bytes(0, &[(1000, 2000)]);
    peer.at(102).sacks_bytes(500, &[]);
    assert!(!last().1.ack_delayed);
}

/// `tcp_rate_check_app_limited`: the application writes when less than a segment is unsent and the window is open.
#[test]
fn a_gap_that_the_application_leaves_limits_the_samples_that_follow() {
    let limited_after = |before: u64, bytes: u64| {
        let mut peer = opened();
        // a first flight that fills the window, so that the gap of the start is over
        peer.writes(10);
        peer.at(100).acks(10);
        peer.writes(20);
        peer.at(200).acks(30);
        peer.writes(before);
        peer.end.write(bytes);
        peer.sends();
        let sent = 30 + before as u32 + (bytes / u64::from(PAYLOAD)) as u32;
        peer.at(300).acks(sent);
        last().1.app_limited
    };
    // into an open window
    assert!(limited_after(0, 5000));
    assert!(limited_after(5, 5000));
    // all that fits was sent
    let mut peer = opened();
    peer.writes(30);
    peer.at(100).acks(10);
    peer.writes(30);
    peer.at(200).acks(30);
    peer.at(300).acks(50);
    assert!(!last().1.app_limited);
}

#[test]
fn sending_begins_again_with_the_first_segment_after_a_gap() {
    let mut peer = opened();
    assert_eq!(peer.writes(2), all(0..2));
    assert_eq!(resumed(), 1, "the first of two");
    peer.at(50).writes(1);
    assert_eq!(resumed(), 1, "something is in the network");
    peer.at(100).acks(3);
    peer.writes(1);
    assert_eq!(resumed(), 2);
}

/// A congestion control may ask for rates and leave the pace to the stack.
#[test]
fn without_a_pace_the_samples_are_the_same() {
    let samples = [Some(1 << 60), None].map(|pace| {
        let mut peer = opened_with(pace);
        assert_eq!(peer.writes(10), all(0..10));
        peer.at(100).acks(2);
        // the first three are sent again
        peer.at(110).sacks(2, &[(5, 8)]);
        peer.at(120).sacks(3, &[(5, 10)]);
        peer.at(220).acks(10);
        assert_eq!(last().1.totals.delivered, 10);
        // the pacer would have released the next segment earlier
        let at_any_time = |(ack, rate): &(AckSample, RateSample)| {
            let next_departure = Instant::ZERO;
            (
                *ack,
                RateSample {
                    next_departure,
                    ..*rate
                },
            )
        };
        let samples: Vec<_> = SAMPLES.with_borrow(|it| it.iter().map(at_any_time).collect());
        (format!("{samples:?}"), resumed())
    });
    assert_eq!(samples[0], samples[1]);
    assert!(last().1.interval.is_some() && resumed() == 1);
}

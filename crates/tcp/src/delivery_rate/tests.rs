//! Samples, worked out by hand.

use super::*;

fn at_ms(ms: u64) -> Instant {
    Instant::from_ms(ms)
}

fn ms(ms: u64) -> Duration {
    Duration::from_ms(ms)
}

fn facts(newly_delivered: u64) -> FlightFacts {
    FlightFacts {
        newly_delivered,
        rtt: None,
        newly_lost: 0,
        lost: 0,
        lone_short: false,
        prior_in_flight: 0,
        in_flight: 0,
        next_departure: Instant::ZERO,
    }
}

/// Ten segments, sent one millisecond apart, the first at 0.
fn ten() -> DeliveryRate {
    let mut rate = DeliveryRate::default();
    for ordinal in 0..10 {
        rate.on_sent(ordinal, at_ms(ordinal), ordinal == 0);
    }
    rate
}

/// An ACK of the segments `ordinals`, each of which was sent at its number in milliseconds.
fn ack(rate: &mut DeliveryRate, at: u64, ordinals: std::ops::Range<u64>) -> RateSample {
    rate.begin_ack();
    let (newly, head) = (ordinals.end - ordinals.start, ordinals.end);
    for ordinal in ordinals {
        rate.on_delivered(ordinal, at_ms(ordinal));
    }
    let rtt = Some(at_ms(at) - at_ms(head - 1));
    let facts = FlightFacts {
        rtt,
        ..facts(newly)
    };
    rate.sample(at_ms(at), head, &facts)
}

#[test]
fn acks_as_they_come_give_the_rate_over_the_round_trip() {
    let mut rate = ten();
    // the first segment of the flight: 1 segment in 50 ms
    let first = ack(&mut rate, 50, 0..1);
    assert_eq!((first.delivered, first.interval), (1, Some(ms(50))));
    // all ten segments: sent over 9 ms, acknowledged over 59 ms from the start
    let last = ack(&mut rate, 59, 1..10);
    assert_eq!((last.delivered, last.interval), (10, Some(ms(59))));
    assert_eq!(last.rtt, Some(ms(50)));
    assert_eq!(last.totals.delivered, 10);
}

#[test]
fn bunched_acks_are_bounded_by_the_rate_of_sending() {
    let mut rate = ten();
    ack(&mut rate, 50, 0..1);
    // when this was sent, one segment had been delivered, which was sent at 0 ms: sending took 60 ms
    rate.on_sent(10, at_ms(60), false);
    ack(&mut rate, 109, 1..10);
    rate.begin_ack();
    rate.on_delivered(10, at_ms(60));
    let sample = rate.sample(at_ms(110), 11, &facts(1));
    // acknowledged from 50 ms to 110 ms; sent from 0 ms to 60 ms
    assert_eq!((sample.delivered, sample.interval), (10, Some(ms(60))));
}

#[test]
fn what_comes_faster_than_any_round_trip_was_sent_before_and_shows_nothing() {
    let mut rate = ten();
    ack(&mut rate, 59, 0..9);
    // A round trip takes at least 51 ms. The last segment is sent again, needlessly, and 2 ms later the ACK of its
    // first transmission arrives. The segment delivered last before was sent at 8 ms, so 52 ms had passed.
    rate.on_sent(9, at_ms(60), false);
    rate.begin_ack();
    rate.on_delivered(9, at_ms(60));
    let sample = rate.sample(at_ms(62), 10, &facts(1));
    assert_eq!((sample.interval, sample.rtt), (Some(ms(52)), None));
    // again, with nothing outstanding before
    rate.on_sent(10, at_ms(70), true);
    rate.begin_ack();
    rate.on_delivered(10, at_ms(70));
    assert_eq!(rate.sample(at_ms(72), 11, &facts(1)).interval, None);
}

#[test]
fn a_gap_of_the_application_marks_samples_until_it_is_delivered() {
    let mut rate = ten();
    rate.limit(10);
    rate.on_sent(10, at_ms(20), false);
    let before = ack(&mut rate, 59, 0..10);
    assert!(!before.app_limited && rate.is_limited());
    rate.on_sent(11, at_ms(60), false);
    rate.begin_ack();
    rate.on_delivered(10, at_ms(20));
    let sample = rate.sample(at_ms(70), 11, &facts(1));
    assert!(sample.app_limited && !rate.is_limited());
    rate.begin_ack();
    rate.on_delivered(11, at_ms(60));
    assert!(rate.sample(at_ms(110), 12, &facts(1)).app_limited);
    rate.on_sent(12, at_ms(110), true);
    rate.begin_ack();
    rate.on_delivered(12, at_ms(110));
    assert!(!rate.sample(at_ms(160), 13, &facts(1)).app_limited);
}

#[test]
fn what_a_timer_marks_lost_is_in_the_total_and_not_in_the_sample() {
    let mut rate = ten();
    for (lost, newly_lost) in [(2, 2), (2, 0), (5, 1)] {
        rate.begin_ack();
        let facts = FlightFacts {
            newly_lost,
            lost,
            ..facts(0)
        };
        let sample = rate.sample(at_ms(50), 0, &facts);
        assert_eq!((sample.newly_lost, sample.totals.lost), (newly_lost, lost));
    }
}

/// The handshake's round trip counts (`tcp_min_rtt`).
#[test]
fn a_sample_shorter_than_the_handshake_shows_nothing() {
    for (handshake, shows) in [(49, true), (51, false)] {
        let mut rate = DeliveryRate::new(Some(ms(handshake)));
        rate.on_sent(0, at_ms(0), true);
        rate.begin_ack();
        rate.on_delivered(0, at_ms(0));
        let sample = rate.sample(at_ms(50), 1, &facts(1));
        assert_eq!(sample.interval.is_some(), shows);
    }
}

/// A receiver may delay the ACK of a single short segment (`FLAG_ACK_MAYBE_DELAYED`), if nothing else was delivered
/// since the segment was sent.
#[test]
fn the_ack_of_a_lone_short_segment_may_be_delayed() {
    for (lone_short, others, delayed) in [
        (true, 0, true),
        (true, 1, false),
        (false, 0, false),
        (false, 1, false),
    ] {
        let mut rate = ten();
        rate.begin_ack();
        if others > 0 {
            rate.on_delivered(0, at_ms(0));
            rate.sample(at_ms(40), 1, &facts(1));
        }
        rate.begin_ack();
        rate.on_delivered(1, at_ms(1));
        let sample = rate.sample(
            at_ms(50),
            2,
            &FlightFacts {
                lone_short,
                ..facts(1)
            },
        );
        assert_eq!(sample.ack_delayed, delayed);
    }
}

#[test]
fn no_time_shows_no_rate() {
    let mut rate = DeliveryRate::default();
    rate.on_sent(0, at_ms(5), true);
    rate.begin_ack();
    rate.on_delivered(0, at_ms(5));
    assert_eq!(rate.sample(at_ms(5), 1, &facts(1)).interval, None);
}

#[test]
fn an_ack_that_delivers_nothing_shows_no_rate_but_what_was_lost() {
    let mut rate = ten();
    rate.begin_ack();
    let sample = rate.sample(
        at_ms(50),
        0,
        &FlightFacts {
            newly_lost: 2,
            ..facts(0)
        },
    );
    assert_eq!((sample.interval, sample.newly_lost), (None, 2));
    assert_eq!(sample.totals.delivered_at, Instant::ZERO);
}

/// What was joined to another segment has no stamp of its own, and those above it keep theirs.
#[test]
fn segments_above_a_joined_one_keep_what_was_true_when_they_were_sent() {
    let mut rate = ten();
    ack(&mut rate, 50, 0..2);
    rate.forget_after(3, 2);
    // the segment that was the seventh: two were delivered since it was sent, and with it three
    rate.begin_ack();
    rate.on_delivered(4, at_ms(6));
    let sample = rate.sample(at_ms(56), 2, &facts(1));
    assert_eq!((sample.delivered, sample.prior_delivered), (3, 0));
    assert_eq!(sample.interval, Some(ms(56)));
    // three segments are left above, and the next is the eighth
    rate.on_sent(8, at_ms(60), false);
    rate.begin_ack();
    rate.on_delivered(8, at_ms(60));
    assert_eq!(rate.sample(at_ms(110), 2, &facts(1)).prior_delivered, 3);
}

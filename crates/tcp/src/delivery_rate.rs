//! The delivery rate of the network: one sample per ACK, for congestion controls that ask for it
//! (draft-cheng-iccrg-delivery-rate-estimation-02; Linux's `tcp_rate.c`).
//!
//! Each transmission records how much had been delivered when it was sent. When it is delivered itself, the data
//! delivered since then is divided by the time that this data took to be sent or to be acknowledged, whichever is
//! longer. So ACKs that arrive together do not make the network look faster than the sender was. A sample is marked if
//! it comes from a time when the application had too little to send.
//!
//! Amounts are in the window's unit.

use std::collections::VecDeque;

use fairport_units::{Duration, Instant};

/// What was true when a segment was last sent.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    delivered: u64,
    delivered_at: Instant,
    /// when the segment that had been delivered last by then was sent
    first_sent: Instant,
    app_limited: bool,
}

/// Totals of the connection, in the window's unit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// Data acknowledged or SACKed (Linux: `tp->delivered`).
    pub delivered: u64,
    /// When `delivered` last grew, or sending started again.
    pub delivered_at: Instant,
    /// Data marked lost. A retransmission that is lost again counts again (Linux: `tp->lost`).
    pub lost: u64,
}

/// The delivery rate that an ACK shows (Linux's `struct rate_sample`). Amounts are in the window's unit. "The latest
/// segment" is the one sent last among those that this ACK newly delivered.
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Data that this ACK acknowledged or SACKed.
    pub newly_delivered: u64,
    /// Data found lost with this ACK.
    pub newly_lost: u64,
    /// Data delivered since the latest segment was sent.
    pub delivered: u64,
    /// The time in which `delivered` was delivered; none if this ACK shows no rate.
    pub interval: Option<Duration>,
    /// Data that had been delivered when the latest segment was sent.
    pub prior_delivered: u64,
    /// The application had too little to send when the latest segment was sent.
    pub app_limited: bool,
    /// The round-trip time of the last-sent segment among the newly delivered ones that were sent only once.
    pub rtt: Option<Duration>,
    /// The receiver may have delayed the ACK, because it is for a single short segment.
    pub ack_delayed: bool,
    /// Totals since the start, including this ACK.
    pub totals: Totals,
    /// Data in the network before the ACK.
    pub prior_in_flight: u64,
    /// Data in the network after the ACK.
    pub in_flight: u64,
    /// When the pacer releases the next segment.
    pub next_departure: Instant,
}

/// What the sender knows about an ACK once it has processed it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlightFacts {
    pub(crate) newly_delivered: u64,
    /// all data ever marked lost
    pub(crate) lost: u64,
    /// at most one segment was acknowledged, it was short, and nothing was `SACKed` before
    pub(crate) lone_short: bool,
    pub(crate) prior_in_flight: u64,
    pub(crate) in_flight: u64,
    pub(crate) next_departure: Instant,
}

/// The latest transmission that the present ACK delivered.
#[derive(Clone, Copy, Debug)]
struct Latest {
    stamp: Stamp,
    sent: Instant,
    ordinal: u64,
}

/// The estimator, and the stamps of the outstanding segments.
#[derive(Debug, Default)]
pub(crate) struct DeliveryRate {
    /// one per outstanding segment, in the order of the scoreboard; the first is of segment `first`
    stamps: VecDeque<Stamp>,
    first: u64,
    totals: Totals,
    first_sent: Instant,
    /// samples are limited by the application until more than this has been delivered
    limited_until: Option<u64>,
    /// smallest round-trip time so far: a shorter interval belongs to an earlier transmission
    min_rtt: Option<Duration>,
    /// the latest transmission that the present ACK delivered
    latest: Option<Latest>,
    sent_once: Option<Instant>,
}

impl DeliveryRate {
    /// Segment `ordinal` is sent, for the first time or again. `idle`: nothing was outstanding before.
    pub(crate) fn on_sent(&mut self, ordinal: u64, now: Instant, idle: bool) {
        if idle {
            self.first_sent = now;
            self.totals.delivered_at = now;
        }
        let stamp = Stamp {
            delivered: self.totals.delivered,
            delivered_at: self.totals.delivered_at,
            first_sent: self.first_sent,
            app_limited: self.limited_until.is_some(),
        };
        if self.stamps.is_empty() {
            self.first = ordinal;
        }
        match self.stamps.get_mut((ordinal - self.first) as usize) {
            Some(earlier) => *earlier = stamp,
            None => self.stamps.push_back(stamp),
        }
    }

    /// An ACK arrives.
    pub(crate) fn begin_ack(&mut self) {
        self.latest = None;
        self.sent_once = None;
    }

    /// The present ACK delivers segment `ordinal`, which was last sent at `sent`. `once`: it was sent only once.
    pub(crate) fn on_delivered(&mut self, ordinal: u64, sent: Instant, once: bool) {
        if once {
            self.sent_once = self.sent_once.max(Some(sent));
        }
        let Some(&stamp) = self.stamps.get((ordinal - self.first) as usize) else {
            return;
        };
        if self
            .latest
            .is_none_or(|it| (it.sent, it.ordinal) < (sent, ordinal))
        {
            self.latest = Some(Latest {
                stamp,
                sent,
                ordinal,
            });
        }
    }

    /// The sample of an ACK that has been processed. Everything below segment `head` is acknowledged.
    pub(crate) fn sample(&mut self, now: Instant, head: u64, facts: &FlightFacts) -> RateSample {
        let newly_lost = facts.lost - self.totals.lost;
        self.totals.lost = facts.lost;
        self.totals.delivered += facts.newly_delivered;
        if facts.newly_delivered > 0 {
            self.totals.delivered_at = now;
        }
        let delivered = self.totals.delivered;
        if self.limited_until.is_some_and(|until| delivered > until) {
            self.limited_until = None;
        }
        let gone = head
            .saturating_sub(self.first)
            .min(self.stamps.len() as u64);
        self.stamps.drain(..gone as usize);
        self.first += gone;
        let rtt = self.sent_once.map(|sent| now - sent);
        if let Some(rtt) = rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |known| known.min(rtt)));
        }
        let interval = self.latest.and_then(|latest| self.interval(now, &latest));
        let prior = self.latest.map(|it| it.stamp);
        let prior_delivered = prior.map_or(delivered, |it| it.delivered);
        RateSample {
            newly_delivered: facts.newly_delivered,
            newly_lost,
            delivered: delivered - prior_delivered,
            interval,
            prior_delivered,
            app_limited: prior.is_some_and(|it| it.app_limited),
            rtt,
            ack_delayed: facts.lone_short && delivered - prior_delivered == facts.newly_delivered,
            totals: self.totals,
            prior_in_flight: facts.prior_in_flight,
            in_flight: facts.in_flight,
            next_departure: facts.next_departure,
        }
    }

    /// The longer of the times that the segments before `latest` took to be sent and to be acknowledged. None if it is
    /// shorter than every round trip so far: then an earlier transmission was delivered.
    fn interval(&mut self, now: Instant, latest: &Latest) -> Option<Duration> {
        self.first_sent = latest.sent;
        let sending = latest.sent.saturating_sub(latest.stamp.first_sent);
        let acknowledging = now - latest.stamp.delivered_at;
        let interval = sending.max(acknowledging);
        let possible =
            interval > Duration::ZERO && self.min_rtt.is_none_or(|least| interval >= least);
        possible.then_some(interval)
    }

    /// Samples are limited by the application until the present `in_flight` is delivered: it has nothing to send, or
    /// the flight is kept small.
    pub(crate) fn limit(&mut self, in_flight: u64) {
        self.limited_until = Some(self.totals.delivered + in_flight);
    }

    /// Whether a segment sent now is limited by the application.
    pub(crate) fn is_limited(&self) -> bool {
        self.limited_until.is_some()
    }
}

#[cfg(test)]
mod tests {
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
            rate.on_delivered(ordinal, at_ms(ordinal), true);
        }
        rate.sample(at_ms(at), head, &facts(newly))
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
        rate.on_delivered(10, at_ms(60), true);
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
        rate.on_delivered(9, at_ms(60), false);
        let sample = rate.sample(at_ms(62), 10, &facts(1));
        assert_eq!((sample.interval, sample.rtt), (Some(ms(52)), None));
        // again, with nothing outstanding before
        rate.on_sent(10, at_ms(70), true);
        rate.begin_ack();
        rate.on_delivered(10, at_ms(70), false);
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
        rate.on_delivered(10, at_ms(20), true);
        let sample = rate.sample(at_ms(70), 11, &facts(1));
        assert!(sample.app_limited && !rate.is_limited());
        rate.begin_ack();
        rate.on_delivered(11, at_ms(60), true);
        assert!(rate.sample(at_ms(110), 12, &facts(1)).app_limited);
        rate.on_sent(12, at_ms(110), true);
        rate.begin_ack();
        rate.on_delivered(12, at_ms(110), true);
        assert!(!rate.sample(at_ms(160), 13, &facts(1)).app_limited);
    }

    #[test]
    fn what_is_lost_counts_once() {
        let mut rate = ten();
        for (lost, newly) in [(2, 2), (2, 0), (5, 3)] {
            rate.begin_ack();
            let sample = rate.sample(at_ms(50), 0, &FlightFacts { lost, ..facts(0) });
            assert_eq!((sample.newly_lost, sample.totals.lost), (newly, lost));
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
                rate.on_delivered(0, at_ms(0), true);
                rate.sample(at_ms(40), 1, &facts(1));
            }
            rate.begin_ack();
            rate.on_delivered(1, at_ms(1), true);
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
        rate.on_delivered(0, at_ms(5), false);
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
                lost: 2,
                ..facts(0)
            },
        );
        assert_eq!((sample.interval, sample.newly_lost), (None, 2));
        assert_eq!(sample.totals.delivered_at, Instant::ZERO);
    }
}

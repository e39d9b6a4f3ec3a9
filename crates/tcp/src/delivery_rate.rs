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
    /// Data found lost because of this ACK, and not by a timer before it.
    pub newly_lost: u64,
    /// Data delivered since the latest segment was sent.
    pub delivered: u64,
    /// The time in which `delivered` was delivered; none if this ACK shows no rate.
    pub interval: Option<Duration>,
    /// Data that had been delivered when the latest segment was sent.
    pub prior_delivered: u64,
    /// The application had too little to send when the latest segment was sent.
    pub app_limited: bool,
    /// The round-trip time of the data delivered last, if this ACK shows one.
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
    /// the round-trip time of the data delivered last
    pub(crate) rtt: Option<Duration>,
    /// data marked lost because of this ACK
    pub(crate) newly_lost: u64,
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
}

impl DeliveryRate {
    /// An estimator after a handshake that took a round trip of `rtt`.
    pub(crate) fn new(rtt: Option<Duration>) -> Self {
        Self {
            min_rtt: rtt,
            ..Self::default()
        }
    }

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

    /// The `count` segments after `ordinal` are now part of it.
    pub(crate) fn forget_after(&mut self, ordinal: u64, count: u64) {
        let first = (ordinal + 1 - self.first) as usize;
        self.stamps.drain(first..first + count as usize);
    }

    /// The end of segment `ordinal` is now a segment of its own.
    pub(crate) fn repeat_stamp(&mut self, ordinal: u64) {
        let at = (ordinal - self.first) as usize;
        self.stamps.insert(at + 1, self.stamps[at]);
    }

    /// An ACK arrives.
    pub(crate) fn begin_ack(&mut self) {
        self.latest = None;
    }

    /// The present ACK delivers segment `ordinal`, which was last sent at `sent`.
    pub(crate) fn on_delivered(&mut self, ordinal: u64, sent: Instant) {
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
        if let Some(rtt) = facts.rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |known| known.min(rtt)));
        }
        let interval = self.latest.and_then(|latest| self.interval(now, &latest));
        let prior = self.latest.map(|it| it.stamp);
        let prior_delivered = prior.map_or(delivered, |it| it.delivered);
        RateSample {
            newly_delivered: facts.newly_delivered,
            newly_lost: facts.newly_lost,
            delivered: delivered - prior_delivered,
            interval,
            prior_delivered,
            app_limited: prior.is_some_and(|it| it.app_limited),
            rtt: facts.rtt,
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

    pub(crate) fn totals(&self) -> Totals {
        self.totals
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
mod tests;

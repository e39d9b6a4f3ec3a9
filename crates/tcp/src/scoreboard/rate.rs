//! Measurement of the delivery rate: the scoreboard's part of [`crate::delivery_rate`].

use fairport_units::{Duration, Instant};

use super::deliveries::Deliveries;
use super::{RESENT, Scoreboard};
use crate::delivery_rate::{DeliveryRate, FlightFacts, RateSample, Totals};

impl Scoreboard {
    /// Starts to measure the delivery rate, so that each ACK can give a sample. `rtt` is that of the handshake.
    pub(crate) fn measure_rate(&mut self, rtt: Option<Duration>) {
        let deliveries = self
            .deliveries
            .get_or_insert_with(|| Box::new(Deliveries::new()));
        deliveries.rate = Some(Box::new(DeliveryRate::new(rtt)));
    }

    fn rate(&mut self) -> Option<&mut DeliveryRate> {
        self.deliveries.as_mut()?.rate.as_deref_mut()
    }

    /// New data was sent, and rates may be measured.
    pub(crate) fn note_sent_last(&mut self, now: Instant) {
        self.note_sent(self.tail - 1, now);
    }

    /// A segment is sent, for the first time or again.
    #[inline]
    pub(super) fn note_sent(&mut self, ordinal: u64, now: Instant) {
        if self.deliveries.as_ref().is_some_and(|it| it.rate.is_some()) {
            self.stamp(ordinal, now);
        }
    }

    #[inline(never)]
    fn stamp(&mut self, ordinal: u64, now: Instant) {
        let idle =
            self.head == ordinal && self.tail == ordinal + 1 && !self.record(ordinal).is(RESENT);
        if let Some(rate) = self.rate() {
            rate.on_sent(ordinal, now, idle);
        }
    }

    /// An ACK arrives that may give a rate sample.
    pub(crate) fn begin_rate(&mut self) {
        if let Some(rate) = self.rate() {
            rate.begin_ack();
        }
    }

    /// The rate sample of the present ACK.
    pub(crate) fn sample_rate(&mut self, now: Instant, facts: &FlightFacts) -> Option<RateSample> {
        let head = self.head;
        Some(self.rate()?.sample(now, head, facts))
    }

    /// The connection's totals at this moment, if rates are measured.
    pub(crate) fn rate_totals(&mut self) -> Option<Totals> {
        let lost = self.lost_ever;
        Some(Totals {
            lost,
            ..self.rate()?.totals()
        })
    }

    /// Samples are limited by the application until the present `in_flight` is delivered.
    pub(crate) fn limit_rate(&mut self, in_flight: u64) {
        if let Some(rate) = self.rate() {
            rate.limit(in_flight);
        }
    }

    /// Whether the application recently had nothing to send, if rates are measured.
    pub(crate) fn is_rate_limited(&self) -> bool {
        let rate = self.deliveries.as_ref().and_then(|it| it.rate.as_ref());
        rate.is_some_and(|it| it.is_limited())
    }
}

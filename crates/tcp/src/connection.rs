//! One endpoint of a connection.

use fairport_units::Time;

use crate::report::{Counters, Events, Gauges};
use crate::segment::Segment;
use crate::settings::Settings;

/// One endpoint: a sender, a receiver, and the handshake that joins them to their peer.
#[derive(Debug)]
pub struct Connection {
    delivered: u64,
}

#[allow(
    clippy::unused_self,
    clippy::needless_pass_by_value,
    missing_docs,
    unused_variables
)]
impl Connection {
    pub fn active(settings: &Settings) -> Self {
        Self { delivered: 0 }
    }
    pub fn passive(settings: &Settings) -> Self {
        Self { delivered: 0 }
    }
    pub fn write(&mut self, bytes: u64) {}
    pub fn write_endless(&mut self) {}
    pub fn close(&mut self) {}
    pub fn on_segment(&mut self, now: Time, segment: &Segment, events: &mut impl Events) {}
    pub fn on_timer(&mut self, now: Time, events: &mut impl Events) {}
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        None
    }
    pub fn poll_timer(&self) -> Option<Time> {
        None
    }
    pub fn delivered_bytes(&self) -> u64 {
        self.delivered
    }
    pub fn is_established(&self) -> bool {
        false
    }
    pub fn is_finished(&self) -> bool {
        false
    }
    pub fn gauges(&self) -> Gauges {
        Gauges {
            cwnd_bytes: 0,
            ssthresh_bytes: u64::MAX,
            srtt: None,
            in_flight_bytes: 0,
            acked_bytes: 0,
        }
    }
    pub fn counters(&self) -> Counters {
        Counters::default()
    }
}

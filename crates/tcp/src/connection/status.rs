//! What an endpoint says of itself: its counts, its state, and when it continues.

use fairport_units::Instant;

use super::{Connection, Phase};
use crate::report::{Counters, Gauges};
use crate::sender::Info;
use crate::timers::Timer;

impl Connection {
    /// When the pacer releases the next segment; none if nothing waits for it.
    pub fn next_departure(&self) -> Option<Instant> {
        let departure = self.timers.deadline(Timer::Pacing);
        (departure != Instant::NEVER).then_some(departure)
    }

    /// The earliest timer except the pacer's; none if no other is running. In a kernel these fire at ticks.
    pub fn poll_ticking_timer(&self) -> Option<Instant> {
        let mut timers = self.timers;
        timers.stop(Timer::Pacing);
        let deadline = timers.next();
        (deadline != Instant::NEVER).then_some(deadline)
    }

    /// Bytes of data that were delivered to the application, in order.
    pub fn delivered_bytes(&self) -> u64 {
        self.receiver.delivered()
    }

    /// Bytes of data that arrived, each counted once: delivered, or held above a gap.
    pub fn arrived_bytes(&self) -> u64 {
        self.receiver.arrived()
    }

    /// Whether the peer reset the connection.
    pub fn is_reset(&self) -> bool {
        self.phase == Phase::Reset
    }

    /// Whether the peer has closed, and everything before its FIN has arrived.
    pub fn is_closed_by_peer(&self) -> bool {
        self.receiver.is_closed()
    }

    /// Gauges of the sender at this moment.
    pub fn gauges(&self) -> Gauges {
        self.sender.gauges()
    }

    /// Counters of the sender since the start.
    pub fn counters(&self) -> Counters {
        self.sender.counters()
    }

    /// The sender's state at this moment, as `struct tcp_info` has it.
    pub fn info(&self) -> Info {
        self.sender.info()
    }
}

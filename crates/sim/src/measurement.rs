//! When the measurement begins and ends. It may begin at a fixed time, or when all flows without end are established.

use fairport_plan::{MeasureFrom, MeasurementRule};
use fairport_units::Instant;

/// The bounds of the measurement that are still to come.
pub(crate) struct Measurement {
    /// flows that must still be established before it begins
    unestablished: u32,
    /// when it will begin; [`Instant::NEVER`] once it has begun, and while the time is unknown
    pub(crate) begin_at: Instant,
    /// when it will end; [`Instant::NEVER`] once it has ended, and if it lasts until the run ends
    pub(crate) end_at: Instant,
}

impl Measurement {
    pub(crate) fn new(rule: MeasurementRule) -> Self {
        let (begin_at, unestablished) = match rule.from {
            MeasureFrom::At(from) => (from, 0),
            MeasureFrom::Established { flows } => (Instant::NEVER, flows),
        };
        Self {
            unestablished,
            begin_at,
            end_at: rule.to.unwrap_or(Instant::NEVER),
        }
    }

    /// Whether it waits for flows to be established.
    pub(crate) fn awaits_flows(&self) -> bool {
        self.unestablished > 0
    }

    /// One of the flows that it waits for is established. With the last of them, it begins.
    pub(crate) fn flow_established(&mut self, now: Instant) {
        self.unestablished -= 1;
        if self.unestablished == 0 {
            self.begin_at = now;
        }
    }
}

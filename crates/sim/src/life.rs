//! What is kept of a flow besides its connection and its record.

use fairport_plan::flow::Application;
use fairport_units::Instant;

/// What is kept of a flow from its start to the end of the run.
pub(crate) struct Life {
    /// ends of the connection that are not finished; none where it is never closed
    open_ends: u8,
    /// when the last end had finished
    over_at: Instant,
    /// packets that both ends had sent and received when the flow was given up
    pub(crate) packets: (u64, u64),
}

impl Life {
    /// A flow that has not started.
    pub(crate) fn new(application: &Application) -> Self {
        Self {
            open_ends: if application.stays_open() { 0 } else { 2 },
            over_at: Instant::NEVER,
            packets: (0, 0),
        }
    }

    /// When both ends had finished; [`Instant::NEVER`]: not yet.
    pub(crate) fn over_at(&self) -> Instant {
        self.over_at
    }

    /// Whether both ends have finished.
    pub(crate) fn is_over(&self) -> bool {
        self.over_at != Instant::NEVER
    }

    /// One end has finished; returns whether it is the last.
    pub(crate) fn finish_end(&mut self, now: Instant) -> bool {
        let Some(left) = self.open_ends.checked_sub(1) else {
            return false;
        };
        self.open_ends = left;
        if left == 0 {
            self.over_at = now;
        }
        left == 0
    }
}

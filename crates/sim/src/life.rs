//! What is kept of a flow besides its connection and its record.

use fairport_plan::flow::Application;
use fairport_record::Progress;
use fairport_tcp::Counters;
use fairport_units::Instant;

/// A flow's totals when it was given up.
#[derive(Clone, Copy, Default)]
pub(crate) struct Done {
    /// packets that both ends had sent and received
    pub(crate) packets: (u64, u64),
    /// what its receiver had received
    pub(crate) progress: Progress,
    /// its counters
    pub(crate) counters: Counters,
}

/// What is kept of a flow from its start to the end of the run.
pub(crate) struct Life {
    /// ends of the connection that have not finished; 0 if the connection is never closed
    open_ends: u8,
    /// the later of the times at which ends have finished so far
    last_end: Instant,
    /// when the last end finished; [`Instant::NEVER`] before that
    over_at: Instant,
    /// all zero until the flow is given up
    pub(crate) done: Done,
}

impl Life {
    /// A flow that has not started.
    pub(crate) fn new(application: &Application) -> Self {
        Self {
            open_ends: if application.stays_open() { 0 } else { 2 },
            last_end: Instant::ZERO,
            over_at: Instant::NEVER,
            done: Done::default(),
        }
    }

    /// When both ends had finished; [`Instant::NEVER`] if they have not.
    pub(crate) fn over_at(&self) -> Instant {
        self.over_at
    }

    /// Whether both ends have finished.
    pub(crate) fn is_over(&self) -> bool {
        self.over_at != Instant::NEVER
    }

    /// Records that one end has finished; returns whether the other had been recorded before. If the two are in
    /// different regions, the end that was the first to finish may be recorded last.
    pub(crate) fn finish_end(&mut self, now: Instant) -> bool {
        let Some(left) = self.open_ends.checked_sub(1) else {
            return false;
        };
        self.open_ends = left;
        self.last_end = self.last_end.max(now);
        if left == 0 {
            self.over_at = self.last_end;
        }
        left == 0
    }
}

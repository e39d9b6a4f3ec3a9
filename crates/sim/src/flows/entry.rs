//! What is kept of a flow besides its connection and its record.

use fairport_plan::flow::{Flow, FlowSpec, Side};
use fairport_record::Progress;
use fairport_tcp::Counters;
use fairport_units::Instant;

/// A flow's totals when it was given up.
#[derive(Clone, Copy, Default)]
pub(super) struct Done {
    /// packets that both ends had sent and received
    pub(super) packets: (u64, u64),
    /// what its receiver had received
    pub(super) progress: Progress,
    /// its counters
    pub(super) counters: Counters,
}

/// What is kept of a flow from its start to the end of the run.
pub(super) struct Entry {
    /// when it starts, and what its applications do
    pub(super) planned: Flow,
    /// by side: the number of the domain that this end is in
    domains: [usize; 2],
    /// ends of the connection that have not finished; 0 if the connection is never closed
    open_ends: u8,
    /// the later of the times at which ends have finished so far
    last_end: Instant,
    /// when the last end finished; [`Instant::NEVER`] before that
    over_at: Instant,
    /// all zero until the flow is given up
    pub(super) done: Done,
}

impl Entry {
    /// A flow that has not started. Its ends are in these domains.
    pub(super) fn new(planned: Flow, domains: [usize; 2]) -> Self {
        Self {
            planned,
            domains,
            open_ends: if planned.spec.application.stays_open() {
                0
            } else {
                2
            },
            last_end: Instant::ZERO,
            over_at: Instant::NEVER,
            done: Done::default(),
        }
    }

    /// The flow's description.
    pub(super) fn spec(&self) -> &FlowSpec {
        &self.planned.spec
    }

    /// The domain in which this end of the flow is.
    pub(super) fn domain_at(&self, side: Side) -> usize {
        self.domains[side as usize]
    }

    /// The domains in which the flow has an end: one, or two.
    pub(super) fn domains(&self) -> impl Iterator<Item = usize> + use<> {
        let [sender, receiver] = self.domains;
        std::iter::once(sender).chain((receiver != sender).then_some(receiver))
    }

    /// When both ends had finished; [`Instant::NEVER`] if they have not.
    pub(super) fn over_at(&self) -> Instant {
        self.over_at
    }

    /// Whether both ends have finished.
    pub(super) fn is_over(&self) -> bool {
        self.over_at != Instant::NEVER
    }

    /// Records that one end has finished; returns whether the other had been recorded before. If the two are in
    /// different regions, the end that was the first to finish may be recorded last.
    pub(super) fn finish_end(&mut self, now: Instant) -> bool {
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

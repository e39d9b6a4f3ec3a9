//! A trace that is played back: flows with their starts, ends and sizes as listed in a file.

use fairport_units::{Duration, Instant};

use super::{Amount, Ends, Key, Transfer, Trip, Workload, WorkloadContext};
use crate::flow::End;
use crate::job::workload::TraceJob;

/// The trace, and the position of the playback.
#[derive(Debug)]
pub(crate) struct Trace {
    senders: Vec<End>,
    receivers: Vec<End>,
    rows: TraceJob,
    begins: Instant,
    next: usize,
}

impl Trace {
    pub(crate) fn new(job: &TraceJob, key: Key, ends: &Ends) -> Self {
        Self {
            senders: ends.senders.clone(),
            receivers: ends.receivers.clone(),
            rows: job.clone(),
            begins: key.start,
            next: 0,
        }
    }

    fn schedule_next(&self, context: &mut WorkloadContext<'_>) {
        if let Some(start) = self.rows.start_ps.get(self.next) {
            context.wake_at(self.begins + *start, 0);
        }
    }
}

impl Workload for Trace {
    fn expected(&self, span: Duration, _trip: &mut Trip<'_>) -> Amount {
        let rows = self.rows.start_ps.partition_point(|start| *start < span);
        Amount::flows(rows as u64)
    }

    fn begin(&mut self, context: &mut WorkloadContext<'_>) {
        self.schedule_next(context);
    }

    fn on_wake(&mut self, now: Instant, _token: u64, context: &mut WorkloadContext<'_>) {
        let row = self.next;
        let transfer = Transfer {
            src: self.senders[self.rows.src[row] as usize],
            dst: self.receivers[self.rows.dst[row] as usize],
            bytes: self.rows.bytes[row],
            persistent: false,
            token: 0,
        };
        context.start(now, &transfer);
        self.next += 1;
        self.schedule_next(context);
    }

    fn hears(&self) -> bool {
        false
    }
}

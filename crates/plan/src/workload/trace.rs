//! A trace played back: flows with their starts, ends and sizes as a file lists them.

use fairport_units::{Rate, Time};

use super::{Desk, Ends, Key, OwnFlow, Transfer, Workload};
use crate::flow::End;
use crate::job::workload::TraceJob;

/// The trace, and where it is.
pub(crate) struct Trace {
    senders: Vec<End>,
    receivers: Vec<End>,
    rows: TraceJob,
    begins: Time,
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

    fn plan_next(&self, desk: &mut Desk<'_>) {
        if let Some(start) = self.rows.start_ps.get(self.next) {
            desk.wake(self.begins + *start, 0);
        }
    }
}

impl Workload for Trace {
    fn expected_flows(&self, _span: Time, _rate: Rate) -> u64 {
        self.rows.start_ps.len() as u64
    }

    fn begin(&mut self, desk: &mut Desk<'_>) {
        self.plan_next(desk);
    }

    fn wake(&mut self, now: Time, _token: u64, desk: &mut Desk<'_>) {
        let row = self.next;
        let transfer = Transfer {
            src: self.senders[self.rows.src[row] as usize],
            dst: self.receivers[self.rows.dst[row] as usize],
            bytes: self.rows.bytes[row],
            persistent: false,
            token: 0,
        };
        desk.start(now, &transfer);
        self.next += 1;
        self.plan_next(desk);
    }

    fn complete(&mut self, _now: Time, _flow: OwnFlow, _desk: &mut Desk<'_>) {}
}

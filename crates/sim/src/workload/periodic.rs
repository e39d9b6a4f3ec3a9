//! Transfers that are launched again and again: at every period each sender starts a flow of a
//! given size to the receiver (Guo and Matta 2001, foreground traffic).
//!
//! The period counts from launch to launch. Where the last transfer is still under way, the next
//! one waits for it: a source has one transfer at a time.

use fairport_net::stream::Stream;
use fairport_units::Time;

use super::{Completed, Desk, Ends, Key, Transfer, Workload};
use crate::flow::End;
use crate::job::workload::PeriodicJob;

/// One of the senders' sources.
struct Source {
    src: End,
    /// under way
    is_busy: bool,
    /// when it should have been launched while it was busy
    waits: bool,
}

/// Transfers launched again and again.
pub(crate) struct Periodic {
    sources: Vec<Source>,
    receiver: End,
    bytes: u64,
    period: Time,
    jitter: Time,
    stream: Stream,
    start: Time,
}

impl Periodic {
    pub(crate) fn new(job: &PeriodicJob, key: Key, ends: &Ends) -> Self {
        let source = |src: &End| Source {
            src: *src,
            is_busy: false,
            waits: false,
        };
        Self {
            sources: ends.senders.iter().map(source).collect(),
            receiver: ends.receivers[0],
            bytes: job.size_bytes,
            period: job.period_ps,
            jitter: job.jitter_ps,
            stream: Stream::new(key.seed, "periodic", key.index),
            start: key.start,
        }
    }

    fn launch(&mut self, at: Time, number: usize, desk: &mut Desk<'_>) {
        let source = &mut self.sources[number];
        source.is_busy = true;
        let transfer = Transfer {
            src: source.src,
            dst: self.receiver,
            bytes: self.bytes,
            persistent: false,
            token: number as u32,
        };
        desk.start(at, &transfer);
    }
}

impl Workload for Periodic {
    fn begin(&mut self, desk: &mut Desk<'_>) {
        desk.wake(self.start, 0);
    }

    fn wake(&mut self, now: Time, _token: u64, desk: &mut Desk<'_>) {
        for number in 0..self.sources.len() {
            let at = now + Time::from_ps(self.stream.up_to(self.jitter.as_ps()));
            if self.sources[number].is_busy {
                self.sources[number].waits = true;
            } else {
                self.launch(at, number, desk);
            }
        }
        desk.wake(now + self.period, 0);
    }

    fn complete(&mut self, now: Time, completed: Completed, desk: &mut Desk<'_>) {
        let number = completed.token as usize;
        self.sources[number].is_busy = false;
        if std::mem::take(&mut self.sources[number].waits) {
            self.launch(now, number, desk);
        }
    }
}

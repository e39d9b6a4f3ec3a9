//! Repeated transfers: once per period, each sender starts a flow of a given size to the receiver (Guo and Matta 2001,
//! foreground traffic).
//!
//! The period is from launch to launch. If the last transfer is not complete, the next one waits for it, so a source
//! has one transfer at a time. Either each transfer has a connection of its own, or each source keeps one, which is
//! idle between transfers. Each transfer is a row in the table `rounds`.

use fairport_net::stream::Stream;
use fairport_units::{Duration, Instant};

use super::{Amount, Ends, Key, OwnFlow, Round, Transfer, Trip, Workload, WorkloadContext};
use crate::flow::End;
use crate::job::workload::PeriodicJob;

/// The source at one sender.
#[derive(Debug)]
struct Source {
    src: End,
    /// its connection, if that stays open
    connection: Option<u32>,
    /// row of the present transfer in the log
    row: Option<usize>,
    /// number of transfers so far
    transfers: u32,
    /// when a launch is due whose period began during the present transfer
    waits: Option<Instant>,
}

/// Repeated transfers of all sources.
#[derive(Debug)]
pub(crate) struct Periodic {
    sources: Vec<Source>,
    receiver: End,
    bytes: u64,
    period: Duration,
    jitter: Duration,
    is_persistent: bool,
    stream: Stream,
    start: Instant,
}

impl Periodic {
    pub(crate) fn new(job: &PeriodicJob, key: Key, ends: &Ends) -> Self {
        let source = |src: &End| Source {
            src: *src,
            connection: None,
            row: None,
            transfers: 0,
            waits: None,
        };
        Self {
            sources: ends.senders.iter().map(source).collect(),
            receiver: ends.receivers[0],
            bytes: job.size_bytes,
            period: job.period_ps,
            jitter: job.jitter_ps,
            is_persistent: job.persistent,
            stream: Stream::new(key.seed, "periodic", key.index),
            start: key.start,
        }
    }

    fn launch(&mut self, at: Instant, number: usize, context: &mut WorkloadContext<'_>) {
        if context.has_stopped_by(at) {
            return;
        }
        let source = &mut self.sources[number];
        source.row = Some(context.log_round(Round {
            number: source.transfers,
            flow: source.connection,
            start: at,
            end: Instant::NEVER,
            bytes: self.bytes,
        }));
        if let Some(flow) = source.connection {
            context.write(at, flow, self.bytes);
            return;
        }
        let transfer = Transfer {
            src: source.src,
            dst: self.receiver,
            bytes: self.bytes,
            persistent: self.is_persistent,
            token: number as u32,
        };
        context.start(at, &transfer);
    }
}

impl Workload for Periodic {
    fn expected(&self, span: Duration, _trip: &mut Trip<'_>) -> Amount {
        let sources = self.sources.len() as u64;
        let launches = sources.saturating_mul(span.as_ps() / self.period.as_ps() + 1);
        Amount {
            flows: if self.is_persistent {
                sources
            } else {
                launches
            },
            logged: launches,
        }
    }

    fn begin(&mut self, context: &mut WorkloadContext<'_>) {
        context.wake_at(self.start, 0);
    }

    fn on_wake(&mut self, now: Instant, _token: u64, context: &mut WorkloadContext<'_>) {
        for number in 0..self.sources.len() {
            let at = now + self.stream.span_up_to(self.jitter);
            if self.sources[number].row.is_some() {
                self.sources[number].waits.get_or_insert(at);
            } else {
                self.launch(at, number, context);
            }
        }
        context.wake_at(now + self.period, 0);
    }

    fn on_complete(&mut self, now: Instant, flow: OwnFlow, context: &mut WorkloadContext<'_>) {
        let number = flow.token as usize;
        let source = &mut self.sources[number];
        let row = source.row.take().expect("what is complete was launched");
        if self.is_persistent {
            source.connection = Some(flow.number);
        }
        context.log_completion(row, now, Some(flow.number));
        source.transfers += 1;
        if let Some(at) = source.waits.take() {
            self.launch(at.max(now), number, context);
        }
    }
}

//! Incast (Phanishayee et al. 2008): n senders send a block to one receiver at the same time. When all blocks have
//! arrived, the next round begins.

use fairport_net::stream::Stream;
use fairport_units::{Duration, Instant, Rate};

use super::{Amount, Ends, Key, OwnFlow, Round, Transfer, Trip, Workload, WorkloadContext};
use crate::flow::End;
use crate::job::workload::IncastJob;

/// Rounds of blocks.
#[derive(Debug)]
pub(crate) struct Incast {
    senders: Vec<End>,
    receiver: End,
    receiver_rate: Rate,
    block_bytes: u64,
    rounds: u32,
    pause: Duration,
    jitter: Duration,
    /// by sender: its connection; none if connections do not stay open
    connections: Option<Vec<Option<u32>>>,
    stream: Stream,
    start: Instant,
    round: u32,
    /// row of this round in the log
    row: usize,
    /// number of blocks of this round that have not arrived
    missing: usize,
}

impl Incast {
    pub(crate) fn new(job: &IncastJob, key: Key, ends: &Ends) -> Self {
        let senders = ends.senders.clone();
        Self {
            receiver: ends.receivers[0],
            receiver_rate: Rate::from_bps(ends.receivers_bps),
            block_bytes: job.block_bytes,
            rounds: job.rounds.unwrap_or(u32::MAX),
            pause: job.pause_ps,
            jitter: job.jitter_ps,
            connections: job.persistent.then(|| vec![None; senders.len()]),
            stream: Stream::new(key.seed, "incast", key.index),
            start: key.start,
            round: 0,
            row: 0,
            missing: 0,
            senders,
        }
    }
}

impl Workload for Incast {
    fn expected(&self, span: Duration, trip: &mut Trip<'_>) -> Amount {
        let senders = self.senders.len() as u64;
        let transfer = self
            .receiver_rate
            .time_of(senders.saturating_mul(self.block_bytes));
        // SYN, SYN-ACK and data, one after another
        let exchange = |src: &End| {
            let [there, back] = [trip(*src, self.receiver), trip(self.receiver, *src)];
            there * 2 + back
        };
        let exchange = self.senders.iter().map(exchange).min();
        let round = transfer + exchange.unwrap_or(Duration::ZERO) + self.pause;
        let fit = span.as_ps() / round.as_ps().max(1) + 1;
        let rounds = fit.min(u64::from(self.rounds));
        let connections = if self.connections.is_some() {
            1
        } else {
            rounds
        };
        Amount {
            flows: senders.saturating_mul(connections),
            logged: rounds,
        }
    }

    fn begin(&mut self, context: &mut WorkloadContext<'_>) {
        context.wake_at(self.start, 0);
    }

    /// Begins a round.
    fn on_wake(&mut self, now: Instant, _token: u64, context: &mut WorkloadContext<'_>) {
        self.row = context.log_round(Round {
            number: self.round,
            flow: None,
            start: now,
            end: Instant::NEVER,
            bytes: self.block_bytes.saturating_mul(self.senders.len() as u64),
        });
        self.missing = self.senders.len();
        for (i, src) in self.senders.iter().enumerate() {
            let at = now + self.stream.span_up_to(self.jitter);
            let connection = self.connections.as_ref().and_then(|known| known[i]);
            match connection {
                Some(flow) => context.write(at, flow, self.block_bytes),
                None => context.start(
                    at,
                    &Transfer {
                        src: *src,
                        dst: self.receiver,
                        bytes: self.block_bytes,
                        persistent: self.connections.is_some(),
                        token: i as u32,
                    },
                ),
            }
        }
    }

    fn on_complete(&mut self, now: Instant, flow: OwnFlow, context: &mut WorkloadContext<'_>) {
        if let Some(connections) = &mut self.connections {
            connections[flow.token as usize] = Some(flow.number);
        }
        self.missing -= 1;
        if self.missing > 0 {
            return;
        }
        context.log_completion(self.row, now, None);
        self.round += 1;
        if self.round < self.rounds {
            context.wake_at(now + self.pause, 0);
        }
    }
}

//! What workloads have done: rounds that are over, and requests with their answers.

use fairport_record::Table;
use fairport_record::tables::{self, Request, Requests, Rounds};
use fairport_units::{Duration, Instant};

/// A round that is over: a row of the rounds table.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// from 0
    pub number: u32,
    /// its flow, if it had only one
    pub flow: Option<u32>,
    /// when it began
    pub start: Instant,
    /// when all of its data was delivered
    pub end: Instant,
    /// what was delivered
    pub bytes: u64,
}

/// A request and its answer: a row of the requests table.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    /// on its connection, from 0
    pub number: u32,
    /// none: the connection of a first request was never opened
    pub flow: Option<u32>,
    /// when the client sent it; the first one opens the connection
    pub start: Instant,
    /// when the client had the whole answer; [`Instant::NEVER`]: not yet
    pub end: Instant,
    /// size of the request
    pub request_bytes: u64,
    /// size of the answer
    pub response_bytes: u64,
}

impl Exchange {
    /// From the request to the whole answer; [`Duration::NEVER`] without an answer.
    pub fn response_time(&self) -> Duration {
        match self.end {
            Instant::NEVER => Duration::NEVER,
            end => end - self.start,
        }
    }
}

/// Every round that is over and every request, each with the number of its part of the traffic.
#[derive(Debug, Default)]
pub struct Log {
    /// rounds that are over
    pub rounds: Vec<(u32, Round)>,
    /// requests, answered or not
    pub exchanges: Vec<(u32, Exchange)>,
}

impl Log {
    /// The tables of rounds and of requests, one row each.
    pub fn tables(&self) -> [Table; 2] {
        let mut rounds = Rounds::with_capacity(self.rounds.len());
        for (traffic, round) in &self.rounds {
            rounds.push(tables::Round {
                traffic: *traffic,
                round: round.number,
                flow: round.flow,
                start_s: round.start,
                end_s: round.end,
                bytes: round.bytes,
                completion_s: round.end - round.start,
            });
        }
        let mut requests = Requests::with_capacity(self.exchanges.len());
        for (traffic, exchange) in &self.exchanges {
            requests.push(Request {
                traffic: *traffic,
                flow: exchange.flow,
                request: exchange.number,
                start_s: exchange.start,
                end_s: exchange.end,
                request_bytes: exchange.request_bytes,
                response_bytes: exchange.response_bytes,
                response_s: exchange.response_time(),
            });
        }
        [rounds.into_table(), requests.into_table()]
    }
}

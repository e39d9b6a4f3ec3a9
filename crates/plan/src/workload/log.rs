//! The log of workloads: rounds, and requests with their responses.

use fairport_record::Table;
use fairport_record::tables::{self, Request, Requests, Rounds};
use fairport_units::{Duration, Instant};

/// A round, which is a row of the table `rounds`.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// number of the round, from 0
    pub number: u32,
    /// its flow, if it had a single one
    pub flow: Option<u32>,
    /// when it began
    pub start: Instant,
    /// when all of its data was delivered; [`Instant::NEVER`]: not yet
    pub end: Instant,
    /// bytes of all of its data
    pub bytes: u64,
}

/// A request and its response, which is a row of the table `requests`.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    /// number of the request on its connection, from 0
    pub number: u32,
    /// the flow of the connection; none if it is a first request that has not reached the server
    pub flow: Option<u32>,
    /// when the client sent it; the first request opens the connection
    pub start: Instant,
    /// when the client had the whole response; [`Instant::NEVER`]: not yet
    pub end: Instant,
    /// size of the request in bytes
    pub request_bytes: u64,
    /// size of the response in bytes
    pub response_bytes: u64,
}

impl Exchange {
    /// Time from the request to the whole response; [`Duration::NEVER`] without a response.
    pub fn response_time(&self) -> Duration {
        duration(self.start, self.end)
    }
}

fn duration(start: Instant, end: Instant) -> Duration {
    match end {
        Instant::NEVER => Duration::NEVER,
        end => end - start,
    }
}

/// All rounds and all requests, each with the number of its part of the traffic.
#[derive(Debug, Default)]
pub struct Log {
    /// rounds, completed or not
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
                completion_s: duration(round.start, round.end),
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

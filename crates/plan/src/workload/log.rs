//! What workloads have done: rounds that are over, and requests with their answers.

use fairport_units::Time;

/// What is over as a whole: a row of the rounds table.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// from 0
    pub number: u32,
    /// the one flow that it was of, if it was of one
    pub flow: Option<u32>,
    pub start: Time,
    pub end: Time,
    pub bytes: u64,
}

/// A request and its answer: a row of the requests table.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    /// on its connection, from 0
    pub number: u32,
    /// none: the first one's connection never came about
    pub flow: Option<u32>,
    /// when the client made it; the first one opens the connection
    pub start: Time,
    /// when the client had the whole answer; [`Time::NEVER`]: not yet
    pub end: Time,
    pub request_bytes: u64,
    pub response_bytes: u64,
}

impl Exchange {
    /// From the request to the whole answer; [`Time::NEVER`] without an answer.
    pub fn response_time(&self) -> Time {
        match self.end {
            Time::NEVER => Time::NEVER,
            end => end - self.start,
        }
    }
}

/// Everything that is over, and the requests that are not, each with the traffic that it is of.
#[derive(Debug, Default)]
pub struct Log {
    pub rounds: Vec<(u32, Round)>,
    pub exchanges: Vec<(u32, Exchange)>,
}

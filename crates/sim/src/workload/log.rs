//! What workloads have done: rounds that are over, and requests with their answers. Their tables.

use fairport_units::Time;

use crate::results::{Column, Table};

/// What is over as a whole: a row of the rounds table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    /// from 0
    pub(crate) number: u32,
    /// the one flow that it was of, if it was of one
    pub(crate) flow: Option<u32>,
    pub(crate) start: Time,
    pub(crate) end: Time,
    pub(crate) bytes: u64,
}

/// A request and its answer: a row of the requests table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    /// on its connection, from 0
    pub(crate) number: u32,
    /// none: the first one's connection never came about
    pub(crate) flow: Option<u32>,
    /// when the client made it; the first one opens the connection
    pub(crate) start: Time,
    /// when the client had the whole answer; [`Time::NEVER`]: not yet
    pub(crate) end: Time,
    pub(crate) request_bytes: u64,
    pub(crate) response_bytes: u64,
}

impl Exchange {
    fn response_time(&self) -> Time {
        match self.end {
            Time::NEVER => Time::NEVER,
            end => end - self.start,
        }
    }
}

/// Everything that is over, and the requests that are not, each with the traffic that it is of.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) rounds: Vec<(u32, Round)>,
    pub(crate) exchanges: Vec<(u32, Exchange)>,
}

impl Log {
    pub(crate) fn rounds_table(&self) -> Table {
        let rows = &self.rounds;
        Table {
            name: "rounds",
            columns: vec![
                ("traffic", u32s(rows, |(traffic, _)| *traffic)),
                ("round", u32s(rows, |(_, row)| row.number)),
                ("flow", u32s(rows, |(_, row)| row.flow.unwrap_or(u32::MAX))),
                ("start_s", times(rows, |(_, row)| row.start)),
                ("end_s", times(rows, |(_, row)| row.end)),
                ("bytes", u64s(rows, |(_, row)| row.bytes)),
                ("completion_s", times(rows, |(_, row)| row.end - row.start)),
            ],
        }
    }

    pub(crate) fn requests_table(&self) -> Table {
        let rows = &self.exchanges;
        Table {
            name: "requests",
            columns: vec![
                ("traffic", u32s(rows, |(traffic, _)| *traffic)),
                ("flow", u32s(rows, |(_, row)| row.flow.unwrap_or(u32::MAX))),
                ("request", u32s(rows, |(_, row)| row.number)),
                ("start_s", times(rows, |(_, row)| row.start)),
                ("end_s", times(rows, |(_, row)| row.end)),
                ("request_bytes", u64s(rows, |(_, row)| row.request_bytes)),
                ("response_bytes", u64s(rows, |(_, row)| row.response_bytes)),
                ("response_s", times(rows, |(_, row)| row.response_time())),
            ],
        }
    }
}

fn u32s<T>(rows: &[T], of: fn(&T) -> u32) -> Column {
    Column::U32(rows.iter().map(of).collect())
}

fn u64s<T>(rows: &[T], of: fn(&T) -> u64) -> Column {
    Column::U64(rows.iter().map(of).collect())
}

fn times<T>(rows: &[T], of: fn(&T) -> Time) -> Column {
    Column::seconds(rows.iter().map(of))
}

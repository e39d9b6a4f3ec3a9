//! The tables of what workloads have done: rounds, and requests with their answers.

use fairport_plan::workload::Log;
use fairport_units::Instant;

use crate::results::{Column, Table};

/// One row per round.
pub(crate) fn rounds(log: &Log) -> Table {
    let rows = &log.rounds;
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

/// One row per request.
pub(crate) fn requests(log: &Log) -> Table {
    let rows = &log.exchanges;
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

fn u32s<T>(rows: &[T], of: fn(&T) -> u32) -> Column {
    Column::U32(rows.iter().map(of).collect())
}

fn u64s<T>(rows: &[T], of: fn(&T) -> u64) -> Column {
    Column::U64(rows.iter().map(of).collect())
}

fn times<T>(rows: &[T], of: fn(&T) -> Instant) -> Column {
    Column::seconds(rows.iter().map(of))
}

//! An estimate of the memory that a run needs, from its plan alone.

use fairport_plan::Plan;
use fairport_plan::workload::Exchange;
use fairport_record::MOST_DECISIONS;
use fairport_record::tables::{Decisions, Drops, QueueRows, Requests, SeriesRows};

/// A flow's record and its table row, and its share of the connections that are open at the same time.
const FLOW_BYTES: u64 = 1_000;
/// What a watched flow needs besides: its histogram, and a connection that may stay open to the end.
const WATCHED_BYTES: u64 = 20_000;
/// The packet count of one pair of output port and ingress port.
const COUNT_BYTES: u64 = size_of::<u64>() as u64;

/// An estimate of the memory that a simulation of this plan needs, in bytes: mostly for tables that grow with time.
pub fn memory_bytes(plan: &Plan) -> u64 {
    let expected = plan.expected();
    // a drop causes one recovery or timeout at most, with some three decisions
    let decisions = expected.drops.saturating_mul(3).min(MOST_DECISIONS);
    // a round takes about as much as a request: an entry of the log, and a row
    let log_entry = size_of::<(u32, Exchange)>() as u64;
    let log = expected
        .logged
        .checked_next_power_of_two()
        .unwrap_or(u64::MAX);
    let parts = [
        expected.route_bytes,
        expected.flows.saturating_mul(FLOW_BYTES),
        expected.watched_flows.saturating_mul(WATCHED_BYTES),
        expected.port_pairs.saturating_mul(COUNT_BYTES),
        expected.queue_bytes,
        SeriesRows::memory_bytes(expected.series_rows),
        QueueRows::memory_bytes(expected.queue_rows),
        log.saturating_mul(log_entry),
        Requests::memory_bytes(expected.logged),
        Drops::memory_bytes(expected.drops),
        Decisions::memory_bytes(decisions),
    ];
    parts.into_iter().fold(0, u64::saturating_add)
}

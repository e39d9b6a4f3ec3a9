//! The flows of the captures. A flow is the direction of a connection that carried more data.

use std::hash::Hasher;

use crate::analysis::Analysis;
use crate::flow::FlowTotals;

/// A flow of at least this many bytes is a long one, and so is one without an end that always had data to send and has
/// lasted for a while.
const LONG_BYTES: u64 = 1_000_000;
/// A flow that had nothing to send for this share of its time did not always have data.
const IDLE: f64 = 0.5;
/// A flow has lasted for a while after this share of the time of the longest one.
const A_WHILE: f64 = 0.5;
/// A long flow that lasts for this share of the captures counts as lasting to the end.
const LASTING: f64 = 0.9;

/// All flows, by the number of their connection.
pub(super) struct DataFlows {
    /// by flow
    directions: Vec<u32>,
    totals: Vec<FlowTotals>,
    /// when the captures end
    end_ns: u64,
    /// how long the longest flow lasted: of those of many bytes, or if there is none, of all
    longest_ns: u64,
}

impl DataFlows {
    pub(super) fn of(analysis: &Analysis) -> Self {
        let connections = 0..analysis.tracker.connections() as u32;
        let directions: Vec<u32> = connections
            .map(|connection| analysis.tracker.data_direction(connection))
            .collect();
        let totals = directions.iter().map(|one| analysis.tracker.totals(*one));
        let totals: Vec<FlowTotals> = totals.collect();
        let lasted_ns = |flow: &FlowTotals| flow.last_ns - flow.first_ns;
        let big = totals
            .iter()
            .filter(|flow| flow.counts.delivered_bytes >= LONG_BYTES);
        let longest_ns = big.map(lasted_ns).max();
        let longest_ns = longest_ns.or_else(|| totals.iter().map(lasted_ns).max());
        Self {
            directions,
            end_ns: analysis.end_ns,
            longest_ns: longest_ns.unwrap_or(0),
            totals,
        }
    }

    /// Whether a flow is long enough for its goodput to say something. One that has just begun when the captures end has
    /// no end either.
    pub(super) fn is_long(&self, flow: &FlowTotals) -> bool {
        let lasted_ns = self.end_ns.saturating_sub(flow.first_ns);
        let is_idle = flow.idle_ns(self.end_ns) as f64 > IDLE * lasted_ns as f64;
        let has_begun = lasted_ns as f64 >= A_WHILE * self.longest_ns as f64;
        flow.counts.delivered_bytes >= LONG_BYTES
            || (flow.counts.fins == 0 && !is_idle && has_begun)
    }

    /// Whether a flow's data travels in the second direction of its connection.
    pub(super) fn is_turned(&self, flow: u32) -> bool {
        !self.directions[flow as usize].is_multiple_of(2)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32, &FlowTotals)> {
        let both = self.directions.iter().zip(&self.totals);
        (0..)
            .zip(both)
            .map(|(flow, (direction, totals))| (flow, *direction, totals))
    }

    /// By flow: the direction of its data.
    pub(super) fn directions(&self) -> &[u32] {
        &self.directions
    }

    /// By flow: its totals.
    pub(super) fn totals(&self) -> &[FlowTotals] {
        &self.totals
    }

    /// The bounds of the measurement: from the first whole interval after the long flows that last to the end are
    /// established, to the end of the captures, or to the last whole interval before that of an output ended.
    pub(super) fn measurement(&self, interval_ns: u64, ended_ns: Option<u64>) -> (u64, u64) {
        let end_ns = self.end_ns;
        let to_ns = ended_ns.map_or(end_ns, |ns| ns / interval_ns * interval_ns);
        let lasts = |flow: &&FlowTotals| {
            self.is_long(flow)
                && flow.counts.segments > 0
                && flow.last_ns as f64 >= LASTING * end_ns as f64
        };
        let lasting = self.totals.iter().filter(lasts);
        let established = lasting.filter_map(|flow| flow.established_ns);
        // a flow that begins late is not a reason to measure only the last moments
        let early = established.filter(|ns| *ns <= end_ns / 2);
        let from_ns = early.max().unwrap_or(0).next_multiple_of(interval_ns);
        (from_ns.min(to_ns), to_ns)
    }

    /// A hash that is equal for equal captures.
    pub(super) fn hash(&self) -> u64 {
        let mut hasher = rustc_hash::FxHasher::default();
        for (flow, _, totals) in self.iter() {
            hasher.write_u32(flow);
            hasher.write_u64(totals.first_ns);
            hasher.write_u64(totals.counts.delivered_bytes);
            hasher.write_u64(totals.counts.segments);
        }
        hasher.finish()
    }
}

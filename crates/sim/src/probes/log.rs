//! The drops table and the marks table: one row a packet, in order of time.

use fairport_net::discipline::Reason;
use fairport_net::{Arrival, Counts};
use fairport_tcp::Segment;
use fairport_units::Time;

use crate::results::{Column, Table};

/// A packet, where and when something happened to it, and what else is told of it.
struct Row<T> {
    time: Time,
    port: u32,
    ingress_port: u32,
    flow: u32,
    seq: u32,
    more: T,
}

/// The rows so far.
pub(crate) struct Log<T>(Vec<Row<T>>);

/// What is told of a packet that was dropped: with the running counts drop runs and blackouts are
/// found.
pub(crate) struct Dropped {
    size_bytes: u32,
    reason: Reason,
    counts: Counts,
}

/// Nothing more is told of a packet that was marked.
pub(crate) struct Marked;

impl<T> Default for Log<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Log<T> {
    fn note(&mut self, arrival: &Arrival<'_, Segment>, more: T) {
        self.0.push(Row {
            time: arrival.time,
            port: arrival.port.0,
            ingress_port: arrival.packet.ingress.0,
            flow: arrival.packet.flow,
            seq: arrival.packet.content.seq,
            more,
        });
    }

    /// The columns that both tables have. A port that catches up with its departures tells of them
    /// late, so the rows are put in order here.
    fn columns(&mut self) -> Vec<(&'static str, Column)> {
        self.0.sort_by_key(|row| row.time);
        let times = self.0.iter().map(|row| row.time);
        vec![
            ("time_s", Column::seconds(times)),
            ("port", self.u32s(|row| row.port)),
            ("ingress_port", self.u32s(|row| row.ingress_port)),
            ("flow", self.u32s(|row| row.flow)),
            ("seq", self.u32s(|row| row.seq)),
        ]
    }

    fn u32s(&self, of: fn(&Row<T>) -> u32) -> Column {
        Column::U32(self.0.iter().map(of).collect())
    }

    fn u64s(&self, of: fn(&Row<T>) -> u64) -> Column {
        Column::U64(self.0.iter().map(of).collect())
    }
}

impl Log<Dropped> {
    pub(crate) fn dropped(&mut self, arrival: &Arrival<'_, Segment>, reason: Reason) {
        let more = Dropped {
            size_bytes: u32::from(arrival.packet.size_bytes),
            reason,
            counts: arrival.counts,
        };
        self.note(arrival, more);
    }

    pub(crate) fn into_table(mut self) -> Table {
        let mut columns = self.columns();
        let reasons = self.0.iter().map(|row| row.more.reason as u8).collect();
        columns.extend([
            ("size_bytes", self.u32s(|row| row.more.size_bytes)),
            ("reason", Column::U8(reasons)),
            (
                "port_arrival",
                self.u64s(|row| row.more.counts.port_arrival),
            ),
            (
                "ingress_arrival",
                self.u64s(|row| row.more.counts.ingress_arrival),
            ),
            (
                "flow_arrival",
                self.u64s(|row| row.more.counts.flow_arrival),
            ),
            (
                "port_accepted",
                self.u64s(|row| row.more.counts.port_accepted),
            ),
        ]);
        Table {
            name: "drops",
            columns,
        }
    }
}

impl Log<Marked> {
    pub(crate) fn marked(&mut self, arrival: &Arrival<'_, Segment>) {
        self.note(arrival, Marked);
    }

    pub(crate) fn into_table(mut self) -> Table {
        Table {
            name: "marks",
            columns: self.columns(),
        }
    }
}

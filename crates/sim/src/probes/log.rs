//! The drops table and the marks table: one row a packet, in order of time.

use fairport_net::Arrival;
use fairport_net::discipline::Reason;
use fairport_tcp::Segment;
use fairport_units::Time;

use crate::results::{Column, Table};

/// The rows so far, column by column: a long run has tens of millions, and a table is columns in the
/// end.
#[derive(Default)]
struct Packets {
    time: Vec<Time>,
    port: Vec<u32>,
    ingress_port: Vec<u32>,
    flow: Vec<u32>,
    seq: Vec<u32>,
}

impl Packets {
    fn note(&mut self, arrival: &Arrival<'_, Segment>) {
        self.time.push(arrival.time);
        self.port.push(arrival.port.0);
        self.ingress_port.push(arrival.ingress.0);
        self.flow.push(arrival.packet.header.flow);
        self.seq.push(arrival.packet.content.seq);
    }

    /// The table, with what else there is of each packet. A port that catches up with its departures
    /// tells of them late, so its rows are put in order here.
    fn into_table(self, name: &'static str, more: Vec<(&'static str, Column)>) -> Table {
        let order = (!self.time.is_sorted()).then(|| {
            let mut order: Vec<u32> = (0..self.time.len() as u32).collect();
            order.sort_by_key(|row| self.time[*row as usize]);
            order
        });
        let mut columns = vec![
            ("time_s", Column::seconds(self.time)),
            ("port", Column::U32(self.port)),
            ("ingress_port", Column::U32(self.ingress_port)),
            ("flow", Column::U32(self.flow)),
            ("seq", Column::U32(self.seq)),
        ];
        columns.extend(more);
        for (_, column) in &mut columns {
            if let Some(order) = &order {
                column.reorder(order);
            }
        }
        Table { name, columns }
    }
}

/// Packets that were dropped, with the running counts from which drop runs and blackouts are found.
#[derive(Default)]
pub(crate) struct Drops {
    packets: Packets,
    size_bytes: Vec<u32>,
    reason: Vec<u8>,
    port_arrival: Vec<u64>,
    ingress_arrival: Vec<u64>,
    flow_arrival: Vec<u64>,
    port_accepted: Vec<u64>,
}

impl Drops {
    pub(crate) fn note(&mut self, arrival: &Arrival<'_, Segment>, reason: Reason) {
        self.packets.note(arrival);
        self.size_bytes
            .push(u32::from(arrival.packet.header.size_bytes));
        self.reason.push(reason as u8);
        self.port_arrival.push(arrival.counts.port_arrival);
        self.ingress_arrival.push(arrival.counts.ingress_arrival);
        self.flow_arrival.push(arrival.counts.flow_arrival);
        self.port_accepted.push(arrival.counts.port_accepted);
    }

    pub(crate) fn into_table(self) -> Table {
        let more = vec![
            ("size_bytes", Column::U32(self.size_bytes)),
            ("reason", Column::U8(self.reason)),
            ("port_arrival", Column::U64(self.port_arrival)),
            ("ingress_arrival", Column::U64(self.ingress_arrival)),
            ("flow_arrival", Column::U64(self.flow_arrival)),
            ("port_accepted", Column::U64(self.port_accepted)),
        ];
        self.packets.into_table("drops", more)
    }
}

/// Packets that were marked; nothing more is told of them.
#[derive(Default)]
pub(crate) struct Marks(Packets);

impl Marks {
    pub(crate) fn note(&mut self, arrival: &Arrival<'_, Segment>) {
        self.0.note(arrival);
    }

    pub(crate) fn into_table(self) -> Table {
        self.0.into_table("marks", Vec::new())
    }
}

//! The marks table: one row a packet that a queue marked.

use fairport_net::Arrival;
use fairport_tcp::Segment;
use fairport_units::Time;

use crate::results::{Column, Table};

/// The rows so far, column by column.
#[derive(Default)]
pub(crate) struct Marks {
    time: Vec<Time>,
    port: Vec<u32>,
    ingress_port: Vec<u32>,
    flow: Vec<u32>,
    seq: Vec<u32>,
}

impl Marks {
    pub(crate) fn note(&mut self, arrival: &Arrival<'_, Segment>) {
        self.time.push(arrival.time);
        self.port.push(arrival.port.0);
        self.ingress_port.push(arrival.packet.ingress.0);
        self.flow.push(arrival.packet.flow);
        self.seq.push(arrival.packet.content.seq);
    }

    pub(crate) fn into_table(self) -> Table {
        Table {
            name: "marks",
            columns: vec![
                ("time_s", Column::seconds(self.time)),
                ("port", Column::U32(self.port)),
                ("ingress_port", Column::U32(self.ingress_port)),
                ("flow", Column::U32(self.flow)),
                ("seq", Column::U32(self.seq)),
            ],
        }
    }
}

//! The drops table: one row a dropped packet, with the running counts from which drop runs and
//! blackouts are found.

use fairport_net::Arrival;
use fairport_net::discipline::Reason;
use fairport_tcp::Segment;
use fairport_units::Time;

use crate::results::{Column, Table};

/// The rows so far, column by column.
#[derive(Default)]
pub(crate) struct Drops {
    time: Vec<Time>,
    port: Vec<u32>,
    ingress_port: Vec<u32>,
    flow: Vec<u32>,
    seq: Vec<u32>,
    size_bytes: Vec<u32>,
    reason: Vec<u8>,
    port_arrival: Vec<u64>,
    ingress_arrival: Vec<u64>,
    flow_arrival: Vec<u64>,
    port_accepted: Vec<u64>,
}

impl Drops {
    pub(crate) fn note(&mut self, arrival: &Arrival<'_, Segment>, reason: Reason) {
        self.time.push(arrival.time);
        self.port.push(arrival.port.0);
        self.ingress_port.push(arrival.packet.ingress.0);
        self.flow.push(arrival.packet.flow);
        self.seq.push(arrival.packet.content.seq);
        self.size_bytes.push(u32::from(arrival.packet.size_bytes));
        self.reason.push(reason as u8);
        self.port_arrival.push(arrival.counts.port_arrival);
        self.ingress_arrival.push(arrival.counts.ingress_arrival);
        self.flow_arrival.push(arrival.counts.flow_arrival);
        self.port_accepted.push(arrival.counts.port_accepted);
    }

    pub(crate) fn into_table(self) -> Table {
        Table {
            name: "drops",
            columns: vec![
                ("time_s", Column::seconds(self.time)),
                ("port", Column::U32(self.port)),
                ("ingress_port", Column::U32(self.ingress_port)),
                ("flow", Column::U32(self.flow)),
                ("seq", Column::U32(self.seq)),
                ("size_bytes", Column::U32(self.size_bytes)),
                ("reason", Column::U8(self.reason)),
                ("port_arrival", Column::U64(self.port_arrival)),
                ("ingress_arrival", Column::U64(self.ingress_arrival)),
                ("flow_arrival", Column::U64(self.flow_arrival)),
                ("port_accepted", Column::U64(self.port_accepted)),
            ],
        }
    }
}

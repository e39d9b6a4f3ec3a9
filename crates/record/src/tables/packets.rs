//! The tables with one row per packet: dropped packets, marked packets, traced packets, and all packets at chosen
//! ports.

use fairport_units::Instant;

use crate::rows::table;

table! {
    /// The packets that were dropped, with the running counts from which drop runs and blackouts are computed.
    Drops of DroppedPacket in "drops" by time_s, port {
        /// when it was dropped
        time_s: Instant,
        /// the output port
        port: u32,
        /// the port of the same node through which it came in
        ingress_port: u32,
        /// its flow
        flow: u32,
        /// its sequence number on the wire
        seq: u32,
        /// bytes that it takes in the buffer
        size_bytes: u32,
        /// why it was dropped
        reason: u8,
        /// number of this arrival at the port, from 1
        port_arrival: u64,
        /// number of this arrival among those from the ingress port
        ingress_arrival: u64,
        /// number of this arrival among those of the flow
        flow_arrival: u64,
        /// packets that the port had accepted before this one
        port_accepted: u64,
        /// whether the flow's receiver sent it
        is_backward: bool,
        /// whether it is an ACK without data, SYN or FIN
        is_pure_ack: bool,
    }
}

table! {
    /// The packets that were marked.
    Marks of MarkedPacket in "marks" by time_s, port {
        /// when it was marked
        time_s: Instant,
        /// the output port
        port: u32,
        /// the port of the same node through which it came in
        ingress_port: u32,
        /// its flow
        flow: u32,
        /// its sequence number on the wire
        seq: u32,
    }
}

table! {
    /// The packets before, during and after the longest blackout of each ingress port.
    TracedPackets of TracedPacket in "trace" {
        /// the ingress port that the blackout belongs to
        blackout_of: u32,
        /// when it arrived
        time_s: Instant,
        /// the output port
        port: u32,
        /// the port of the same node through which it came in
        ingress_port: u32,
        /// its flow
        flow: u32,
        /// its sequence number on the wire
        seq: u32,
        /// bytes that it takes in the buffer
        size_bytes: u32,
        /// 0: forwarded, 1: dropped
        fate: u8,
        /// when its last bit left
        depart_s: Instant,
    }
}

table! {
    /// Every packet that arrived at the ports chosen for the log.
    LoggedPackets of LoggedPacket in "packets" {
        /// when it arrived
        time_s: Instant,
        /// the output port
        port: u32,
        /// the port of the same node through which it came in
        ingress_port: u32,
        /// its flow
        flow: u32,
        /// its sequence number on the wire
        seq: u32,
        /// bytes that it takes in the buffer
        size_bytes: u32,
        /// what happened to it
        fate: u8,
        /// why it was dropped; the largest number if it was not
        reason: u8,
        /// when its last bit left
        depart_s: Instant,
        /// bytes in the buffer when it arrived
        queue_bytes: u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Column;

    #[test]
    fn rows_are_put_in_order_of_time_and_port() {
        let mut marks = Marks::default();
        for (s, port, flow) in [(3, 0, 30), (1, 2, 12), (2, 0, 20), (1, 1, 11), (1, 2, 13)] {
            marks.push(MarkedPacket {
                time_s: Instant::from_secs(s),
                port,
                ingress_port: 0,
                flow,
                seq: 0,
            });
        }
        let table = marks.into_table();
        let times = Column::F64(vec![1.0, 1.0, 1.0, 2.0, 3.0]);
        assert_eq!(table.column("time_s"), Some(&times));
        let flows = Column::U32(vec![11, 12, 13, 20, 30]);
        assert_eq!(table.column("flow"), Some(&flows));
    }
}

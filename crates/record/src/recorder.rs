//! The recorder, which watches a network's ports: their fingerprints, drops, marks, and longest blackouts.

use std::ops::Add;

use fairport_net::discipline::{Admission, Reason};
use fairport_net::{Arrival, Header, Observer, Packet, PortId, Topology};
use fairport_units::Instant;

use crate::column::Table;
use crate::content::Content;
use crate::fingerprint::PortFingerprint;
use crate::tables::{DroppedPacket, Drops, MarkedPacket, Marks};
use crate::trace::Trace;

/// The observer of a run's network, whatever its packets contain.
///
/// A host that is late with sending decides about packets that its NIC will see later, possibly after the end of the
/// run. A drop at a NIC after the end has not happened: the packet is still on its way, and no table counts the drop.
pub struct Recorder {
    end: Instant,
    drops: Drops,
    marks: Marks,
    trace: Trace,
    by_flow: Vec<Losses>,
    /// by flow: the number of its sending host
    senders: Vec<u32>,
}

/// What happened to the packets of one flow, at all ports together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// packets dropped
    pub drops: u64,
    /// packets marked
    pub marks: u64,
    /// packets that a NIC will drop after the end of the run
    pub late_drops: u64,
}

impl Add for Losses {
    type Output = Self;

    /// The sum of two flows' or recorders' losses.
    fn add(self, other: Self) -> Self {
        Self {
            drops: self.drops + other.drops,
            marks: self.marks + other.marks,
            late_drops: self.late_drops + other.late_drops,
        }
    }
}

impl Recorder {
    /// A recorder without flows yet, for a run that lasts until `end`. It may trace every packet at the port `traced`.
    pub fn new(topology: &Topology, traced: PortId, end: Instant) -> Self {
        Self {
            end,
            drops: Drops::default(),
            marks: Marks::default(),
            trace: Trace::new(topology, traced),
            by_flow: Vec::new(),
            senders: Vec::new(),
        }
    }

    /// Adds the next flow, whose data is sent by the host with this number.
    pub fn add_flow(&mut self, sender: u32) {
        self.by_flow.push(Losses::default());
        self.senders.push(sender);
    }

    /// The measurement begins: the search for the longest blackouts starts again.
    pub fn begin_measurement(&mut self) {
        self.trace.restart();
    }

    /// What happened to a flow's packets.
    pub fn losses(&self, flow: u32) -> Losses {
        self.by_flow[flow as usize]
    }

    /// Adds what the recorder of another region of the network has seen.
    pub fn absorb(&mut self, other: Self) {
        self.drops.append(other.drops);
        self.marks.append(other.marks);
        self.trace.absorb(other.trace);
        for (own, more) in self.by_flow.iter_mut().zip(other.by_flow) {
            *own = *own + more;
        }
    }

    /// The tables of packets: `drops`, `marks` and `trace`.
    pub fn into_tables(self) -> [Table; 3] {
        drop((self.by_flow, self.senders));
        [
            self.drops.into_table(),
            self.marks.into_table(),
            self.trace.into_table(self.end),
        ]
    }

    /// Counts a packet that was dropped or marked.
    #[expect(clippy::inline_always, reason = "as [`Observer::detail`] below")]
    #[inline(always)]
    fn count(&mut self, arrival: &Arrival<'_, impl Content>) {
        let number = arrival.header.flow as usize;
        let flow = &mut self.by_flow[number];
        match arrival.admission {
            Admission::Accepted => {}
            Admission::Dropped(_) if arrival.time > self.end => {
                flow.late_drops += 1;
            }
            Admission::Dropped(reason) => {
                flow.drops += 1;
                let is_backward = (arrival.addresses)().source != self.senders[number];
                self.drops
                    .push(dropped_packet(arrival, reason, is_backward));
            }
            Admission::Marked => {
                flow.marks += 1;
                self.marks.push(marked_packet(arrival));
            }
        }
    }
}

fn dropped_packet(
    arrival: &Arrival<'_, impl Content>,
    reason: Reason,
    is_backward: bool,
) -> DroppedPacket {
    let counts = (arrival.counts)();
    DroppedPacket {
        time_s: arrival.time,
        port: arrival.port.0,
        ingress_port: arrival.ingress.0,
        flow: arrival.header.flow,
        seq: arrival.content.seq(),
        size_bytes: arrival.frame_bytes,
        reason: reason as u8,
        port_arrival: counts.port_arrival,
        ingress_arrival: counts.ingress_arrival,
        flow_arrival: counts.flow_arrival,
        port_accepted: counts.port_accepted,
        is_backward,
        is_pure_ack: arrival.content.is_pure_ack(),
    }
}

fn marked_packet(arrival: &Arrival<'_, impl Content>) -> MarkedPacket {
    MarkedPacket {
        time_s: arrival.time,
        port: arrival.port.0,
        ingress_port: arrival.ingress.0,
        flow: arrival.header.flow,
        seq: arrival.content.seq(),
    }
}

impl<P: Content> Observer<P> for Recorder {
    type PortState = PortFingerprint;

    #[inline]
    fn sent(&mut self, _: PortId, state: &mut PortFingerprint, packet: &Packet<P>) {
        state.sent(&packet.content);
    }

    #[inline]
    fn admission(
        &mut self,
        _: PortId,
        state: &mut PortFingerprint,
        time: Instant,
        header: &Header,
        admission: Admission,
    ) {
        state.admission(time, header, admission);
    }

    #[inline]
    fn watches(&self, port: PortId) -> bool {
        self.trace.port == port
    }

    #[expect(
        clippy::inline_always,
        reason = "every packet at the traced port: what it does not need of an arrival is not gathered then"
    )]
    #[inline(always)]
    fn detail(&mut self, arrival: &Arrival<'_, P>) {
        if !matches!(arrival.admission, Admission::Accepted) {
            self.count(arrival);
        }
        if arrival.port == self.trace.port && arrival.time <= self.end {
            self.trace.note(arrival);
        }
    }

    fn revised(&mut self, arrival: &Arrival<'_, P>) {
        self.count(arrival);
        if arrival.port == self.trace.port && !arrival.admission.is_accepted() {
            self.trace.dropped(arrival.port_arrival);
        }
    }

    fn departs(&mut self, port: PortId, _: &Packet<P>, port_arrival: u64, depart: Instant) {
        if port == self.trace.port {
            self.trace.departs(port_arrival, depart);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_at_the_ports_of_two_regions_add_up() {
        let losses = |drops, marks, late_drops| Losses {
            drops,
            marks,
            late_drops,
        };
        assert_eq!(losses(1, 2, 3) + losses(10, 20, 30), losses(11, 22, 33));
    }
}

//! Who watches the network, and what there is to see: packets that arrive at output ports.

use fairport_units::Instant;

use crate::discipline::{Admission, Backlog};
use crate::packet::{Header, Packet};
use crate::topology::PortId;

/// Receives what becomes of every packet. Static: what it does not do costs nothing.
pub trait Observer<P: Copy> {
    /// What it keeps of every port. The network stores it beside what a packet's arrival changes
    /// anyway, which is there at no cost as long as it has 8 bytes.
    type PortState: Default + Send;

    /// A host sends a packet by its NIC, which is the `port`; its admission follows.
    fn sent(&mut self, port: PortId, state: &mut Self::PortState, packet: &Packet<P>) {
        let _ = (port, state, packet);
    }

    /// A packet arrived at an output port; or the port's discipline revised the admission of one that it
    /// had accepted.
    fn admission(
        &mut self,
        port: PortId,
        state: &mut Self::PortState,
        time: Instant,
        header: &Header,
        admission: Admission,
    ) {
        let _ = (port, state, time, header, admission);
    }

    /// Whether [`Observer::detail`] is wanted of every packet at this port, not only of those that
    /// are dropped or marked.
    fn watches(&self, port: PortId) -> bool;

    /// Everything about a packet that was dropped or marked, or that arrived at a watched port.
    fn detail(&mut self, arrival: &Arrival<'_, P>);

    /// A discipline dropped or marked a packet that it had accepted: `time` and `backlog` are those
    /// of this moment, the counts are those of the packet's own arrival.
    fn revised(&mut self, arrival: &Arrival<'_, P>) {
        let _ = arrival;
    }

    /// A watched port with a scheduler begins to send the packet that was its `port_arrival`-th;
    /// its last bit leaves at `depart`. A first-in-first-out port says so in [`Observer::detail`].
    fn departs(&mut self, port: PortId, packet: &Packet<P>, port_arrival: u64, depart: Instant) {
        let _ = (port, packet, port_arrival, depart);
    }
}

/// A packet's arrival at an output port.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a, P: Copy> {
    /// when
    pub time: Instant,
    /// at which output port
    pub port: PortId,
    /// by which port of the output's node it came in; its own NIC at the first hop
    pub ingress: PortId,
    /// the packet's header, its route and output those of the next hop; a mark that it gets here does
    /// not show yet
    pub header: &'a Header,
    /// the packet's content
    pub content: &'a P,
    /// what it takes in the buffer
    pub frame_bytes: u32,
    /// what waited in the buffer
    pub backlog: Backlog,
    /// what became of the packet
    pub admission: Admission,
    /// when its last bit leaves; [`Instant::NEVER`] for a dropped one, and where a scheduler will decide
    pub depart: Instant,
    /// running counts, this packet included
    pub counts: Counts,
}

/// Running counts at an output port (columns of the drops table).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// packets that arrived at the port
    pub port_arrival: u64,
    /// those of them from the packet's ingress port
    pub ingress_arrival: u64,
    /// those of them of the packet's flow and direction
    pub flow_arrival: u64,
    /// packets accepted, before this one
    pub port_accepted: u64,
}

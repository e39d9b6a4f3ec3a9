//! Observers of a network: they are called for every packet that arrives at an output port.

use fairport_units::Instant;

use crate::discipline::{Admission, Backlog};
use crate::packet::{Addresses, Header, Packet};
use crate::topology::PortId;

/// Is called with what happens to every packet. Dispatch is static, so an empty method costs nothing.
pub trait Observer<P: Copy> {
    /// State that the observer keeps per port. The network stores it beside data that a packet's arrival changes
    /// anyway, which costs nothing as long as it has at most 8 bytes.
    type PortState: Default + Send;

    /// A host sends a packet through its NIC, which is `port`. The packet's admission follows.
    fn sent(&mut self, port: PortId, state: &mut Self::PortState, packet: &Packet<P>) {
        let _ = (port, state, packet);
    }

    /// A packet arrived at an output port, or the port's discipline revised the admission of a packet that it had
    /// accepted.
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

    /// Whether [`Observer::detail`] is called for every packet at this port, not only for packets that are dropped or
    /// marked.
    fn watches(&self, port: PortId) -> bool;

    /// The details of a packet that was dropped or marked, or that arrived at a watched port.
    fn detail(&mut self, arrival: &Arrival<'_, P>);

    /// A discipline dropped or marked a packet that it had accepted. `time` and `backlog` are of this moment; the
    /// counts are of the packet's own arrival.
    fn revised(&mut self, arrival: &Arrival<'_, P>) {
        let _ = arrival;
    }

    /// A watched port with a scheduler starts to send its `port_arrival`-th packet, whose last bit leaves at `depart`.
    /// A first-in-first-out port gives the departure in [`Observer::detail`].
    fn departs(&mut self, port: PortId, packet: &Packet<P>, port_arrival: u64, depart: Instant) {
        let _ = (port, packet, port_arrival, depart);
    }
}

/// A packet's arrival at an output port.
#[derive(Clone, Copy)]
pub struct Arrival<'a, P: Copy> {
    /// when it arrived
    pub time: Instant,
    /// the output port
    pub port: PortId,
    /// the port of the same node through which it came in; its own NIC at the first hop
    pub ingress: PortId,
    /// the packet's header. Its route and output are of the next hop, and a mark that it gets here does not show yet
    pub header: &'a Header,
    /// the packet's content
    pub content: &'a P,
    /// finds the hosts at the ends of the packet's route, which it reads for this
    pub addresses: &'a dyn Fn() -> Addresses,
    /// bytes that it takes in the buffer
    pub frame_bytes: u32,
    /// what waited in the buffer
    pub backlog: Backlog,
    /// what happened to the packet
    pub admission: Admission,
    /// when its last bit leaves; [`Instant::NEVER`] for a dropped packet, and if a scheduler decides later
    pub depart: Instant,
    /// packets that arrived at the port, including this one
    pub port_arrival: u64,
    /// finds the running counts, including this packet, which it reads for this
    pub counts: &'a dyn Fn() -> Counts,
}

/// Running counts at an output port (columns of the table `drops`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// packets that arrived at the port
    pub port_arrival: u64,
    /// packets among these from the packet's ingress port
    pub ingress_arrival: u64,
    /// packets among these of the packet's flow and direction
    pub flow_arrival: u64,
    /// packets that the port accepted before this one
    pub port_accepted: u64,
}

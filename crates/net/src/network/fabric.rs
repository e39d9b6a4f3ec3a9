//! The fabric: the nodes at both ends of each link, the table of routes, and the framing, which do not change while
//! packets move.
//!
//! The owner of the [`Network`](super::Network) adds and releases routes between two calls that move packets.

use crate::framing::Framing;
use crate::packet::Addresses;
use crate::routing::{Path, Routes};
use crate::topology::{NodeId, Port, PortId, Topology};

/// The part of a network that does not change while packets move: nodes, routes, framing.
pub(super) struct Fabric {
    /// by port: its own node, and the node at the far end of its link
    ends: Vec<[NodeId; 2]>,
    /// the ports of each node
    ports_of: Vec<Vec<PortId>>,
    /// host number by node
    host_number: Vec<u32>,
    /// by port: the port from which packets are forwarded ahead to it; empty if none are
    pub(super) fed_ahead_by: Vec<Option<PortId>>,
    pub(super) routes: Routes,
    pub(super) framing: Framing,
}

impl Fabric {
    pub(super) fn new(topology: &Topology, routes: Routes, framing: Framing) -> Self {
        let nodes = topology.nodes();
        let ends = |port: &Port| [port.node, topology.port(port.peer).node];
        Self {
            ends: topology.ports().iter().map(ends).collect(),
            ports_of: nodes.iter().map(|node| node.ports.clone()).collect(),
            host_number: topology.host_numbers(),
            fed_ahead_by: Vec::new(),
            routes,
            framing,
        }
    }

    /// Adds the paths of one direction of a flow; returns the route that its packets carry when they are injected.
    pub(super) fn add_route(&mut self, paths: &[Path]) -> u32 {
        let start = self.routes.add_all(paths);
        if !self.fed_ahead_by.is_empty() {
            self.routes.forward_ahead(start, &self.fed_ahead_by);
        }
        start
    }

    /// Whether packets are forwarded ahead to this port. They all come from one other port.
    pub(super) fn is_fed_ahead(&self, port: PortId) -> bool {
        let feeder = self.fed_ahead_by.get(port.0 as usize);
        feeder.is_some_and(Option::is_some)
    }

    fn ends(&self, port: PortId) -> [NodeId; 2] {
        self.ends[port.0 as usize]
    }

    /// The ports of a node, by their numbers there.
    pub(super) fn ports_of(&self, node: NodeId) -> &[PortId] {
        &self.ports_of[node.0 as usize]
    }

    /// The port with this number at the node of an output port. A packet came in through it, unless it is at its own
    /// host's NIC, which then counts as the ingress port.
    pub(super) fn ingress(&self, output: PortId, ingress_number: u16) -> PortId {
        let [node, _] = self.ends(output);
        self.ports_of(node)[usize::from(ingress_number)]
    }

    /// The source and the destination of the route to which this hop belongs.
    pub(super) fn addresses(&self, hop: u32) -> Addresses {
        let (first, last) = self.routes.ends(hop);
        let number = |node: NodeId| self.host_number[node.0 as usize];
        Addresses {
            source: number(self.ends(first)[0]),
            destination: number(self.ends(last)[1]),
        }
    }
}

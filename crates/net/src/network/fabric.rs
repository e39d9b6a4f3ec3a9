//! The fabric: the locations of the ports, the table of routes, and the framing, which do not change while
//! packets move.
//!
//! Regions only read it. The owner of the [`Network`](super::Network) adds and releases routes between two
//! calls that move packets.

use crate::framing::Framing;
use crate::routing::{Path, Routes};
use crate::scheduler::Addresses;
use crate::topology::{NodeId, PortId, Topology};

/// Where a port is in the topology.
#[derive(Clone, Copy)]
pub(crate) struct PortLocation {
    /// its own node, and its number there
    pub(crate) node: NodeId,
    pub(crate) number: u16,
    /// the node at the far end of its link, the port there, and that port's number
    pub(crate) far_number: u16,
    pub(crate) far_node: NodeId,
    pub(crate) far_port: PortId,
}

/// The part of a network that does not change while packets move: places of ports, routes, framing.
pub struct Fabric {
    /// by port
    places: Vec<PortLocation>,
    /// the ports of each node
    ports_of: Vec<Vec<PortId>>,
    /// host number by node
    host_number: Vec<u32>,
    /// by port: the port from which packets are forwarded ahead to it; empty if none are
    pub(super) fed_ahead_by: Vec<Option<PortId>>,
    pub(crate) routes: Routes,
    pub(crate) framing: Framing,
}

impl Fabric {
    pub(super) fn new(topology: &Topology, routes: Routes, framing: Framing) -> Self {
        let nodes = topology.nodes();
        let place = |port: &crate::topology::Port| {
            let far = topology.port(port.peer);
            PortLocation {
                node: port.node,
                number: port.number,
                far_number: far.number,
                far_node: far.node,
                far_port: port.peer,
            }
        };
        let mut host_number = vec![0; nodes.len()];
        for (number, host) in topology.hosts().iter().enumerate() {
            host_number[host.0 as usize] = number as u32;
        }
        Self {
            places: topology.ports().iter().map(place).collect(),
            ports_of: nodes.iter().map(|node| node.ports.clone()).collect(),
            host_number,
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

    /// All places, in the order of the ports.
    pub(crate) fn places(&self) -> &[PortLocation] {
        &self.places
    }

    pub(crate) fn place(&self, port: PortId) -> &PortLocation {
        &self.places[port.0 as usize]
    }

    /// The ports of a node, by their numbers there.
    pub(crate) fn ports_of(&self, node: NodeId) -> &[PortId] {
        &self.ports_of[node.0 as usize]
    }

    /// The port with this number at the node of an output port. A packet came in through it, unless it is at its own
    /// host's NIC, which then counts as the ingress port.
    pub(crate) fn ingress(&self, output: PortId, ingress_number: u16) -> PortId {
        self.ports_of(self.place(output).node)[usize::from(ingress_number)]
    }

    /// The source and the destination of the route to which this hop belongs.
    pub(crate) fn addresses(&self, hop: u32) -> Addresses {
        let (first, last) = self.routes.ends(hop);
        let number = |node: NodeId| self.host_number[node.0 as usize];
        Addresses {
            source: number(self.place(first).node),
            destination: number(self.place(last).far_node),
        }
    }

    /// The hop at which a packet that came in through `ingress` continues, and its output port. The
    /// packet's route begins at the hop `route` with the output `port`.
    pub(super) fn first_output_behind(
        &self,
        ingress: PortId,
        route: u32,
        port: PortId,
    ) -> (u32, PortId) {
        if self.place(port).node == self.place(ingress).node {
            return (route, port);
        }
        let (mut hop, mut output) = (route, port);
        while self.place(output).far_port != ingress {
            hop += 1;
            output = self.routes.output(hop);
            assert!(
                output != Routes::END,
                "the route does not pass the ingress port"
            );
        }
        let output = self.routes.output(hop + 1);
        assert!(output != Routes::END, "the route ends at the ingress port");
        (hop + 1, output)
    }
}

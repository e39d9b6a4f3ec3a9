//! Topologies: hosts, switches and the links between them. One file a topology.

mod custom;
mod fat_tree;
mod two_switch;

use fairport_units::{Rate, Time};

pub use custom::custom;
pub use fat_tree::fat_tree;
pub use two_switch::two_switch;

/// A host or a switch: an index into the topology's nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A port, and with it the link that leads away from it: an index into the topology's ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(pub u32);

/// A host or a switch.
#[derive(Clone, Debug)]
pub struct Node {
    /// unique in the topology
    pub name: String,
    /// whether it is a host; hosts do not forward
    pub is_host: bool,
    /// its ports in order of their numbers
    pub ports: Vec<PortId>,
}

/// What a link is given of its own; what is `None` is the network's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkOptions {
    /// rate in both directions
    pub rate: Option<Rate>,
    /// propagation delay
    pub delay: Option<Time>,
    /// buffer of the ports at both ends, octets
    pub limit_bytes: Option<u32>,
}

/// A port of a node.
#[derive(Clone, Copy, Debug)]
pub struct Port {
    /// whose port it is
    pub node: NodeId,
    /// its number at that node, from 0
    pub number: u16,
    /// the port at the other end of the link
    pub peer: PortId,
    /// what the link was given of its own
    pub options: LinkOptions,
}

/// Hosts, switches and links.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    nodes: Vec<Node>,
    ports: Vec<Port>,
    hosts: Vec<NodeId>,
}

impl Topology {
    /// Adds a host.
    pub fn add_host(&mut self, name: impl Into<String>) -> NodeId {
        let id = self.add_node(name.into(), true);
        self.hosts.push(id);
        id
    }

    /// Adds a switch.
    pub fn add_switch(&mut self, name: impl Into<String>) -> NodeId {
        self.add_node(name.into(), false)
    }

    fn add_node(&mut self, name: String, is_host: bool) -> NodeId {
        self.nodes.push(Node {
            name,
            is_host,
            ports: Vec::new(),
        });
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Joins two nodes by a link, which takes the next port number at each.
    pub fn connect(&mut self, a: NodeId, b: NodeId, options: LinkOptions) {
        let first = self.ports.len() as u32;
        for (node, peer) in [(a, first + 1), (b, first)] {
            let id = PortId(self.ports.len() as u32);
            let ports = &mut self.nodes[node.0 as usize].ports;
            let number = ports.len() as u16;
            ports.push(id);
            self.ports.push(Port {
                node,
                number,
                peer: PortId(peer),
                options,
            });
        }
    }

    /// All nodes, by [`NodeId`].
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// All ports, by [`PortId`].
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// The hosts in their order.
    pub fn hosts(&self) -> &[NodeId] {
        &self.hosts
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// A port.
    pub fn port(&self, id: PortId) -> &Port {
        &self.ports[id.0 as usize]
    }

    /// The node at the far end of a port's link.
    pub fn far_node(&self, id: PortId) -> NodeId {
        self.port(self.port(id).peer).node
    }

    /// A port's name: its node and its number, as in `edge0.0:2`.
    pub fn port_name(&self, id: PortId) -> String {
        let port = self.port(id);
        format!("{}:{}", self.node(port.node).name, port.number)
    }
}

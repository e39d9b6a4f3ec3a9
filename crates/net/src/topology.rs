//! Topologies: hosts, switches and the links between them. One file per topology.
//!
//! Hosts are named `h0`, `h1` ... A port is named by its node, a colon, and its number there, as in `edge0.0:2`.
//! Numbers start at 0, in the order in which the links were made. Each file gives the names and numbers of its
//! switches.

mod bcube;
mod config;
mod custom;
mod dancehall;
mod distance;
mod dumbbell;
mod failed;
mod fat_tree;
mod leaf_spine;
mod size;
mod star;
mod testbed;
mod three_tier;
mod two_switch;
mod vl2;

use std::net::Ipv4Addr;

use fairport_units::{Duration, Rate};
use serde::{Deserialize, Serialize};

pub use bcube::bcube;
pub use config::Config;
pub use custom::{GraphLink, custom};
pub use dancehall::{Dancehall, dancehall};
pub use distance::UNREACHED;
pub use dumbbell::dumbbell;
pub use fat_tree::fat_tree;
pub use leaf_spine::leaf_spine;
pub use star::star;
pub use testbed::testbed;
pub use three_tier::three_tier;
pub use two_switch::two_switch;
pub use vl2::vl2;

/// A host or a switch, as an index into the topology's nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A port, and the link that leads away from it, as an index into the topology's ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct PortId(pub u32);

/// A host or a switch.
#[derive(Clone, Debug)]
pub struct Node {
    /// its name, which is unique in the topology
    pub name: String,
    /// whether it is a host
    pub is_host: bool,
    /// whether it forwards packets for others: every switch does, and so do the hosts of a server-centric network such
    /// as `BCube`
    pub forwards: bool,
    /// its address. Hosts have 10.0.0.1 and following, in their order, unless the topology assigns others; switches
    /// have one only if the topology assigns it
    pub address: Ipv4Addr,
    /// its ports, in order of their numbers
    pub ports: Vec<PortId>,
}

/// Options of a single link; the network's default applies to a field that is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinkOptions {
    /// rate in both directions
    #[serde(rename = "rate_bps")]
    pub rate: Option<Rate>,
    /// propagation delay
    #[serde(rename = "delay_ps")]
    pub delay: Option<Duration>,
    /// buffer of the ports at both ends, bytes
    pub limit_bytes: Option<u32>,
}

/// A port of a node.
#[derive(Clone, Copy, Debug)]
pub struct Port {
    /// the node that it belongs to
    pub node: NodeId,
    /// its number at that node, from 0
    pub number: u16,
    /// the port at the other end of the link; the port itself if the link has failed
    pub peer: PortId,
    /// options of this link
    pub options: LinkOptions,
}

/// A network's hosts, switches and links.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    nodes: Vec<Node>,
    ports: Vec<Port>,
    hosts: Vec<NodeId>,
}

impl Topology {
    /// Adds a host.
    pub fn add_host(&mut self, name: impl Into<String>) -> NodeId {
        /// 10.0.0.0, so that the first host is 10.0.0.1
        const NETWORK: u32 = 10 << 24;
        let address = NETWORK + self.hosts.len() as u32 + 1;
        let id = self.add_node(name.into(), true, address.into());
        self.hosts.push(id);
        id
    }

    /// Adds a host that also forwards packets for others. Call `add_own_ports` once all links have been added.
    pub fn add_forwarding_host(&mut self, name: impl Into<String>) -> NodeId {
        let id = self.add_host(name);
        self.nodes[id.0 as usize].forwards = true;
        id
    }

    /// Gives every forwarding host a port that leads to itself. Its own packets pass this port before the port to the
    /// network. There they are merged with forwarded packets in order of time, as they would be at the adapter. The
    /// port's number follows those of the host's links, and it does not count as a link.
    pub(crate) fn add_own_ports(&mut self) {
        let fast = LinkOptions {
            rate: Some(Rate::from_bps(10_000_000_000_000)),
            delay: Some(Duration::ZERO),
            limit_bytes: None,
        };
        for host in self.hosts.clone() {
            if self.node(host).forwards {
                self.connect(host, host, fast);
            }
        }
    }

    /// The port through which a forwarding host reaches itself; none for other nodes.
    pub fn own_port(&self, host: NodeId) -> Option<PortId> {
        let ports = self.node(host).ports.iter();
        ports.copied().find(|port| self.is_own(*port))
    }

    /// Whether a forwarding host reaches itself through this port.
    fn is_own(&self, port: PortId) -> bool {
        !self.leads_on(port) && self.port(port).peer != port
    }

    /// Whether a port leads to another node. Those of failed links do not, nor that by which a forwarding host reaches
    /// itself.
    pub fn leads_on(&self, port: PortId) -> bool {
        self.far_node(port) != self.port(port).node
    }

    /// Adds the next host under its usual name, `h` and its number, with a link to a switch.
    pub(crate) fn add_host_at(&mut self, switch: NodeId, link: LinkOptions) -> NodeId {
        let host = self.add_host(format!("h{}", self.hosts.len()));
        self.connect(host, switch, link);
        host
    }

    /// Adds the next `count` hosts at a switch.
    pub(crate) fn add_hosts(&mut self, count: u32, switch: NodeId) {
        for _ in 0..count {
            self.add_host_at(switch, LinkOptions::default());
        }
    }

    /// Adds a switch.
    pub fn add_switch(&mut self, name: impl Into<String>) -> NodeId {
        self.add_node(name.into(), false, Ipv4Addr::UNSPECIFIED)
    }

    /// Adds `count` switches, which are named by the layer and their number in it.
    pub(crate) fn add_layer(&mut self, layer: &str, count: u32) -> Vec<NodeId> {
        let switches = 0..count;
        switches
            .map(|i| self.add_switch(format!("{layer}{i}")))
            .collect()
    }

    fn add_node(&mut self, name: String, is_host: bool, address: Ipv4Addr) -> NodeId {
        self.nodes.push(Node {
            name,
            is_host,
            forwards: !is_host,
            address,
            ports: Vec::new(),
        });
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Gives a node an address from the topology's own plan.
    pub(crate) fn set_address(&mut self, node: NodeId, address: [u32; 4]) {
        let bytes = address.map(|byte| u8::try_from(byte).expect("a byte"));
        self.nodes[node.0 as usize].address = bytes.into();
    }

    /// Sets the options of links between switches that have none of their own. Returns the number of links between
    /// switches.
    pub fn set_fabric(&mut self, options: LinkOptions) -> usize {
        let mut ports = 0;
        for i in 0..self.ports.len() {
            let port = &self.ports[i];
            let ends = [port.node, self.ports[port.peer.0 as usize].node];
            if ends.iter().all(|end| !self.node(*end).is_host) {
                let own = &mut self.ports[i].options;
                own.rate = own.rate.or(options.rate);
                own.delay = own.delay.or(options.delay);
                own.limit_bytes = own.limit_bytes.or(options.limit_bytes);
                ports += 1;
            }
        }
        ports / 2
    }

    /// Joins two nodes by a link, which takes the next port number at each of them.
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

    /// All nodes, indexed by [`NodeId`].
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// All ports, indexed by [`PortId`].
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// The ids of all ports, in their order.
    pub fn port_ids(&self) -> impl ExactSizeIterator<Item = PortId> + Clone + use<> {
        (0..self.ports.len() as u32).map(PortId)
    }

    /// The names of all ports, in their order.
    pub fn port_names(&self) -> Vec<String> {
        self.port_ids().map(|id| self.port_name(id)).collect()
    }

    /// The names of the hosts, in their order.
    pub fn host_names(&self) -> Vec<String> {
        let hosts = self.hosts.iter();
        hosts.map(|host| self.node(*host).name.clone()).collect()
    }

    /// The hosts, in their order.
    pub fn hosts(&self) -> &[NodeId] {
        &self.hosts
    }

    /// The number of each host, by node; 0 for a switch.
    pub fn host_numbers(&self) -> Vec<u32> {
        let mut numbers = vec![0; self.nodes.len()];
        for (number, host) in (0..).zip(&self.hosts) {
            numbers[host.0 as usize] = number;
        }
        numbers
    }

    /// The number of switches.
    pub fn switches(&self) -> usize {
        self.nodes.len() - self.hosts.len()
    }

    /// The number of links that have not failed.
    pub fn links(&self) -> usize {
        let ends = self.port_ids().filter(|port| self.leads_on(*port));
        ends.count() / 2
    }

    /// The node with this id.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// The port with this id.
    pub fn port(&self, id: PortId) -> &Port {
        &self.ports[id.0 as usize]
    }

    /// The node at the far end of a port's link.
    pub fn far_node(&self, id: PortId) -> NodeId {
        self.port(self.port(id).peer).node
    }

    /// The name of a port: its node and its number, as in `edge0.0:2`.
    pub fn port_name(&self, id: PortId) -> String {
        let port = self.port(id);
        format!("{}:{}", self.node(port.node).name, port.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_the_addresses_from_10_0_0_1_on() {
        let star = star(300).unwrap();
        let address = |host: usize| star.node(star.hosts()[host]).address;
        assert_eq!(address(0), Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(address(299), Ipv4Addr::new(10, 0, 1, 44));
    }

    #[test]
    fn the_fabric_is_the_links_between_switches_that_have_no_options_of_their_own() {
        let fast = LinkOptions {
            rate: Some(Rate::from_bps(10_000_000_000)),
            ..LinkOptions::default()
        };
        let mut tree = fat_tree(4).unwrap();
        assert_eq!(tree.set_fabric(fast), 32);
        let is_fast = |port: &&Port| port.options == fast;
        assert_eq!(tree.ports().iter().filter(is_fast).count(), 2 * 32);
        tree.set_fabric(LinkOptions {
            rate: Some(Rate::from_bps(1)),
            ..LinkOptions::default()
        });
        assert_eq!(tree.ports().iter().filter(is_fast).count(), 2 * 32);
    }
}

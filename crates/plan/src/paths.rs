//! The flows' paths through the network, and the ports where they meet.

use std::cmp::Reverse;

use fairport_net::routing::{Path, Routes};
use fairport_net::{PortId, Topology};

/// A flow's ways through the network, there and back.
pub struct FlowPaths {
    /// links between the two hosts by the shortest way
    pub hops: u32,
    /// of data; of several, each packet takes one
    pub forward: Vec<Path>,
    /// of ACKs
    pub backward: Vec<Path>,
}

impl FlowPaths {
    /// What the paths and the routes made of them take, octets.
    pub fn bytes(&self) -> u64 {
        let path = |path: &Path| Routes::bytes(path.len()) + 4 * path.len() as u64;
        self.forward.iter().chain(&self.backward).map(path).sum()
    }

    /// Counts the flow at every port that its data may pass.
    pub fn count(&self, flows_through: &mut [u32]) {
        let mut ports: Vec<PortId> = self.forward.iter().flatten().copied().collect();
        ports.sort();
        ports.dedup();
        for port in ports {
            flows_through[port.0 as usize] += 1;
        }
    }
}

/// The port that most flows' data passes; of several, the one of the highest number.
pub fn busiest_port(flows_through: &[u32]) -> PortId {
    let ports = 0..flows_through.len() as u32;
    PortId(
        ports
            .max_by_key(|port| flows_through[*port as usize])
            .unwrap_or(0),
    )
}

/// The forwarding nodes' ports where data of two or more flows may meet, in their order; of more
/// than `most`, those of most flows.
pub fn shared_ports(topology: &Topology, flows_through: &[u32], most: u32) -> Vec<PortId> {
    let ports = (0..topology.ports().len() as u32).map(PortId);
    let flows = |port: &PortId| flows_through[port.0 as usize];
    let shared =
        |port: &PortId| flows(port) >= 2 && topology.node(topology.port(*port).node).forwards;
    let mut ports: Vec<PortId> = ports.filter(shared).collect();
    ports.sort_by_key(|port| Reverse(flows(port)));
    ports.truncate(most as usize);
    ports.sort_unstable();
    ports
}

//! A flow's paths through the network.

use fairport_net::PortId;
use fairport_net::routing::{Path, Routes};

/// A flow's paths through the network, in both directions.
pub struct FlowPaths {
    /// number of links on the shortest path between the two hosts
    pub hops: u32,
    /// paths of the data; if there are several, each packet takes one
    pub forward: Vec<Path>,
    /// path of the ACKs
    pub backward: Vec<Path>,
}

impl FlowPaths {
    /// Memory of the paths and of the routes made from them, in bytes.
    pub fn bytes(&self) -> u64 {
        let path = |path: &Path| Routes::bytes(path.len()) + 4 * path.len() as u64;
        self.forward.iter().chain(&self.backward).map(path).sum()
    }

    /// Counts the flow at every port that its data may pass.
    pub fn count(&self, flows_through: &mut [u32]) {
        for port in ports_of(&self.forward) {
            flows_through[port.0 as usize] += 1;
        }
    }
}

/// The ports on these paths, each listed once.
pub(crate) fn ports_of(paths: &[Path]) -> Vec<PortId> {
    let mut ports: Vec<PortId> = paths.iter().flatten().copied().collect();
    ports.sort();
    ports.dedup();
    ports
}

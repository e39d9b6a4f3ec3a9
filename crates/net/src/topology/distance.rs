//! Distances: the number of links on the shortest path between nodes.

use std::collections::VecDeque;

use super::{NodeId, Topology};

/// The distance if there is no path.
pub const UNREACHED: u32 = u32::MAX;

impl Topology {
    /// The number of links from each node, indexed by [`NodeId`], to the nearest of `targets`; [`UNREACHED`] if there
    /// is no path. Paths pass only through nodes that forward.
    pub fn distances(&self, targets: &[NodeId]) -> Vec<u32> {
        let mut distance = vec![UNREACHED; self.nodes().len()];
        let mut queue: VecDeque<NodeId> = targets.iter().copied().collect();
        for target in targets {
            distance[target.0 as usize] = 0;
        }
        while let Some(node) = queue.pop_front() {
            let here = distance[node.0 as usize];
            if !self.node(node).forwards && here > 0 {
                continue;
            }
            for port in &self.node(node).ports {
                let far = self.far_node(*port);
                if distance[far.0 as usize] == UNREACHED {
                    distance[far.0 as usize] = here + 1;
                    queue.push_back(far);
                }
            }
        }
        distance
    }

    /// The height of each node: the number of links to the nearest host. It is 0 for hosts, 1 for edge switches, and
    /// one more per layer.
    pub fn heights(&self) -> Vec<u32> {
        self.distances(self.hosts())
    }
}

//! Equal-cost multi-path: every switch hashes a flow's 5-tuple to one of its shortest ways (RFC
//! 2992).
//!
//! Each switch has a seed of its own, drawn from the run's, as operators set it: with the same
//! hash everywhere the switches of one layer would leave ways of the next unused (polarisation).

use super::shortest::ShortestPaths;
use super::{FiveTuple, Path, Routing};
use crate::topology::Topology;

/// The policy.
pub struct Ecmp {
    seed: u64,
    shortest: ShortestPaths,
}

impl Ecmp {
    /// The policy on this topology, with hashes of this seed.
    pub fn new(topology: &Topology, seed: u64) -> Self {
        let shortest = ShortestPaths::new(topology);
        Self { seed, shortest }
    }
}

impl Routing for Ecmp {
    fn paths(
        &mut self,
        topology: &Topology,
        source: usize,
        destination: usize,
        flow: &FiveTuple,
    ) -> Vec<Path> {
        let ways = self.shortest.towards_host(topology, destination);
        let choose = |node: crate::NodeId, count| {
            let salt = self.seed ^ u64::from(node.0) << 32;
            flow.choose(salt, count)
        };
        let path = ways.walk(topology.hosts()[source], choose);
        path.into_iter().collect()
    }
}

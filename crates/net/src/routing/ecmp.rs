//! Equal-cost multi-path: every switch chooses one of its shortest ways by a hash of the flow's 5-tuple (RFC 2992).
//!
//! Each switch has a seed of its own, derived from the run's seed, as operators configure it. If all switches used the
//! same hash, the switches of one layer would leave ways of the next layer unused (polarisation). The seed derives from
//! the number of the switch's node, so it changes if a host is added before it.

use super::shortest::ShortestPaths;
use super::{FiveTuple, Path, Routing};
use crate::topology::Topology;

/// The policy.
pub struct Ecmp {
    seed: u64,
    shortest: ShortestPaths,
}

impl Ecmp {
    /// The policy for this topology. The switches' seeds derive from `seed`.
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

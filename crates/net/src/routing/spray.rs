//! Per-packet spraying: each packet takes any shortest path, all with equal probability (Dixit 2013, random packet
//! spraying).
//!
//! The policy gives all paths, and the sender draws one for each packet.

use super::shortest::ShortestPaths;
use super::{FiveTuple, Path, Routing};
use crate::topology::Topology;

/// The policy.
pub struct Spray {
    shortest: ShortestPaths,
}

impl Spray {
    /// The policy for this topology.
    pub fn new(topology: &Topology) -> Self {
        let shortest = ShortestPaths::new(topology);
        Self { shortest }
    }
}

impl Routing for Spray {
    fn paths(
        &mut self,
        topology: &Topology,
        source: usize,
        destination: usize,
        _flow: &FiveTuple,
    ) -> Vec<Path> {
        let ways = self.shortest.towards_host(topology, destination);
        ways.all(topology.hosts()[source])
    }
}

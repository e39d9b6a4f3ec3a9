//! Per-packet spraying: each packet takes any shortest path, all with equal probability (Dixit 2013, random packet
//! spraying).
//!
//! The policy gives all paths, and the sender draws one for each packet. So the random numbers of a flow's packets do not
//! depend on other flows, and a packet carries its route from the start, as with other policies. Choices at each switch
//! would need no list of paths, but random numbers at every hop.

use super::expected_load::{Demand, add_evenly};
use super::path_counts::check_between_hosts;
use super::shortest::ShortestPaths;
use super::{FiveTuple, Path, Routing};
use crate::error::BuildError;
use crate::topology::Topology;

/// The policy.
pub struct Spray {
    shortest: ShortestPaths,
}

impl Spray {
    /// The policy for this topology.
    ///
    /// # Errors
    /// If there are too many paths between two hosts.
    pub fn new(topology: &Topology) -> Result<Self, BuildError> {
        check_between_hosts(topology, "spray")?;
        let shortest = ShortestPaths::new(topology);
        Ok(Self { shortest })
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

    fn add_expected_load(&mut self, topology: &Topology, demand: &Demand, load: &mut [f64]) {
        add_evenly(topology, demand, load);
    }
}

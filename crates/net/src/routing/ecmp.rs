//! Equal-cost multi-path: every switch chooses one of its shortest ways by a hash of the flow's 5-tuple. The range of the
//! hash is divided evenly among the ways (the hash-threshold algorithm of RFC 2992).
//!
//! By default each switch has a seed of its own, derived from the run's seed. The seed derives from the number of the
//! switch's node, so it changes if a host is added before it. With a shared hash all switches have the same seed. Then
//! the flows that came to the same switch have hashes in the same part of the range, and leave some of its ways unused
//! (polarisation).

use super::expected_load::Demand;
use super::shortest::ShortestPaths;
use super::{FiveTuple, Path, Routing};
use crate::topology::Topology;

/// The most parts into which the range of a shared hash is divided for the expected load. With more, the expectation
/// would be exact.
const MOST_PARTS: usize = 1000;

/// The policy.
pub struct Ecmp {
    seed: u64,
    is_shared: bool,
    shortest: ShortestPaths,
}

impl Ecmp {
    /// The policy for this topology. The switches' seeds derive from `seed`.
    pub fn new(topology: &Topology, seed: u64) -> Self {
        Self {
            seed,
            is_shared: false,
            shortest: ShortestPaths::new(topology),
        }
    }

    /// Gives all switches the same hash.
    #[must_use]
    pub fn shared(self) -> Self {
        Self {
            is_shared: true,
            ..self
        }
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
            let own = if self.is_shared { 0 } else { u64::from(node.0) };
            flow.choose(self.seed ^ own << 32, count)
        };
        let path = ways.walk(topology.hosts()[source], choose);
        path.into_iter().collect()
    }

    fn add_expected_load(&mut self, topology: &Topology, demand: &Demand, load: &mut [f64]) {
        for receivers in demand.receivers_by_gateway(topology) {
            let ways = self.shortest.towards_host(topology, receivers[0]);
            let senders = || demand.senders_to(&receivers);
            if !self.is_shared {
                ways.carry(senders(), |_, _, _, _| 1.0, load);
                continue;
            }
            // all hashes in one of these parts of the range choose alike at every switch
            let parts = ways.common_multiple(MOST_PARTS);
            for part in 0..parts {
                let senders = senders().map(|(host, bps)| (host, bps / parts as f64));
                let chosen = |_, count: usize, way: usize, _| {
                    f64::from(way == (2 * part + 1) * count / (2 * parts))
                };
                ways.carry(senders, chosen, load);
            }
        }
        demand.add_last_links(topology, load);
    }
}

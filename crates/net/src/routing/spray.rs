//! Per-packet spraying: each packet takes any shortest path, all with equal probability (Dixit 2013, random packet
//! spraying).
//!
//! The policy gives all paths, and the sender draws one for each packet. So the random numbers of a flow's packets do not
//! depend on other flows, and a packet carries its route from the start, as with other policies. Choices at each switch
//! would need no list of paths, but random numbers at every hop.

use super::expected_load::{Demand, add_evenly};
use super::path_counts::check_between_hosts;
use super::shortest::{ShortestPaths, gateway};
use super::{FiveTuple, Path, Routing};
use crate::error::BuildError;
use crate::topology::{NodeId, Topology};

/// The policy.
pub struct Spray {
    shortest: ShortestPaths,
    /// The last lists of paths between two switches, one for each direction. Neighbours send to one receiver, and a
    /// flow is asked for more than once.
    last: [Option<Between>; 2],
}

/// The paths between two switches.
struct Between {
    ends: [NodeId; 2],
    paths: Vec<Path>,
}

impl Spray {
    /// The policy for this topology.
    ///
    /// # Errors
    /// If there are too many paths between two hosts.
    pub fn new(topology: &Topology) -> Result<Self, BuildError> {
        check_between_hosts(topology, "spray")?;
        Ok(Self {
            shortest: ShortestPaths::new(topology),
            last: [None, None],
        })
    }

    /// All paths between two switches.
    fn between(&mut self, topology: &Topology, ends: [NodeId; 2]) -> &[Path] {
        let place = usize::from(ends[0] < ends[1]);
        let last = self.last[place].take().filter(|last| last.ends == ends);
        let last = last.unwrap_or_else(|| Between {
            ends,
            paths: self.shortest.towards(topology, ends[1]).all(ends[0]),
        });
        &self.last[place].insert(last).paths
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
        let hosts = [source, destination].map(|host| topology.hosts()[host]);
        let switches = hosts.map(|host| gateway(topology, host));
        let are_switches = switches.map(|node| !topology.node(node).is_host);
        if are_switches != [true; 2] || source == destination {
            return self.shortest.towards(topology, hosts[1]).all(hosts[0]);
        }
        let first = topology.node(hosts[0]).ports[0];
        let last = topology.port(topology.node(hosts[1]).ports[0]).peer;
        let whole = |path: &Path| [&[first], path.as_slice(), &[last]].concat();
        let paths = self.between(topology, switches);
        paths.iter().map(whole).collect()
    }

    fn add_expected_load(&mut self, topology: &Topology, demand: &Demand, load: &mut [f64]) {
        add_evenly(topology, demand, load);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::routing::Protocol;
    use crate::topology::{bcube, fat_tree, leaf_spine, star};

    #[test]
    fn all_shortest_paths_of_every_pair_are_listed_whatever_pair_was_before() {
        let mut failed = leaf_spine(3, 2, 2).unwrap();
        failed.fail(&["leaf1:2".to_owned()]).unwrap();
        let networks = [fat_tree(4), bcube(3, 1), star(3), Ok(failed)];
        for topology in networks.map(Result::unwrap) {
            let mut spray = Spray::new(&topology).unwrap();
            let mut shortest = ShortestPaths::new(&topology);
            let nowhere = Ipv4Addr::UNSPECIFIED;
            let flow = FiveTuple::of_flow(0, Protocol::Tcp, nowhere, nowhere);
            let hosts = topology.hosts();
            for (from, to) in (0..hosts.len()).flat_map(|a| (0..hosts.len()).map(move |b| (a, b))) {
                let all = shortest.towards_host(&topology, to).all(hosts[from]);
                for _ in 0..2 {
                    assert_eq!(spray.paths(&topology, from, to, &flow), all);
                }
            }
        }
    }
}

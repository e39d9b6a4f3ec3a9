//! Shortest paths; the last bits of the destination break ties (Prakash 2012, facts 1.0).
//!
//! A switch of level l (0 at the edge, one more per layer) with n equally short ways to host number d takes the (d /
//! n^l mod n)-th of them. In a fat-tree the lowest bits of d choose the aggregation switch and the next bits the core.
//! So all traffic to one destination comes down through one core and one aggregation switch. This imbalance causes
//! outcast.

use super::expected_load::{Demand, add_by_gateway};
use super::shortest::ShortestPaths;
use super::{FiveTuple, Path, Routing};
use crate::topology::Topology;

/// The policy, with the ways to every destination asked for so far.
pub struct DestinationSuffix {
    /// links to the nearest host, by node
    height: Vec<u32>,
    shortest: ShortestPaths,
}

impl DestinationSuffix {
    /// The policy for this topology.
    pub fn new(topology: &Topology) -> Self {
        Self {
            height: topology.heights(),
            shortest: ShortestPaths::new(topology),
        }
    }

    /// The output ports from the host `source` to the host `destination`, which are numbers of hosts in the policy's
    /// topology. None if there is no path.
    pub fn path(&mut self, topology: &Topology, source: usize, destination: usize) -> Option<Path> {
        let ways = self.shortest.towards_host(topology, destination);
        ways.walk(topology.hosts()[source], |node, count| {
            choice(self.height[node.0 as usize], count, destination)
        })
    }
}

/// The way that a node of this height takes to a host, of `count` ways.
fn choice(height: u32, count: usize, destination: usize) -> usize {
    let level = height.saturating_sub(1);
    destination / count.saturating_pow(level) % count
}

impl Routing for DestinationSuffix {
    fn paths(
        &mut self,
        topology: &Topology,
        source: usize,
        destination: usize,
        _flow: &FiveTuple,
    ) -> Vec<Path> {
        self.path(topology, source, destination)
            .into_iter()
            .collect()
    }

    fn add_expected_load(&mut self, topology: &Topology, demand: &Demand, load: &mut [f64]) {
        add_by_gateway(topology, demand, load, |ways, to_one, receivers, load| {
            let height: Vec<u32> = ways.of_nodes(&self.height).collect();
            for receiver in receivers {
                let choose = |height, count| choice(height, count, *receiver);
                ways.carry_by_choice(to_one.to_vec(), &height, choose, load);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{PortId, fat_tree, two_switch};

    fn names(topology: &Topology, path: &[PortId]) -> Vec<String> {
        path.iter().map(|port| topology.port_name(*port)).collect()
    }

    #[test]
    fn destinations_spread_over_all_cores() {
        let tree = fat_tree(4).unwrap();
        let mut routing = DestinationSuffix::new(&tree);
        let mut cores: Vec<String> = (12..16)
            .map(|destination| routing.path(&tree, 0, destination).unwrap())
            .map(|path| tree.node(tree.far_node(path[2])).name.clone())
            .collect();
        cores.sort();
        assert_eq!(cores, ["core0", "core1", "core2", "core3"]);
    }

    #[test]
    fn two_switches_give_2_and_3_hops() {
        let topology = two_switch(2).unwrap();
        let mut routing = DestinationSuffix::new(&topology);
        let path = routing.path(&topology, 1, 0).unwrap();
        assert_eq!(names(&topology, &path), ["h1:0", "s0:0"]);
        let path = routing.path(&topology, 3, 0).unwrap();
        assert_eq!(names(&topology, &path), ["h3:0", "s1:0", "s0:0"]);
    }
}

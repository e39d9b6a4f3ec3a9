//! Shortest path; ties are broken by the last bits of the destination (Prakash 2012, facts 1.0).
//!
//! A switch of level l (0 at the edge, one more a layer) with n equally short ways to host number
//! d takes the (d / n^l mod n)-th of them. In a fat-tree the lowest bits of d choose the
//! aggregation switch and the next ones the core, so all traffic to one destination comes down
//! through one core and one aggregation switch: the imbalance that makes an outcast.

use std::collections::VecDeque;

use crate::topology::{NodeId, PortId, Topology};

const UNREACHED: u32 = u32::MAX;

/// The policy, with the ways to the destination asked for last.
pub struct DestinationSuffix<'a> {
    topology: &'a Topology,
    /// links to the nearest host, by node
    height: Vec<u32>,
    /// a host, its number, and the links to it by node
    destination: Option<(NodeId, usize, Vec<u32>)>,
}

impl<'a> DestinationSuffix<'a> {
    /// The policy on this topology.
    pub fn new(topology: &'a Topology) -> Self {
        let height = distances(topology, topology.hosts());
        Self {
            topology,
            height,
            destination: None,
        }
    }

    /// The output ports from `source` to the host `destination`, or `None` where no path leads
    /// there. Ask for one destination after another: the ways to the last one are remembered.
    pub fn path(&mut self, source: NodeId, destination: NodeId) -> Option<Vec<PortId>> {
        if self
            .destination
            .as_ref()
            .is_none_or(|known| known.0 != destination)
        {
            let number = self
                .topology
                .hosts()
                .iter()
                .position(|host| *host == destination)?;
            let distance = distances(self.topology, &[destination]);
            self.destination = Some((destination, number, distance));
        }
        let (_, number, distance) = self.destination.as_ref()?;
        let mut node = source;
        let mut path = Vec::new();
        while node != destination {
            let here = distance[node.0 as usize];
            if here == UNREACHED {
                return None;
            }
            let ways: Vec<PortId> = self
                .topology
                .node(node)
                .ports
                .iter()
                .copied()
                .filter(|port| {
                    distance[self.topology.far_node(*port).0 as usize].checked_add(1) == Some(here)
                })
                .collect();
            let level = self.height[node.0 as usize].saturating_sub(1);
            let digit = number / ways.len().saturating_pow(level) % ways.len();
            path.push(ways[digit]);
            node = self.topology.far_node(ways[digit]);
        }
        Some(path)
    }
}

/// The number of links from the nearest of `targets`, by node; hosts do not forward.
fn distances(topology: &Topology, targets: &[NodeId]) -> Vec<u32> {
    let mut distance = vec![UNREACHED; topology.nodes().len()];
    let mut queue: VecDeque<NodeId> = targets.iter().copied().collect();
    for target in targets {
        distance[target.0 as usize] = 0;
    }
    while let Some(node) = queue.pop_front() {
        let here = distance[node.0 as usize];
        if topology.node(node).is_host && here > 0 {
            continue;
        }
        for port in &topology.node(node).ports {
            let far = topology.far_node(*port);
            if distance[far.0 as usize] == UNREACHED {
                distance[far.0 as usize] = here + 1;
                queue.push_back(far);
            }
        }
    }
    distance
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{custom, fat_tree, two_switch};

    fn names(topology: &Topology, path: &[PortId]) -> Vec<String> {
        path.iter().map(|port| topology.port_name(*port)).collect()
    }

    #[test]
    fn all_pairs_have_loop_free_paths_of_2_4_or_6_links() {
        for k in [4, 8] {
            let tree = fat_tree(k).unwrap();
            let mut routing = DestinationSuffix::new(&tree);
            let (per_edge, per_pod) = (k as usize / 2, (k * k / 4) as usize);
            for (d, destination) in tree.hosts().iter().enumerate() {
                for (s, source) in tree.hosts().iter().enumerate().filter(|(s, _)| *s != d) {
                    let path = routing.path(*source, *destination).unwrap();
                    let same = |size: usize| s / size == d / size;
                    let links = if same(per_edge) {
                        2
                    } else if same(per_pod) {
                        4
                    } else {
                        6
                    };
                    assert_eq!(path.len(), links);
                    let mut nodes: Vec<_> = path.iter().map(|port| tree.far_node(*port)).collect();
                    nodes.sort();
                    nodes.dedup();
                    assert_eq!(nodes.len(), links);
                }
            }
        }
    }

    #[test]
    fn all_distant_flows_to_a_receiver_enter_its_edge_switch_by_one_port() {
        for k in [4, 8] {
            let tree = fat_tree(k).unwrap();
            let mut routing = DestinationSuffix::new(&tree);
            for (d, receiver) in tree.hosts().iter().enumerate() {
                let mut entrances: Vec<PortId> = tree
                    .hosts()
                    .iter()
                    .enumerate()
                    .filter(|(s, _)| s / (k as usize / 2) != d / (k as usize / 2))
                    .map(|(_, source)| routing.path(*source, *receiver).unwrap())
                    .map(|path| path[path.len() - 2])
                    .collect();
                entrances.dedup();
                assert_eq!(
                    entrances.len(),
                    1,
                    "to h{d}: {:?}",
                    names(&tree, &entrances)
                );
            }
        }
    }

    #[test]
    fn destinations_spread_over_all_cores() {
        let tree = fat_tree(4).unwrap();
        let mut routing = DestinationSuffix::new(&tree);
        let source = tree.hosts()[0];
        let mut cores: Vec<String> = tree.hosts()[12..16]
            .iter()
            .map(|destination| routing.path(source, *destination).unwrap())
            .map(|path| tree.node(tree.far_node(path[2])).name.clone())
            .collect();
        cores.sort();
        assert_eq!(cores, ["core0", "core1", "core2", "core3"]);
    }

    #[test]
    fn two_switches_give_2_and_3_hops() {
        let topology = two_switch(2).unwrap();
        let mut routing = DestinationSuffix::new(&topology);
        let hosts = topology.hosts();
        let path = routing.path(hosts[1], hosts[0]).unwrap();
        assert_eq!(names(&topology, &path), ["h1:0", "s0:0"]);
        let path = routing.path(hosts[3], hosts[0]).unwrap();
        assert_eq!(names(&topology, &path), ["h3:0", "s1:0", "s0:0"]);
    }

    #[test]
    fn a_host_without_a_way_there_is_unreachable() {
        let name = |s: &str| s.to_string();
        let join = |a, b| ([name(a), name(b)], crate::topology::LinkOptions::default());
        let islands = custom(
            &[name("a"), name("b")],
            &[name("s"), name("t")],
            &[join("a", "s"), join("b", "t")],
        )
        .unwrap();
        let mut routing = DestinationSuffix::new(&islands);
        assert_eq!(routing.path(islands.hosts()[0], islands.hosts()[1]), None);
    }
}

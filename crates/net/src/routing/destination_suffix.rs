//! Shortest path; ties are broken by the last bits of the destination (Prakash 2012, facts 1.0).
//!
//! A switch of level l (0 at the edge, one more a layer) with n equally short ways to host number
//! d takes the (d / n^l mod n)-th of them. In a fat-tree the lowest bits of d choose the
//! aggregation switch and the next ones the core, so all traffic to one destination comes down
//! through one core and one aggregation switch: the imbalance that makes an outcast.

use std::collections::VecDeque;

use crate::topology::{NodeId, PortId, Topology};

const UNREACHED: u16 = u16::MAX;

/// The policy, with the ways to every destination asked for so far.
pub struct DestinationSuffix {
    /// links to the nearest host, by node
    height: Vec<u16>,
    /// links to each host by node, by host number; empty until asked for
    distance: Vec<Vec<u16>>,
}

impl DestinationSuffix {
    /// The policy on this topology.
    pub fn new(topology: &Topology) -> Self {
        Self {
            height: distances(topology, topology.hosts()),
            distance: vec![Vec::new(); topology.hosts().len()],
        }
    }

    /// The output ports from the host `source` to the host `destination`, by their numbers among
    /// the hosts of the topology that the policy was made for, or `None` where no path leads there.
    pub fn path(
        &mut self,
        topology: &Topology,
        source: usize,
        destination: usize,
    ) -> Option<Vec<PortId>> {
        let target = topology.hosts()[destination];
        let distance = &mut self.distance[destination];
        if distance.is_empty() {
            *distance = distances(topology, &[target]);
        }
        let mut node = topology.hosts()[source];
        let mut path = Vec::new();
        while node != target {
            let here = distance[node.0 as usize];
            if here == UNREACHED {
                return None;
            }
            let is_nearer = |port: &PortId| {
                distance[topology.far_node(*port).0 as usize].checked_add(1) == Some(here)
            };
            let ports = &topology.node(node).ports;
            let ways = ports.iter().filter(|port| is_nearer(port)).count();
            let level = u32::from(self.height[node.0 as usize].saturating_sub(1));
            let digit = destination / ways.saturating_pow(level) % ways;
            let mut ways = ports.iter().filter(|port| is_nearer(port));
            let way = *ways
                .nth(digit)
                .expect("the digit is below the ways' number");
            path.push(way);
            node = topology.far_node(way);
        }
        Some(path)
    }
}

/// The number of links from the nearest of `targets`, by node; hosts do not forward.
fn distances(topology: &Topology, targets: &[NodeId]) -> Vec<u16> {
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
            for d in 0..tree.hosts().len() {
                for s in (0..tree.hosts().len()).filter(|s| *s != d) {
                    let path = routing.path(&tree, s, d).unwrap();
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
            for d in 0..tree.hosts().len() {
                let mut entrances: Vec<PortId> = (0..tree.hosts().len())
                    .filter(|s| s / (k as usize / 2) != d / (k as usize / 2))
                    .map(|s| routing.path(&tree, s, d).unwrap())
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
        assert_eq!(routing.path(&islands, 0, 1), None);
    }
}

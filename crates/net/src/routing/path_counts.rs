//! How many shortest paths there are, found without a list of them.
//!
//! A policy under which packets draw paths needs the list. So a network with too many paths is refused before one is
//! made.

use std::collections::BTreeMap;

use super::shortest::gateway;
use crate::error::BuildError;
use crate::topology::{NodeId, Topology, UNREACHED};

/// The most paths between two hosts of which packets may draw one. Each has a place in the table of routes. A fat-tree
/// with k = 64 has 1024, but a chain of 16 squares has 65 536.
const MOST_PATHS: u64 = 10_000;

/// Counts paths in one topology.
pub(super) struct PathCounts<'a> {
    topology: &'a Topology,
    /// by node: the nodes at the far ends of its links, without hosts that have one link only. In large networks most
    /// nodes are such hosts
    neighbours: Vec<Vec<u32>>,
    /// the nodes at which paths between hosts begin and end, each with one of its hosts
    gateways: BTreeMap<NodeId, NodeId>,
}

impl<'a> PathCounts<'a> {
    pub(super) fn new(topology: &'a Topology) -> Self {
        let is_leaf = |id: &NodeId| {
            let node = topology.node(*id);
            !node.forwards && node.ports.len() == 1
        };
        let neighbours = |node: &crate::topology::Node| {
            let far = node.ports.iter().map(|port| topology.far_node(*port));
            far.filter(|id| !is_leaf(id)).map(|id| id.0).collect()
        };
        let hosts = topology.hosts().iter();
        Self {
            topology,
            neighbours: topology.nodes().iter().map(neighbours).collect(),
            gateways: hosts
                .map(|host| (gateway(topology, *host), *host))
                .collect(),
        }
    }

    /// The number of shortest paths from each node to `start`; `u64::MAX` if there are more than a number holds.
    fn from(&self, start: NodeId) -> Vec<u64> {
        let mut counts = vec![0_u64; self.neighbours.len()];
        let mut distance = vec![UNREACHED; self.neighbours.len()];
        counts[start.0 as usize] = 1;
        distance[start.0 as usize] = 0;
        let mut queue = vec![start.0];
        let mut next = 0;
        while let Some(node) = queue.get(next).copied() {
            next += 1;
            let (count, beyond) = (counts[node as usize], distance[node as usize] + 1);
            for far in &self.neighbours[node as usize] {
                let there = &mut distance[*far as usize];
                if *there == UNREACHED {
                    *there = beyond;
                    queue.push(*far);
                }
                if *there == beyond {
                    let paths = &mut counts[*far as usize];
                    *paths = paths.saturating_add(count);
                }
            }
        }
        counts
    }

    /// Refuses this `policy` if there are too many shortest paths between two hosts.
    pub(super) fn check_between_hosts(&self, policy: &str) -> Result<(), BuildError> {
        for (end, destination) in &self.gateways {
            let counts = self.from(*end);
            for (begin, source) in &self.gateways {
                let name = |host: &NodeId| &self.topology.node(*host).name;
                let between = || format!("between `{}` and `{}`", name(source), name(destination));
                check(policy, counts[begin.0 as usize], between)?;
            }
        }
        Ok(())
    }

    /// Refuses this `policy` if there are too many paths that lead up to one of the cores, and down from it again.
    pub(super) fn check_through(&self, cores: &[NodeId], policy: &str) -> Result<(), BuildError> {
        let through = |core: &NodeId| {
            let counts = self.from(*core);
            let ups = self.gateways.keys().map(|begin| counts[begin.0 as usize]);
            let ups = ups.max().unwrap_or(0);
            ups.saturating_mul(ups)
        };
        let paths = cores.iter().map(through).fold(0, u64::saturating_add);
        check(policy, paths, || "through the cores".to_owned())
    }
}

fn check(policy: &str, paths: u64, which: impl FnOnce() -> String) -> Result<(), BuildError> {
    if paths <= MOST_PATHS {
        return Ok(());
    }
    let at_least = if paths == u64::MAX { "at least " } else { "" };
    let problem = format!(
        "lets each packet draw one of a list of paths, and there are {at_least}{paths} paths {}, more than the limit of \
         {MOST_PATHS}",
        which()
    );
    let remedy = "use routing = \"ecmp\", which chooses at each switch";
    Err(BuildError::new("routing", policy, problem, remedy))
}

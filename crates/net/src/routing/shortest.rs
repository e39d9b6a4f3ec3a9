//! Shortest paths, from which most policies choose.

use super::Path;
use crate::topology::{NodeId, PortId, Topology};

const UNREACHED: u16 = u16::MAX;

/// The shortest ways to every destination asked for so far.
///
/// Hosts at one switch share the distances to that switch, so all destinations of a fat-tree with k = 16 take 0.3 MB.
#[derive(Clone, Debug)]
pub struct ShortestPaths {
    /// distances in links, by destination and node; empty until asked for
    distance: Vec<Vec<u16>>,
}

/// The ways to one destination.
pub(super) struct Ways<'a> {
    topology: &'a Topology,
    host: NodeId,
    /// the destination's only neighbour, or the destination itself
    gateway: NodeId,
    /// links from each node to the gateway
    distance: &'a [u16],
}

impl ShortestPaths {
    /// Shortest paths to no destination yet.
    pub fn new(topology: &Topology) -> Self {
        Self {
            distance: vec![Vec::new(); topology.nodes().len()],
        }
    }

    /// The number of links on the shortest path between two hosts: the hop count of a flow, whatever its route is. None
    /// if there is no path.
    pub fn links(&mut self, topology: &Topology, source: usize, destination: usize) -> Option<u32> {
        let ways = self.towards_host(topology, destination);
        let to_gateway = ways.distance[topology.hosts()[source].0 as usize];
        let beyond = u32::from(ways.gateway != ways.host);
        (to_gateway != UNREACHED).then(|| u32::from(to_gateway) + beyond)
    }

    /// The ways to the host with this number.
    pub(super) fn towards_host<'a>(&'a mut self, topology: &'a Topology, host: usize) -> Ways<'a> {
        self.towards(topology, topology.hosts()[host])
    }

    /// The ways to a node.
    pub(super) fn towards<'a>(&'a mut self, topology: &'a Topology, host: NodeId) -> Ways<'a> {
        let gateway = gateway(topology, host);
        let distance = &mut self.distance[gateway.0 as usize];
        if distance.is_empty() {
            let narrow = |links: u32| u16::try_from(links).unwrap_or(UNREACHED);
            let distances = topology.distances(&[gateway]);
            *distance = distances.into_iter().map(narrow).collect();
        }
        Ways {
            topology,
            host,
            gateway,
            distance,
        }
    }
}

/// A node's only neighbour, or the node itself.
pub(super) fn gateway(topology: &Topology, host: NodeId) -> NodeId {
    match topology.node(host).ports[..] {
        [port] => topology.far_node(port),
        _ => host,
    }
}

impl Ways<'_> {
    /// The ports of `node` that begin a shortest path, in order of their numbers. Empty if there is no path.
    fn at(&self, node: NodeId) -> impl Iterator<Item = PortId> + Clone {
        let here = self.distance[node.0 as usize];
        let is_nearer = move |port: &PortId| {
            let far = self.topology.far_node(*port);
            if node == self.gateway {
                far == self.host
            } else {
                self.distance[far.0 as usize].checked_add(1) == Some(here)
            }
        };
        let ports = self.topology.node(node).ports.iter().copied();
        ports.filter(is_nearer)
    }

    /// The path from `source` that takes the `choose(node, number of ways)`-th way at each node. None if there is no
    /// path.
    pub(super) fn walk(
        &self,
        source: NodeId,
        choose: impl Fn(NodeId, usize) -> usize,
    ) -> Option<Path> {
        let mut node = source;
        let mut path = Path::new();
        while node != self.host {
            let mut ways = self.at(node);
            let count = ways.clone().count();
            if count == 0 {
                return None;
            }
            let way = ways.nth(choose(node, count)).expect("one of the ways");
            path.push(way);
            node = self.topology.far_node(way);
        }
        Some(path)
    }

    /// The number of paths from every node that forwards, and 1 for the destination, indexed by [`NodeId`]. Hundreds of
    /// switches can have more paths than a number holds: then it is `u64::MAX`.
    fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.distance.len()];
        counts[self.host.0 as usize] = 1;
        let ids = (0..self.distance.len() as u32).map(NodeId);
        let forwarding = ids.filter(|id| self.topology.node(*id).forwards && *id != self.host);
        let mut nodes: Vec<NodeId> = forwarding.collect();
        nodes.sort_by_key(|id| self.distance[id.0 as usize]);
        for node in nodes {
            counts[node.0 as usize] = self.count_from(node, &counts);
        }
        counts
    }

    /// The number of paths from a node, which is not the destination; `counts` are known for all nodes that are nearer.
    fn count_from(&self, node: NodeId, counts: &[u64]) -> u64 {
        let beyond = self
            .at(node)
            .map(|way| counts[self.topology.far_node(way).0 as usize]);
        beyond.fold(0, u64::saturating_add)
    }

    /// The path from `source` with the number `choose(number of paths)`, if all are counted in the order of their ports'
    /// numbers. None if there is no path.
    pub(super) fn choose(&self, source: NodeId, choose: impl Fn(u64) -> u64) -> Option<Path> {
        let counts = self.counts();
        let all = self.count_from(source, &counts);
        if all == 0 {
            return None;
        }
        let mut number = choose(all);
        let mut node = source;
        let mut path = Path::new();
        while node != self.host {
            let mut ways = self.at(node);
            let holds = |way: &PortId| {
                let beyond = counts[self.topology.far_node(*way).0 as usize];
                let is_here = number < beyond;
                if !is_here {
                    number -= beyond;
                }
                is_here
            };
            let way = ways.find(holds).expect("a number below that of the paths");
            path.push(way);
            node = self.topology.far_node(way);
        }
        Some(path)
    }

    /// All paths from `source`, in the order of their ports' numbers.
    pub(super) fn all(&self, source: NodeId) -> Vec<Path> {
        let mut found = Vec::new();
        let mut begun = vec![(source, Path::new())];
        while let Some((node, path)) = begun.pop() {
            if node == self.host {
                found.push(path);
                continue;
            }
            let ways: Vec<PortId> = self.at(node).collect();
            for way in ways.into_iter().rev() {
                let mut longer = path.clone();
                longer.push(way);
                begun.push((self.topology.far_node(way), longer));
            }
        }
        found
    }
}

//! The network without the hosts that only send and receive, and the shortest ways through it to one node from all
//! others.

use crate::topology::{NodeId, PortId, Topology, UNREACHED};

/// A network without the hosts that do not forward and have one link. In large networks most nodes are such hosts.
pub(super) struct InnerNetwork {
    /// by node: its links to other such nodes
    links: Vec<Vec<(PortId, NodeId)>>,
    /// by node: whether it forwards
    forwards: Vec<bool>,
}

/// The shortest ways to one node from all others of an inner network.
pub(super) struct WaysFromAll {
    /// the nodes, nearest first. Elsewhere here, a node is a place in this order
    nodes: Vec<NodeId>,
    /// by [`NodeId`]: the place of the node in this order
    places: Vec<u32>,
    /// by node: the end of its ways in `ways`, which begin where those of the node before end
    ends: Vec<usize>,
    /// ports that begin a shortest path, each with the node to which it leads
    ways: Vec<(PortId, u32)>,
}

impl InnerNetwork {
    pub(super) fn new(topology: &Topology) -> Self {
        let is_inner = |id: NodeId| {
            let node = topology.node(id);
            node.forwards || node.ports.len() > 1
        };
        let ids = (0..topology.nodes().len() as u32).map(NodeId);
        let links = ids.map(|id| {
            let ports = topology.node(id).ports.iter().filter(|_| is_inner(id));
            let links = ports.map(|port| (*port, topology.far_node(*port)));
            links.filter(|(_, far)| is_inner(*far)).collect()
        });
        Self {
            links: links.collect(),
            forwards: topology.nodes().iter().map(|node| node.forwards).collect(),
        }
    }

    /// The shortest ways to `target`. They pass only nodes that forward.
    pub(super) fn towards(&self, target: NodeId) -> WaysFromAll {
        let mut distance = vec![UNREACHED; self.links.len()];
        let mut found = WaysFromAll {
            nodes: vec![target],
            places: vec![0; self.links.len()],
            ends: Vec::new(),
            ways: Vec::new(),
        };
        distance[target.0 as usize] = 0;
        while let Some(node) = found.nodes.get(found.ends.len()).copied() {
            let id = node.0 as usize;
            found.places[id] = found.ends.len() as u32;
            let here = distance[id];
            let leads_on = self.forwards[id] || here == 0;
            for (port, far) in &self.links[id] {
                let there = &mut distance[far.0 as usize];
                if *there == UNREACHED && leads_on {
                    *there = here + 1;
                    found.nodes.push(*far);
                } else if here > 0 && *there == here - 1 {
                    found.ways.push((*port, found.places[far.0 as usize]));
                }
            }
            found.ends.push(found.ways.len());
        }
        found
    }
}

impl WaysFromAll {
    /// The values of these nodes, in their order. `by_id` has those of all nodes.
    pub(super) fn of_nodes<'a, T: Copy>(&'a self, by_id: &'a [T]) -> impl Iterator<Item = T> + 'a {
        self.nodes.iter().map(|id| by_id[id.0 as usize])
    }

    /// The number of nodes.
    pub(super) fn count(&self) -> usize {
        self.nodes.len()
    }

    /// The place of this node.
    pub(super) fn place(&self, id: NodeId) -> usize {
        self.places[id.0 as usize] as usize
    }

    fn at(&self, node: usize) -> &[(PortId, u32)] {
        &self.ways[self.ends[node - 1]..self.ends[node]]
    }

    /// The number of shortest paths from each node, and 1 for the node to which they lead.
    pub(super) fn paths(&self) -> Vec<f64> {
        let mut paths = vec![1.0];
        for node in 1..self.nodes.len() {
            let beyond = self.at(node).iter().map(|(_, far)| paths[*far as usize]);
            paths.push(beyond.sum());
        }
        paths
    }

    /// The numbers of ways that nodes have, each once.
    pub(super) fn counts(&self) -> Vec<usize> {
        let mut counts: Vec<usize> = (1..self.nodes.len()).map(|i| self.at(i).len()).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    }

    /// Carries `bps`, which nodes have, along the ways, and adds it to `load`, by port. Every node divides what arrives
    /// there among its ways, in proportion to the weights of the nodes to which they lead.
    pub(super) fn carry(&self, mut bps: Vec<f64>, weight: impl Fn(usize) -> f64, load: &mut [f64]) {
        // every way leads nearer, so all load of a node has arrived when the node's turn comes
        for node in (1..self.nodes.len()).rev() {
            if bps[node] == 0.0 {
                continue;
            }
            let ways = self.at(node);
            let sum: f64 = ways.iter().map(|(_, far)| weight(*far as usize)).sum();
            let each = bps[node] / sum;
            for (port, far) in ways {
                let part = each * weight(*far as usize);
                load[port.0 as usize] += part;
                bps[*far as usize] += part;
            }
        }
    }

    /// [`WaysFromAll::carry`] where every node sends all that arrives there by the way with the index
    /// `choose(kind of the node, number of its ways)`. `kind` is by node.
    pub(super) fn carry_by_choice<K: PartialEq + Copy>(
        &self,
        mut bps: Vec<f64>,
        kind: &[K],
        choose: impl Fn(K, usize) -> usize,
        load: &mut [f64],
    ) {
        // most nodes choose as the one before did
        let mut last = None;
        for node in (1..self.nodes.len()).rev() {
            if bps[node] == 0.0 {
                continue;
            }
            let ways = self.at(node);
            let of = (kind[node], ways.len());
            let choice = match last {
                Some((known, choice)) if known == of => choice,
                _ => choose(of.0, of.1),
            };
            last = Some((of, choice));
            let (port, far) = ways[choice];
            load[port.0 as usize] += bps[node];
            bps[far as usize] += bps[node];
        }
    }
}

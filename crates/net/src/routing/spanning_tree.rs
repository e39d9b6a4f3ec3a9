//! Spanning tree: all traffic uses one tree of links, as between switches that learn addresses (IEEE 802.1D).
//!
//! The root is the first of the switches that are farthest from hosts. An operator would configure it so; the
//! standard's default would be the lowest MAC address. The parent of every other node is its first neighbour on the way
//! to the root. All links cost the same; in the standard slower links cost more. In a fat-tree all traffic passes the
//! first core and each pod's first aggregation switch.

use super::expected_load::Demand;
use super::{FiveTuple, Path, Routing, up_and_down};
use crate::topology::{NodeId, PortId, Topology, UNREACHED};

/// The policy.
pub struct SpanningTree {
    /// by node: the port that leads to the root; none at the root, and at nodes that are not connected to it
    parent: Vec<Option<PortId>>,
}

impl SpanningTree {
    /// The tree of this topology.
    pub fn new(topology: &Topology) -> Self {
        let root = root(topology);
        let distance = topology.distances(&[root]);
        let parent = topology.nodes().iter().zip(&distance).map(|(node, here)| {
            let is_nearer = |port: &&PortId| {
                let far = topology.far_node(**port);
                *here != UNREACHED && distance[far.0 as usize] + 1 == *here
            };
            node.ports.iter().find(is_nearer).copied()
        });
        let parent = parent.collect();
        Self { parent }
    }

    /// The output ports on the way from `node` to the root.
    fn climb(&self, topology: &Topology, node: NodeId) -> Vec<PortId> {
        let up = |port: &PortId| self.parent[topology.far_node(*port).0 as usize];
        std::iter::successors(self.parent[node.0 as usize], up).collect()
    }
}

/// The first switch with the greatest height.
fn root(topology: &Topology) -> NodeId {
    let heights = topology.heights();
    let switches = (0..topology.nodes().len() as u32).map(NodeId);
    switches
        .filter(|id| !topology.node(*id).is_host && heights[id.0 as usize] != UNREACHED)
        .min_by_key(|id| std::cmp::Reverse(heights[id.0 as usize]))
        .unwrap_or(NodeId(0))
}

impl Routing for SpanningTree {
    fn paths(
        &mut self,
        topology: &Topology,
        source: usize,
        destination: usize,
        _flow: &FiveTuple,
    ) -> Vec<Path> {
        let [mut up, mut down] =
            [source, destination].map(|host| self.climb(topology, topology.hosts()[host]));
        let end = |host: usize, ports: &[PortId]| {
            let last = ports.last().map(|port| topology.far_node(*port));
            last.unwrap_or(topology.hosts()[host])
        };
        if end(source, &up) != end(destination, &down) {
            return Vec::new();
        }
        while up.last().is_some() && up.last() == down.last() {
            up.pop();
            down.pop();
        }
        vec![up_and_down(topology, &up, &down)]
    }

    fn add_expected_load(&mut self, topology: &Topology, demand: &Demand, load: &mut [f64]) {
        // by port to the parent: what the hosts below offer to each receiver, and the number of receivers below
        let [mut bps_below, mut receivers_below] = [0, 1].map(|_| vec![0.0; load.len()]);
        let [mut bps, mut receivers] = [0.0; 2];
        for (host, node) in topology.hosts().iter().enumerate() {
            let (to_each_bps, is_receiver) = (demand.to_each_bps[host], demand.receives[host]);
            let is_receiver = f64::from(is_receiver);
            bps += to_each_bps;
            receivers += is_receiver;
            for port in self.climb(topology, *node) {
                bps_below[port.0 as usize] += to_each_bps;
                receivers_below[port.0 as usize] += is_receiver;
            }
        }
        for up in self.parent.iter().flatten() {
            let [below, down] = [*up, topology.port(*up).peer].map(|port| port.0 as usize);
            load[below] += bps_below[below] * (receivers - receivers_below[below]);
            load[down] += (bps - bps_below[below]) * receivers_below[below];
        }
    }
}

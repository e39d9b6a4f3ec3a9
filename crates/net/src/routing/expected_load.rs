//! The load that flows between random pairs of hosts put on every port: its expectation over the hashes of the flows.
//!
//! Hosts at one switch are taken together, and hosts that only send and receive are left out of the network. So the time
//! grows with the number of switches that have receivers times the number of links between switches, or, under a policy
//! that looks at the destination, with the number of receivers times the number of switches.

use std::collections::BTreeMap;

use super::inner_network::{InnerNetwork, WaysFromAll};
use super::shortest::gateway;
use crate::topology::{NodeId, Topology};

/// What hosts offer to each other. A host offers the same to every receiver, and nothing to itself.
#[derive(Clone, Debug)]
pub struct Demand {
    /// by host: what it offers to each receiver, in bit/s
    pub to_each_bps: Vec<f64>,
    /// by host: whether it is a receiver
    pub receives: Vec<bool>,
}

/// The hosts whose only link leads to the same switch; or one host that has several links.
pub(super) struct Gateway {
    /// the switch, or the host
    pub(super) node: NodeId,
    /// what its hosts offer to each receiver, in bit/s
    pub(super) to_each_bps: f64,
    /// the part of `to_each_bps` that its receivers offer
    pub(super) of_receivers_bps: f64,
    /// the numbers of its receivers
    pub(super) receivers: Vec<usize>,
}

impl Demand {
    /// All hosts, by gateway.
    pub(super) fn gateways(&self, topology: &Topology) -> Vec<Gateway> {
        let mut by_node: BTreeMap<NodeId, Gateway> = BTreeMap::new();
        for (host, id) in topology.hosts().iter().enumerate() {
            let node = gateway(topology, *id);
            let here = by_node.entry(node).or_insert_with(|| Gateway {
                node,
                to_each_bps: 0.0,
                of_receivers_bps: 0.0,
                receivers: Vec::new(),
            });
            here.to_each_bps += self.to_each_bps[host];
            if self.receives[host] {
                here.of_receivers_bps += self.to_each_bps[host];
                here.receivers.push(host);
            }
        }
        by_node.into_values().collect()
    }

    /// Adds the load of the links between hosts and their gateways.
    pub(super) fn add_end_links(&self, topology: &Topology, load: &mut [f64]) {
        let all_bps: f64 = self.to_each_bps.iter().sum();
        let receivers = self.receives.iter().filter(|it| **it).count();
        for (host, id) in topology.hosts().iter().enumerate() {
            let gateway = gateway(topology, *id);
            if gateway == *id {
                continue;
            }
            let (bps, is_receiver) = (self.to_each_bps[host], self.receives[host]);
            let port = topology.node(*id).ports[0];
            // between two hosts without a switch, the way to one is the way from the other
            if topology.node(gateway).forwards {
                load[port.0 as usize] += bps * (receivers - usize::from(is_receiver)) as f64;
            }
            if is_receiver {
                load[topology.port(port).peer.0 as usize] += all_bps - bps;
            }
        }
    }
}

/// Calls `carry` for each gateway that has receivers: with the shortest ways to it, with what all nodes offer to one of
/// these receivers, in the order of the ways' nodes, with the receivers' numbers and with `load`, to which it adds. Adds
/// the links of hosts, whose load is the same whatever `carry` does.
pub(super) fn add_by_gateway(
    topology: &Topology,
    demand: &Demand,
    load: &mut [f64],
    mut carry: impl FnMut(&WaysFromAll, &[f64], &[usize], &mut [f64]),
) {
    let network = InnerNetwork::new(topology);
    let gateways = demand.gateways(topology);
    let mut to_each_bps = vec![0.0; topology.nodes().len()];
    for from in &gateways {
        to_each_bps[from.node.0 as usize] = from.to_each_bps;
    }
    for to in gateways.iter().filter(|to| !to.receivers.is_empty()) {
        let ways = network.towards(to.node);
        let to_one_bps: Vec<f64> = ways.of_nodes(&to_each_bps).collect();
        carry(&ways, &to_one_bps, &to.receivers, load);
    }
    demand.add_end_links(topology, load);
}

/// [`add_by_gateway`] for a policy under which all shortest paths between two hosts carry the same.
pub(super) fn add_evenly(topology: &Topology, demand: &Demand, load: &mut [f64]) {
    add_by_gateway(topology, demand, load, |ways, to_one, receivers, load| {
        let paths = ways.paths();
        let bps = to_one.iter().map(|bps| bps * receivers.len() as f64);
        ways.carry(bps.collect(), |node| paths[node], load);
    });
}

//! The load that flows between random pairs of hosts put on every port: its expectation over the hashes of the flows.
//!
//! All that is offered to the receivers at a switch is carried there together, over each link once. So no flow's path is
//! needed, and the time grows with the number of such switches times the number of links.

use std::collections::BTreeMap;

use super::shortest::{Ways, gateway};
use super::{FiveTuple, Path, Protocol, Routing};
use crate::topology::{NodeId, PortId, Topology};

/// What hosts offer to each other. A host offers the same to every receiver, and nothing to itself.
#[derive(Clone, Debug)]
pub struct Demand {
    /// by host: what it offers to each receiver, in bit/s
    pub to_each_bps: Vec<f64>,
    /// by host: whether it is a receiver
    pub receives: Vec<bool>,
}

impl Demand {
    /// The numbers of the receivers.
    pub(super) fn receivers(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.receives.len()).filter(|host| self.receives[*host])
    }

    /// The receivers, together with those at the same switch.
    pub(super) fn receivers_by_gateway(&self, topology: &Topology) -> Vec<Vec<usize>> {
        let mut by_gateway: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
        for host in self.receivers() {
            let gateway = gateway(topology, topology.hosts()[host]);
            by_gateway.entry(gateway).or_default().push(host);
        }
        by_gateway.into_values().collect()
    }

    /// The hosts that offer something to these receivers, which are in order, each with its rate in bit/s.
    pub(super) fn senders_to<'a>(
        &'a self,
        receivers: &'a [usize],
    ) -> impl Iterator<Item = (usize, f64)> + 'a {
        let senders = self.to_each_bps.iter().enumerate();
        let all = senders.map(|(host, bps)| {
            let others = receivers.len() - usize::from(receivers.binary_search(&host).is_ok());
            (host, bps * others as f64)
        });
        all.filter(|(_, bps)| *bps > 0.0)
    }

    /// Adds what arrives at the receivers to the links from their switches.
    pub(super) fn add_last_links(&self, topology: &Topology, load: &mut [f64]) {
        let all_bps: f64 = self.to_each_bps.iter().sum();
        for host in self.receivers() {
            let node = topology.hosts()[host];
            if gateway(topology, node) != node {
                let port = topology.port(topology.node(node).ports[0]).peer;
                load[port.0 as usize] += all_bps - self.to_each_bps[host];
            }
        }
    }
}

/// Load on its way to a destination.
struct Arrived {
    /// by node, in bit/s
    bps: Vec<f64>,
    /// by distance from the destination: the nodes that have not sent their load on
    waiting: Vec<Vec<NodeId>>,
}

impl Arrived {
    fn add(&mut self, node: NodeId, distance: u16, bps: f64) {
        let distance = usize::from(distance);
        let here = &mut self.bps[node.0 as usize];
        if *here == 0.0 {
            if self.waiting.len() <= distance {
                self.waiting.resize(distance + 1, Vec::new());
            }
            self.waiting[distance].push(node);
        }
        *here += bps;
    }
}

impl Ways<'_> {
    /// Carries what hosts offer to the gateway of the destination, and adds it to `load`, by port. Every node divides
    /// what arrives there among its ways, in proportion to `weight(node, number of ways, index of the way, way)`.
    pub(super) fn carry(
        &self,
        senders: impl Iterator<Item = (usize, f64)>,
        weight: impl Fn(NodeId, usize, usize, PortId) -> f64,
        load: &mut [f64],
    ) {
        let distance = |node: NodeId| self.distance[node.0 as usize];
        let mut arrived = Arrived {
            bps: vec![0.0; self.distance.len()],
            waiting: Vec::new(),
        };
        for (host, bps) in senders {
            let node = self.topology.hosts()[host];
            arrived.add(node, distance(node), bps);
        }
        let mut ways = Vec::new();
        // every way leads nearer, so all load of the farthest nodes has arrived there; the gateway is at distance 0
        while arrived.waiting.len() > 1 {
            for node in arrived.waiting.pop().into_iter().flatten() {
                ways.clear();
                ways.extend(self.at(node).map(|way| (way, 0.0)));
                let count = ways.len();
                let mut sum = 0.0;
                for (i, (way, share)) in ways.iter_mut().enumerate() {
                    *share = weight(node, count, i, *way);
                    sum += *share;
                }
                let bps = arrived.bps[node.0 as usize];
                for (way, share) in ways.iter().filter(|(_, share)| *share > 0.0) {
                    let part = bps * share / sum;
                    load[way.0 as usize] += part;
                    let far = self.topology.far_node(*way);
                    arrived.add(far, distance(far), part);
                }
            }
        }
    }

    /// [`Ways::carry`] where all paths from a host carry the same.
    pub(super) fn carry_evenly(
        &self,
        senders: impl Iterator<Item = (usize, f64)>,
        load: &mut [f64],
    ) {
        let paths = self.counts();
        let beyond = |_, _, _, way| paths[self.topology.far_node(way).0 as usize] as f64;
        self.carry(senders, beyond, load);
    }

    /// The least common multiple of the nodes' numbers of ways, or `most` if it is larger.
    pub(super) fn common_multiple(&self, most: usize) -> usize {
        let nodes = (0..self.distance.len() as u32).map(NodeId);
        let counts = nodes.map(|node| self.at(node).count()).filter(|n| *n > 0);
        counts.fold(1, |all, count| {
            let multiples = (1..).map(|i| i * count);
            multiples
                .take_while(|multiple| *multiple <= most)
                .find(|multiple| multiple % all == 0)
                .unwrap_or(most)
        })
    }
}

/// Adds the load of a policy under which a flow's way from a switch on depends on its destination alone. One path leads
/// from each switch to a receiver; the hosts at the switch share it.
pub(super) fn add_by_destination(
    policy: &mut impl Routing,
    topology: &Topology,
    demand: &Demand,
    load: &mut [f64],
) {
    for receiver in demand.receivers() {
        // by node: the path from there, and what it carries
        let mut shared: Vec<Option<(Path, f64)>> = vec![None; topology.nodes().len()];
        for (sender, bps) in demand.senders_to(&[receiver]) {
            let host = topology.hosts()[sender];
            let first = gateway(topology, host);
            let (_, sum) = shared[first.0 as usize].get_or_insert_with(|| {
                let address = |host: usize| topology.node(topology.hosts()[host]).address;
                let ends = [sender, receiver].map(address);
                let flow = FiveTuple::of_flow(0, Protocol::Tcp, ends[0], ends[1]);
                let mut path = policy.paths(topology, sender, receiver, &flow).remove(0);
                if first != host {
                    path.remove(0);
                }
                (path, 0.0)
            });
            *sum += bps;
            if first != host {
                load[topology.node(host).ports[0].0 as usize] += bps;
            }
        }
        for (path, bps) in shared.into_iter().flatten() {
            for port in path {
                load[port.0 as usize] += bps;
            }
        }
    }
}

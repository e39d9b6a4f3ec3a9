//! Two-level look-up (Al-Fares 2008, 3.3): down by prefix, up by the host part of the destination address.
//!
//! A pod's switch that is not above the destination sends the packet up through port (host - 2 + switch) mod (k/2),
//! counted from its first upward port. Cores choose by the pod. The switch's own number is in the sum, so traffic to
//! one receiver from different racks comes through different cores, unlike with [`super::DestinationSuffix`].

use super::expected_load::{Demand, add_by_gateway};
use super::{FiveTuple, Path, Routing};
use crate::topology::{NodeId, PortId, Topology};

/// The policy. It needs the addresses of a fat-tree.
pub struct TwoLevel {
    k: usize,
}

/// The last three bytes of an address in a fat-tree.
fn place(topology: &Topology, node: NodeId) -> [usize; 3] {
    let [_, pod, switch, id] = topology.node(node).address.octets();
    [pod, switch, id].map(usize::from)
}

impl TwoLevel {
    /// The policy for a [`crate::topology::fat_tree`] with this `k`.
    pub fn new(k: u32) -> Self {
        Self { k: k as usize }
    }

    /// The output port of the switch `node` on the way to a host.
    fn port(&self, topology: &Topology, node: NodeId, destination: [usize; 3]) -> PortId {
        let half = self.k / 2;
        let [pod, switch, _] = place(topology, node);
        let [to_pod, to_switch, to_id] = destination;
        let is_core = pod == self.k;
        let is_edge = switch < half;
        let number = if is_core {
            to_pod
        } else if pod == to_pod && is_edge && switch == to_switch {
            to_id - 2
        } else if pod == to_pod && !is_edge {
            to_switch
        } else {
            half + (to_id - 2 + switch) % half
        };
        topology.node(node).ports[number]
    }
}

impl Routing for TwoLevel {
    fn paths(
        &mut self,
        topology: &Topology,
        source: usize,
        destination: usize,
        _flow: &FiveTuple,
    ) -> Vec<Path> {
        let [source, target] = [source, destination].map(|host| topology.hosts()[host]);
        let destination = place(topology, target);
        let mut path = vec![topology.node(source).ports[0]];
        loop {
            let node = topology.far_node(path[path.len() - 1]);
            if node == target {
                return vec![path];
            }
            path.push(self.port(topology, node, destination));
        }
    }

    fn add_expected_load(&mut self, topology: &Topology, demand: &Demand, load: &mut [f64]) {
        let switches = topology.nodes().iter().map(|node| node.address.octets()[2]);
        let switches: Vec<usize> = switches.map(usize::from).collect();
        add_by_gateway(topology, demand, load, |ways, to_one, receivers, load| {
            let switch: Vec<usize> = ways.of_nodes(&switches).collect();
            for receiver in receivers {
                let [.., id] = place(topology, topology.hosts()[*receiver]);
                // of all shortest ways up, as in `port`; there is one way down
                let choose = |switch, count| (id - 2 + switch) % count;
                ways.carry_by_choice(to_one.to_vec(), &switch, choose, load);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::fat_tree;

    #[test]
    fn a_packet_goes_as_in_the_papers_example() {
        // Section 3.3: from 10.0.1.2 to 10.2.0.3, through port 2 of 10.0.1.1 and port 3 of 10.0.2.1 to a core, whose
        // port 2 leads to 10.2.2.1. Ports have the same numbers here.
        let tree = fat_tree(4).unwrap();
        let flow = FiveTuple::of_tcp(0, [10, 0, 1, 2], [10, 2, 0, 3]);
        let path = TwoLevel::new(4).paths(&tree, 2, 9, &flow).remove(0);
        let names: Vec<_> = path.iter().map(|port| tree.port_name(*port)).collect();
        assert_eq!(
            names,
            [
                "h2:0",
                "edge0.1:2",
                "agg0.0:3",
                "core1:2",
                "agg2.0:0",
                "edge2.0:1"
            ]
        );
    }
    /// Section 3.3, Figure 4: from switch `s` of a pod, host `id` is up port (id - 2 + s) mod (k / 2) + k / 2.
    #[test]
    fn the_way_up_depends_on_the_receivers_id_and_on_the_switch() {
        let tree = fat_tree(6).unwrap();
        let flow = FiveTuple::of_tcp(0, [10, 0, 1, 2], [10, 1, 0, 4]);
        // from host 2 of edge0.1 to host 4 of edge1.0: (4 - 2 + 1) mod 3 = 0, and agg0.0 is the pod's switch 3
        let path = TwoLevel::new(6).paths(&tree, 3, 11, &flow).remove(0);
        let names: Vec<_> = path.iter().map(|port| tree.port_name(*port)).collect();
        assert_eq!(names[1..3], ["edge0.1:3", "agg0.0:5"]);
    }

    #[test]
    fn the_expected_load_of_a_sender_is_that_of_its_paths() {
        let tree = fat_tree(6).unwrap();
        let mut routing = TwoLevel::new(6);
        let hosts = tree.hosts().len();
        let mut to_each_bps = vec![0.0; hosts];
        to_each_bps[3] = 1.0;
        let demand = Demand {
            to_each_bps,
            receives: vec![true; hosts],
        };
        let mut expected = vec![0.0; tree.ports().len()];
        routing.add_expected_load(&tree, &demand, &mut expected);
        let mut load = vec![0.0; tree.ports().len()];
        let flow = FiveTuple::of_tcp(0, [10, 0, 1, 2], [10, 1, 0, 4]);
        for receiver in (0..hosts).filter(|host| *host != 3) {
            for port in routing.paths(&tree, 3, receiver, &flow).concat() {
                load[port.0 as usize] += 1.0;
            }
        }
        let differs = |(one, other): (&f64, &f64)| (one - other).abs() > 1e-9;
        assert!(!expected.iter().zip(&load).any(differs));
    }
}

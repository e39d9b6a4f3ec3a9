//! Equal-length routing (Prakash 2012, 5.4): every packet goes up to a core switch and down again, even to a neighbour
//! in the same pod or rack.
//!
//! So all flows to a receiver pass the same number of links and arrive from above. No ingress port of the receiver's
//! switch belongs to a neighbour, and a flow has an ingress port to itself only if the hash happens to give it a core
//! alone. The paper does not say whether each flow has a core or each packet. Per packet, the policy gives the paths
//! through all cores, and the sender draws one for each packet.
//!
//! It needs full bisection bandwidth. If the links to the cores are fewer or slower, traffic that used to stay in the
//! rack crowds them. A path passes no port twice; within a pod it passes the same switches upwards and downwards.

use std::collections::BTreeMap;

use super::expected_load::{Demand, Gateway};
use super::inner_network::InnerNetwork;
use super::path_counts::check_through;
use super::shortest::ShortestPaths;
use super::{FiveTuple, Path, Routing, up_and_down};
use crate::error::BuildError;
use crate::topology::{NodeId, Topology, UNREACHED};

/// The policy.
pub struct EqualLength {
    seed: u64,
    /// the cores to choose from: all, or the fixed one
    cores: Vec<NodeId>,
    each_packet: bool,
    shortest: ShortestPaths,
}

impl EqualLength {
    /// The policy for this topology. A hash with this seed gives each flow its core; or all flows use the core `fixed`,
    /// an index into the list of cores.
    ///
    /// # Errors
    /// If the topology has no core switches (switches with other switches between them and the hosts), or fewer than
    /// `fixed` needs, or if a host is not below every core.
    pub fn new(topology: &Topology, seed: u64, fixed: Option<u32>) -> Result<Self, BuildError> {
        let heights = topology.heights();
        let height = |id: &NodeId| heights[id.0 as usize];
        let nodes = (0..topology.nodes().len() as u32).map(NodeId);
        let switches = nodes.filter(|id| !topology.node(*id).is_host && height(id) != UNREACHED);
        let top = switches.clone().map(|id| height(&id)).max().unwrap_or(0);
        let mut cores: Vec<NodeId> = switches.filter(|id| height(id) == top).collect();
        if top < 2 {
            let problem =
                "needs core switches, and in this topology every switch has hosts of its own";
            let remedy = "use a fat-tree, leaf-spine or three-tier topology, or routing = \"destination-suffix\"";
            return Err(BuildError::new("routing", "equal-length", problem, remedy));
        }
        if let Some(fixed) = fixed {
            let Some(core) = cores.get(fixed as usize) else {
                let problem = format!("is not one of the {} cores", cores.len());
                let remedy = format!("give a number from 0 to {}", cores.len() - 1);
                return Err(BuildError::new("routing.core", fixed, problem, remedy));
            };
            cores = vec![*core];
        }
        for core in &cores {
            check_above_all(topology, *core, top)?;
        }
        Ok(Self {
            seed,
            cores,
            each_packet: false,
            shortest: ShortestPaths::new(topology),
        })
    }

    /// Makes each packet take one of all ways through a core, each with the same probability, instead of hashing flows.
    /// If equally many ways lead through each core, all cores are equally likely.
    ///
    /// # Errors
    /// If there are too many paths.
    pub fn per_packet(self, topology: &Topology) -> Result<Self, BuildError> {
        check_through(topology, &self.cores, "equal-length")?;
        Ok(Self {
            each_packet: true,
            ..self
        })
    }

    /// The single path of a flow.
    fn hashed(&mut self, topology: &Topology, ends: [NodeId; 2], flow: &FiveTuple) -> Path {
        let core = self.cores[flow.choose(self.seed, self.cores.len())];
        let ways = self.shortest.towards(topology, core);
        let choose = |node: NodeId, count| {
            let salt = self.seed ^ u64::from(node.0 + 1) << 32;
            flow.choose(salt, count)
        };
        let [up, down] =
            ends.map(|host| ways.walk(host, choose).expect("a core is above every host"));
        up_and_down(topology, &up, &down)
    }

    /// By gateway and core: how often a packet of a host there takes the core, relative to other cores. It also depends
    /// on the receiver in the same way.
    fn chances(&self, network: &InnerNetwork, gateways: &[Gateway]) -> Vec<Vec<u64>> {
        if !self.each_packet {
            return vec![vec![1; self.cores.len()]; gateways.len()];
        }
        let mut chances = vec![Vec::new(); gateways.len()];
        for core in &self.cores {
            let ways = network.towards(*core);
            let paths = ways.paths();
            for (chances, gateway) in chances.iter_mut().zip(gateways) {
                chances.push(paths[ways.place(gateway.node)] as u64);
            }
        }
        chances
    }

    /// All paths: through every core, by all ways up to it and all ways down from it.
    fn all(&mut self, topology: &Topology, ends: [NodeId; 2]) -> Vec<Path> {
        let mut paths = Vec::new();
        for core in &self.cores {
            let ways = self.shortest.towards(topology, *core);
            let [ups, downs] = ends.map(|host| ways.all(host));
            for up in &ups {
                paths.extend(downs.iter().map(|down| up_and_down(topology, up, down)));
            }
        }
        paths
    }
}

/// By core: what the hosts at each gateway send through it, and what they receive, in bit/s. `chances` are by gateway.
/// Gateways with the same chances are taken together.
fn through_cores(chances: &[Vec<u64>], gateways: &[Gateway]) -> Vec<[Vec<f64>; 2]> {
    let mut alike: BTreeMap<&[u64], Vec<usize>> = BTreeMap::new();
    for (gateway, chances) in chances.iter().enumerate() {
        alike.entry(chances).or_default().push(gateway);
    }
    let cores = chances[0].len();
    let mut through = vec![[0, 1].map(|_| vec![0.0; gateways.len()]); cores];
    for (up, senders) in &alike {
        let all_bps: f64 = senders.iter().map(|from| gateways[*from].to_each_bps).sum();
        for (down, hosts) in &alike {
            let receivers = |to: &usize| gateways[*to].receivers.len() as f64;
            let all_receivers: f64 = hosts.iter().map(receivers).sum();
            let ways = || {
                let pairs = up.iter().zip(*down);
                pairs.map(|(up, down)| *up as f64 * *down as f64)
            };
            let all_ways: f64 = ways().sum();
            // what a receiver would offer to itself
            let own_bps = |gateway: &usize| {
                let is_same = f64::from(up == down);
                is_same * gateways[*gateway].of_receivers_bps
            };
            for ([sent, received], ways) in through.iter_mut().zip(ways()) {
                let share = ways / all_ways;
                for from in senders {
                    let bps = gateways[*from].to_each_bps * all_receivers - own_bps(from);
                    sent[*from] += share * bps;
                }
                for to in hosts {
                    received[*to] += share * (receivers(to) * all_bps - own_bps(to));
                }
            }
        }
    }
    through
}

/// Refuses a core that is not `height` links above every host.
fn check_above_all(topology: &Topology, core: NodeId, height: u32) -> Result<(), BuildError> {
    let distance = topology.distances(&[core]);
    let aside = |host: &&NodeId| distance[host.0 as usize] != height;
    let Some(host) = topology.hosts().iter().find(aside) else {
        return Ok(());
    };
    let [core, host] = [core, *host].map(|id| &topology.node(id).name);
    let problem = format!("needs every core above every host, and `{core}` is not above `{host}`");
    let remedy =
        "use routing = \"destination-suffix\", or join the two by links of one layer to the next";
    Err(BuildError::new("routing", "equal-length", problem, remedy))
}

impl Routing for EqualLength {
    fn paths(
        &mut self,
        topology: &Topology,
        source: usize,
        destination: usize,
        flow: &FiveTuple,
    ) -> Vec<Path> {
        let ends = [source, destination].map(|host| topology.hosts()[host]);
        if self.each_packet {
            self.all(topology, ends)
        } else {
            vec![self.hashed(topology, ends, flow)]
        }
    }

    fn add_expected_load(&mut self, topology: &Topology, demand: &Demand, load: &mut [f64]) {
        let network = InnerNetwork::new(topology);
        let gateways = demand.gateways(topology);
        let chances = self.chances(&network, &gateways);
        // what comes down from the cores, by the ports of the way up
        let mut down = vec![0.0; load.len()];
        for (core, ends) in self.cores.iter().zip(through_cores(&chances, &gateways)) {
            let ways = network.towards(*core);
            // by node, in proportion to what a way there carries
            let weights = if self.each_packet {
                ways.paths()
            } else {
                vec![1.0; ways.count()]
            };
            for (of_gateways, load) in ends.iter().zip([&mut *load, &mut down]) {
                let mut bps = vec![0.0; weights.len()];
                for (gateway, of_gateway) in gateways.iter().zip(of_gateways) {
                    bps[ways.place(gateway.node)] = *of_gateway;
                }
                ways.carry(bps, |node| weights[node], load);
            }
        }
        for port in topology.port_ids() {
            load[port.0 as usize] += down[topology.port(port).peer.0 as usize];
        }
        demand.add_end_links(topology, load);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{PortId, bcube, fat_tree, star, two_switch, vl2};

    #[test]
    fn a_topology_without_cores_is_refused() {
        for topology in [two_switch(2), star(5), bcube(4, 1)].map(Result::unwrap) {
            let error = EqualLength::new(&topology, 1, None).err().unwrap();
            assert_eq!(error.field, "routing");
            assert!(error.problem.contains("needs core switches"));
        }
    }

    #[test]
    fn a_core_that_is_not_above_every_host_is_refused() {
        let mut lopsided = crate::topology::leaf_spine(2, 2, 1).unwrap();
        let spine = NodeId(0);
        let leaf = lopsided.add_switch("aside");
        let host = lopsided.add_host("far");
        lopsided.connect(leaf, spine, crate::topology::LinkOptions::default());
        lopsided.connect(host, leaf, crate::topology::LinkOptions::default());
        let error = EqualLength::new(&lopsided, 1, None).err().unwrap();
        assert!(
            error.problem.contains("`spine1` is not above `far`"),
            "{error}"
        );
    }

    #[test]
    fn a_fixed_core_is_one_of_the_cores() {
        let tree = fat_tree(4).unwrap();
        let error = EqualLength::new(&tree, 1, Some(4)).err().unwrap();
        assert_eq!(error.field, "routing.core");
        let mut routing = EqualLength::new(&tree, 1, Some(3)).unwrap();
        for number in 0..20 {
            let flow = FiveTuple::of_tcp(number, [10, 0, 0, 3], [10, 0, 0, 2]);
            let path = routing.paths(&tree, 1, 0, &flow).remove(0);
            let names: Vec<_> = path.iter().map(|port| tree.port_name(*port)).collect();
            assert_eq!(
                names,
                [
                    "h1:0",
                    "edge0.0:3",
                    "agg0.1:3",
                    "core3:0",
                    "agg0.1:0",
                    "edge0.0:0"
                ]
            );
        }
    }

    #[test]
    fn where_several_ways_lead_up_to_a_core_flows_spread_over_them() {
        let network = vl2(4, 4, 2).unwrap();
        let mut routing = EqualLength::new(&network, 1, Some(0)).unwrap();
        let mut second: Vec<_> = (0..50)
            .map(|number| FiveTuple::of_tcp(number, [10, 0, 0, 1], [10, 0, 0, 8]))
            .map(|flow| routing.paths(&network, 0, 7, &flow).remove(0)[1])
            .collect();
        second.sort();
        second.dedup();
        assert_eq!(second.len(), 2);
    }

    #[test]
    fn a_flows_way_up_does_not_follow_from_its_core() {
        // two cores and two aggregation switches above each rack: four ways, equally likely
        let network = vl2(4, 4, 2).unwrap();
        let mut routing = EqualLength::new(&network, 1, None).unwrap();
        let mut ways = BTreeMap::new();
        for number in 0..400 {
            let flow = FiveTuple::of_tcp(number, [10, 0, 0, 1], [10, 0, 0, 8]);
            let path = routing.paths(&network, 0, 7, &flow).remove(0);
            *ways.entry((path[1], path[2])).or_insert(0) += 1;
        }
        assert_eq!(ways.len(), 4);
        // 100 each, with four standard deviations
        assert!(ways.values().all(|n| (65..136).contains(n)), "{ways:?}");
    }

    /// The nodes on every path between a pair of hosts, per packet.
    fn nodes(topology: &Topology, core: Option<u32>, pair: [usize; 2]) -> Vec<Vec<&str>> {
        let flow = FiveTuple::of_tcp(0, [10, 0, 0, 1], [10, 0, 0, 2]);
        let routing = EqualLength::new(topology, 1, core).unwrap();
        let mut routing = routing.per_packet(topology).unwrap();
        let name = |port: &PortId| &*topology.node(topology.far_node(*port)).name;
        let paths = routing.paths(topology, pair[0], pair[1], &flow);
        paths
            .iter()
            .map(|path| path.iter().map(name).collect())
            .collect()
    }

    #[test]
    fn by_packet_a_neighbour_in_the_rack_is_reached_by_way_of_every_core() {
        let tree = fat_tree(4).unwrap();
        let by = |agg: &'static str, core: &'static str| {
            vec!["edge0.0", agg, core, agg, "edge0.0", "h0"]
        };
        let expected = [
            by("agg0.0", "core0"),
            by("agg0.0", "core1"),
            by("agg0.1", "core2"),
            by("agg0.1", "core3"),
        ];
        assert_eq!(nodes(&tree, None, [1, 0]), expected);
        assert_eq!(nodes(&tree, Some(3), [1, 0]), expected[3..]);
    }

    #[test]
    fn by_packet_all_ways_up_to_a_core_and_down_from_it_are_paths() {
        // two aggregation switches above each rack, each below both of the cores
        let network = vl2(4, 4, 2).unwrap();
        let mut found = nodes(&network, None, [0, 7]);
        assert_eq!(found.len(), 2 * 2 * 2);
        found.sort();
        found.dedup();
        assert_eq!(found.len(), 8, "each once");
        assert_eq!(nodes(&network, Some(1), [0, 7]).len(), 2 * 2);
    }

    #[test]
    fn which_adapter_a_host_of_two_uses_does_not_follow_from_the_flows_core() {
        let mut network = Topology::default();
        let hosts = ["h0", "h1"].map(|name| network.add_host(name));
        let racks = ["tor0", "tor1"].map(|name| network.add_switch(name));
        let cores = ["core0", "core1"].map(|name| network.add_switch(name));
        for rack in racks {
            for end in hosts.into_iter().chain(cores) {
                network.connect(end, rack, crate::topology::LinkOptions::default());
            }
        }
        let mut routing = EqualLength::new(&network, 1, None).unwrap();
        for (source, destination) in [(0, 1), (1, 0)] {
            let mut ways = BTreeMap::new();
            for number in 0..400 {
                let flow = FiveTuple::of_tcp(number, [10, 0, 0, 1], [10, 0, 0, 2]);
                let path = routing
                    .paths(&network, source, destination, &flow)
                    .remove(0);
                *ways.entry((path[0], path[1])).or_insert(0) += 1;
            }
            assert_eq!(ways.len(), 4);
            // 100 each, with four standard deviations
            assert!(ways.values().all(|n| (65..136).contains(n)), "{ways:?}");
        }
    }
}

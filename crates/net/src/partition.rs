//! A partition of a network into regions, so that a run can use several cores.
//!
//! Hosts with neighbouring numbers stay together, because topologies number their hosts rack by rack and pod by pod. A
//! switch joins the region of most of its neighbours. If there is no majority, as at a core switch, the switch is
//! split: each of its output ports joins the region that it leads to. Output ports of one switch share no state unless
//! they share a memory. So a packet between two hosts of one region stays in it, whichever core switch it passes.
//!
//! Every partition gives the same results. A good one cuts few links, and no short ones. What happens in one region
//! cannot affect another sooner than a cut link allows; that time, the lookahead, is how far a region may run ahead of
//! the others (Chandy and Misra 1979; Fujimoto 1990).

use fairport_units::Duration;

use crate::framing::Framing;
use crate::port::PortConfig;
use crate::topology::{NodeId, PortId, Topology};

/// The properties of a network's ports that decide where it may be cut.
#[derive(Clone, Debug)]
pub struct CutRules {
    /// by port: the least time that a packet takes from its acceptance to the next node's decision
    pub lookaheads: Vec<Duration>,
    /// whether what waits at one port of a switch affects its other ports
    pub shares_memory: bool,
}

impl CutRules {
    /// The rules for these ports, which are in the topology's order.
    pub fn new(ports: &[PortConfig], framing: Framing) -> Self {
        let lookaheads = ports.iter().map(|port| port.lookahead(framing));
        Self {
            lookaheads: lookaheads.collect(),
            shares_memory: ports.iter().any(PortConfig::shares_memory),
        }
    }
}

/// The region of every host and every output port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// by node; for a split switch, the region of its ports that lead to other split switches
    region: Vec<u16>,
    /// by port
    port_region: Vec<u16>,
    regions: u16,
    lookahead: Duration,
}

impl Partition {
    /// A partition with a single region.
    pub fn whole(topology: &Topology) -> Self {
        Self {
            region: vec![0; topology.nodes().len()],
            port_region: vec![0; topology.ports().len()],
            regions: 1,
            lookahead: Duration::NEVER,
        }
    }

    /// A partition into `regions` regions with about equally many hosts, or into fewer if there are fewer hosts. If it
    /// would cut a link without lookahead, there is only one region. Switches whose ports share a memory are not split.
    pub fn new(topology: &Topology, rules: &CutRules, regions: u16) -> Self {
        let most = u16::try_from(topology.hosts().len()).unwrap_or(u16::MAX);
        let regions = regions.min(most);
        if regions < 2 {
            return Self::whole(topology);
        }
        let (region, is_split) = assign(topology, regions);
        let ports = topology.ports().iter();
        let port_region = ports.map(|port| {
            let far = topology.port(port.peer).node;
            let leads = is_split[port.node.0 as usize] && !is_split[far.0 as usize];
            let node = if leads && !rules.shares_memory {
                far
            } else {
                port.node
            };
            region[node.0 as usize]
        });
        let mut partition = Self {
            port_region: port_region.collect(),
            region,
            regions,
            lookahead: Duration::NEVER,
        };
        let ports = topology.port_ids().zip(&rules.lookaheads);
        let cut = ports.filter(|(port, _)| partition.is_cut(topology, *port));
        let lookahead = cut.map(|(_, lookahead)| *lookahead).min();
        partition.lookahead = lookahead.unwrap_or(Duration::NEVER);
        if partition.lookahead == Duration::ZERO {
            return Self::whole(topology);
        }
        partition
    }

    /// The number of regions.
    pub fn regions(&self) -> u16 {
        self.regions
    }

    /// The region of a host.
    #[inline]
    pub fn region(&self, host: NodeId) -> u16 {
        self.region[host.0 as usize]
    }

    /// The region of an output port.
    pub fn port_region(&self, port: PortId) -> u16 {
        self.port_region[port.0 as usize]
    }

    /// The regions of all output ports, in the order of the topology's ports.
    pub(crate) fn port_regions(&self) -> &[u16] {
        &self.port_region
    }

    /// The least time after which a packet accepted at a cut port arrives at the far end. [`Duration::NEVER`] if no
    /// link is cut.
    pub fn lookahead(&self) -> Duration {
        self.lookahead
    }

    /// Whether a packet may leave the region through this port.
    pub(crate) fn is_cut(&self, topology: &Topology, port: PortId) -> bool {
        let far = topology.node(topology.far_node(port));
        let end = far.is_host.then(|| self.region(topology.far_node(port)));
        let outputs = far.ports.iter().map(|output| self.port_region(*output));
        let own = self.port_region(port);
        outputs.chain(end).any(|region| region != own)
    }
}

/// The region of each node, and whether it may be split. Hosts are divided by their numbers. Then, from the hosts
/// inwards, each switch joins the region of most of its neighbours that have one; in a tie, the region with fewer
/// switches. A switch may be split if no region has more than half of these neighbours.
fn assign(topology: &Topology, regions: u16) -> (Vec<u16>, Vec<bool>) {
    const NONE: u16 = u16::MAX;
    let hosts = topology.hosts();
    let mut region = vec![NONE; topology.nodes().len()];
    for (number, host) in hosts.iter().enumerate() {
        region[host.0 as usize] = (number * usize::from(regions) / hosts.len()) as u16;
    }
    let mut is_split = vec![false; region.len()];
    let mut switches = vec![0; usize::from(regions)];
    let mut layer: Vec<NodeId> = hosts.to_vec();
    while !layer.is_empty() {
        let neighbours = |node: &NodeId| {
            let ports = topology.node(*node).ports.iter();
            ports
                .map(|port| topology.far_node(*port))
                .collect::<Vec<_>>()
        };
        let mut next: Vec<NodeId> = layer.iter().flat_map(neighbours).collect();
        next.sort();
        next.dedup();
        next.retain(|node| region[node.0 as usize] == NONE);
        // switches of one layer do not influence each other
        let before = region.clone();
        for node in &next {
            let mut links = vec![0; usize::from(regions)];
            for far in neighbours(node) {
                if let Some(count) = links.get_mut(usize::from(before[far.0 as usize])) {
                    *count += 1;
                }
            }
            let best = (0..regions).min_by_key(|of| {
                let of = usize::from(*of);
                (std::cmp::Reverse(links[of]), switches[of])
            });
            let best = best.expect("there is a region");
            region[node.0 as usize] = best;
            is_split[node.0 as usize] = 2 * links[usize::from(best)] <= links.iter().sum::<u32>();
            switches[usize::from(best)] += 1;
        }
        layer = next;
    }
    // a switch that no host reaches carries no packets
    region
        .iter_mut()
        .filter(|of| **of == NONE)
        .for_each(|of| *of = 0);
    (region, is_split)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{dumbbell, fat_tree, star};

    fn counts(topology: &Topology, region: &[u16], regions: u16, is_host: bool) -> Vec<usize> {
        let nodes = topology.nodes().iter().zip(region);
        let of = |own: u16| {
            let here = nodes
                .clone()
                .filter(|(node, it)| **it == own && node.is_host == is_host);
            here.count()
        };
        (0..regions).map(of).collect()
    }

    fn two_regions(topology: &Topology, shares_memory: bool) -> Partition {
        let rules = CutRules {
            lookaheads: vec![Duration::from_us(1); topology.ports().len()],
            shares_memory,
        };
        Partition::new(topology, &rules, 2)
    }

    fn cut_ports<'a>(
        topology: &'a Topology,
        partition: &'a Partition,
    ) -> impl Iterator<Item = PortId> + 'a {
        let ports = topology.port_ids();
        ports.filter(|port| partition.is_cut(topology, *port))
    }

    /// A k = 4 fat-tree has 4 pods of 4 hosts and 4 switches, and 4 core switches between them.
    #[test]
    fn a_fat_tree_is_cut_on_the_way_into_its_core_alone() {
        let topology = fat_tree(4).unwrap();
        let (region, _) = assign(&topology, 2);
        assert_eq!(counts(&topology, &region, 2, true), [8, 8]);
        assert_eq!(counts(&topology, &region, 2, false), [10, 10]);
        let partition = two_regions(&topology, false);
        let is_core = |node: NodeId| topology.node(node).name.starts_with("core");
        for (port, id) in topology.ports().iter().zip(topology.port_ids()) {
            let far = topology.far_node(id);
            assert_eq!(partition.is_cut(&topology, id), is_core(far));
            if is_core(port.node) {
                assert_eq!(partition.port_region(id), partition.region(far), "its pod");
            }
        }
        let of_second = partition.port_regions().iter().filter(|of| **of == 1);
        assert_eq!(2 * of_second.count(), topology.ports().len());
    }

    /// All ports that share a memory are in one region.
    #[test]
    fn switches_with_a_shared_memory_are_not_split() {
        for topology in [fat_tree(4).unwrap(), star(4).unwrap()] {
            let partition = two_regions(&topology, true);
            for (port, id) in topology.ports().iter().zip(topology.port_ids()) {
                assert_eq!(partition.port_region(id), partition.region(port.node));
            }
        }
    }

    #[test]
    fn a_star_is_cut_on_the_way_into_its_switch() {
        let topology = star(4).unwrap();
        let partition = two_regions(&topology, false);
        let nodes: Vec<NodeId> = cut_ports(&topology, &partition)
            .map(|port| topology.port(port).node)
            .collect();
        assert_eq!(nodes, topology.hosts());
    }

    /// A link that takes no time cannot be cut.
    #[test]
    fn there_are_as_many_regions_as_asked_for_unless_a_link_between_them_takes_no_time() {
        let topology = dumbbell(3, 3).unwrap();
        let regions = |lookahead: Duration| {
            let rules = CutRules {
                lookaheads: vec![lookahead; topology.ports().len()],
                shares_memory: false,
            };
            Partition::new(&topology, &rules, 2).regions()
        };
        assert_eq!(regions(Duration::from_us(1)), 2);
        assert_eq!(regions(Duration::ZERO), 1);
    }

    #[test]
    fn a_dumbbell_is_cut_in_its_middle() {
        let topology = dumbbell(3, 3).unwrap();
        let partition = two_regions(&topology, false);
        let cut = cut_ports(&topology, &partition);
        assert_eq!(cut.count(), 2, "one link, both ways");
    }
}

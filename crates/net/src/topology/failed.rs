//! Links that have failed before the run. Routing sees the network without them.
//!
//! Ports keep their numbers, so all names stay. Each port of a failed link leads to its own node, and so no path takes it.

use super::{Node, NodeId, PortId, Topology, UNREACHED};
use crate::error::BuildError;

/// The job's field that lists them.
const FIELD: &str = "failed_links";

impl Topology {
    /// Takes links out of use. A link is named by a port at one of its ends, and all links of a switch by the switch.
    ///
    /// # Errors
    /// If a name is none of these, or if two hosts have no path between them any more.
    pub fn fail(&mut self, links: &[String]) -> Result<(), BuildError> {
        for (i, name) in links.iter().enumerate() {
            for port in self.link_ports(name, i)? {
                let peer = self.port(port).peer;
                for end in [port, peer] {
                    self.ports[end.0 as usize].peer = end;
                }
            }
        }
        self.check_all_reached(links)
    }

    /// Whether a link has failed.
    pub(crate) fn has_failed_links(&self) -> bool {
        self.port_ids().any(|port| self.port(port).peer == port)
    }

    /// The port with this name, or those of the switch with this name, which is the `i`-th of the list.
    fn link_ports(&self, name: &str, i: usize) -> Result<Vec<PortId>, BuildError> {
        let is_named = |port: &PortId| !self.is_own(*port) && self.port_name(*port) == name;
        let switch = |node: &&Node| !node.is_host && node.name == name;
        if let Some(switch) = self.nodes().iter().find(switch) {
            return Ok(switch.ports.clone());
        }
        if let Some(port) = self.port_ids().find(is_named) {
            return Ok(vec![port]);
        }
        let links = self.port_ids().filter(|port| self.leads_on(*port));
        let example = links.last().map(|port| self.port_name(port));
        let problem = "is neither a port with a link nor a switch";
        let remedy = format!(
            "give a port such as `{}`, as in the table `ports`, or a switch",
            example.unwrap_or_default()
        );
        Err(BuildError::new(
            format!("{FIELD}.{i}"),
            name,
            problem,
            remedy,
        ))
    }

    fn check_all_reached(&self, links: &[String]) -> Result<(), BuildError> {
        let Some(first) = self.hosts().first() else {
            return Ok(());
        };
        let distance = self.distances(&[*first]);
        let apart = |host: &&NodeId| distance[host.0 as usize] == UNREACHED;
        let Some(host) = self.hosts().iter().find(apart) else {
            return Ok(());
        };
        let [first, host] = [*first, *host].map(|id| &self.node(id).name);
        let problem = format!("leaves no path between `{first}` and `{host}`");
        let remedy = "let fewer links fail";
        Err(BuildError::new(FIELD, links.join(", "), problem, remedy))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{bcube, fat_tree, leaf_spine};
    use super::*;

    fn failed(mut topology: Topology, links: &[&str]) -> Result<Topology, String> {
        let links: Vec<String> = links.iter().map(ToString::to_string).collect();
        match topology.fail(&links) {
            Ok(()) => Ok(topology),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn a_link_is_named_by_either_of_its_ends() {
        // of the ports of a leaf with two hosts, 0 and 1 lead to hosts, 2 to the first spine
        let by_leaf = failed(leaf_spine(3, 2, 2).unwrap(), &["leaf1:2"]).unwrap();
        let by_spine = failed(leaf_spine(3, 2, 2).unwrap(), &["spine0:1"]).unwrap();
        let by_both = failed(leaf_spine(3, 2, 2).unwrap(), &["leaf1:2", "spine0:1"]).unwrap();
        let peers = |topology: &Topology| {
            topology
                .ports()
                .iter()
                .map(|port| port.peer)
                .collect::<Vec<_>>()
        };
        assert_eq!(peers(&by_leaf), peers(&by_spine));
        assert_eq!(peers(&by_leaf), peers(&by_both));
        assert!(by_leaf.has_failed_links());
        assert!(!leaf_spine(3, 2, 2).unwrap().has_failed_links());
        assert_eq!(by_leaf.links(), 3 * 2 + 3 * 2 - 1);
        assert_eq!(
            by_leaf.port_names(),
            leaf_spine(3, 2, 2).unwrap().port_names()
        );
    }

    #[test]
    fn a_failed_switch_loses_all_its_links() {
        let tree = fat_tree(4).unwrap();
        assert_eq!(failed(tree, &["core1"]).unwrap().links(), 48 - 4);
    }

    #[test]
    fn a_host_with_several_links_keeps_the_port_to_itself() {
        let cube = bcube(2, 1).unwrap();
        let host = cube.hosts()[0];
        let own = cube.own_port(host);
        let cube = failed(cube, &["h0:0"]).unwrap();
        assert_eq!(cube.own_port(host), own);
        assert_eq!(cube.links(), 7);
    }

    #[test]
    fn what_is_no_link_is_refused() {
        let of = |name| failed(bcube(2, 1).unwrap(), &[name]).unwrap_err();
        let remedy = "is neither a port with a link nor a switch; give a port such as";
        // the port of h0 behind its two links leads to itself
        for name in ["h0", "h0:2", "h9:0", "s", "h0:00", ":"] {
            let text = of(name);
            assert!(
                text.starts_with(&format!("failed_links.0: `{name}` {remedy}")),
                "{text}"
            );
        }
    }

    #[test]
    fn a_network_in_two_parts_is_refused() {
        let text = failed(leaf_spine(2, 2, 2).unwrap(), &["leaf1:2", "spine1"]).unwrap_err();
        let problem = "leaves no path between `h0` and `h2`; let fewer links fail";
        assert_eq!(text, format!("failed_links: `leaf1:2, spine1` {problem}"));
    }
}

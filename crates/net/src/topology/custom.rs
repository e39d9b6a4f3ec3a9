//! A graph that the scenario lists in full, including the names of all nodes.

use std::collections::BTreeMap;

use fairport_units::{Duration, Rate};
use serde::{Deserialize, Serialize};

use super::{LinkOptions, NodeId, Topology, UNREACHED};
use crate::error::BuildError;

/// A link of such a graph. The network's default applies to a field that is left out.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GraphLink {
    /// the nodes that the link joins
    pub ends: [String; 2],
    /// rate in both directions
    #[serde(rename = "rate_bps")]
    pub rate: Option<Rate>,
    /// propagation delay
    #[serde(rename = "delay_ps")]
    pub delay: Option<Duration>,
    /// buffer of the ports at both ends, bytes
    pub limit_bytes: Option<u32>,
}

impl GraphLink {
    fn options(&self) -> LinkOptions {
        LinkOptions {
            rate: self.rate,
            delay: self.delay,
            limit_bytes: self.limit_bytes,
        }
    }
}

/// Builds the graph of these hosts, switches and links. Ports are numbered in the order in which the links are given.
/// Only hosts that forward may have several links.
///
/// # Errors
/// If two nodes have the same name, a link ends at an unknown node or joins a node to itself, a host that does not
/// forward does not have exactly one link, a switch has too many, or the graph is not connected.
pub fn custom(
    hosts: &[String],
    hosts_forward: bool,
    switches: &[String],
    links: &[GraphLink],
) -> Result<Topology, BuildError> {
    let mut graph = Topology::default();
    let mut ids: BTreeMap<&str, NodeId> = BTreeMap::new();
    for (field, names) in [("topology.hosts", hosts), ("topology.switches", switches)] {
        for (i, name) in names.iter().enumerate() {
            let id = match field {
                "topology.hosts" if hosts_forward => graph.add_forwarding_host(name),
                "topology.hosts" => graph.add_host(name),
                _ => graph.add_switch(name),
            };
            if ids.insert(name, id).is_some() {
                let field = format!("{field}.{i}");
                return Err(BuildError::new(
                    field,
                    name,
                    "is there twice",
                    "give it a name of its own",
                ));
            }
        }
    }
    for (i, link) in links.iter().enumerate() {
        let field = format!("topology.links.{i}.ends");
        let find = |name: &String| {
            let remedy = "name it under topology.hosts or topology.switches";
            let unknown =
                || BuildError::new(&*field, name, "is neither a host nor a switch", remedy);
            ids.get(name.as_str()).copied().ok_or_else(unknown)
        };
        let (a, b) = (find(&link.ends[0])?, find(&link.ends[1])?);
        if a == b {
            let problem = "is joined to itself";
            return Err(BuildError::new(
                field,
                &link.ends[0],
                problem,
                "join two different nodes",
            ));
        }
        graph.connect(a, b, link.options());
    }
    check_hosts(&graph)?;
    check_switches(&graph)?;
    check_connected(&graph)?;
    graph.add_own_ports();
    Ok(graph)
}

fn check_hosts(graph: &Topology) -> Result<(), BuildError> {
    for (i, host) in graph.hosts().iter().enumerate() {
        let node = graph.node(*host);
        if node.ports.len() != 1 && !node.forwards {
            let problem = format!("has {} links", node.ports.len());
            let remedy = if node.ports.is_empty() {
                "add its link to topology.links, or leave the host out"
            } else {
                "give every host one link, or set topology.hosts_forward = true"
            };
            let field = format!("topology.hosts.{i}");
            return Err(BuildError::new(field, &node.name, problem, remedy));
        }
    }
    Ok(())
}

/// Refuses a switch with more ports than have numbers.
fn check_switches(graph: &Topology) -> Result<(), BuildError> {
    const MOST: usize = 1 << u16::BITS;
    let switches = graph.nodes().iter().skip(graph.hosts().len());
    for (i, node) in switches.enumerate() {
        if node.ports.len() > MOST {
            let problem = format!(
                "has {} links, more than the limit of {MOST}",
                node.ports.len()
            );
            let field = format!("topology.switches.{i}");
            let remedy = "give it fewer links";
            return Err(BuildError::new(field, &node.name, problem, remedy));
        }
    }
    Ok(())
}

fn check_connected(graph: &Topology) -> Result<(), BuildError> {
    let Some(first) = graph.hosts().first() else {
        return Ok(());
    };
    let distance = graph.distances(&[*first]);
    let Some(apart) = distance.iter().position(|links| *links == UNREACHED) else {
        return Ok(());
    };
    // hosts were added before switches
    let field = match apart.checked_sub(graph.hosts().len()) {
        None => format!("topology.hosts.{apart}"),
        Some(switch) => format!("topology.switches.{switch}"),
    };
    let problem = format!(
        "is not connected with `{}`: no path of links leads there",
        graph.node(*first).name
    );
    let remedy = "add the link that is missing to topology.links, or leave the node out";
    Err(BuildError::new(
        field,
        &graph.nodes()[apart].name,
        problem,
        remedy,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    }

    fn link(ends: &[&str; 2]) -> GraphLink {
        GraphLink {
            ends: ends.map(ToString::to_string),
            rate: None,
            delay: None,
            limit_bytes: None,
        }
    }

    fn build(hosts: &[&str], links: &[[&str; 2]]) -> Result<Topology, BuildError> {
        let links: Vec<_> = links.iter().map(link).collect();
        custom(&names(hosts), false, &names(&["s"]), &links)
    }

    #[test]
    fn two_hosts_at_a_switch() {
        let graph = build(&["a", "b"], &[["a", "s"], ["b", "s"]]).unwrap();
        assert_eq!(graph.hosts().len(), 2);
        assert_eq!(graph.port_name(graph.node(NodeId(2)).ports[1]), "s:1");
    }

    #[test]
    fn each_mistake_names_its_field() {
        let field = |result: Result<Topology, BuildError>| result.unwrap_err().field;
        assert_eq!(field(build(&["a", "a"], &[])), "topology.hosts.1");
        assert_eq!(field(build(&["a"], &[["a", "x"]])), "topology.links.0.ends");
        assert_eq!(field(build(&["a"], &[["s", "s"]])), "topology.links.0.ends");
        assert_eq!(field(build(&["a"], &[])), "topology.hosts.0");
    }

    #[test]
    fn a_host_without_a_link_is_not_told_to_forward() {
        let remedy = |links: &[[&str; 2]]| build(&["a", "b"], links).unwrap_err().remedy;
        assert!(remedy(&[["a", "s"]]).starts_with("add its link"));
        assert!(remedy(&[["a", "s"], ["a", "s"]]).contains("hosts_forward"));
    }

    #[test]
    fn a_switch_has_no_more_ports_than_port_numbers() {
        let hosts: Vec<String> = (0..=65_536).map(|i| format!("h{i}")).collect();
        let links: Vec<_> = hosts.iter().map(|host| link(&[host, "s"])).collect();
        let error = custom(&hosts, false, &names(&["s"]), &links).unwrap_err();
        assert_eq!(error.field, "topology.switches.0");
        assert!(custom(&hosts[1..], false, &names(&["s"]), &links[1..]).is_ok());
    }

    #[test]
    fn a_node_that_no_link_leads_to_is_named() {
        let error = build(&["a", "b"], &[["a", "b"]]).unwrap_err();
        assert_eq!(
            (error.field.as_str(), error.value.as_str()),
            ("topology.switches.0", "s")
        );
        assert!(error.problem.contains("not connected with `a`"));
    }

    #[test]
    fn hosts_that_forward_may_have_several_links() {
        let links = [["a", "b"], ["b", "c"]].each_ref().map(link);
        let chain = custom(&names(&["a", "b", "c"]), true, &[], &links).unwrap();
        assert_eq!(chain.distances(&chain.hosts()[..1]), [0, 1, 2]);
        let error = custom(&names(&["a", "b", "c"]), false, &[], &links).unwrap_err();
        assert_eq!(error.field, "topology.hosts.1");
    }
}

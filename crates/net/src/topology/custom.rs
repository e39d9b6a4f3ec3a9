//! A graph that the scenario spells out.

use std::collections::BTreeMap;

use super::{LinkOptions, NodeId, Topology};
use crate::error::BuildError;

/// Builds the graph of these hosts, switches and links; ports are numbered in the order in which
/// the links are given.
///
/// # Errors
/// If two nodes share a name, a link ends at an unknown node or joins a node to itself, or a host
/// has other than one link.
pub fn custom(
    hosts: &[String],
    switches: &[String],
    links: &[([String; 2], LinkOptions)],
) -> Result<Topology, BuildError> {
    let mut graph = Topology::default();
    let mut ids: BTreeMap<&str, NodeId> = BTreeMap::new();
    for (field, names) in [("topology.hosts", hosts), ("topology.switches", switches)] {
        for (i, name) in names.iter().enumerate() {
            let id = if field == "topology.hosts" {
                graph.add_host(name)
            } else {
                graph.add_switch(name)
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
    for (i, (ends, options)) in links.iter().enumerate() {
        let field = format!("topology.links.{i}.ends");
        let find = |name: &String| {
            let remedy = "name it under topology.hosts or topology.switches";
            let unknown =
                || BuildError::new(&*field, name, "is neither a host nor a switch", remedy);
            ids.get(name.as_str()).copied().ok_or_else(unknown)
        };
        let (a, b) = (find(&ends[0])?, find(&ends[1])?);
        if a == b {
            let problem = "is joined to itself";
            return Err(BuildError::new(
                field,
                &ends[0],
                problem,
                "join two different nodes",
            ));
        }
        graph.connect(a, b, *options);
    }
    for (i, host) in graph.hosts().iter().enumerate() {
        let node = graph.node(*host);
        if node.ports.len() != 1 {
            let problem = format!("has {} links", node.ports.len());
            let field = format!("topology.hosts.{i}");
            return Err(BuildError::new(
                field,
                &node.name,
                problem,
                "give every host one link",
            ));
        }
    }
    Ok(graph)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    }

    fn build(hosts: &[&str], links: &[[&str; 2]]) -> Result<Topology, BuildError> {
        let links: Vec<_> = links
            .iter()
            .map(|ends| (ends.map(ToString::to_string), LinkOptions::default()))
            .collect();
        custom(&names(hosts), &names(&["s"]), &links)
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
}

//! Refuses networks with too many shortest paths, without a list of them.
//!
//! A policy under which packets draw paths needs the list. So a network with too many paths is refused before one is
//! made.

use std::collections::BTreeMap;

use super::inner_network::InnerNetwork;
use super::shortest::gateway;
use crate::error::BuildError;
use crate::topology::{NodeId, Topology};

/// The most paths between two hosts of which packets may draw one. Each has a place in the table of routes. A fat-tree
/// with k = 64 has 1024, but a chain of 16 squares has 65 536.
const MOST_PATHS: f64 = 10_000.0;

/// The nodes at which paths between hosts begin and end, each with one of its hosts.
fn gateways(topology: &Topology) -> BTreeMap<NodeId, NodeId> {
    let hosts = topology.hosts().iter();
    hosts.map(|id| (gateway(topology, *id), *id)).collect()
}

/// Refuses this `policy` if there are too many shortest paths between two hosts.
pub(super) fn check_between_hosts(topology: &Topology, policy: &str) -> Result<(), BuildError> {
    let (network, gateways) = (InnerNetwork::new(topology), gateways(topology));
    for (end, destination) in &gateways {
        let ways = network.towards(*end);
        let counts = ways.paths();
        for (begin, source) in &gateways {
            let name = |host: &NodeId| &topology.node(*host).name;
            let between = || format!("between `{}` and `{}`", name(source), name(destination));
            check(policy, counts[ways.place(*begin)], between)?;
        }
    }
    Ok(())
}

/// Refuses this `policy` if there are too many paths that lead up to one of the cores, and down from it again.
pub(super) fn check_through(
    topology: &Topology,
    cores: &[NodeId],
    policy: &str,
) -> Result<(), BuildError> {
    let (network, gateways) = (InnerNetwork::new(topology), gateways(topology));
    let through = |core: &NodeId| {
        let ways = network.towards(*core);
        let counts = ways.paths();
        let ups = gateways.keys().map(|begin| counts[ways.place(*begin)]);
        ups.fold(0.0, f64::max).powi(2)
    };
    let paths = cores.iter().map(through).sum();
    check(policy, paths, || "through the cores".to_owned())
}

fn check(policy: &str, paths: f64, which: impl FnOnce() -> String) -> Result<(), BuildError> {
    if paths <= MOST_PATHS {
        return Ok(());
    }
    let paths = paths as u64; // the greatest number if there are more
    let at_least = if paths == u64::MAX { "at least " } else { "" };
    let problem = format!(
        "lets each packet draw one of a list of paths, and there are {at_least}{paths} paths {}, more than the limit of \
         {MOST_PATHS}",
        which()
    );
    let remedy = "use routing = \"ecmp\", which chooses at each switch";
    Err(BuildError::new("routing", policy, problem, remedy))
}

//! A three-tier tree: one core switch, aggregation switches under it, and edge switches under these.
//!
//! ```text
//!             core0
//!           /       \
//!        agg0        agg1
//!        /  \        /  \
//!  edge0.0 edge0.1  edge1.0 edge1.1
//!    / \    / \      / \     / \
//!   h0 h1  h2 h3    h4 h5   h6 h7
//! ```
//!
//! A aggregation switches, E edge switches under each, H hosts per edge switch: A E H hosts, 1 + A + A E switches, A +
//! A E + A E H links. There is one path between any two hosts.

use super::{LinkOptions, Topology, size};
use crate::error::BuildError;

/// Hosts are ordered by aggregation switch, edge switch and host. Edge ports 0..H lead to hosts and port H up;
/// aggregation ports 0..E lead to edge switches and port E up; port a of `core0` leads to `agg`a.
///
/// # Errors
/// If a number is 0 or above 1024, or there are too many hosts in all.
pub fn three_tier(aggs: u32, edges: u32, hosts: u32) -> Result<Topology, BuildError> {
    size::check("topology.aggs", aggs, 1, 1024, 2)?;
    size::check("topology.edges_per_agg", edges, 1, 1024, 2)?;
    size::check("topology.hosts_per_edge", hosts, 1, 1024, 4)?;
    size::check_hosts(u64::from(aggs) * u64::from(edges) * u64::from(hosts))?;
    let mut tree = Topology::default();
    let link = LinkOptions::default();
    let core = tree.add_switch("core0");
    for a in 0..aggs {
        let agg = tree.add_switch(format!("agg{a}"));
        for e in 0..edges {
            let edge = tree.add_switch(format!("edge{a}.{e}"));
            tree.add_hosts(hosts, edge);
            tree.connect(edge, agg, link);
        }
        tree.connect(agg, core, link);
    }
    Ok(tree)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_two_four_and_six_links_apart() {
        let tree = three_tier(2, 2, 2).unwrap();
        let counts = (tree.hosts().len(), tree.switches(), tree.links());
        assert_eq!(counts, (8, 1 + 2 + 4, 2 + 4 + 8));
        let distance = tree.distances(&tree.hosts()[..1]);
        let hosts = tree.hosts().iter();
        let distances: Vec<_> = hosts.map(|host| distance[host.0 as usize]).collect();
        assert_eq!(distances, [0, 2, 4, 4, 6, 6, 6, 6]);
    }

    #[test]
    fn as_many_hosts_are_built_as_in_the_largest_fat_tree() {
        let hosts = |at_edge| three_tier(64, 32, at_edge).map(|tree| tree.hosts().len());
        assert_eq!(hosts(32).ok(), Some(65_536));
        assert_eq!(hosts(33).unwrap_err().field, "topology");
    }
}

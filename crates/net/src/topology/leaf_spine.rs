//! A leaf-spine network: every leaf switch has a link to every spine switch.
//!
//! ```text
//!     spine0   spine1        each spine has a link to each leaf
//!      / |  \ /  |  \
//!  leaf0   leaf1   leaf2
//!   / \     / \     / \
//!  h0 h1   h2 h3   h4 h5
//! ```
//!
//! L leaves, S spines, H hosts per leaf: L H hosts, L + S switches, L H + L S links.

use super::{LinkOptions, Topology, size};
use crate::error::BuildError;

/// Hosts `h0`.. are ordered by leaf and host. Leaf ports 0..H lead to hosts, H..H+S to spines; spine port l leads to
/// leaf l. If all links have the same rate, the network is oversubscribed by H / S.
///
/// # Errors
/// If there is no leaf, spine or host, more than 1024 of one kind, or too many hosts in all.
pub fn leaf_spine(leaves: u32, spines: u32, hosts: u32) -> Result<Topology, BuildError> {
    size::check("topology.leaves", leaves, 1, 1024, 4)?;
    size::check("topology.spines", spines, 1, 1024, 2)?;
    size::check("topology.hosts_per_leaf", hosts, 1, 1024, 4)?;
    size::check_hosts(u64::from(leaves) * u64::from(hosts))?;
    let mut network = Topology::default();
    let spines = network.add_layer("spine", spines);
    for leaf in network.add_layer("leaf", leaves) {
        network.add_hosts(hosts, leaf);
        for spine in &spines {
            network.connect(leaf, *spine, LinkOptions::default());
        }
    }
    Ok(network)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_two_links_apart_in_a_leaf_and_four_across() {
        let network = leaf_spine(3, 2, 4).unwrap();
        let counts = (network.hosts().len(), network.switches(), network.links());
        assert_eq!(counts, (3 * 4, 3 + 2, 3 * 4 + 3 * 2));
        let distance = network.distances(&network.hosts()[..1]);
        let hosts = network.hosts().iter();
        let distances: Vec<_> = hosts.map(|host| distance[host.0 as usize]).collect();
        assert_eq!(distances, [0, 2, 2, 2, 4, 4, 4, 4, 4, 4, 4, 4]);
    }

    #[test]
    fn each_count_is_checked_under_its_own_name() {
        let field = |result: Result<Topology, BuildError>| result.unwrap_err().field;
        assert_eq!(field(leaf_spine(0, 2, 4)), "topology.leaves");
        assert_eq!(field(leaf_spine(2, 0, 4)), "topology.spines");
        assert_eq!(field(leaf_spine(2, 2, 0)), "topology.hosts_per_leaf");
        assert_eq!(field(leaf_spine(1024, 2, 1024)), "topology");
    }
}

//! The k-ary fat-tree (Al-Fares, SIGCOMM 2008): k pods of k/2 edge and k/2 aggregation switches
//! under (k/2)^2 core switches.
//!
//! ```text
//!        core0   core1   core2   core3          k = 4; of the four pods the first:
//!           \     /         \     /             each core has a link to every pod
//!            agg0.0         agg0.1
//!              |   \       /   |               each edge switch has a link to
//!              |      \ /      |               each aggregation switch of its pod
//!              |     /   \     |
//!            edge0.0        edge0.1
//!             /  \          /  \
//!            h0  h1        h2  h3
//! ```
//!
//! Hosts k^3/4, switches 5k^2/4, links 3k^3/4.

use super::{LinkOptions, Topology};
use crate::error::BuildError;

/// The largest k; k = 64 gives 65 536 hosts.
const LARGEST_K: u32 = 64;

/// Builds the tree for an even `k` from 2 to 64.
///
/// Hosts `h0`.. are ordered by pod, edge switch and host. Edge ports 0..k/2 lead to hosts, k/2..k to aggregation
/// switches. Aggregation ports 0..k/2 lead to edge switches, k/2..k to cores. Core port p leads to pod p. Aggregation
/// switch a of every pod is joined to cores a*k/2 .. (a+1)*k/2.
///
/// Addresses are those of the paper (its section 3.2): pod switches 10.pod.switch.1, edge switches first; cores
/// 10.k.j.i with i and j from 1; hosts 10.pod.edge.i with i from 2.
///
/// # Errors
/// If `k` is odd, zero, or greater than 64.
pub fn fat_tree(k: u32) -> Result<Topology, BuildError> {
    if k == 0 || !k.is_multiple_of(2) || k > LARGEST_K {
        let problem = format!("is not an even number from 2 to {LARGEST_K}");
        return Err(BuildError::new(
            "topology.k",
            k,
            problem,
            "use k = 4, as in the papers",
        ));
    }
    let half = k / 2;
    let mut tree = Topology::default();
    let link = LinkOptions::default();
    let add = |tree: &mut Topology, name: String, address| {
        let switch = tree.add_switch(name);
        tree.set_address(switch, address);
        switch
    };
    let cores: Vec<_> = (0..half * half)
        .map(|c| {
            let address = [10, k, c / half + 1, c % half + 1];
            add(&mut tree, format!("core{c}"), address)
        })
        .collect();
    for pod in 0..k {
        let edges: Vec<_> = (0..half)
            .map(|e| add(&mut tree, format!("edge{pod}.{e}"), [10, pod, e, 1]))
            .collect();
        let aggs: Vec<_> = (0..half)
            .map(|a| add(&mut tree, format!("agg{pod}.{a}"), [10, pod, half + a, 1]))
            .collect();
        for (e, edge) in edges.iter().enumerate() {
            for h in 0..half {
                let host = tree.add_host_at(*edge, link);
                tree.set_address(host, [10, pod, e as u32, h + 2]);
            }
        }
        for edge in &edges {
            for agg in &aggs {
                tree.connect(*edge, *agg, link);
            }
        }
        for (a, agg) in aggs.iter().enumerate() {
            for c in 0..half as usize {
                tree.connect(*agg, cores[a * half as usize + c], link);
            }
        }
    }
    Ok(tree)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_are_those_of_the_formulas() {
        for k in [2, 4, 6, 8, 16] {
            let tree = fat_tree(k as u32).unwrap();
            assert_eq!(tree.hosts().len(), k * k * k / 4);
            assert_eq!(tree.switches(), 5 * k * k / 4);
            assert_eq!(tree.links(), 3 * k * k * k / 4);
            let switches = tree.nodes().iter().filter(|node| !node.is_host);
            assert!(switches.into_iter().all(|switch| switch.ports.len() == k));
        }
    }

    #[test]
    fn addresses_are_those_of_the_paper() {
        let tree = fat_tree(4).unwrap();
        let address = |name: &str| {
            let node = tree.nodes().iter().find(|node| node.name == name).unwrap();
            node.address.to_string()
        };
        // Al-Fares 2008, figure 3: the switches of pod 0, its first host, a core
        assert_eq!(address("edge0.0"), "10.0.0.1");
        assert_eq!(address("agg0.1"), "10.0.3.1");
        assert_eq!(address("h0"), "10.0.0.2");
        assert_eq!(address("h15"), "10.3.1.3");
        assert_eq!(address("core3"), "10.4.2.2");
    }

    #[test]
    fn ports_are_numbered_downwards_first() {
        let tree = fat_tree(4).unwrap();
        let far = |name: &str| {
            let port = tree
                .port_ids()
                .find(|port| tree.port_name(*port) == name)
                .unwrap();
            tree.node(tree.far_node(port)).name.clone()
        };
        assert_eq!(far("edge0.0:0"), "h0");
        assert_eq!(far("edge0.0:2"), "agg0.0");
        assert_eq!(far("agg3.1:0"), "edge3.0");
        assert_eq!(far("agg3.1:2"), "core2");
        assert_eq!(far("core2:3"), "agg3.1");
    }

    #[test]
    fn an_odd_k_is_refused_with_a_remedy() {
        let error = fat_tree(5).unwrap_err();
        assert_eq!(
            (error.field.as_str(), error.value.as_str()),
            ("topology.k", "5")
        );
        assert!(fat_tree(0).is_err() && fat_tree(66).is_err());
        assert_eq!(
            fat_tree(64).map(|tree| tree.hosts().len()).ok(),
            Some(65_536)
        );
    }
}

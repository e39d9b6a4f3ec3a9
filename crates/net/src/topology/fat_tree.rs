//! The k-ary fat-tree (Al-Fares, SIGCOMM 2008): k pods of k/2 edge and k/2 aggregation switches,
//! (k/2)^2 core switches, k^3/4 hosts.

use super::{LinkOptions, Topology};
use crate::error::BuildError;

/// The largest tree that is built: 65 536 hosts would be k = 64.
const LARGEST_K: u32 = 64;

/// Builds the tree for an even `k` from 2 to 64.
///
/// Hosts `h0`.. in order of pod, edge switch, host. Edge ports 0..k/2 lead to hosts, k/2..k to
/// aggregation; aggregation ports 0..k/2 lead to edges, k/2..k to cores; core port p leads to pod
/// p. Aggregation switch a of every pod is joined to cores a*k/2 .. (a+1)*k/2.
///
/// # Errors
/// If `k` is odd, zero, or larger than 64.
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
    let cores: Vec<_> = (0..half * half).map(|c| format!("core{c}")).collect();
    let cores: Vec<_> = cores
        .into_iter()
        .map(|name| tree.add_switch(name))
        .collect();
    for pod in 0..k {
        let edges: Vec<_> = (0..half)
            .map(|e| tree.add_switch(format!("edge{pod}.{e}")))
            .collect();
        let aggs: Vec<_> = (0..half)
            .map(|a| tree.add_switch(format!("agg{pod}.{a}")))
            .collect();
        for edge in &edges {
            for _ in 0..half {
                let host = tree.add_host(format!("h{}", tree.hosts().len()));
                tree.connect(host, *edge, link);
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
    fn k_4_has_16_hosts_20_switches_and_48_links() {
        let tree = fat_tree(4).unwrap();
        assert_eq!(tree.hosts().len(), 16);
        assert_eq!(tree.nodes().len(), 36);
        assert_eq!(tree.ports().len(), 2 * 48);
    }

    #[test]
    fn ports_are_numbered_downwards_first() {
        let tree = fat_tree(4).unwrap();
        let far = |name: &str| {
            let port = (0..tree.ports().len() as u32)
                .map(crate::PortId)
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
    }
}

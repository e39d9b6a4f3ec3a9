//! A VL2-like Clos network (Greenberg, SIGCOMM 2009, its figure 5): servers are at top-of-rack switches, two
//! aggregation switches are above each rack, and intermediate switches join all aggregation switches.
//!
//! ```text
//!     int0     int1                 D_A/2 intermediates, each with a link to every aggregation switch
//!      | \ ... / |
//!    agg0 agg1 agg2 agg3            D_I aggregation switches
//!      \   /    \   /
//!      tor0      tor1  ..           D_A D_I / 4 racks, each under two of them
//!     / | \     / | \
//! ```
//!
//! H hosts per rack: H `D_A` `D_I` / 4 hosts, `D_A/2` + `D_I` + `D_A` `D_I` / 4 switches, H `D_A` `D_I` / 4 + `D_A`
//! `D_I` / 2 + `D_A` `D_I` / 2 links. It is only like VL2: the scenario sets the rate of links between switches (in the
//! paper, ten times the servers' rate) and the routing (in the paper, addresses are looked up in a directory).

use super::{LinkOptions, Topology, size};
use crate::error::BuildError;

/// Built from aggregation switches with `d_a` ports, half of them up, and intermediate switches with `d_i` ports. Rack
/// t is under `agg` 2p and 2p + 1 with p = t mod (`d_i` / 2). Rack ports 0..H lead to hosts, H and H + 1 up;
/// aggregation ports 0..`d_a`/2 lead to racks, the others up; intermediate port i leads to `agg`i.
///
/// # Errors
/// If `d_a` or `d_i` is odd, 0 or above 128, a rack has no host, or there are too many hosts in all.
pub fn vl2(d_a: u32, d_i: u32, hosts: u32) -> Result<Topology, BuildError> {
    for (field, ports) in [("topology.d_a", d_a), ("topology.d_i", d_i)] {
        size::check(field, ports, 2, 128, 4)?;
        if !ports.is_multiple_of(2) {
            let remedy = "half of a switch's ports lead up: use 4";
            return Err(BuildError::new(field, ports, "is odd", remedy));
        }
    }
    size::check("topology.hosts_per_rack", hosts, 1, 1024, 20)?;
    let (racks, pairs) = (d_a * d_i / 4, d_i / 2);
    size::check_hosts(u64::from(racks) * u64::from(hosts))?;
    let mut network = Topology::default();
    let link = LinkOptions::default();
    let intermediates = network.add_layer("int", d_a / 2);
    let aggs = network.add_layer("agg", d_i);
    let tors = network.add_layer("tor", racks);
    for (t, tor) in tors.into_iter().enumerate() {
        network.add_hosts(hosts, tor);
        let pair = 2 * (t % pairs as usize);
        for agg in &aggs[pair..pair + 2] {
            network.connect(tor, *agg, link);
        }
    }
    for agg in aggs {
        for intermediate in &intermediates {
            network.connect(agg, *intermediate, link);
        }
    }
    Ok(network)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_are_those_of_the_formulas() {
        for (d_a, d_i, h) in [(2, 2, 1), (4, 4, 20), (6, 4, 3), (4, 8, 2)] {
            let network = vl2(d_a as u32, d_i as u32, h as u32).unwrap();
            let racks = d_a * d_i / 4;
            assert_eq!(network.hosts().len(), h * racks);
            assert_eq!(network.switches(), d_a / 2 + d_i + racks);
            assert_eq!(network.links(), h * racks + d_a * d_i);
            for node in network.nodes() {
                let ports = match node.name.trim_end_matches(char::is_numeric) {
                    "int" => d_i,
                    "agg" => d_a,
                    "tor" => h + 2,
                    _ => 1,
                };
                assert_eq!(node.ports.len(), ports, "{}", node.name);
            }
        }
    }

    #[test]
    fn odd_ports_are_refused() {
        assert_eq!(vl2(3, 4, 1).unwrap_err().field, "topology.d_a");
        assert_eq!(vl2(4, 5, 1).unwrap_err().field, "topology.d_i");
    }

    #[test]
    fn as_many_hosts_are_built_as_in_the_largest_fat_tree() {
        // 4096 racks
        let hosts = |in_rack| vl2(128, 128, in_rack).map(|network| network.hosts().len());
        assert_eq!(hosts(16).ok(), Some(65_536));
        assert_eq!(hosts(17).unwrap_err().field, "topology");
    }
}

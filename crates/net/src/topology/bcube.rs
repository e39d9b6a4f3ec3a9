//! `BCube` (Guo, SIGCOMM 2009): hosts with several ports forward packets between simple switches.
//!
//! ```text
//!   sw1.0    sw1.1                n = 2 ports a switch, levels 0 and 1 (k = 1)
//!    | \     /  |                 sw<level>.<digits>
//!    |  \___/_  |  ..             host number: digits a_k..a_0 to the base n
//!   h0   h1  h2  h3
//!    \___/    \___/
//!    sw0.0    sw0.1
//! ```
//!
//! Levels 0..k: n^(k+1) hosts with k + 1 ports each; (k+1) n^k switches; (k+1) n^(k+1) links. Two hosts whose numbers
//! differ in d digits are 2 d links apart.

use super::{LinkOptions, NodeId, Topology, size};
use crate::error::BuildError;

/// A cube of `n`-port switches with levels 0..=`k`. Host h has the paper's address: the digits of its number to the
/// base n. Switch `sw<l>.<i>` joins the n hosts that differ only in digit l; i is their number without that digit.
/// Switch port p leads to the host whose digit l is p. Host port l leads to level l; the ports above lead to the host
/// itself ([`Topology::own_port`]).
///
/// # Errors
/// If `n` is not within 2..=64, `k` is not within 0..=8, or there are too many hosts.
pub fn bcube(n: u32, k: u32) -> Result<Topology, BuildError> {
    size::check("topology.n", n, 2, 64, 4)?;
    size::check("topology.k", k, 0, 8, 1)?;
    size::check_hosts(u64::from(n).pow(k + 1))?;
    let mut cube = Topology::default();
    let hosts: Vec<NodeId> = (0..n.pow(k + 1))
        .map(|h| cube.add_forwarding_host(format!("h{h}")))
        .collect();
    for level in 0..=k {
        let step = n.pow(level);
        for i in 0..n.pow(k) {
            let switch = cube.add_switch(format!("sw{level}.{i}"));
            // the digits above the level, a place for the level's own digit, and the digits below
            let first = i / step * step * n + i % step;
            for digit in 0..n {
                let host = hosts[(first + digit * step) as usize];
                cube.connect(host, switch, LinkOptions::default());
            }
        }
    }
    cube.add_own_ports();
    Ok(cube)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_are_those_of_the_formulas() {
        for (n, k) in [(2_usize, 0_u32), (2, 1), (4, 1), (8, 1), (4, 2), (3, 3)] {
            let cube = bcube(n as u32, k).unwrap();
            let levels = k as usize + 1;
            assert_eq!(cube.hosts().len(), n.pow(k + 1));
            assert_eq!(cube.switches(), levels * n.pow(k));
            assert_eq!(cube.links(), levels * n.pow(k + 1));
            for node in cube.nodes() {
                // the last two ports are the ends of the host's link to itself
                let ports = if node.is_host { levels + 2 } else { n };
                assert_eq!(node.ports.len(), ports, "{}", node.name);
            }
        }
    }

    #[test]
    fn hosts_are_two_links_apart_for_each_digit_in_which_they_differ() {
        let cube = bcube(3, 2).unwrap();
        let digits = |h: usize| [h % 3, h / 3 % 3, h / 9];
        for (a, from) in cube.hosts().iter().enumerate() {
            let distance = cube.distances(&[*from]);
            for (b, to) in cube.hosts().iter().enumerate() {
                let (one, other) = (digits(a), digits(b));
                let differ = one.iter().zip(other).filter(|(x, y)| **x != *y).count();
                assert_eq!(distance[to.0 as usize] as usize, 2 * differ);
            }
        }
    }

    #[test]
    fn a_cube_of_too_many_hosts_is_refused() {
        assert_eq!(bcube(64, 8).unwrap_err().field, "topology");
        // 262,144 hosts
        assert_eq!(bcube(64, 2).unwrap_err().field, "topology");
    }
}

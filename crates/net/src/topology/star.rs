//! A star: all hosts are connected to one switch. Many senders cause incast at one receiver (Lee 2017, 4.4).
//!
//! ```text
//!   h1  h2 .. h(n-1)
//!     \  |  /
//!       s0
//!       |
//!       h0   the receiver
//! ```
//!
//! n hosts, 1 switch, n links.

use super::{Topology, size};
use crate::error::BuildError;

/// `hosts` hosts at switch `s0`, whose port i leads to `h`i.
///
/// # Errors
/// If there are fewer than 2 hosts, or more than 65 535.
pub fn star(hosts: u32) -> Result<Topology, BuildError> {
    size::check("topology.hosts", hosts, 2, u32::from(u16::MAX), 41)?;
    let mut star = Topology::default();
    let switch = star.add_switch("s0");
    star.add_hosts(hosts, switch);
    Ok(star)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_hosts_are_two_links_apart() {
        let star = star(41).unwrap();
        assert_eq!(
            (star.hosts().len(), star.switches(), star.links()),
            (41, 1, 41)
        );
        let distance = star.distances(&star.hosts()[..1]);
        assert!(
            star.hosts()[1..]
                .iter()
                .all(|host| distance[host.0 as usize] == 2)
        );
    }

    #[test]
    fn one_host_is_no_network() {
        assert_eq!(star(1).unwrap_err().field, "topology.hosts");
    }
}

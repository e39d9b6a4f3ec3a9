//! A dumbbell: hosts on the left, hosts on the right, one link between their switches.
//!
//! ```text
//!   h0 \                / hL
//!   h1 - left ------ right - hL+1
//!   .. /                \ ..
//! ```
//!
//! L hosts on the left and R on the right: L + R hosts, 2 switches, L + R + 1 links.

use super::{LinkOptions, Topology, size};
use crate::error::BuildError;

/// The hosts `h0`.. are at switch `left`, `left` of them; the next `right` hosts are at switch `right`. Port 0 of each
/// switch leads to the other one.
///
/// # Errors
/// If a side has no host, or more than 4096 hosts.
pub fn dumbbell(left: u32, right: u32) -> Result<Topology, BuildError> {
    size::check("topology.left", left, 1, 4096, 10)?;
    size::check("topology.right", right, 1, 4096, 10)?;
    let mut dumbbell = Topology::default();
    let switches = ["left", "right"].map(|name| dumbbell.add_switch(name));
    dumbbell.connect(switches[0], switches[1], LinkOptions::default());
    dumbbell.add_hosts(left, switches[0]);
    dumbbell.add_hosts(right, switches[1]);
    Ok(dumbbell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_three_links_apart() {
        let dumbbell = dumbbell(3, 5).unwrap();
        assert_eq!(
            (
                dumbbell.hosts().len(),
                dumbbell.switches(),
                dumbbell.links()
            ),
            (8, 2, 9)
        );
        let distance = dumbbell.distances(&dumbbell.hosts()[..1]);
        let hosts = dumbbell.hosts().iter();
        let distances: Vec<_> = hosts.map(|host| distance[host.0 as usize]).collect();
        assert_eq!(distances, [0, 2, 2, 3, 3, 3, 3, 3]);
    }
}

//! Three senders and a receiver on a line of three switches: the testbed of `TCPRand` (Lee 2017,
//! its figure 7).
//!
//! ```text
//!   h3 (S4)    h2 (S2)    h1 (S1)
//!      |          |          |
//!      s2 ------- s1 ------- s0 --- h0 (the receiver)
//! ```
//!
//! 4 hosts, 3 switches, 6 links. This project has the paper's text without the figure. The experiments require that S1
//! has a port of its own at the receiver's switch and that S2 and S4 share another; that the switches form a line is
//! assumed.

use super::{LinkOptions, Topology};

/// Port 0 of `s0` leads to the receiver `h0`, 1 to `h1`, 2 to `s1`. Port 0 of `s1` leads to `s0`, 1 to `h2`, 2 to `s2`.
/// Port 0 of `s2` leads to `s1`, 1 to `h3`.
pub fn testbed() -> Topology {
    let mut testbed = Topology::default();
    let mut towards_receiver = testbed.add_switch("s0");
    testbed.add_hosts(2, towards_receiver);
    for name in ["s1", "s2"] {
        let switch = testbed.add_switch(name);
        testbed.connect(towards_receiver, switch, LinkOptions::default());
        testbed.add_hosts(1, switch);
        towards_receiver = switch;
    }
    testbed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_senders_are_two_three_and_four_links_away() {
        let testbed = testbed();
        let counts = (testbed.hosts().len(), testbed.switches(), testbed.links());
        assert_eq!(counts, (4, 3, 6));
        let distance = testbed.distances(&testbed.hosts()[..1]);
        let hosts = testbed.hosts().iter();
        let distances: Vec<_> = hosts.map(|host| distance[host.0 as usize]).collect();
        assert_eq!(distances, [0, 2, 3, 4]);
    }
}

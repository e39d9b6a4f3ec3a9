//! Two switches: the receiver and a lone sender at one, the other senders at the other (Chopra & Helsley 2012; Walsh &
//! Topalovic 2012).

use super::{LinkOptions, Topology, size};
use crate::error::BuildError;

/// Receiver `h0` and lone sender `h1` are at switch `s0`; `peers` hosts `h2`.. are at `s1`; one link joins the
/// switches. Port 0 of `s0` leads to the receiver, 1 to the lone sender, 2 to `s1`.
///
/// # Errors
/// If there is no peer, or more than 4096 peers.
pub fn two_switch(peers: u32) -> Result<Topology, BuildError> {
    size::check("topology.peers", peers, 1, 4096, 12)?;
    let mut topology = Topology::default();
    let [s0, s1] = ["s0", "s1"].map(|name| topology.add_switch(name));
    topology.add_hosts(2, s0);
    topology.connect(s0, s1, LinkOptions::default());
    topology.add_hosts(peers, s1);
    Ok(topology)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lone_sender_and_its_peers_enter_the_first_switch_by_different_ports() {
        let topology = two_switch(6).unwrap();
        assert_eq!(topology.hosts().len(), 8);
        let s0 = &topology.nodes()[0];
        let far: Vec<_> = s0
            .ports
            .iter()
            .map(|port| &topology.node(topology.far_node(*port)).name)
            .collect();
        assert_eq!(far, ["h0", "h1", "s1"]);
    }
}

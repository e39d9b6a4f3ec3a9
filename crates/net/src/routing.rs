//! Routing: which ports a flow's packets pass through. One file per policy.
//!
//! A policy is asked once per direction when a flow starts, and never on the hot path. Its answer goes into the table
//! of [`Routes`], and packets carry the index of their next hop.

mod config;
mod destination_suffix;
mod ecmp;
mod equal_length;
mod expected_load;
mod five_tuple;
mod inner_network;
mod path_counts;
mod ripl_hash;
mod routes;
mod shortest;
mod spanning_tree;
mod spray;
mod two_level;

pub use config::{Config, Per};
pub use destination_suffix::DestinationSuffix;
pub use ecmp::Ecmp;
pub use equal_length::EqualLength;
pub use expected_load::Demand;
pub use five_tuple::{FiveTuple, Protocol};
pub use ripl_hash::RiplHash;
pub use routes::Routes;
pub use shortest::ShortestPaths;
pub use spanning_tree::SpanningTree;
pub use spray::Spray;
pub use two_level::TwoLevel;

use crate::topology::{PortId, Topology};

/// A path through the network: its output ports in order, beginning with the sending host's.
pub type Path = Vec<PortId>;

/// The path up to a node by the ports `up`, and down from it. `down` are the ports of the receiver's path up to it.
fn up_and_down(topology: &Topology, up: &[PortId], down: &[PortId]) -> Path {
    let turned = down.iter().rev().map(|port| topology.port(*port).peer);
    up.iter().copied().chain(turned).collect()
}

/// A routing policy.
pub trait Routing: Send + Sync {
    /// The paths from the host `source` to the host `destination`, which are numbers of hosts in the policy's topology.
    /// If there are several, all have the same length, and each packet of the flow takes one. Empty if there is no
    /// path.
    fn paths(
        &mut self,
        topology: &Topology,
        source: usize,
        destination: usize,
        flow: &FiveTuple,
    ) -> Vec<Path>;

    /// Adds what flows of this demand are expected to load on every port to `load`, by port in bit/s. The expectation
    /// is over the flows' hashes, so each flow is small against the whole.
    fn add_expected_load(&mut self, topology: &Topology, demand: &Demand, load: &mut [f64]);
}

//! Routing: which ports a flow's packets go through. One file per policy.
//!
//! A policy is asked when a flow starts, once for each direction, and not on the hot path. What it
//! answers is put into the table of [`Routes`], and packets carry the index of their next hop.

mod config;
mod destination_suffix;
mod ecmp;
mod equal_length;
mod five_tuple;
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
pub use five_tuple::FiveTuple;
pub use ripl_hash::RiplHash;
pub use routes::Routes;
pub use shortest::ShortestPaths;
pub use spanning_tree::SpanningTree;
pub use spray::Spray;
pub use two_level::TwoLevel;

use crate::topology::{PortId, Topology};

/// A way through the network: the output ports in their order, the sending host's first.
pub type Path = Vec<PortId>;

/// A routing policy.
pub trait Routing: Send + Sync {
    /// The paths from the host `source` to the host `destination`, by their numbers among the hosts
    /// of the topology that the policy was made for. Of several, all of one length, each packet of
    /// the flow takes one; there is none where no path leads.
    fn paths(
        &mut self,
        topology: &Topology,
        source: usize,
        destination: usize,
        flow: &FiveTuple,
    ) -> Vec<Path>;
}

//! What a run is before any packet moves: topology, routes, stacks, flows and workloads.
//!
//! A [`Job`] is the document that the Python front lowers a scenario to. This crate turns it into
//! ports, hosts, flows with their starts, and workloads. It knows no simulator: workloads and
//! sources of datagrams take the time as an argument, and serve real hosts as well.

pub mod ends;
pub mod flow;
pub mod ideal;
pub mod job;
mod layout;
pub mod paths;
pub mod queues;
pub mod router;
mod sampling;
pub mod stacks;
mod topology;
pub mod udp;
pub mod wiring;
pub mod workload;

pub use fairport_net::BuildError;
pub use job::{Job, TopologyJob};
pub use layout::{FlowLayout, Layout, LinkLayout, NodeLayout, layout};
pub use topology::{topology, with_fabric};

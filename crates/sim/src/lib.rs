//! A run: hosts with their TCP, joined to the network, watched by probes.
//!
//! A [`Job`] (what the Python front lowers a scenario to) is built into a [`Simulation`], which is
//! advanced in slices until the job's duration has passed and then gives its [`Results`]: columns
//! of numbers, and the run's fingerprint.

mod build;
mod enqueue_probability;
mod fingerprint;
mod flow;
mod hosts;
mod ideal;
mod job;
mod layout;
mod lifecycle;
mod measurement;
mod paths;
mod probes;
mod queues;
mod results;
mod router;
mod rtt_histogram;
mod samples;
mod sampling;
mod simulation;
mod stacks;
mod tables;
mod timers;
mod topology;
mod udp;
mod wiring;
mod workload;

pub use enqueue_probability::{EnqueueProbability, enqueue_probability};
pub use fairport_net::BuildError;
pub use job::{Job, TopologyJob};
pub use layout::{FlowLayout, Layout, LinkLayout, NodeLayout, layout};
pub use results::{Column, Results, Table};
pub use simulation::Simulation;
pub use topology::topology;

//! A run: hosts with their TCP, joined to the network, watched by probes.
//!
//! A [`Job`] (see [`fairport_plan`]) is built into a [`Simulation`], which is
//! advanced in slices until the job's duration has passed and then gives its [`Results`]: columns
//! of numbers, and the run's fingerprint.

mod build;
mod fingerprint;
mod flow;
mod hosts;
mod lifecycle;
mod measurement;
mod probes;
mod results;
mod rtt_histogram;
mod samples;
mod simulation;
mod tables;
mod timers;
mod udp;
mod workload_tables;

pub use fairport_net::BuildError;
pub use fairport_plan::Job;
pub use results::{Column, Results, Table};
pub use simulation::Simulation;

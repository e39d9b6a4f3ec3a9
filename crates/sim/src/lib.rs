//! A run: hosts with their TCP, joined to the network, watched by probes.
//!
//! A [`Job`] (see [`fairport_plan`]) is built into a [`Simulation`], which is
//! advanced in slices until the job's duration has passed and then gives what it leaves: see
//! [`fairport_record`].

mod build;
mod flow;
mod hosts;
mod lifecycle;
mod recorded;
mod reports;
mod simulation;
mod timers;
mod udp;

pub use fairport_net::BuildError;
pub use fairport_plan::Job;
pub use fairport_record::{Column, Recorded, Table};
pub use simulation::Simulation;

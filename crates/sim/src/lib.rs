//! A run: hosts with their TCP, joined to the network, watched by probes.
//!
//! A [`Simulation`] of a [`Plan`](fairport_plan::Plan) is advanced in slices until its duration has
//! passed and then gives what it leaves: see [`fairport_record`].

mod barrier;
mod build;
mod domain;
mod flow;
mod hosts;
mod life;
mod lifecycle;
mod memory;
mod notice;
mod pace;
mod pilot;
mod recorded;
mod reports;
mod shared;
mod simulation;
mod stretches;
mod timers;
mod turns;
mod udp;

pub use fairport_record::{Column, Recorded, Table};
pub use memory::memory_bytes;
pub use pilot::Pilot;
pub use simulation::Simulation;

//! The simulation driver: hosts with their TCP on a simulated network, watched by probes.
//!
//! A [`Simulation`] runs a [`Plan`](fairport_plan::Plan). It is advanced in slices until its duration
//! has passed, and then returns its record (see [`fairport_record`]).

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

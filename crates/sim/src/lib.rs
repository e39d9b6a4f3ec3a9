//! The simulation driver: hosts with their TCP on a simulated network, watched by probes.
//!
//! A [`Simulation`] runs a [`Plan`](fairport_plan::Plan). It is advanced in slices until its duration
//! has passed, and then returns its record (see [`fairport_record`]).

mod barrier;
mod domain;
mod domains;
mod flows;
mod hosts;
mod live_flow;
mod measurement;
mod memory;
mod notice;
mod outputs;
mod pace;
mod pilot;
mod reports;
mod shared;
mod simulation;
mod timers;
mod udp;

pub use fairport_record::{Column, Recorded, Table};
pub use memory::memory_bytes;
pub use pilot::Pilot;
pub use simulation::Simulation;

//! The simulation driver: hosts with their TCP on a simulated network, watched by probes.
//!
//! A [`Simulation`] runs a [`Plan`](fairport_plan::Plan). It is advanced in slices until its duration
//! has passed, and then returns its record (see [`fairport_record`]).
//!
//! ```no_run
//! use fairport_plan::{Job, Plan};
//! use fairport_sim::{Column, Simulation};
//!
//! // as `fairport scenario show outcast --job` writes it
//! let job: Job = serde_json::from_str(&std::fs::read_to_string("job.json")?)?;
//! let mut simulation = Simulation::new(Plan::new(job)?);
//! while !simulation.advance(simulation.slice()) {}
//! let recorded = simulation.into_recorded();
//! let flows = recorded.table("flows").expect("every run has a table of flows");
//! if let Some(Column::F64(goodput_bps)) = flows.column("goodput_bps") {
//!     println!("{goodput_bps:?}");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! On several cores, [`Simulation::in_regions`] cuts the network into regions that run at the same time, with the same
//! result. [`Pilot`] decides whether this pays.

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

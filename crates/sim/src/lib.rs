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
//! result. [`RegionChoice`] decides whether this pays.

mod domain;
mod domains;
mod flows;
mod hosts;
mod measurement;
mod memory;
mod region_choice;
mod simulation;
mod thread_choice;

pub use fairport_record::{Column, Recorded, Table};
pub use memory::memory_bytes;
pub use region_choice::RegionChoice;
pub use simulation::Simulation;

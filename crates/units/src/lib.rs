//! The units of time and rate: [`Time`] in integer picoseconds, [`Rate`] in bit/s. Sizes are plain
//! integers whose names end in `_bytes`.
//!
//! They are newtypes so that a rate cannot be added to a time. All arithmetic is on integers:
//! the same scenario gives the same numbers on every machine, and nothing drifts.
//! Both the network and TCP use this crate; it knows of neither.

mod rate;
mod time;

pub use rate::{Rate, Serializer};
pub use time::Time;

/// A point in time, counted from the start of the run.
pub type Instant = Time;
/// A span of time.
pub type Duration = Time;

//! The units of time and rate: [`Instant`] and [`Duration`] in integer picoseconds, [`Rate`] in
//! bit/s. Sizes are plain integers whose names end in `_bytes`.
//!
//! The units are newtypes, so a rate cannot be added to a time, nor a deadline to a deadline. All arithmetic is on
//! integers: the same scenario gives the same numbers on every machine, and rounding errors do not accumulate. Both the
//! network and TCP use this crate; it depends on neither.

mod duration;
mod instant;
mod rate;

pub use duration::Duration;
pub use instant::Instant;
pub use rate::{Rate, Serializer};

//! The units of time and rate: [`Instant`] and [`Duration`] in integer picoseconds, [`Rate`] in
//! bit/s. Sizes are plain integers whose names end in `_bytes`.
//!
//! The units are newtypes, so a rate cannot be added to a time, nor a deadline to a deadline. All arithmetic is on
//! integers: the same scenario gives the same numbers on every machine, and rounding errors do not accumulate. Both the
//! network and TCP use this crate; it depends on neither.
//!
//! ```
//! use fairport_units::{Duration, Instant, Rate};
//!
//! // a full frame with its preamble and gap, on a line of 1 Gbit/s
//! let frame = Rate::from_bps(1_000_000_000).time_of(1538);
//! assert_eq!(frame, Duration::from_ns(12_304));
//! let sent = Instant::from_us(100) + frame * 2;
//! assert_eq!(sent - Instant::from_us(100), Duration::from_ns(24_608));
//! ```

mod duration;
mod instant;
mod rate;

pub use duration::Duration;
pub use instant::Instant;
pub use rate::{Rate, Serializer};

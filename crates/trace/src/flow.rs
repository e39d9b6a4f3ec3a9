//! Flows, reconstructed from the packets at a tap: sequence numbers, retransmissions and their causes, round-trip
//! times, windows, stalls.
//!
//! A [`Tracker`] takes the packets at one place in order of time. A packet that was dropped after the tap is given with
//! that fate. At a single tap nothing is known about fates, and every packet counts as arrived: a byte counts once,
//! however often it is sent.

mod connections;
mod direction;
mod events;
mod histogram;
mod legs;
mod ranges;
mod report;
mod series;
mod tracker;

pub(crate) use connections::Connections;
pub use events::Seen;
pub(crate) use ranges::{Arrived, position};
pub use report::{Cause, Counts, Expiry, FlowTotals};
pub use tracker::Tracker;

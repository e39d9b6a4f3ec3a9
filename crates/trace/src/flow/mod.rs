//! Flows, rebuilt from what passes a tap: sequence numbers, retransmissions and why, round-trip times,
//! windows, stalls.
//!
//! A [`Tracker`] takes the packets of one place in order of time. A packet that was dropped behind the tap
//! comes with that fate; at a single tap, nothing is known of the fates, and what passes counts as
//! arrived: a byte counts once, however often it is sent.

mod connections;
mod events;
mod half;
mod histogram;
mod legs;
mod ranges;
mod report;
mod series;
mod tracker;

pub(crate) use connections::Connections;
pub(crate) use ranges::Arrived;
pub use report::{Cause, Counts, Expiry};
pub use tracker::{FlowEnd, Seen, Tracker};

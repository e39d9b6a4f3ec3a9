//! Captures in and out: what passed the ports of a switch, as files that other tools read and write.
//!
//! [`analyse`] finds out from capture files how packets moved: a [`Capture`] reads a file, [`decode`] a frame,
//! a [`flow::Tracker`] follows the flows, and the join of what came into a switch with what went out
//! decides the fate of each packet. The outcome is the tables of a run.
//!
//! # Own readers, and why
//!
//! The crate pcap-file, a second opinion in the tests, reads every stamp of pcapng as nanoseconds (2.0.0), whatever
//! the interface says; it allocates for each block; and it does not go on behind a damaged place.
//!
//! The module [`mod@write`] writes the packets of a run at chosen ports.

mod ahead;
mod analysis;
mod blocks;
mod capture;
mod classic;
mod copies;
mod damage;
mod error;
pub mod flow;
mod input;
pub mod join;
mod layout;
mod load;
mod outcome;
pub mod packet;
mod reading;
mod record;
mod sides;
mod taps;
pub mod write;

pub use analysis::{Options, Progress, analyse};
pub use capture::Capture;
pub use damage::Damage;
pub use error::Error;
pub use join::{Clock, Completeness, OutputSummary};
pub use layout::Layout;
pub use outcome::Outcome;
pub use packet::{Key, Packet, decode};
pub use reading::FileSummary;
pub use record::{Direction, Interface, Record};
pub use taps::{Role, Source, Tap};

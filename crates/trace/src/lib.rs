//! Captures that are read and written: packets at the ports of a switch, in files that other tools can use.
//!
//! [`analyse`] reconstructs from capture files how packets moved. A [`Capture`] reads a file, [`decode`] a frame, and a
//! [`flow::Tracker`] follows the flows. The join of packets that came into a switch with packets that went out decides
//! the fate of each packet. The result is the tables of a run.
//!
//! ```no_run
//! use fairport_trace::{Options, Role, Source, analyse};
//!
//! let [ingress, egress] = [("in.pcap", Role::Ingress), ("out.pcap", Role::Egress)].map(|(file, role)| Source {
//!     file: file.to_owned(),
//!     role,
//!     ..Source::default()
//! });
//! let outcome = analyse(&[ingress, egress], &Options::default(), |_| true)?;
//! for output in &outcome.outputs {
//!     println!("{}: {} packets left", output.name, output.completeness.joined);
//! }
//! # Ok::<(), fairport_trace::Error>(())
//! ```
//!
//! # Why there are own readers
//!
//! The crate pcap-file, with which the tests compare, reads every timestamp of pcapng as nanoseconds (2.0.0), whatever
//! the interface says. It allocates for each block, and it stops at a damaged place.
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
mod in_order;
mod input;
pub mod join;
mod layout;
mod load;
mod one_switch;
mod outcome;
pub mod packet;
mod passes;
mod reading;
mod record;
mod segments;
mod sides;
mod taps;
pub mod write;

pub use analysis::{Options, Progress};
pub use capture::Capture;
pub use damage::Damage;
pub use error::Error;
pub use join::{Clock, Completeness, OutputSummary};
pub use layout::Layout;
pub use outcome::Outcome;
pub use packet::{Key, Packet, Unread, UnreadCounts, decode};
pub use passes::analyse;
pub use reading::FileSummary;
pub use record::{Direction, Interface, Record};
pub use taps::{Role, Source, Tap};

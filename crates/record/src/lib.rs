//! The results of a run. Packets are moved by a simulator, or by a switch in real time, or they come from joined
//! captures.
//!
//! [`tables`] defines every table in one place. A [`Recorder`] watches the network's ports and fills the tables of
//! packets. A [`FlowLog`] records what the ends of flows report. [`Series`] and [`QueueSamples`] are sampled at
//! intervals. A [`Counter`] keeps the running counts if no forwarding core does. [`Recorded`] contains all of these,
//! and [`laws`] states what is true of every record.
//!
//! Of a packet's content, this crate knows only what the trait [`Content`] provides: a sequence number, and the part
//! that goes into the fingerprint.

pub mod cell;
pub mod column;
mod content;
mod counter;
mod fingerprint;
mod flow_log;
pub mod laws;
mod packet_log;
mod ports;
mod recorded;
mod recorder;
mod rows;
mod rtt;
mod series;
pub mod tables;
mod trace;
mod watcher;

pub use column::{Column, Table};
pub use content::{Content, Numbered, Simulated};
pub use counter::Counter;
pub use fingerprint::{Fingerprint, PortFingerprint};
pub use flow_log::{FlowLog, FlowRecord, MOST_DECISIONS};
pub use packet_log::PacketLog;
pub use ports::ports;
pub use recorded::{Recorded, names};
pub use recorder::{Losses, Recorder};
pub use rtt::{RttHistogram, RttSummary};
pub use series::{FlowSample, Progress, QueueSamples, Series};
pub use watcher::{FlowEnds, Watcher};

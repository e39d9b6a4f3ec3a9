//! What a run leaves. The packets are moved by a simulator or by a switch in real time, or they come from a join
//! of captures.
//!
//! [`tables`] defines every table in one place. A [`Recorder`] watches the network's ports and fills the
//! tables of packets; a [`FlowLog`] records what the ends of flows report; [`Series`] and
//! [`QueueSamples`] are sampled at intervals; a [`Counter`] keeps the running counts where no forwarding
//! core does. [`Recorded`] is all of it together, and [`laws`] says what is true of every record.
//!
//! Of a packet's content it knows what the trait [`Content`] says: a sequence number, and what goes
//! into the fingerprint.

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

//! Captures of a run: for each chosen output port, the packets that arrived for it and the packets that left it.
//!
//! A port has two files. The *ingress* file has one interface per port of the same node through which packets came in,
//! and the comment of a dropped packet gives the reason. The *egress* file has a single interface, the port. Each file
//! has each packet once, in order of time, like a tap on these cables. So a join can use the two files, and a tool that
//! looks for retransmissions in one file finds only those of the senders.
//!
//! A [`CapturingRecorder`] is an observer of a simulated network that writes them. [`FrameCaptures`] writes the real
//! frames of a network in real time, in a separate thread. Both store only the packets that wait in the ports, and a
//! small buffer per file, so their memory does not depend on the length of a run.
//!
//! The contents are the headers of Ethernet, IPv4 and TCP or UDP in the format of [`pcapng`]. Timestamps are in the
//! run's own time, which begins at 0.

mod addresses;
mod file;
mod frame;
pub mod pcapng;
mod port;
mod real;
mod recorder;

pub use port::PortFiles;
pub use real::{FrameCaptures, RealFrame};
pub use recorder::CapturingRecorder;

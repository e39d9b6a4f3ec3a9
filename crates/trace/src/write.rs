//! Captures of a run: for each chosen output port, what arrived for it and what left it.
//!
//! A port has two files. In the *ingress* file there is one interface for each port of the same node
//! by which packets came in for it, and a dropped packet's comment says why. The *egress* file has one
//! interface, the port. So each file shows each packet once, in order of time, as a tap on those
//! cables would: two such files are what a join needs, and a tool that looks for retransmissions in
//! one of them finds those of the senders alone.
//!
//! A [`Tap`] is the observer of a simulated network that writes them; [`FrameCaptures`] writes the true frames of a
//! network in real time, in a thread beside it. Both hold what waits in the ports,
//! and a small buffer for each file: a run of any length needs no more memory.
//!
//! The bytes are the headers of Ethernet, IPv4 and TCP or UDP in the format of
//! [`pcapng`], with stamps of the run's own time, which begins at 0.

mod addresses;
mod file;
mod frame;
pub mod pcapng;
mod port;
mod real;
mod tap;

pub use real::{FrameCaptures, RealFrame};
pub use tap::{PortFiles, Tap};

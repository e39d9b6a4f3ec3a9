//! Captures in and out: what passed the ports of a switch, as files that other tools read and write.
//!
//! [`write`] writes the packets of a run at chosen ports.

pub mod write;

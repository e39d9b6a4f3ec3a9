//! Input and output of one direction of a connection: a packet, or an ACK of the other end, and what it shows.

use super::report::Expiry;
use crate::packet::Packet;

/// A packet, with what the tracker needs to know.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// number of its direction
    pub direction: u32,
    /// the packet
    pub packet: &'a Packet,
    /// when it passed, in ns since the start of the analysis
    pub time_ns: u64,
    /// when it continued to the receiver; none if it was dropped
    pub left_ns: Option<u64>,
}

/// An ACK, as the tap saw it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack {
    pub(crate) time_ns: u64,
    pub(crate) to: u32,
    /// the window that it offers, in bytes, if its scale is known
    pub(crate) window: Option<u32>,
    pub(crate) has_data: bool,
    pub(crate) echo: Option<u32>,
    /// the first and the second SACK block, and whether others may have been cut off
    pub(crate) sacks: [Option<(u32, u32)>; 2],
    pub(crate) sacks_cut: bool,
}

/// What a segment showed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    /// bytes that reached the receiver for the first time
    pub(crate) new_bytes: u64,
    /// an expiry of the retransmission timer before it
    pub(crate) expiry: Option<Expiry>,
}

/// What an ACK showed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckOutcome {
    /// bytes that it shows to have arrived although nobody saw them
    pub(crate) unseen_bytes: u64,
    /// a sample of the time from the tap to the receiver and back
    pub(crate) rtt_ns: Option<u64>,
}

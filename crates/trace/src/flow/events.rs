//! What one direction of a connection is given, a segment or an ACK of the other end, and what it makes of it.

use super::report::Expiry;

/// A segment as the tap saw it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) time_ns: u64,
    pub(crate) seq: u32,
    /// sequence numbers that it takes
    pub(crate) length: u32,
    /// bytes of data in it
    pub(crate) payload: u32,
    pub(crate) is_syn: bool,
    pub(crate) is_fin: bool,
    pub(crate) stamp: Option<u32>,
    /// when it went on to the receiver; none: it was dropped
    pub(crate) left_ns: Option<u64>,
}

/// An ACK as the tap saw it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack {
    pub(crate) time_ns: u64,
    pub(crate) to: u32,
    /// the window that it offers, bytes
    pub(crate) window: u32,
    pub(crate) has_data: bool,
    pub(crate) echo: Option<u32>,
    /// the first SACK block, and the second
    pub(crate) sacks: [Option<(u32, u32)>; 2],
}

/// What a segment meant.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    /// bytes that reached the receiver for the first time
    pub(crate) new_bytes: u64,
    /// the retransmission timer had expired
    pub(crate) expiry: Option<Expiry>,
}

/// What an ACK meant.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckOutcome {
    /// bytes that it shows to have arrived and nobody saw
    pub(crate) unseen_bytes: u64,
    /// a sample of the way to the receiver and back
    pub(crate) rtt_ns: Option<u64>,
}

//! What is counted of one direction of a connection.

/// Why a sender stood still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// its retransmission timer had to expire
    Timeout = 0,
    /// the receiver's window was closed or full
    Window = 1,
    /// everything that passed was acknowledged: there was nothing to send, or it was lost before the tap
    Idle = 2,
    /// data was outstanding, and its ACKs came late
    Network = 3,
}

impl Cause {
    /// The names of the causes, in the order of their numbers.
    pub const NAMES: [&'static str; 4] = ["timeout", "window", "idle", "network"];
}

/// An expiry of the retransmission timer, as it was inferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// the last that passed of the connection before
    pub since_ns: u64,
    /// when the retransmission passed
    pub at_ns: u64,
    /// expiries before it without progress
    pub backoff: u32,
    /// the first byte that was sent again
    pub seq: u32,
}

/// Sums over one direction of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// packets, those without data too
    pub packets: u64,
    /// segments with data, retransmissions included
    pub segments: u64,
    /// bytes of data that reached the receiver, each counted once
    pub delivered_bytes: u64,
    /// segments sent again
    pub retransmits: u64,
    /// those of them that were needless, by DSACK or timestamps
    pub spurious: u64,
    /// segments that came out of order
    pub out_of_order: u64,
    /// entries into fast recovery
    pub fast_recoveries: u64,
    /// expiries of the retransmission timer
    pub timeouts: u64,
    /// silence before them
    pub timeout_ns: u64,
    /// ACKs that acknowledged nothing new while data was outstanding
    pub duplicate_acks: u64,
    /// ACKs with a duplicate SACK block
    pub duplicate_sacks: u64,
    /// bytes that were skipped when they were first due: lost before the tap, or by the capture
    pub gap_bytes: u64,
    /// bytes acknowledged that nobody saw passing: the capture lost them
    pub unseen_bytes: u64,
    /// times at which the receiver closed its window
    pub zero_windows: u64,
    /// how long it was closed
    pub zero_window_ns: u64,
    /// the largest window that the receiver offered
    pub window_max_bytes: u32,
    /// the most that was sent and not acknowledged
    pub in_flight_max_bytes: u64,
    /// stalls, by cause
    pub stalls: [u64; 4],
    /// their lengths
    pub stalled_ns: [u64; 4],
    /// the largest segment that the receiver takes; 0: not seen
    pub mss: u16,
    /// hops left in the sender's packets
    pub ttl: u8,
    /// FINs
    pub fins: u64,
}

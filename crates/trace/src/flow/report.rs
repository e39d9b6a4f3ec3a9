//! Counters of one direction of a connection.

use fairport_record::RttSummary;

/// Why a sender stood still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// it waited for its retransmission timer
    Timeout = 0,
    /// the receiver's window was closed or full
    Window = 1,
    /// everything seen was acknowledged: there was nothing to send, or it was lost before the tap
    Idle = 2,
    /// data was outstanding, and its ACKs came late
    Network = 3,
}

impl Cause {
    /// The names of the causes, in the order of their numbers.
    pub const NAMES: [&'static str; 4] = ["timeout", "window", "idle", "network"];
}

/// An inferred expiry of the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// when the timer was last started: at the last progress, or without any ACK, at the last transmission
    pub since_ns: u64,
    /// when the retransmission passed the tap
    pub at_ns: u64,
    /// number of expiries before it without progress
    pub backoff: u32,
    /// the first byte that was sent again
    pub seq: u32,
}

/// Totals of one direction of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// packets, including those without data
    pub packets: u64,
    /// segments with data, retransmissions included
    pub segments: u64,
    /// bytes of data that reached the receiver, each counted once
    pub delivered_bytes: u64,
    /// segments sent again
    pub retransmits: u64,
    /// segments among `retransmits` that were needless, according to DSACK or timestamps
    pub spurious: u64,
    /// captured packets that held several segments, merged by the host that captured them or by its adapter
    pub merged: u64,
    /// segments that were reordered
    pub out_of_order: u64,
    /// entries into fast recovery
    pub fast_recoveries: u64,
    /// expiries of the retransmission timer
    pub timeouts: u64,
    /// total silence before these expiries
    pub timeout_ns: u64,
    /// ACKs that acknowledged nothing new while data was outstanding
    pub duplicate_acks: u64,
    /// ACKs with a duplicate SACK block
    pub duplicate_sacks: u64,
    /// bytes that were missing when later ones passed: lost before the tap, or by the capture
    pub gap_bytes: u64,
    /// bytes acknowledged that nobody saw: the capture lost them
    pub unseen_bytes: u64,
    /// number of times that the receiver closed its window
    pub zero_windows: u64,
    /// total time for which it was closed
    pub zero_window_ns: u64,
    /// the largest window that the receiver offered, if the scale is known
    pub window_max_bytes: Option<u32>,
    /// the most bytes sent and not acknowledged
    pub in_flight_max_bytes: u64,
    /// number of stalls, by cause
    pub stalls: [u64; 4],
    /// total length of stalls, by cause
    pub stalled_ns: [u64; 4],
    /// the largest segment that the receiver accepts, or if that was not seen, the sender; 0 if neither was seen
    pub mss: u16,
    /// time to live (remaining hops) in the sender's packets
    pub ttl: u8,
    /// number of FINs
    pub fins: u64,
}

/// A flow at the end of the capture, which is one direction of a connection.
#[derive(Clone, Copy, Debug)]
pub struct FlowTotals {
    /// when its first packet passed
    pub first_ns: u64,
    /// when its last packet passed
    pub last_ns: u64,
    /// when its handshake was complete, or without a handshake, when its first packet passed
    pub established_ns: Option<u64>,
    /// whether its SYN was seen
    pub has_start: bool,
    /// when data last reached the receiver
    pub ended_ns: u64,
    /// new bytes during the measurement
    pub measured_bytes: u64,
    /// counters of this direction
    pub counts: Counts,
    /// counters of the other direction
    pub back: Counts,
    /// when its sender last sent something, if all of that has arrived
    pub(crate) done_ns: Option<u64>,
    /// RTT samples, of the measurement if its bounds are given
    pub rtt: RttSummary,
    /// time from the tap to the sender and back, and to the receiver and back
    pub legs_ns: [Option<u64>; 2],
}

impl FlowTotals {
    /// For how long until `end_ns` it had nothing to send. Without ACKs, every silence that did not end with a timeout
    /// counts.
    pub fn idle_ns(&self, end_ns: u64) -> u64 {
        let silent =
            [Cause::Idle, Cause::Network].map(|cause| self.counts.stalled_ns[cause as usize]);
        let has_acks = self.back.packets > 0;
        let at_last = self
            .done_ns
            .map_or(0, |done_ns| end_ns.saturating_sub(done_ns));
        silent[0] + if has_acks { 0 } else { silent[1] } + at_last
    }
}

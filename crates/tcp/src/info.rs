//! What a program may ask a socket of: the sender's state as Linux's `struct tcp_info` has it.

use fairport_units::Duration;

/// The phase of loss recovery as Linux names it (`tcp_ca_state`), with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CaState {
    /// Nothing is known to be lost.
    Open = 0,
    /// Duplicate ACKs or SACK blocks came, too few to call anything lost.
    Disorder = 1,
    /// The window is being reduced after a mark of congestion.
    Cwr = 2,
    /// Fast recovery.
    Recovery = 3,
    /// A timeout is being repaired.
    Loss = 4,
}

/// The sender's state in Linux's units: windows and counts in segments. It has a field for each of
/// `struct tcp_info` that a script may ask for.
// More than 15 fields: they are those of `struct tcp_info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Phase of loss recovery.
    pub ca_state: CaState,
    /// Congestion window in segments.
    pub snd_cwnd: u64,
    /// Slow-start threshold in segments; none before the first loss.
    pub snd_ssthresh: Option<u64>,
    /// Largest payload of a segment that is sent, in bytes.
    pub snd_mss: u16,
    /// Segments sent and not acknowledged cumulatively.
    pub unacked: u64,
    /// Of these, segments SACKed.
    pub sacked: u64,
    /// Of these, segments marked lost.
    pub lost: u64,
    /// Of these, segments sent again since they were marked lost.
    pub retrans: u64,
    /// Retransmission timeout, backed off.
    pub rto: Duration,
    /// Doublings in it.
    pub backoff: u32,
    /// Smoothed round-trip time; none before the first sample.
    pub rtt: Option<Duration>,
    /// Segments above a hole that make it lost: 3, or as many as something once came late by.
    pub reordering: u64,
    /// How often something came late, seen by SACK.
    pub reord_seen: u64,
    /// Retransmissions since the start.
    pub total_retrans: u64,
    /// Segments that are known to have arrived, the SYN and copies that duplicate SACKs reported among
    /// them.
    pub delivered: u64,
    /// Of these, segments that were acknowledged with ECE; counted where the window is reduced by PRR.
    pub delivered_ce: u64,
    /// Smallest round-trip time of the last minutes, where losses are repaired with SACK.
    pub min_rtt: Option<Duration>,
}

//! Input and output of the join: where a packet was seen, its fate, and how much the captures missed.

use fairport_net::discipline::Reason;

use crate::packet::Packet;

/// Where a packet was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// coming in, at the ingress tap with this number
    Ingress(u32),
    /// going out, at the output with this number
    Egress(u32),
    /// elsewhere, at the tap with this number
    Other(u32),
}

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// it was seen on both sides
    Forwarded {
        /// when it left
        left_ns: u64,
        /// whether its codepoint was changed to CE on the way
        is_marked: bool,
    },
    /// it was acknowledged, although nobody saw it leave
    Unseen,
    /// it never left; the reason is given if the capture has one
    Dropped(Option<Reason>),
    /// a capture ended too early, or the other one began too late: it is not counted
    Open,
}

/// How complete the captures at an output are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completeness {
    /// packets for the output that were seen coming in
    pub arrived: u64,
    /// packets that were seen on both sides
    pub joined: u64,
    /// packets seen going out but not coming in: lost by the ingress captures
    pub missed_at_ingress: u64,
    /// packets acknowledged but not seen going out: lost by the egress capture
    pub missed_at_egress: u64,
    /// packets without a decision, because the captures end too early
    pub open: u64,
    /// packets seen going out that came in by no known ingress port
    pub without_ingress: u64,
    /// the shortest delay in ns
    pub delay_min_ns: u64,
    /// the longest delay in ns
    pub delay_max_ns: u64,
    /// when the capture of the output ended, if packets for it came in for longer than the longest delay after that
    pub ended_ns: Option<u64>,
}

/// The path of a packet through the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joined {
    /// number of the ingress tap
    pub ingress: u32,
    /// number of the output
    pub egress: u32,
    /// what happened to it there
    pub fate: Fate,
}

/// A packet whose fate is decided.
#[derive(Clone, Copy, Debug)]
pub struct Emitted {
    /// the packet
    pub packet: Packet,
    /// number of its direction
    pub direction: u32,
    /// when it came in
    pub time_ns: u64,
    /// its path through the switch; none if it is for no captured output
    pub joined: Option<Joined>,
    /// for a drop: whether another packet, which the ingress capture missed, may have come in since the drop before it
    pub is_apart: bool,
}

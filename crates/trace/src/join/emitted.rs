//! What goes into the join and what comes out of it: where a packet was seen, its fate, and how much the
//! captures missed.

use super::port::Fate;
use crate::packet::Packet;

/// Where a packet was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// coming in, at the ingress tap of this number
    Ingress(u32),
    /// going out, at the output of this number
    Egress(u32),
    /// elsewhere, at the tap of this number
    Other(u32),
}

/// How much of what there was at an output the captures hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completeness {
    /// packets for the output that were seen coming in
    pub arrived: u64,
    /// seen on both sides
    pub joined: u64,
    /// seen going out and not coming in: lost by the ingress captures
    pub missed_at_ingress: u64,
    /// acknowledged, and not seen going out: lost by the egress capture
    pub missed_at_egress: u64,
    /// not decided: the captures end before
    pub open: u64,
    /// seen going out, by no known ingress
    pub without_ingress: u64,
    /// the shortest and the longest delay, ns
    pub delay_min_ns: u64,
    /// the longest
    pub delay_max_ns: u64,
}

/// The way of a packet through the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joined {
    /// number of the ingress tap
    pub ingress: u32,
    /// number of the output
    pub egress: u32,
    /// what became of it there
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
    /// what was found out of it; none: it is for no output that was captured
    pub joined: Option<Joined>,
    /// of a drop: another packet, which the ingress capture missed, may have come in since the drop before it
    pub is_apart: bool,
}

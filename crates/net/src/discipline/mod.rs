//! Queue disciplines that decide when a packet arrives, and serve first in, first out.
//!
//! Because they never change their mind, a port knows every departure at once and needs no event
//! for it (DESIGN 4.1). A discipline is one file here, one variant of [`Discipline`] and its arm in
//! [`Discipline::admit`]. A state of more than 8 bytes is boxed: drop-tail's ports are the many,
//! and their cache lines are not to grow.

mod average;
mod drop_probability;
mod drop_tail;
#[cfg(test)]
mod fixtures;
mod pie;
mod red;
mod red_linux;
mod rio;
mod step_marking;
mod weighted_tail_drop;

use fairport_units::Time;

use crate::packet::{ECN_BITS, NOT_ECT};
pub use drop_probability::{EarlyDrop, QueueUnit, Ramp, Variant};
pub use drop_tail::DropTail;
pub use pie::{Pie, PieConfig};
pub use red::Red;
pub use red_linux::{RedLinux, RedLinuxConfig};
pub use rio::Rio;
pub use step_marking::{StepMarking, Threshold};
pub use weighted_tail_drop::{WTD_CLASSES, WeightedTailDrop};

/// What waits in a port's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// bytes, headers of frames included
    pub bytes: u32,
    /// packets
    pub packets: u32,
}

/// What waits in an empty buffer.
pub(crate) const NOTHING: Backlog = Backlog {
    bytes: 0,
    packets: 0,
};

/// A port's queue as an arriving packet finds it.
#[derive(Clone, Copy, Debug)]
pub struct QueueView {
    /// the present
    pub now: Time,
    /// what waits, without the arriving packet
    pub backlog: Backlog,
    /// when the link has sent all that it holds, and is idle unless something is accepted before
    pub idle_at: Time,
}

impl QueueView {
    /// How long the link has been idle.
    #[inline]
    pub fn idle(&self) -> Time {
        self.now.saturating_sub(self.idle_at)
    }
}

/// An arriving packet, as far as a discipline may look at it.
#[derive(Clone, Copy, Debug)]
pub struct PacketView {
    /// what it takes in the buffer
    pub frame_bytes: u32,
    /// the flow it belongs to; both directions of a flow have the same number
    pub flow: u32,
    /// traffic class
    pub class: u8,
    /// ECN codepoint of its IP header
    pub ecn: u8,
}

impl PacketView {
    /// Whether it may be marked: its codepoint is ECT(0), ECT(1) or already CE (RFC 3168 5).
    #[inline]
    pub fn is_ecn_capable(&self) -> bool {
        self.ecn & ECN_BITS != NOT_ECT
    }
}

/// What becomes of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)] // a tag of its own: it is looked at several times a packet-hop
pub enum Verdict {
    /// it is queued
    Accepted,
    /// it is queued, and its ECN codepoint becomes CE
    Marked,
    /// it is dropped
    Dropped(Reason),
}

impl Verdict {
    /// Whether the packet is queued, marked or not.
    #[inline]
    pub fn is_accepted(self) -> bool {
        !matches!(self, Self::Dropped(_))
    }
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reason {
    /// the buffer had no room for it
    Full = 0,
    /// active queue management chose it before the buffer was full
    Early = 1,
    /// its flow, bucket or class had more than its share of the buffer
    Share = 2,
    /// the buffer was full, and another packet took its place
    PushedOut = 3,
    /// it was lost in front of the queue
    Loss = 4,
}

impl Reason {
    /// The names of the reasons, in the order of their numbers.
    pub const NAMES: [&'static str; 5] = ["full", "early", "share", "pushed-out", "loss"];
}

/// A port's queue discipline. An enum, not a trait object: the call is on the hot path.
#[derive(Clone, Debug)]
pub enum Discipline {
    /// accept what fits
    DropTail(DropTail),
    /// accept what fits, and mark what finds more than a threshold before it
    StepMarking(Box<StepMarking>),
    /// drop or mark early and at random, by the average queue
    Red(Box<Red>),
    /// the same with Linux' integers
    RedLinux(Box<RedLinux>),
    /// RED with a favoured class
    Rio(Box<Rio>),
    /// drop or mark early and at random, by the queueing delay
    Pie(Box<Pie>),
    /// a threshold a class
    WeightedTailDrop(Box<WeightedTailDrop>),
}

impl Discipline {
    /// The verdict on a packet that arrives now.
    #[inline]
    pub fn admit(&mut self, queue: &QueueView, packet: &PacketView) -> Verdict {
        match self {
            Self::DropTail(drop_tail) => drop_tail.admit(queue.backlog, packet.frame_bytes),
            Self::StepMarking(step) => step.admit(queue.backlog, packet),
            Self::Red(red) => red.admit(queue, packet),
            Self::RedLinux(red) => red.admit(queue, packet),
            Self::Rio(rio) => rio.admit(queue, packet),
            Self::Pie(pie) => pie.admit(queue, packet),
            Self::WeightedTailDrop(weighted) => weighted.admit(queue, packet),
        }
    }

    /// The packet accepted last leaves the buffer at `leaves`.
    #[inline]
    pub(crate) fn on_accepted(&mut self, leaves: Time) {
        if let Self::Rio(rio) = self {
            rio.on_accepted(leaves);
        }
    }
}

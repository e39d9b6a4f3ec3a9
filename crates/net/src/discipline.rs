//! Queue disciplines that decide when a packet arrives, and send first in, first out.
//!
//! They never revise a decision, so a port knows every departure in advance and needs no event for it. A discipline is
//! one file here, which implements [`QueueDiscipline`], and one line in [`queue`](crate::queue).

mod average;
mod drop_probability;
pub mod drop_tail;
#[cfg(test)]
mod fixtures;
pub mod pie;
mod ramp;
pub mod red;
pub mod red_linux;
pub mod rio;
pub mod rio_ps;
pub mod step_marking;
pub mod weighted_tail_drop;

use std::fmt;

use fairport_units::{Duration, Instant};

pub use crate::limit::Backlog;
pub(crate) use crate::limit::NOTHING;
pub use crate::packet::PacketView;
pub use drop_probability::{EarlyDrop, QueueUnit, Variant};
pub use drop_tail::DropTail;
pub use pie::Pie;
pub use ramp::Ramp;
pub use red::Red;
pub use red_linux::RedLinux;
pub use rio::Rio;
pub use step_marking::StepMarking;
pub use weighted_tail_drop::{WTD_CLASSES, WeightedTailDrop};

/// A port's queue, as an arriving packet finds it.
#[derive(Clone, Copy, Debug)]
pub struct QueueView {
    /// the present time
    pub now: Instant,
    /// the packets that wait, without the arriving one
    pub backlog: Backlog,
    /// when the link will have sent all accepted packets, and become idle unless more are accepted
    pub idle_at: Instant,
}

impl QueueView {
    /// How long the link has been idle.
    #[inline]
    pub fn idle(&self) -> Duration {
        self.now.saturating_sub(self.idle_at)
    }
}

/// What happens to an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)] // a tag of its own: it is looked at several times per packet-hop
pub enum Admission {
    /// it is queued
    Accepted,
    /// it is queued, and its ECN codepoint becomes CE
    Marked,
    /// it is dropped
    Dropped(Reason),
}

impl Admission {
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
    /// it was lost before it reached the queue
    Loss = 4,
}

impl Reason {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Self; 5] = [
        Self::Full,
        Self::Early,
        Self::Share,
        Self::PushedOut,
        Self::Loss,
    ];
    /// Their names, in the same order.
    pub const NAMES: [&'static str; Self::ALL.len()] =
        ["full", "early", "share", "pushed-out", "loss"];

    /// The reason of this name.
    pub fn named(name: &[u8]) -> Option<Self> {
        let place = Self::NAMES.iter().position(|it| it.as_bytes() == name)?;
        Some(Self::ALL[place])
    }
}

/// A discipline that decides when a packet arrives. Accepted packets are sent first in, first out.
///
/// The discipline does not hold the packets and need not count them, because each call is given the backlog.
pub trait QueueDiscipline: fmt::Debug + Send + Sync {
    /// Decides whether a packet that arrives now is admitted. Calls are in order of time.
    fn admit(&mut self, queue: &QueueView, packet: &PacketView) -> Admission;

    /// The packet that the last [`QueueDiscipline::admit`] accepted will leave the buffer at `leaves`. For disciplines
    /// with counts of their own.
    #[inline]
    fn on_accepted(&mut self, leaves: Instant) {
        let _ = leaves;
    }
}

#[cfg(test)]
mod tests {
    use super::Reason;

    #[test]
    fn every_reason_has_its_number_and_is_found_by_its_name() {
        for (number, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, number);
            assert_eq!(
                Reason::named(Reason::NAMES[number].as_bytes()),
                Some(reason)
            );
        }
        assert_eq!(Reason::named(b"fully"), None);
    }
}

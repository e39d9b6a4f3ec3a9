//! Queue disciplines: what a port does with a packet that arrives at its buffer.
//!
//! A discipline is one file here and one variant of [`Discipline`]. The ones so far decide when a
//! packet arrives and serve first in, first out, so that a port knows every departure at once and
//! needs no event for it (DESIGN 4.1).

mod drop_tail;

pub use drop_tail::DropTail;

/// What waits in a port's buffer when a packet arrives.
#[derive(Clone, Copy, Debug)]
pub struct Backlog {
    /// octets, headers of frames included
    pub bytes: u32,
    /// packets
    pub packets: u32,
}

/// What becomes of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// it joins the queue
    Accepted,
    /// it is lost
    Dropped(Reason),
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reason {
    /// the buffer had no room for it
    Full = 0,
}

impl Reason {
    /// The names of the reasons, in the order of their numbers.
    pub const NAMES: [&'static str; 1] = ["full"];
}

/// A port's queue discipline. An enum, not a trait object: the call is on the hot path.
#[derive(Clone, Debug)]
pub enum Discipline {
    /// accept what fits
    DropTail(DropTail),
}

impl Discipline {
    /// The verdict on a packet that takes `frame_bytes` in the buffer.
    #[inline]
    pub fn judge(&mut self, backlog: Backlog, frame_bytes: u32) -> Verdict {
        match self {
            Self::DropTail(drop_tail) => drop_tail.judge(backlog, frame_bytes),
        }
    }
}

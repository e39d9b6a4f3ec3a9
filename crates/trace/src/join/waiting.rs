//! A packet that waits in the join's window for its copy.

use fairport_net::discipline::Reason;

use super::emitted::{Emitted, Joined, Side};
use crate::packet::Packet;

/// Stands for no time and for no number.
pub(super) const NONE: u64 = u64::MAX;

/// A packet that was seen at a tap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) packet: Packet,
    pub(super) direction: u32,
    pub(super) side: Side,
    pub(super) time_ns: u64,
    pub(super) left_ns: u64,
    /// the output by which it left, if it has left
    pub(super) egress: u32,
    pub(super) is_marked: bool,
    pub(super) is_gone: bool,
    pub(super) reason: Option<Reason>,
    pub(super) key: u64,
    /// number of the next packet with the same key
    pub(super) next: u64,
}

impl Waiting {
    /// The packet when it leaves the window.
    pub(super) fn emitted(&self, joined: Option<Joined>) -> Emitted {
        Emitted {
            packet: self.packet,
            direction: self.direction,
            time_ns: self.time_ns,
            joined,
            is_apart: false,
        }
    }
}

//! Packets that wait in the join's window for their copies.

use fairport_net::discipline::Reason;
use fairport_tcp::Ecn;

use super::emitted::{Emitted, Fate, Joined, Side};
use crate::packet::Packet;

const CE: u8 = Ecn::Ce.bits();

/// A packet that was seen coming in, or at a tap that is on neither side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) packet: Packet,
    pub(super) direction: u32,
    pub(super) side: Side,
    pub(super) time_ns: u64,
    /// the output by which it left, and its fate there; none as long as no copy was seen
    pub(super) left: Option<(u32, Fate)>,
    pub(super) reason: Option<Reason>,
    pub(super) key: u64,
    /// number of the next packet with the same key
    pub(super) next: Option<u64>,
}

impl Waiting {
    /// Whether it came in by this tap and was seen leaving by this output.
    pub(super) fn passed(&self, tap: u32, egress: u32) -> bool {
        self.side == Side::Ingress(tap) && self.left.is_some_and(|(output, _)| output == egress)
    }

    /// Its copy was seen leaving by this output, with this codepoint. Returns when it left: not before it came in.
    pub(super) fn leaves(&mut self, egress: u32, left_ns: u64, ecn: u8) -> u64 {
        let left_ns = left_ns.max(self.time_ns);
        let is_marked = ecn == CE && self.packet.ecn != CE;
        self.left = Some((egress, Fate::Forwarded { left_ns, is_marked }));
        left_ns
    }

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

/// A packet that was only seen going out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Missed {
    pub(super) packet: Packet,
    pub(super) direction: u32,
    /// when it came in, as estimated
    pub(super) came_ns: u64,
    pub(super) left_ns: u64,
    pub(super) key: u64,
    /// it was seen at another tap after all
    pub(super) is_gone: bool,
}

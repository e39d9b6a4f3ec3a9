//! What the join knows about one direction of a connection: how it passes the switch, and which of its data has left.

use super::emitted::Side;
use crate::flow::{Arrived, position};
use crate::packet::Packet;

/// The known facts about a direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Direction {
    /// the output by which the previous decided packet left, or the first one will leave
    pub(super) output: Option<u32>,
    /// number of copies that were seen first at the ingress, and first at the egress
    pub(super) forward: u64,
    pub(super) backward: u64,
    pub(super) ingress: Option<u32>,
    pub(super) home: Option<Side>,
    /// data that passed the egress
    pub(super) passed: Option<Arrived>,
    pub(super) next: u64,
    pub(super) unseen: Vec<(u64, u64)>,
}

impl Direction {
    /// Whether its packets go from an ingress port to an output, and not the other way.
    pub(super) fn is_forward(&self) -> bool {
        self.output.is_some() && self.backward <= self.forward
    }

    /// Whether packets of it came in by an ingress port and left.
    pub(super) fn is_joined(&self) -> bool {
        self.is_forward() && self.forward > 0
    }

    /// Whether it is followed at the tap that saw this packet. Packets of it at other taps are copies.
    pub(super) fn at_home(&mut self, side: Side) -> bool {
        *self.home.get_or_insert(side) == side
    }

    /// Records that a packet leaves by the output.
    pub(super) fn pass(&mut self, packet: &Packet) {
        let length = packet.sequence_length();
        if length == 0 {
            return;
        }
        let first = 1 << 32 | u64::from(packet.seq);
        if self.passed.is_none() {
            self.next = first;
        }
        let start = position(self.next, packet.seq);
        let end = start + u64::from(length);
        self.next = self.next.max(end);
        let passed = self.passed.get_or_insert_with(|| Arrived::before(first));
        passed.add(start, end);
    }

    /// Whether part of the packet's data was acknowledged without being seen at the egress.
    pub(super) fn was_unseen(&self, packet: &Packet) -> bool {
        let length = packet.sequence_length();
        if self.unseen.is_empty() || length == 0 {
            return false;
        }
        let start = position(self.next, packet.seq);
        let end = start + u64::from(length);
        let overlaps = |range: &(u64, u64)| range.0 < end && start < range.1;
        self.unseen.iter().any(overlaps)
    }
}

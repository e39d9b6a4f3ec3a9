//! What the join learns of one direction of a connection: which way it passes the switch, and what of it left.

use super::emitted::Side;
use crate::flow::Arrived;
use crate::packet::Packet;

/// What a direction is known to do.
#[derive(Clone, Debug, Default)]
pub(super) struct Direction {
    /// the output by which the packet before the one that is decided left, or the first one will
    pub(super) output: Option<u32>,
    /// copies seen first at the ingress, and first at the egress
    pub(super) forward: u64,
    pub(super) backward: u64,
    pub(super) ingress: Option<u32>,
    pub(super) home: Option<Side>,
    /// what passed the egress
    pub(super) passed: Option<Arrived>,
    pub(super) next: u64,
    pub(super) unseen: Vec<(u64, u64)>,
}

impl Direction {
    /// Whether its packets go from an ingress to an output, not the other way.
    pub(super) fn is_forward(&self) -> bool {
        self.output.is_some() && self.backward <= self.forward
    }

    /// Whether packets of it came by an ingress and left.
    pub(super) fn is_joined(&self) -> bool {
        self.is_forward() && self.forward > 0
    }

    /// Whether it is followed where this packet was seen. Other sights of its packets are copies.
    pub(super) fn at_home(&mut self, side: Side) -> bool {
        *self.home.get_or_insert(side) == side
    }

    /// A packet of it leaves by the output.
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

    /// Whether some of its data was acknowledged without having been seen at the egress.
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

/// The position nearest to a reference that a number on the wire means.
pub(super) fn position(reference: u64, wire: u32) -> u64 {
    let distance = wire.wrapping_sub(reference as u32).cast_signed();
    reference.wrapping_add_signed(i64::from(distance))
}

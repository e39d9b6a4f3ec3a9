//! A first-in-first-out queue of packets. A scheduler may have many of them.

use super::waiting::WaitingPackets;
use crate::discipline::Backlog;
use crate::pool::Handle;

/// Packets in the order of their arrival, linked through their records in [`WaitingPackets`]. A packet may be in only
/// one such queue at a time.
#[derive(Clone, Debug, Default)]
pub struct PacketFifo {
    /// the first and the last packet; undefined if there is none
    first: Handle,
    last: Handle,
    packets: u32,
    bytes: u32,
}

impl PacketFifo {
    /// Adds a packet at the end.
    #[inline]
    pub fn push(&mut self, handle: Handle, packets: &mut WaitingPackets) {
        if self.packets == 0 {
            self.first = handle;
        } else {
            packets[self.last].neighbours[1] = handle;
        }
        let waiting = &mut packets[handle];
        waiting.neighbours[0] = self.last;
        self.last = handle;
        self.packets += 1;
        self.bytes += waiting.packet.frame_bytes;
    }

    /// The packet that arrived first.
    #[inline]
    pub fn first(&self) -> Option<Handle> {
        (self.packets > 0).then_some(self.first)
    }

    /// Removes the packet that arrived first.
    #[inline]
    pub fn pop(&mut self, packets: &WaitingPackets) -> Option<Handle> {
        let handle = self.first()?;
        let waiting = &packets[handle];
        self.first = waiting.neighbours[1];
        self.leave(waiting.packet.frame_bytes);
        Some(handle)
    }

    /// Removes the packet that arrived last.
    pub fn pop_last(&mut self, packets: &WaitingPackets) -> Option<Handle> {
        let handle = (self.packets > 0).then_some(self.last)?;
        let waiting = &packets[handle];
        self.last = waiting.neighbours[0];
        self.leave(waiting.packet.frame_bytes);
        Some(handle)
    }

    #[inline]
    fn leave(&mut self, frame_bytes: u32) {
        self.packets -= 1;
        self.bytes -= frame_bytes;
    }

    /// Whether it has no packets.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Number of packets in the queue.
    #[inline]
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// Number of bytes in the queue.
    #[inline]
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Bytes and packets in the queue.
    pub fn backlog(&self) -> Backlog {
        Backlog {
            bytes: self.bytes,
            packets: self.packets,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::Counts;
    use fairport_units::Instant;

    #[test]
    fn packets_leave_at_both_ends_until_none_is_left() {
        let counts = Counts::default();
        let (mut packets, mut fifo) = (WaitingPackets::default(), PacketFifo::default());
        for index in 0..3 {
            let view = super::super::fixtures::packet(0, 100 << index);
            packets.enter(Handle::at(index), Instant::ZERO, view, counts);
            fifo.push(Handle::at(index), &mut packets);
        }
        let backlog = |bytes, packets| Backlog { bytes, packets };
        assert_eq!(fifo.backlog(), backlog(700, 3));
        assert_eq!(fifo.pop_last(&packets), Some(Handle::at(2)));
        assert_eq!(fifo.first(), Some(Handle::at(0)));
        assert_eq!(fifo.pop(&packets), Some(Handle::at(0)));
        assert_eq!(fifo.backlog(), backlog(200, 1));
        assert_eq!(fifo.pop_last(&packets), Some(Handle::at(1)));
        assert_eq!(fifo.pop_last(&packets), None);
        assert_eq!((fifo.pop(&packets), fifo.first()), (None, None));
        assert!(fifo.is_empty());
    }
}

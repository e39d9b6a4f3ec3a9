//! A queue among several of one port: first in, first out, and no longer than its discipline lets
//! it become.

use super::waiting::WaitingPackets;
use crate::discipline::Backlog;
use crate::pool::Handle;

/// Packets in the order of their arrival, linked through their records, and how many bytes they
/// are.
#[derive(Clone, Debug)]
pub(super) struct PacketFifo {
    /// the first and the last, where there are any
    first: Handle,
    last: Handle,
    packets: u32,
    bytes: u32,
}

impl Default for PacketFifo {
    fn default() -> Self {
        Self {
            first: Handle::at(0),
            last: Handle::at(0),
            packets: 0,
            bytes: 0,
        }
    }
}

impl PacketFifo {
    #[inline]
    pub(super) fn push(&mut self, handle: Handle, room: &mut WaitingPackets) {
        if self.packets == 0 {
            self.first = handle;
        } else {
            room[self.last].neighbours[1] = handle;
        }
        let waiting = &mut room[handle];
        waiting.neighbours[0] = self.last;
        self.last = handle;
        self.packets += 1;
        self.bytes += waiting.packet.frame_bytes;
    }

    /// The packet that arrived first.
    #[inline]
    pub(super) fn first(&self) -> Option<Handle> {
        (self.packets > 0).then_some(self.first)
    }

    /// Takes the packet that arrived first.
    #[inline]
    pub(super) fn pop(&mut self, room: &WaitingPackets) -> Option<Handle> {
        let handle = self.first()?;
        let waiting = &room[handle];
        self.first = waiting.neighbours[1];
        self.leave(waiting.packet.frame_bytes);
        Some(handle)
    }

    /// Takes the packet that arrived last.
    pub(super) fn pop_last(&mut self, room: &WaitingPackets) -> Option<Handle> {
        let handle = (self.packets > 0).then_some(self.last)?;
        let waiting = &room[handle];
        self.last = waiting.neighbours[0];
        self.leave(waiting.packet.frame_bytes);
        Some(handle)
    }

    #[inline]
    fn leave(&mut self, frame_bytes: u32) {
        self.packets -= 1;
        self.bytes -= frame_bytes;
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.packets == 0
    }

    #[inline]
    pub(super) fn packets(&self) -> u32 {
        self.packets
    }

    #[inline]
    pub(super) fn bytes(&self) -> u32 {
        self.bytes
    }

    pub(super) fn backlog(&self) -> Backlog {
        Backlog {
            bytes: self.bytes,
            packets: self.packets,
        }
    }
}

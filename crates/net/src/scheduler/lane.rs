//! A queue among several of one port: first in, first out, and no longer than its discipline lets
//! it become.

use std::collections::VecDeque;

use super::Waiting;
use crate::discipline::Backlog;

/// Packets in the order of their arrival, and how many octets they are. Once it has been as long
/// as it becomes it does not allocate.
#[derive(Clone, Debug, Default)]
pub(super) struct Lane {
    packets: VecDeque<Waiting>,
    bytes: u32,
}

impl Lane {
    pub(super) fn push(&mut self, packet: Waiting) {
        self.bytes += packet.frame_bytes;
        self.packets.push_back(packet);
    }

    /// The packet that arrived first.
    pub(super) fn first(&self) -> Option<&Waiting> {
        self.packets.front()
    }

    /// Takes the packet that arrived first.
    pub(super) fn pop(&mut self) -> Option<Waiting> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.frame_bytes;
        Some(packet)
    }

    /// Takes the packet that arrived last.
    pub(super) fn pop_last(&mut self) -> Option<Waiting> {
        let packet = self.packets.pop_back()?;
        self.bytes -= packet.frame_bytes;
        Some(packet)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub(super) fn packets(&self) -> u32 {
        self.packets.len() as u32
    }

    pub(super) fn bytes(&self) -> u32 {
        self.bytes
    }

    pub(super) fn backlog(&self) -> Backlog {
        Backlog {
            bytes: self.bytes,
            packets: self.packets(),
        }
    }
}

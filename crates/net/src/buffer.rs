//! The buffer of a port that forwards ahead: its packets may be several hops further already, so it keeps
//! of each what the port must know, and not the packet.

use std::collections::VecDeque;

use fairport_units::Instant;

use crate::discipline::Backlog;

/// A packet's place in a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// when it stops counting against the buffer's limit
    pub(crate) leaves: Instant,
    pub(crate) frame_bytes: u32,
}

/// The packets in a buffer, in the order in which they leave it.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Buffer {
    waiting: VecDeque<Place>,
    bytes: u32,
    /// the last that left, which may still be on its way through the port
    last: Option<Place>,
}

impl Buffer {
    /// What is in it, as of the last [`Buffer::release`].
    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        Backlog {
            bytes: self.bytes,
            packets: self.waiting.len() as u32,
        }
    }

    /// Lets those packets out that leave by `until`.
    #[inline]
    pub(crate) fn release(&mut self, until: Instant) {
        while let Some(place) = self.waiting.front()
            && place.leaves <= until
        {
            self.bytes -= place.frame_bytes;
            self.last = self.waiting.pop_front();
        }
    }

    /// Accepts a packet, which does not leave before the packet accepted last.
    #[inline]
    pub(crate) fn push(&mut self, leaves: Instant, frame_bytes: u32) {
        self.bytes += frame_bytes;
        self.waiting.push_back(Place {
            leaves,
            frame_bytes,
        });
    }

    /// The packets that are in it, and the last that left it.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> {
        self.last.iter().chain(&self.waiting).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backlog_counts_what_has_not_left() {
        let mut buffer = Buffer::default();
        for i in 1..=3 {
            buffer.push(Instant::from_us(i), 1000);
        }
        let backlog = |bytes, packets| Backlog { bytes, packets };
        assert_eq!(buffer.backlog(), backlog(3000, 3));
        buffer.release(Instant::from_us(2));
        assert_eq!(buffer.backlog(), backlog(1000, 1));
        let leaves: Vec<Instant> = buffer.places().map(|place| place.leaves).collect();
        assert_eq!(leaves, [2, 3].map(Instant::from_us));
    }
}

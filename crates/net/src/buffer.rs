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

/// The packets in a buffer, in the order in which they leave it. One cache line, and where they lie.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Buffer {
    waiting: VecDeque<Place>,
    bytes: u32,
    /// the end of the run
    end: Instant,
    /// the last that left, which may still be on its way through the port
    last: Place,
}

impl Buffer {
    /// An empty buffer in a run until `end`.
    pub(crate) fn new(end: Instant) -> Self {
        Self {
            waiting: VecDeque::new(),
            bytes: 0,
            end,
            last: Place {
                leaves: Instant::ZERO,
                frame_bytes: 0,
            },
        }
    }

    /// What is in it at `now`. Nobody asks for an earlier instant afterwards, but perhaps for the end of
    /// the run, which a host that is behind with sending may be past.
    #[inline]
    pub(crate) fn backlog(&mut self, now: Instant) -> Backlog {
        if now > self.end {
            return self.after_end(now);
        }
        while let Some(place) = self.waiting.front()
            && place.leaves <= now
        {
            self.bytes -= place.frame_bytes;
            self.last = *place;
            self.waiting.pop_front();
        }
        Backlog {
            bytes: self.bytes,
            packets: self.waiting.len() as u32,
        }
    }

    #[cold]
    fn after_end(&self, now: Instant) -> Backlog {
        let waiting = self.waiting.iter().filter(|place| place.leaves > now);
        waiting.fold(Backlog::default(), |sum, place| Backlog {
            bytes: sum.bytes + place.frame_bytes,
            packets: sum.packets + 1,
        })
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
        std::iter::once(self.last).chain(self.waiting.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backlog_counts_what_has_not_left() {
        let mut buffer = Buffer::new(Instant::from_us(10));
        for i in [1, 2, 3, 11, 12] {
            buffer.push(Instant::from_us(i), 1000);
        }
        let backlog = |bytes, packets| Backlog { bytes, packets };
        assert_eq!(buffer.backlog(Instant::ZERO), backlog(5000, 5));
        assert_eq!(buffer.backlog(Instant::from_us(2)), backlog(3000, 3));
        // after the end, and then at the end
        assert_eq!(buffer.backlog(Instant::from_us(11)), backlog(1000, 1));
        assert_eq!(buffer.backlog(Instant::from_us(10)), backlog(2000, 2));
        let leaves: Vec<Instant> = buffer.places().map(|place| place.leaves).collect();
        assert_eq!(leaves, [3, 11, 12].map(Instant::from_us));
    }
}

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
    /// those at the front that have left by the last look beyond the end of the run
    gone_packets: u32,
    gone_bytes: u32,
    /// the last that left, which may still be on its way through the port
    last_frame_bytes: u32,
    last_leaves: Instant,
    /// the end of the run
    end: Instant,
}

const _: () = assert!(size_of::<Buffer>() == 64);

impl Buffer {
    /// An empty buffer in a run until `end`.
    pub(crate) fn new(end: Instant) -> Self {
        Self {
            waiting: VecDeque::new(),
            bytes: 0,
            gone_packets: 0,
            gone_bytes: 0,
            last_frame_bytes: 0,
            last_leaves: Instant::ZERO,
            end,
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
            (self.last_leaves, self.last_frame_bytes) = (place.leaves, place.frame_bytes);
            if self.gone_packets > 0 {
                self.gone_packets -= 1;
                self.gone_bytes -= place.frame_bytes;
            }
            self.waiting.pop_front();
        }
        Backlog {
            bytes: self.bytes,
            packets: self.waiting.len() as u32,
        }
    }

    /// Those that leave meanwhile stay, because what is in it at the end of the run is still to be asked.
    #[cold]
    fn after_end(&mut self, now: Instant) -> Backlog {
        while let Some(place) = self.waiting.get(self.gone_packets as usize)
            && place.leaves <= now
        {
            self.gone_packets += 1;
            self.gone_bytes += place.frame_bytes;
        }
        Backlog {
            bytes: self.bytes - self.gone_bytes,
            packets: self.waiting.len() as u32 - self.gone_packets,
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
        let last = Place {
            leaves: self.last_leaves,
            frame_bytes: self.last_frame_bytes,
        };
        std::iter::once(last).chain(self.waiting.iter().copied())
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
        assert_eq!(buffer.backlog(Instant::from_us(12)), backlog(0, 0));
        assert_eq!(buffer.backlog(Instant::from_us(10)), backlog(2000, 2));
        let leaves: Vec<Instant> = buffer.places().map(|place| place.leaves).collect();
        assert_eq!(leaves, [3, 11, 12].map(Instant::from_us));
    }
}

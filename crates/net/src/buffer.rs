//! The buffer of a port that forwards ahead: its packets may be several hops further already, so it keeps
//! of each what the port must know, and not the packet.

use fairport_units::Instant;

use crate::discipline::Backlog;

/// A packet's place in a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// when it stops counting against the buffer's limit
    pub(crate) leaves: Instant,
    pub(crate) frame_bytes: u32,
}

/// So many places of packets that have left may lie in front of those that wait.
const MOST_LEFT: usize = 64;

/// The packets in a buffer, in the order in which they leave it. One cache line, and where they lie.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Buffer {
    /// in front of `first` those that have left
    places: Vec<Place>,
    first: usize,
    bytes: u32,
    /// the end of the run
    end: Instant,
}

const _: () = assert!(size_of::<Buffer>() == 64);

impl Buffer {
    /// An empty buffer in a run until `end`.
    pub(crate) fn new(end: Instant) -> Self {
        Self {
            places: Vec::new(),
            first: 0,
            bytes: 0,
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
        let waiting = &self.places[self.first..];
        let mut left = 0;
        while left < waiting.len() && waiting[left].leaves <= now {
            self.bytes -= waiting[left].frame_bytes;
            left += 1;
        }
        self.first += left;
        Backlog {
            bytes: self.bytes,
            packets: (waiting.len() - left) as u32,
        }
    }

    /// Those that leave after the end stay, because what is in it at the end of the run is still to be asked.
    #[cold]
    fn after_end(&mut self, now: Instant) -> Backlog {
        let waiting = self.places[self.first..].iter();
        let has_left = |place: &&Place| place.leaves <= now;
        let gone = waiting.take_while(has_left).map(|place| place.frame_bytes);
        let (packets, bytes) =
            gone.fold((0, 0), |(packets, bytes), more| (packets + 1, bytes + more));
        Backlog {
            bytes: self.bytes - bytes,
            packets: (self.places.len() - self.first) as u32 - packets,
        }
    }

    /// Accepts a packet, which does not leave before the packet accepted last.
    #[inline]
    pub(crate) fn push(&mut self, leaves: Instant, frame_bytes: u32) {
        self.bytes += frame_bytes;
        if self.first >= MOST_LEFT && 2 * self.first >= self.places.len() {
            self.forget();
        }
        self.places.push(Place {
            leaves,
            frame_bytes,
        });
    }

    /// Accepts a packet that leaves it at once, not after the end of the run; nothing is in it.
    #[inline]
    pub(crate) fn pass(&mut self, leaves: Instant, frame_bytes: u32) {
        debug_assert_eq!(self.bytes, 0);
        let place = Place {
            leaves,
            frame_bytes,
        };
        self.first = 1;
        match self.places.first_mut() {
            Some(first) => *first = place,
            None => self.places.push(place),
        }
        self.places.truncate(1);
    }

    /// Forgets those that have left, but for the last.
    #[inline(never)]
    fn forget(&mut self) {
        self.places.drain(..self.first - 1);
        self.first = 1;
    }

    /// The packets that are in it, and the last that left it, which may still be on its way through the port.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> {
        self.places[self.first.saturating_sub(1)..].iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_that_have_left_the_last_is_remembered() {
        let mut buffer = Buffer::new(Instant::from_ms(1));
        let places = |buffer: &Buffer| buffer.places().map(|it| it.leaves).collect::<Vec<_>>();
        for i in 1..=1000 {
            buffer.push(Instant::from_ns(i), 100);
            assert_eq!(buffer.backlog(Instant::from_ns(i - 1)).packets, 1);
        }
        assert_eq!(places(&buffer), [999, 1000].map(Instant::from_ns));
        assert!(buffer.places.len() <= 2 * MOST_LEFT);
        assert_eq!(buffer.backlog(Instant::from_us(2)).bytes, 0);
        buffer.pass(Instant::from_us(2), 64);
        assert_eq!(places(&buffer), [Instant::from_us(2)]);
        buffer.push(Instant::from_us(3), 100);
        assert_eq!(places(&buffer), [2, 3].map(Instant::from_us));
        assert_eq!(buffer.backlog(Instant::from_us(2)).bytes, 100);
    }

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

//! A buffer that is kept apart from its port's link, because the port forwards ahead or its link is cut. Its packets may
//! already be several hops further, or in another region. So it does not hold packets, only what the port must know
//! about each.

use fairport_units::Instant;

use crate::discipline::Backlog;

/// A packet's entry in a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// when it stops counting against the buffer's limit
    pub(crate) leaves: Instant,
    pub(crate) frame_bytes: u32,
}

/// How many entries of packets that have left may be kept in front of those that wait.
const MOST_LEFT: u32 = 64;

/// Counts waiting packets that leave after the end of the run, up to the latest instant asked for.
#[derive(Clone, Copy, Debug, Default)]
struct Late {
    /// the buffer's `first` for which the counts hold
    first: u32,
    packets: u32,
    bytes: u32,
}

/// The packets in a buffer, in the order in which they leave. One cache line, plus the list.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Buffer {
    /// entries before `first` are of packets that have left
    places: Vec<Place>,
    first: u32,
    bytes: u32,
    /// when the last packet left
    left_at: Instant,
    /// bytes that the last packet that left took in the buffer; 0 if none has left
    left_bytes: u32,
    /// counts after the end of the run
    late: Late,
    /// the end of the run
    end: Instant,
}

const _: () = assert!(size_of::<Buffer>() == 64);

impl Buffer {
    /// An empty buffer, in a run that lasts until `end`.
    pub(crate) fn new(end: Instant) -> Self {
        Self {
            places: Vec::new(),
            first: 0,
            bytes: 0,
            left_at: Instant::ZERO,
            left_bytes: 0,
            late: Late::default(),
            end,
        }
    }

    /// What is in the buffer at `now`. Later calls ask for the same or a later instant, with one exception: a host that
    /// is late with sending may ask for an instant after the end of the run, while others still ask for earlier ones.
    #[inline]
    pub(crate) fn backlog(&mut self, now: Instant) -> Backlog {
        if now > self.end {
            return self.after_end(now);
        }
        let waiting = &self.places[self.first as usize..];
        let mut left = 0;
        while left < waiting.len() && waiting[left].leaves <= now {
            let place = waiting[left];
            self.bytes -= place.frame_bytes;
            (self.left_at, self.left_bytes) = (place.leaves, place.frame_bytes);
            left += 1;
        }
        self.first += left as u32;
        Backlog {
            bytes: self.bytes,
            packets: (waiting.len() - left) as u32,
        }
    }

    /// Upper limit of the backlog: what was in the buffer at the last call of [`Self::backlog`], plus what was accepted
    /// since.
    #[inline]
    pub(crate) fn most(&self) -> Backlog {
        Backlog {
            bytes: self.bytes,
            packets: self.places.len() as u32 - self.first,
        }
    }

    /// The backlog at an instant after the end of the run. Packets that leave after the end stay in the list, because
    /// the backlog at the end will still be asked for. They may be many, so each is counted once.
    #[cold]
    fn after_end(&mut self, now: Instant) -> Backlog {
        let late = &mut self.late;
        if late.first != self.first {
            *late = Late {
                first: self.first,
                ..Late::default()
            };
        }
        let waiting = &self.places[self.first as usize..];
        while let Some(place) = waiting.get(late.packets as usize)
            && place.leaves <= now
        {
            late.packets += 1;
            late.bytes += place.frame_bytes;
        }
        Backlog {
            bytes: self.bytes - late.bytes,
            packets: waiting.len() as u32 - late.packets,
        }
    }

    /// Accepts a packet. It does not leave before the packet that was accepted last.
    #[inline]
    pub(crate) fn push(&mut self, leaves: Instant, frame_bytes: u32) {
        self.bytes += frame_bytes;
        if self.first >= MOST_LEFT && 2 * self.first as usize >= self.places.len() {
            self.forget();
        }
        self.places.push(Place {
            leaves,
            frame_bytes,
        });
    }

    /// Accepts a packet into a buffer that all others have left. It leaves at once and not after the end of the run.
    #[inline]
    pub(crate) fn pass(&mut self, leaves: Instant, frame_bytes: u32) {
        debug_assert!(self.places.last().is_none_or(|last| last.leaves <= leaves));
        (self.left_at, self.left_bytes) = (leaves, frame_bytes);
        self.places.clear();
        (self.first, self.bytes) = (0, 0);
    }

    /// Drops the entries of packets that have left.
    #[inline(never)]
    fn forget(&mut self) {
        self.places.drain(..self.first as usize);
        self.first = 0;
        self.late = Late::default();
    }

    /// The packets in the buffer, and the last one that left it, which may still be on its way through the port.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> {
        let left = (self.left_bytes > 0).then_some(Place {
            leaves: self.left_at,
            frame_bytes: self.left_bytes,
        });
        let waiting = &self.places[self.first as usize..];
        left.into_iter().chain(waiting.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairport_units::Duration;

    #[test]
    fn of_many_that_have_left_the_last_is_remembered() {
        let mut buffer = Buffer::new(Instant::from_ms(1));
        let places = |buffer: &Buffer| buffer.places().map(|it| it.leaves).collect::<Vec<_>>();
        for i in 1..=1000 {
            buffer.push(Instant::from_ns(i), 100);
            assert_eq!(buffer.backlog(Instant::from_ns(i - 1)).packets, 1);
        }
        assert_eq!(places(&buffer), [999, 1000].map(Instant::from_ns));
        assert!(buffer.places.len() <= 2 * MOST_LEFT as usize);
        assert_eq!(buffer.backlog(Instant::from_us(2)).bytes, 0);
        buffer.pass(Instant::from_us(2), 64);
        assert_eq!(places(&buffer), [Instant::from_us(2)]);
        buffer.push(Instant::from_us(3), 100);
        assert_eq!(places(&buffer), [2, 3].map(Instant::from_us));
        assert_eq!(buffer.backlog(Instant::from_us(2)).bytes, 100);
    }

    #[test]
    fn the_most_that_may_be_there_counts_what_has_left_since_it_was_last_asked() {
        let mut buffer = Buffer::new(Instant::from_ms(1));
        for i in [1, 2, 3] {
            buffer.push(Instant::from_us(i), 1000);
        }
        let both = |buffer: &Buffer| (buffer.most().bytes, buffer.most().packets);
        assert_eq!(both(&buffer), (3000, 3));
        assert_eq!(buffer.backlog(Instant::from_us(2)), buffer.most());
        assert_eq!(both(&buffer), (1000, 1));
        buffer.push(Instant::from_us(9), 500);
        assert_eq!(both(&buffer), (1500, 2));
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

    /// A host that is late with sending asks for instants after the end, while others still ask for earlier ones.
    #[test]
    fn instants_before_and_after_the_end_may_be_asked_for_in_turn() {
        let end = Instant::from_ns(5000);
        let mut buffer = Buffer::new(end);
        let mut stream = crate::stream::Stream::new(1, "test", 0);
        let mut pushed: Vec<(Instant, u32)> = Vec::new();
        let (mut early, mut late) = (Instant::ZERO, end + Duration::from_ps(1));
        for i in 0..2000 {
            let frame_bytes = 64 + stream.up_to(1000) as u32;
            let leaves = Instant::from_ns(4 * i);
            buffer.push(leaves, frame_bytes);
            pushed.push((leaves, frame_bytes));
            early = end.min(early + Duration::from_ns(stream.up_to(6)));
            late += Duration::from_ns(stream.up_to(3));
            let now = if stream.up_to(3) == 0 { early } else { late };
            let waits = || pushed.iter().filter(|it| it.0 > now).map(|it| it.1);
            let expected = Backlog {
                bytes: waits().sum(),
                packets: waits().count() as u32,
            };
            assert_eq!(buffer.backlog(now), expected, "{i}");
        }
    }
}

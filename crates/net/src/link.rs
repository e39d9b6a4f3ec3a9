//! The packets of one port, waiting and under way, in the order of their arrival at the far end.

use fairport_units::Time;

use crate::pool::Handle;

/// A packet, and what is known of it from the moment the port accepted it.
#[derive(Clone, Copy)]
struct Entry {
    /// when the next node decides about it
    due: Time,
    /// when it stops counting against the buffer's limit
    leaves: Time,
    /// what it takes in the buffer
    frame_bytes: u32,
    packet: Handle,
}

/// A ring of handles: packets accepted at one end, arriving at the other; in between a second cursor
/// parts those on the link from those still in the port's buffer.
pub(crate) struct Link {
    /// counts of packets pushed, left the buffer, and popped; a packet's place is its count
    /// modulo the capacity
    pushed: u32,
    left: u32,
    popped: u32,
    backlog_bytes: u32,
    ring: Box<[Entry]>,
}

impl Link {
    /// An empty link.
    pub(crate) fn new() -> Self {
        Self {
            pushed: 0,
            left: 0,
            popped: 0,
            backlog_bytes: 0,
            ring: Box::default(),
        }
    }

    /// Packets in the buffer and on the link.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.pushed.wrapping_sub(self.popped)
    }

    /// Whether no packet is in the buffer or on the link.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.pushed == self.popped
    }

    /// Octets in the buffer, as of the last [`Link::release`].
    #[inline]
    pub(crate) fn backlog_bytes(&self) -> u32 {
        self.backlog_bytes
    }

    /// Packets in the buffer, as of the last [`Link::release`].
    #[inline]
    pub(crate) fn backlog_packets(&self) -> u32 {
        self.pushed.wrapping_sub(self.left)
    }

    /// Lets those packets out of the buffer that leave it by `until`.
    #[inline]
    pub(crate) fn release(&mut self, until: Time) {
        while self.left != self.pushed {
            let next = &self.ring[self.place(self.left)];
            if next.leaves > until {
                return;
            }
            self.backlog_bytes -= next.frame_bytes;
            self.left = self.left.wrapping_add(1);
        }
    }

    /// Accepts a packet. `due` and `leaves` are not before those of the packet accepted last.
    #[inline]
    pub(crate) fn push(&mut self, due: Time, leaves: Time, frame_bytes: u32, packet: Handle) {
        if self.len() as usize == self.ring.len() {
            self.grow(packet);
        }
        let place = self.place(self.pushed);
        self.ring[place] = Entry {
            due,
            leaves,
            frame_bytes,
            packet,
        };
        self.pushed = self.pushed.wrapping_add(1);
        self.backlog_bytes += frame_bytes;
    }

    /// Takes the packet that arrives first, and tells when the one behind it arrives, and which it is.
    #[inline]
    pub(crate) fn pop(&mut self) -> (Handle, Option<(Time, Handle)>) {
        debug_assert!(!self.is_empty());
        if self.left == self.popped {
            // it is at the far end, so it has left the buffer
            self.backlog_bytes -= self.ring[self.place(self.left)].frame_bytes;
            self.left = self.left.wrapping_add(1);
        }
        let packet = self.ring[self.place(self.popped)].packet;
        self.popped = self.popped.wrapping_add(1);
        if self.is_empty() {
            // from the beginning again: those places are still in the cache
            (self.pushed, self.left, self.popped) = (0, 0, 0);
            return (packet, None);
        }
        let behind = &self.ring[self.place(self.popped)];
        (packet, Some((behind.due, behind.packet)))
    }

    /// The packets in the buffer and on the link, first to arrive first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Handle> {
        (0..self.len()).map(|i| self.ring[self.place(self.popped.wrapping_add(i))].packet)
    }

    #[inline]
    fn place(&self, count: u32) -> usize {
        count as usize & (self.ring.len() - 1)
    }

    /// Doubles the capacity; `filler` stands in the places that hold no packet yet.
    #[cold]
    fn grow(&mut self, filler: Handle) {
        let capacity = (self.ring.len() * 2).max(8);
        let empty = Entry {
            due: Time::ZERO,
            leaves: Time::ZERO,
            frame_bytes: 0,
            packet: filler,
        };
        let mut ring = vec![empty; capacity];
        for i in 0..self.len() {
            let count = self.popped.wrapping_add(i);
            ring[count as usize & (capacity - 1)] = self.ring[self.place(count)];
        }
        self.ring = ring.into_boxed_slice();
    }
}

impl Default for Link {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::Handle;

    #[test]
    fn a_fifo_never_reorders_while_it_grows_and_wraps() {
        let mut link = Link::new();
        let (mut pushed, mut popped) = (0, 0);
        for round in 1..200_u32 {
            for _ in 0..round % 37 {
                let at = Time::from_ns(u64::from(pushed));
                link.push(at, at, 100, Handle::at(pushed as usize));
                pushed += 1;
            }
            for _ in 0..(round % 31).min(link.len()) {
                assert_eq!(link.pop().0, Handle::at(popped as usize));
                popped += 1;
            }
            assert_eq!(link.len(), pushed - popped);
        }
    }

    #[test]
    fn the_backlog_counts_what_has_not_left_the_buffer() {
        let mut link = Link::new();
        for i in 1..=3 {
            link.push(Time::from_us(10 + i), Time::from_us(i), 1000, Handle::at(0));
        }
        assert_eq!((link.backlog_bytes(), link.backlog_packets()), (3000, 3));
        link.release(Time::from_us(2));
        assert_eq!(
            (link.backlog_bytes(), link.backlog_packets(), link.len()),
            (1000, 1, 3)
        );
        let behind = link.pop().1;
        assert_eq!(behind, Some((Time::from_us(12), Handle::at(0))));
        assert_eq!((link.backlog_bytes(), link.len()), (1000, 2));
    }
}

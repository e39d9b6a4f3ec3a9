//! The packets of one port, waiting and under way, in the order of their arrival at the far end.

use fairport_units::Time;

use crate::packet::Packet;

/// What is known of a packet from the moment the port accepted it.
#[derive(Clone, Copy)]
struct Schedule {
    /// when the next node decides about it
    due: Time,
    /// when it stops counting against the buffer's limit
    leaves: Time,
    /// what it takes in the buffer
    frame_bytes: u32,
}

/// A ring of packets: accepted at one end, arriving at the other; in between a second cursor
/// parts those on the link from those still in the port's buffer.
pub struct Link<P: Copy> {
    /// counts of packets pushed, left the buffer, and popped; a packet's place is its count
    /// modulo the capacity
    pushed: u32,
    left: u32,
    popped: u32,
    backlog_bytes: u32,
    schedule: Vec<Schedule>,
    packets: Vec<Packet<P>>,
}

impl<P: Copy> Link<P> {
    /// An empty link.
    pub fn new() -> Self {
        Self {
            pushed: 0,
            left: 0,
            popped: 0,
            backlog_bytes: 0,
            schedule: Vec::new(),
            packets: Vec::new(),
        }
    }

    /// Packets in the buffer and on the link.
    #[inline]
    pub fn len(&self) -> u32 {
        self.pushed.wrapping_sub(self.popped)
    }

    /// Whether no packet is in the buffer or on the link.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.pushed == self.popped
    }

    /// Octets in the buffer, as of the last [`Link::release`].
    #[inline]
    pub fn backlog_bytes(&self) -> u32 {
        self.backlog_bytes
    }

    /// Packets in the buffer, as of the last [`Link::release`].
    #[inline]
    pub fn backlog_packets(&self) -> u32 {
        self.pushed.wrapping_sub(self.left)
    }

    /// Lets those packets out of the buffer that leave it by `until`.
    #[inline]
    pub fn release(&mut self, until: Time) {
        while self.left != self.pushed {
            let next = &self.schedule[self.place(self.left)];
            if next.leaves > until {
                return;
            }
            self.backlog_bytes -= next.frame_bytes;
            self.left = self.left.wrapping_add(1);
        }
    }

    /// Accepts a packet. `due` and `leaves` are not before those of the packet accepted last.
    #[inline]
    pub fn push(&mut self, due: Time, leaves: Time, frame_bytes: u32, packet: Packet<P>) {
        if self.len() as usize == self.schedule.len() {
            self.grow(packet);
        }
        let place = self.place(self.pushed);
        self.schedule[place] = Schedule {
            due,
            leaves,
            frame_bytes,
        };
        self.packets[place] = packet;
        self.pushed = self.pushed.wrapping_add(1);
        self.backlog_bytes += frame_bytes;
    }

    /// Takes the packet that arrives first, and tells when the one behind it arrives.
    #[inline]
    pub fn pop(&mut self) -> (Packet<P>, Option<Time>) {
        debug_assert!(!self.is_empty());
        if self.left == self.popped {
            // it is at the far end, so it has left the buffer
            self.backlog_bytes -= self.schedule[self.place(self.left)].frame_bytes;
            self.left = self.left.wrapping_add(1);
        }
        let packet = self.packets[self.place(self.popped)];
        self.popped = self.popped.wrapping_add(1);
        let next = (!self.is_empty()).then(|| self.schedule[self.place(self.popped)].due);
        (packet, next)
    }

    /// The packets in the buffer and on the link, first to arrive first.
    pub fn iter(&self) -> impl Iterator<Item = &Packet<P>> {
        (0..self.len()).map(|i| &self.packets[self.place(self.popped.wrapping_add(i))])
    }

    #[inline]
    fn place(&self, count: u32) -> usize {
        count as usize & (self.schedule.len() - 1)
    }

    /// Doubles the capacity; `filler` stands in the places that hold no packet yet.
    #[cold]
    fn grow(&mut self, filler: Packet<P>) {
        let capacity = (self.schedule.len() * 2).max(16);
        let empty = Schedule {
            due: Time::ZERO,
            leaves: Time::ZERO,
            frame_bytes: 0,
        };
        let mut schedule = vec![empty; capacity];
        let mut packets = vec![filler; capacity];
        for i in 0..self.len() {
            let count = self.popped.wrapping_add(i);
            schedule[count as usize & (capacity - 1)] = self.schedule[self.place(count)];
            packets[count as usize & (capacity - 1)] = self.packets[self.place(count)];
        }
        self.schedule = schedule;
        self.packets = packets;
    }
}

impl<P: Copy> Default for Link<P> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(flow: u32) -> Packet<()> {
        let ingress = crate::PortId(0);
        Packet {
            flow,
            route: 0,
            ingress,
            size_bytes: 0,
            ecn: 0,
            class: 0,
            content: (),
        }
    }

    #[test]
    fn a_fifo_never_reorders_while_it_grows_and_wraps() {
        let mut link = Link::new();
        let (mut pushed, mut popped) = (0, 0);
        for round in 1..200_u32 {
            for _ in 0..round % 37 {
                let at = Time::from_ns(u64::from(pushed));
                link.push(at, at, 100, packet(pushed));
                pushed += 1;
            }
            for _ in 0..(round % 31).min(link.len()) {
                assert_eq!(link.pop().0.flow, popped);
                popped += 1;
            }
            assert_eq!(link.len(), pushed - popped);
        }
    }

    #[test]
    fn the_backlog_counts_what_has_not_left_the_buffer() {
        let mut link = Link::new();
        for i in 1..=3 {
            link.push(Time::from_us(10 + i), Time::from_us(i), 1000, packet(0));
        }
        assert_eq!((link.backlog_bytes(), link.backlog_packets()), (3000, 3));
        link.release(Time::from_us(2));
        assert_eq!(
            (link.backlog_bytes(), link.backlog_packets(), link.len()),
            (1000, 1, 3)
        );
        assert_eq!(link.pop().1, Some(Time::from_us(12)));
        assert_eq!((link.backlog_bytes(), link.len()), (1000, 2));
    }
}

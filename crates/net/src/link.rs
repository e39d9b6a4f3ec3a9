//! The packets of one port, in its buffer and on its link, in the order of their arrival at the far end.

use fairport_units::Instant;

use crate::buffer::Place;
use crate::discipline::Backlog;
use crate::pool::{Handle, LinkEntry, Transit, prefetch_transit};

/// A list of packets, linked through their entries in the pool. Packets are accepted at its end and arrive from its
/// front. A second cursor separates the packets on the link from those still in the port's buffer.
#[derive(Default)]
pub(crate) struct LinkQueue {
    /// the packet that arrives first; undefined if there is none
    first: Handle,
    /// the packet that leaves the buffer first; undefined if there is none
    leaving: Handle,
    /// the packet that was accepted last; undefined if there is none
    last: Handle,
    /// when `leaving` leaves the buffer
    leaving_at: Instant,
    /// packets in the buffer and on the link
    packets: u32,
    /// what is in the buffer
    backlog: Backlog,
}

impl LinkQueue {
    /// Packets in the buffer and on the link.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.packets
    }

    /// Whether no packet is in the buffer or on the link.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// What is in the buffer, as of the last [`LinkQueue::release`].
    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Removes the packets from the buffer that leave it by `until`.
    #[inline]
    pub(crate) fn release(&mut self, until: Instant, transits: &[Transit]) {
        while self.backlog.packets > 0 && self.leaving_at <= until {
            self.leave_buffer(&transits[self.leaving.index()].entry);
            prefetch_transit(transits, self.leaving); // the next packet to leave
        }
    }

    /// The first packet in the buffer leaves it.
    #[inline]
    fn leave_buffer(&mut self, entry: &LinkEntry) {
        self.backlog.packets -= 1;
        self.backlog.bytes -= entry.frame_bytes;
        (self.leaving, self.leaving_at) = (entry.behind, entry.behind_leaves);
    }

    /// Accepts a packet into the buffer. `due` and `leaves` are not earlier than those of the packet accepted last.
    #[inline]
    pub(crate) fn push(
        &mut self,
        due: Instant,
        leaves: Instant,
        frame_bytes: u32,
        packet: Handle,
        transits: &mut [Transit],
    ) {
        if self.backlog.packets == 0 {
            (self.leaving, self.leaving_at) = (packet, leaves);
        }
        self.backlog.packets += 1;
        self.backlog.bytes += frame_bytes;
        self.link(due, leaves, frame_bytes, packet, transits);
    }

    /// Accepts a packet that is not in this list's buffer. `due` is not earlier than that of the packet accepted last.
    #[inline]
    pub(crate) fn append(&mut self, due: Instant, packet: Handle, transits: &mut [Transit]) {
        self.link(due, Instant::ZERO, 0, packet, transits);
    }

    /// Adds a packet to the end of the list.
    #[inline]
    fn link(
        &mut self,
        due: Instant,
        leaves: Instant,
        frame_bytes: u32,
        packet: Handle,
        transits: &mut [Transit],
    ) {
        let entry = &mut transits[packet.index()].entry;
        (entry.leaves, entry.frame_bytes) = (leaves, frame_bytes);
        if self.packets == 0 {
            self.first = packet;
        } else {
            let last = &mut transits[self.last.index()].entry;
            (last.behind, last.behind_due, last.behind_leaves) = (packet, due, leaves);
        }
        self.last = packet;
        self.packets += 1;
    }

    /// Removes the packet that arrives first. Also returns when the next one arrives, and its handle.
    #[inline]
    pub(crate) fn pop(&mut self, transits: &[Transit]) -> (Handle, Option<(Instant, Handle)>) {
        debug_assert!(!self.is_empty());
        let packet = self.first;
        let entry = &transits[packet.index()].entry;
        if self.backlog.packets == self.packets {
            self.leave_buffer(entry); // it has reached the far end, so it has left the buffer
        }
        self.packets -= 1;
        if self.packets == 0 {
            return (packet, None);
        }
        self.first = entry.behind;
        (packet, Some((entry.behind_due, entry.behind)))
    }

    /// The packets in the buffer and on the link, in the order of their arrival.
    pub(crate) fn iter(&self, transits: &[Transit]) -> impl Iterator<Item = Handle> {
        let behind = |packet: &Handle| Some(transits[packet.index()].entry.behind);
        std::iter::successors(Some(self.first), behind).take(self.packets as usize)
    }

    /// The buffer entries of the packets in the buffer and on the link.
    pub(crate) fn places(&self, transits: &[Transit]) -> impl Iterator<Item = Place> {
        self.iter(transits).map(|packet| {
            let LinkEntry {
                leaves,
                frame_bytes,
                ..
            } = transits[packet.index()].entry;
            Place {
                leaves,
                frame_bytes,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Header, Packet};
    use crate::pool::Pool;

    /// A pool of `packets` packets, in the order of their handles.
    fn pool(packets: u32) -> Pool<()> {
        let mut pool = Pool::new();
        for flow in 0..packets {
            let header = Header {
                flow,
                ..Header::default()
            };
            let content = ();
            pool.put(&Packet { header, content });
        }
        pool
    }

    #[test]
    fn a_fifo_never_reorders() {
        let (mut link, mut packets) = (LinkQueue::default(), pool(8000));
        let (mut pushed, mut popped) = (0, 0);
        for round in 1..200_u32 {
            for _ in 0..round % 37 {
                let at = Instant::from_ns(u64::from(pushed));
                link.push(
                    at,
                    at,
                    100,
                    Handle::at(pushed as usize),
                    &mut packets.transits,
                );
                pushed += 1;
            }
            for _ in 0..(round % 31).min(link.len()) {
                assert_eq!(link.pop(&packets.transits).0, Handle::at(popped as usize));
                popped += 1;
            }
            assert_eq!(link.len(), pushed - popped);
            let under_way: Vec<_> = link.iter(&packets.transits).map(Handle::index).collect();
            assert!(under_way.into_iter().eq(popped as usize..pushed as usize));
        }
    }

    #[test]
    fn the_backlog_counts_what_has_not_left_the_buffer() {
        let (mut link, mut packets) = (LinkQueue::default(), pool(4));
        for i in 1..=3 {
            let (due, leaves) = (Instant::from_us(10 + i), Instant::from_us(i));
            link.push(
                due,
                leaves,
                1000,
                Handle::at(i as usize),
                &mut packets.transits,
            );
        }
        let backlog = |bytes, packets| Backlog { bytes, packets };
        assert_eq!(link.backlog(), backlog(3000, 3));
        link.release(Instant::from_us(2), &packets.transits);
        assert_eq!((link.backlog(), link.len()), (backlog(1000, 1), 3));
        let behind = link.pop(&packets.transits).1;
        assert_eq!(behind, Some((Instant::from_us(12), Handle::at(2))));
        assert_eq!((link.backlog(), link.len()), (backlog(1000, 1), 2));
    }
}

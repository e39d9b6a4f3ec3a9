//! Packets that a capture holds twice.
//!
//! A mirror port that copies both directions of its ports sees each packet when it comes in and when it leaves, and
//! so does a capture of Linux's `any` at a switch. Such a copy is no segment that was sent again, and was not dropped
//! because it did not leave.

use fairport_wire::tcp;
use rustc_hash::FxHashSet;

use crate::join::key;
use crate::packet::Packet;
use crate::record::Direction;

/// Until a copy is found, packets whose identification has these bits clear are looked at.
const SAMPLED: u16 = 15;
/// Sampled packets that are remembered, a power of two.
const REMEMBERED: usize = 1 << 10;
/// Newest packets that are remembered once a copy was found, and as many before them.
const GENERATION: usize = 1 << 16;

/// Finds copies in one capture.
#[derive(Clone, Debug)]
pub(crate) struct Copies {
    /// how many were found
    pub(crate) found: u64,
    /// every packet is looked at
    is_exact: bool,
    sampled: Vec<u64>,
    newest: FxHashSet<u64>,
    before: FxHashSet<u64>,
}

impl Copies {
    /// `is_exact`: the capture is known to hold copies.
    pub(crate) fn new(is_exact: bool) -> Self {
        Self {
            found: 0,
            is_exact,
            sampled: vec![0; REMEMBERED],
            newest: FxHashSet::default(),
            before: FxHashSet::default(),
        }
    }

    /// Whether the packet was seen before on this interface, going this way. A segment that is sent again has another
    /// identification. Where that is zero, as in IPv6, the two look alike.
    #[inline]
    pub(crate) fn is_copy(
        &mut self,
        packet: &Packet,
        interface: u32,
        direction: Direction,
    ) -> bool {
        let is_sample = self.is_exact || packet.identification & SAMPLED == 1;
        is_sample
            && packet.identification > 0
            && packet.key.protocol == tcp::PROTOCOL
            && self.is_known(packet, u64::from(interface) << 2 | direction as u64)
    }

    fn is_known(&mut self, packet: &Packet, place: u64) -> bool {
        let key = key(packet).wrapping_add(place);
        let is_known = if self.is_exact {
            if self.newest.len() >= GENERATION {
                self.before = std::mem::take(&mut self.newest);
            }
            !self.newest.insert(key) || self.before.contains(&key)
        } else {
            let slot = (key >> 32) as usize % REMEMBERED;
            std::mem::replace(&mut self.sampled[slot], key) == key
        };
        self.is_exact |= is_known;
        self.found += u64::from(is_known);
        is_known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The n-th packet of a sender.
    fn packet(n: u16) -> Packet {
        Packet {
            payload: 1000,
            seq: 1000 * u32::from(n),
            identification: n,
            ..Packet::bare(1000)
        }
    }

    #[test]
    fn copies_are_found_behind_a_queue_and_after_a_hop() {
        let mut copies = Copies::new(true);
        for n in 1..1000 {
            assert!(!copies.is_copy(&packet(n), 0, Direction::Unknown));
            if n > 200 {
                let copy = Packet {
                    ttl: 63,
                    ..packet(n - 200)
                };
                assert!(copies.is_copy(&copy, 0, Direction::Unknown));
            }
        }
        assert_eq!(copies.found, 799);
    }

    #[test]
    fn the_first_copies_of_a_capture_are_found_soon() {
        let mut copies = Copies::new(false);
        let both = |copies: &mut Copies, n| {
            copies.is_copy(&packet(n), 0, Direction::Unknown)
                || copies.is_copy(&packet(n), 0, Direction::Unknown)
        };
        assert_eq!((1..100).filter(|n| both(&mut copies, *n)).count(), 99);
    }

    #[test]
    fn a_packet_that_is_no_copy() {
        let mut copies = Copies::new(true);
        let sights = [
            (packet(1), 0, Direction::In),
            // it leaves, or another port of the same capture sees it
            (packet(1), 0, Direction::Out),
            (packet(1), 1, Direction::In),
            // its data is sent again
            (
                Packet {
                    identification: 2,
                    ..packet(1)
                },
                0,
                Direction::In,
            ),
            // it looks like one that is sent again
            (packet(0), 0, Direction::In),
            (packet(0), 0, Direction::In),
        ];
        for (packet, interface, direction) in sights {
            assert!(!copies.is_copy(&packet, interface, direction));
        }
    }
}

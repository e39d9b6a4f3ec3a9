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

/// All of so many packets are looked at. If none is a copy, only those are whose mark has these bits, until one is.
const FIRST: u16 = 1000;
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
    looked_at: u16,
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
            looked_at: 0,
            sampled: vec![0; REMEMBERED],
            newest: FxHashSet::default(),
            before: FxHashSet::default(),
        }
    }

    /// Whether the packet was seen before on this interface, going this way. A segment that is sent again has another
    /// identification. Where that is zero, as in IPv6, the two look alike, but a copy behind a router has a hop less
    /// left. With timestamps, no other packet that a router passed looks the same.
    #[inline]
    pub(crate) fn is_copy(
        &mut self,
        packet: &Packet,
        interface: u32,
        direction: Direction,
    ) -> bool {
        let mark = match (packet.identification, packet.timestamps) {
            (0, Some(stamps)) => stamps.val as u16,
            (0, None) => return false,
            (identification, _) => identification,
        };
        let is_sample = self.is_exact || self.looked_at < FIRST || mark & SAMPLED == 1;
        is_sample
            && packet.key.protocol == tcp::PROTOCOL
            && self.is_known(packet, u64::from(interface) << 2 | direction as u64)
    }

    fn is_known(&mut self, packet: &Packet, place: u64) -> bool {
        self.looked_at = self.looked_at.saturating_add(1);
        let same = key(packet).wrapping_add(place);
        let with_hops = |hops: u64| same ^ (hops << 8);
        let (key, before) = match packet.identification {
            0 => (
                with_hops(u64::from(packet.ttl)),
                with_hops(u64::from(packet.ttl) + 1),
            ),
            _ => (same, same),
        };
        let is_known = if self.is_exact {
            if self.newest.len() >= GENERATION {
                self.before = std::mem::take(&mut self.newest);
            }
            let is_known = self.newest.contains(&before) || self.before.contains(&before);
            self.newest.insert(key);
            is_known
        } else {
            let slot = same as usize % REMEMBERED;
            std::mem::replace(&mut self.sampled[slot], key) == before
        };
        self.is_exact |= is_known;
        self.found += u64::from(is_known);
        is_known
    }
}

#[cfg(test)]
mod tests {
    use fairport_tcp::Timestamps;

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
        // a switch that begins to mirror later
        let mut copies = Copies::new(false);
        for n in 1..2000 {
            assert!(!copies.is_copy(&packet(n), 0, Direction::Unknown));
        }
        let found = (2000..2100).filter(|n| both(&mut copies, *n)).count();
        assert!((80..100).contains(&found), "{found}");
    }

    #[test]
    fn the_first_copies_of_a_capture_are_found_behind_a_queue() {
        let mut copies = Copies::new(false);
        for n in 1..2000 {
            assert!(!copies.is_copy(&packet(n), 0, Direction::Unknown));
        }
        for n in 2000..4000 {
            copies.is_copy(&packet(n), 0, Direction::Unknown);
            if n >= 2200 {
                copies.is_copy(&packet(n - 200), 0, Direction::Unknown);
            }
        }
        // but for those of the 200 packets before the first one that was found
        assert!(copies.found > 1500, "{}", copies.found);
    }

    #[test]
    fn a_router_s_copy_without_identification_has_a_hop_less() {
        let mut copies = Copies::new(false);
        let mut is_copy = |val: u32, ttl: u8| {
            let packet = Packet {
                timestamps: Some(Timestamps { val, ecr: 0 }),
                ttl,
                ..packet(0)
            };
            copies.is_copy(&packet, 0, Direction::Unknown)
        };
        for val in 1..100 {
            assert!(!is_copy(val, 64));
            assert!(is_copy(val, 63));
        }
        // it is sent again within a tick of the sender's clock
        assert!(!is_copy(99, 64));
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

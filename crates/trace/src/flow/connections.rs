//! The connections of a capture, identified by addresses and ports, and distinguished by their SYNs.

use fairport_tcp::Flags;
use rustc_hash::FxHashMap;

use crate::packet::{Key, Packet};

/// Numbers connections in the order of their first packets, and their two directions: the direction of the first packet
/// of connection n is 2n, and the other one is 2n + 1.
///
/// A later connection that uses the same ports gets numbers of its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connections {
    /// by the key whose source is the smaller end: the number of that direction
    numbers: FxHashMap<Key, u32>,
    keys: Vec<Key>,
    /// by direction
    begins: Vec<Begin>,
    /// the last look-up, since packets come in trains
    last: Option<(Key, u32)>,
}

/// Where the numbers of a direction begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begin {
    /// nothing of it was seen yet
    Ahead,
    /// at the sequence number of its SYN
    At(u32),
    /// before the capture
    Before,
}

impl Connections {
    /// The number of the packet's direction.
    #[inline]
    pub(crate) fn direction(&mut self, packet: &Packet) -> u32 {
        let is_syn = packet.flags.contains(Flags::SYN);
        if let Some((last, number)) = &self.last
            && *last == packet.key
            && !is_syn
        {
            return *number;
        }
        let key = &packet.key;
        // there is one entry for both directions, so that looked-up entries stay in the cache for longer
        let reversed = key.reversed();
        let is_smaller = key.is_smaller_end();
        let smaller = if is_smaller { *key } else { reversed };
        let known = self.numbers.get(&smaller);
        let known = known.map(|known| known ^ u32::from(!is_smaller));
        let number = match known {
            Some(number) if !is_syn || self.is_of(number, packet) => number,
            _ => self.add(packet, smaller, is_smaller),
        };
        self.last = Some((*key, number));
        number
    }

    /// Whether a SYN is of the connection of this direction. An answer to a SYN is of that SYN's connection, also
    /// where a server that forgot the first SYN answers the second one with another number.
    #[cold]
    fn is_of(&mut self, direction: u32, syn: &Packet) -> bool {
        let [own, other] = [direction, direction ^ 1].map(|one| self.begins[one as usize]);
        let is_answer = syn.flags.contains(Flags::ACK) && matches!(other, Begin::At(_));
        match own {
            Begin::Ahead => self.begins[direction as usize] = Begin::At(syn.seq),
            Begin::At(seq) => return seq == syn.seq || is_answer,
            Begin::Before => return false,
        }
        true
    }

    #[cold]
    fn add(&mut self, packet: &Packet, smaller: Key, is_smaller: bool) -> u32 {
        let number = 2 * self.keys.len() as u32;
        self.keys.push(packet.key);
        self.begins.extend(if packet.flags.contains(Flags::SYN) {
            [Begin::At(packet.seq), Begin::Ahead]
        } else {
            [Begin::Before; 2]
        });
        self.numbers
            .insert(smaller, number + u32::from(!is_smaller));
        number
    }

    /// The key of the direction with this number.
    pub(crate) fn key(&self, direction: u32) -> Key {
        let key = self.keys[direction as usize / 2];
        if direction.is_multiple_of(2) {
            key
        } else {
            key.reversed()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYN: Flags = Flags::SYN;
    const ANSWER: Flags = Flags::from_bits(Flags::SYN.bits() | Flags::ACK.bits());

    fn key(port: u16) -> Key {
        Packet::bare(port).key
    }

    fn packet(key: Key, flags: Flags, seq: u32) -> Packet {
        Packet {
            key,
            seq,
            flags,
            ..Packet::bare(1000)
        }
    }

    #[test]
    fn the_two_directions_of_a_connection_are_neighbours() {
        let mut connections = Connections::default();
        let mut direction = |key: Key| connections.direction(&packet(key, Flags::ACK, 1));
        for port in [1000, 1001] {
            let first = direction(key(port));
            assert_eq!(direction(key(port).reversed()), first + 1);
        }
        assert_eq!(direction(key(1001)), 2);
        let later = key(1002).reversed();
        assert_eq!(
            direction(later),
            4,
            "the first packet's direction has the even number"
        );
        assert_eq!(direction(later.reversed()), 5);
        assert_eq!(connections.key(3), key(1001).reversed());
        assert_eq!((connections.key(4), connections.key(5)), (later, key(1002)));
    }

    #[test]
    fn a_connection_may_use_the_ports_of_an_earlier_one() {
        let mut connections = Connections::default();
        let mut direction = |is_back: bool, flags: Flags, seq: u32| {
            let key = if is_back {
                key(1000).reversed()
            } else {
                key(1000)
            };
            connections.direction(&packet(key, flags, seq))
        };
        // the capture begins within the first one
        assert_eq!(direction(false, Flags::ACK, 7), 0);
        for (number, seq) in [(2, 100), (4, 200)] {
            assert_eq!(direction(false, SYN, seq), number);
            assert_eq!(direction(true, ANSWER, 9 * seq), number + 1);
            // sent again, and answered by a server that had forgotten the first
            assert_eq!(direction(false, SYN, seq), number);
            assert_eq!(direction(true, ANSWER, 9 * seq + 1), number + 1);
            assert_eq!(direction(false, Flags::ACK, seq + 1), number);
            assert_eq!(direction(true, Flags::ACK, 9 * seq + 1), number + 1);
        }
    }

    #[test]
    fn answers_alone_distinguish_connections_too() {
        let mut connections = Connections::default();
        let mut answer = |seq: u32| connections.direction(&packet(key(80), ANSWER, seq));
        assert_eq!([answer(5), answer(5), answer(6), answer(6)], [0, 0, 2, 2]);
    }
}

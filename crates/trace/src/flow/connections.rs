//! The connections of a capture, identified by addresses and ports.

use rustc_hash::FxHashMap;

use crate::packet::Key;

/// Numbers connections in the order of their first packets, and their two directions: the direction of the first packet
/// of connection n is 2n, and the other one is 2n + 1.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connections {
    /// by the key whose source is the smaller end: the number of that direction
    numbers: FxHashMap<Key, u32>,
    keys: Vec<Key>,
    /// the last look-up, since packets come in trains
    last: Option<(Key, u32)>,
}

impl Connections {
    /// The number of the direction with this key.
    #[inline]
    pub(crate) fn direction(&mut self, key: &Key) -> u32 {
        if let Some((last, number)) = &self.last
            && last == key
        {
            return *number;
        }
        // there is one entry for both directions, so that looked-up entries stay in the cache for longer
        let reversed = key.reversed();
        let is_smaller = (key.source, key.ports[0]) <= (key.destination, key.ports[1]);
        let smaller = if is_smaller { *key } else { reversed };
        let known = match self.numbers.get(&smaller) {
            Some(number) => *number,
            None => self.add(*key, smaller, is_smaller),
        };
        let number = known ^ u32::from(!is_smaller);
        self.last = Some((*key, number));
        number
    }

    #[cold]
    fn add(&mut self, key: Key, smaller: Key, is_smaller: bool) -> u32 {
        let number = 2 * self.keys.len() as u32 + u32::from(!is_smaller);
        self.keys.push(key);
        self.numbers.insert(smaller, number);
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

    #[test]
    fn the_two_directions_of_a_connection_are_neighbours() {
        let mut connections = Connections::default();
        let key = |port: u16| Key {
            source: 1,
            destination: 2,
            ports: [port, 80],
            protocol: 6,
        };
        for port in [1000, 1001] {
            let first = connections.direction(&key(port));
            assert_eq!(connections.direction(&key(port).reversed()), first + 1);
            assert_eq!(connections.key(first + 1), key(port).reversed());
        }
        assert_eq!(connections.direction(&key(1001)), 2);
        let later = key(1002).reversed();
        assert_eq!(
            connections.direction(&later),
            4,
            "the first packet's direction has the even number"
        );
        assert_eq!(connections.direction(&later.reversed()), 5);
        assert_eq!((connections.key(4), connections.key(5)), (later, key(1002)));
    }
}

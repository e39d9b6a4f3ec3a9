//! The table of all routes of a network, and among which of them a flow's packets choose.

use super::Path;
use crate::stream::Stream;
use crate::topology::PortId;

/// A hop of a route, as a packet passes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    /// packets of the flow and direction that have arrived at its port, this one included
    pub(crate) arrivals: u64,
    /// the output port of the hop behind it; [`Routes::END`] where the route ends
    pub(crate) next: PortId,
}

/// An entry of the table: a hop, or what is in front of a route's first hop.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// counted here for every entry whose `counted_at` says so
    arrivals: u64,
    /// the output port of the hop behind it; [`Routes::END`] where the route ends. It lies here, so
    /// that a packet reads one entry per hop.
    next: PortId,
    /// where its packets are counted: at itself, or at the same port's entry in another of the
    /// flow's routes
    counted_at: u32,
}

/// Routes among which each packet draws one, all alike likely.
#[derive(Clone, Debug)]
struct Sprayed {
    starts: Vec<u32>,
    stream: Stream,
}

/// All routes of a network in one table; a packet carries the index of its next hop.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    entries: Vec<Entry>,
    /// where released routes begin, by their number of hops
    released: Vec<Vec<u32>>,
    sprayed: Vec<Sprayed>,
    /// places in `sprayed` that are free
    released_sprayed: Vec<u32>,
}

impl Routes {
    /// Where a route ends there is no output port.
    pub(crate) const END: PortId = PortId(u32::MAX);
    /// Marks what a packet carries at the start as a place in `sprayed`.
    const SPRAYED: u32 = 1 << 31;

    /// The output port of a hop; [`Routes::END`] behind the last.
    pub(crate) fn output(&self, hop: u32) -> PortId {
        self.entries[hop as usize - 1].next
    }

    /// What a route of `hops` hops takes, bytes.
    pub fn bytes(hops: usize) -> u64 {
        ((hops + 1) * size_of::<Entry>()) as u64
    }

    /// Adds the route of one direction of a flow; returns what its packets carry at the start.
    pub fn add(&mut self, path: &[PortId]) -> u32 {
        let start = match self.released.get_mut(path.len()).and_then(Vec::pop) {
            Some(start) => start,
            None => self.make_room(path.len()),
        };
        let ports = path.iter().copied().chain([Self::END]);
        for (index, next) in (start..).zip(ports) {
            self.entries[index as usize] = Entry {
                arrivals: 0,
                next,
                counted_at: index,
            };
        }
        start
    }

    /// Adds the paths of one direction of a flow, of several of which each packet draws one from
    /// `stream`; returns what its packets carry at the start. A port that several paths pass counts
    /// the flow's packets once.
    pub fn add_all(&mut self, paths: &[Path], stream: Stream) -> u32 {
        if let [path] = paths {
            return self.add(path);
        }
        let starts: Vec<u32> = paths.iter().map(|path| self.add(path)).collect();
        self.count_together(&starts, paths);
        let sprayed = Sprayed { starts, stream };
        let place = if let Some(place) = self.released_sprayed.pop() {
            self.sprayed[place as usize] = sprayed;
            place
        } else {
            self.sprayed.push(sprayed);
            self.sprayed.len() as u32 - 1
        };
        Self::SPRAYED | place
    }

    fn count_together(&mut self, starts: &[u32], paths: &[Path]) {
        let mut first: Vec<(PortId, u32)> = Vec::new();
        for (start, path) in starts.iter().zip(paths) {
            for (index, port) in (start + 1..).zip(path) {
                match first.iter().find(|(known, _)| known == port) {
                    Some((_, counted_at)) => {
                        self.entries[index as usize].counted_at = *counted_at;
                    }
                    None => first.push((*port, index)),
                }
            }
        }
    }

    /// The place of a new route and of what is in front of it.
    fn make_room(&mut self, hops: usize) -> u32 {
        let start = self.entries.len();
        let end = start + hops;
        let entry = |index| Entry {
            arrivals: 0,
            next: Self::END,
            counted_at: index as u32,
        };
        self.entries.extend((start..=end).map(entry));
        start as u32
    }

    /// Gives what was added back, for others to take its place. No packet may be on it.
    pub fn release(&mut self, start: u32) {
        if start & Self::SPRAYED == 0 {
            self.release_one(start);
            return;
        }
        let place = start ^ Self::SPRAYED;
        for start in std::mem::take(&mut self.sprayed[place as usize].starts) {
            self.release_one(start);
        }
        self.released_sprayed.push(place);
    }

    fn release_one(&mut self, start: u32) {
        let entries = &self.entries[start as usize..];
        let on_the_way = |entry: &&Entry| entry.next != Self::END;
        let length = entries.iter().take_while(on_the_way).count();
        if self.released.len() <= length {
            self.released.resize(length + 1, Vec::new());
        }
        self.released[length].push(start);
    }

    /// The first output port of the route that a packet carries as `start`; of a set of routes, of the first
    /// one.
    pub(crate) fn first_output(&self, start: u32) -> PortId {
        let index = if start & Self::SPRAYED == 0 {
            start
        } else {
            self.sprayed[(start ^ Self::SPRAYED) as usize].starts[0]
        };
        self.output(index + 1)
    }

    /// The index of the first hop of a packet that carries `start`, and its output port.
    #[inline]
    pub(crate) fn enter(&mut self, start: u32) -> (u32, PortId) {
        let index = if start & Self::SPRAYED == 0 {
            start
        } else {
            let Sprayed { starts, stream } = &mut self.sprayed[(start ^ Self::SPRAYED) as usize];
            starts[stream.up_to(starts.len() as u64 - 1) as usize]
        };
        (index + 1, self.entries[index as usize].next)
    }

    /// The first and the last port of the route that the hop at this index is of.
    pub(crate) fn ends(&self, index: u32) -> (PortId, PortId) {
        let (before, behind) = self.entries.split_at(index as usize);
        let here = before[before.len() - 1].next;
        let on_the_way = |entry: &&Entry| entry.next != Self::END;
        let last = behind.iter().take_while(on_the_way).last();
        let first = before.iter().rev().take_while(on_the_way).last();
        let port = |entry: Option<&Entry>| entry.map_or(here, |entry| entry.next);
        (port(first), port(last))
    }

    /// The hop at this index, with the arriving packet counted.
    #[inline]
    pub(crate) fn pass(&mut self, index: u32) -> Hop {
        let Entry {
            next, counted_at, ..
        } = self.entries[index as usize];
        let count = &mut self.entries[counted_at as usize].arrivals;
        *count += 1;
        Hop {
            arrivals: *count,
            next,
        }
    }

    /// Packets of the flow and direction that have arrived at the hop at this index.
    pub(crate) fn arrivals(&self, index: u32) -> u64 {
        let counted_at = self.entries[index as usize].counted_at;
        self.entries[counted_at as usize].arrivals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet that carries `start` goes its way: the ports, and how many have come to each.
    fn follow(routes: &mut Routes, start: u32) -> Vec<(u32, u64)> {
        let (mut index, mut port) = routes.enter(start);
        let mut hops = Vec::new();
        while port != Routes::END {
            let hop = routes.pass(index);
            hops.push((port.0, hop.arrivals));
            (index, port) = (index + 1, hop.next);
        }
        hops
    }

    #[test]
    fn a_released_route_gives_its_place_to_one_of_its_length_and_counts_from_zero() {
        let mut routes = Routes::default();
        let long = routes.add(&[PortId(1), PortId(2), PortId(3)]);
        let short = routes.add(&[PortId(4)]);
        assert_eq!(follow(&mut routes, long), [(1, 1), (2, 1), (3, 1)]);
        assert_eq!(
            [long, short].map(|it| routes.first_output(it).0),
            [1, 4],
            "a host's adapter"
        );
        routes.release(long);
        assert_ne!(routes.add(&[PortId(5)]), long);
        assert_eq!(routes.add(&[PortId(7), PortId(8), PortId(9)]), long);
        assert_eq!(follow(&mut routes, long), [(7, 1), (8, 1), (9, 1)]);
        assert_eq!(follow(&mut routes, short), [(4, 1)]);
    }

    #[test]
    fn sprayed_packets_take_all_paths_and_a_port_counts_them_once() {
        let mut routes = Routes::default();
        let paths = [[1, 2, 9], [1, 3, 9]].map(|path| path.map(PortId).to_vec());
        let sprayed = routes.add_all(&paths, Stream::new(1, "spray", 0));
        let mut taken = [0, 0];
        for packet in 1..=1000_u64 {
            let hops = follow(&mut routes, sprayed);
            let own = hops[1].0;
            let count = &mut taken[own as usize - 2];
            *count += 1;
            assert_eq!(hops, [(1, packet), (own, *count), (9, packet)]);
        }
        // 500 expected, and a standard deviation of 16
        assert!((440..560).contains(&taken[0]), "{taken:?}");
        routes.release(sprayed);
        let starts = [7, 8].map(|port| routes.add(&[1, port, 9].map(PortId)));
        assert!(
            starts.iter().all(|start| *start < 8),
            "released places are used again"
        );
        for start in starts {
            assert!(follow(&mut routes, start).iter().all(|hop| hop.1 == 1));
        }
    }
}

//! The table of all routes of a network, and among which of them a flow's packets choose.

use super::Path;
use crate::stream::Stream;
use crate::topology::PortId;

/// A hop of a route, as a packet comes to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    /// packets of the flow and direction that have arrived at `port`, this one included
    pub(crate) arrivals: u64,
    /// the output port
    pub(crate) port: PortId,
}

/// An entry of the table.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// counted here for every entry whose `counted_at` says so
    arrivals: u64,
    port: PortId,
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
    const END: PortId = PortId(u32::MAX);
    /// Marks what a packet carries at the start as a place in `sprayed`.
    const SPRAYED: u32 = 1 << 31;

    /// What a route of `hops` hops takes, octets.
    pub fn bytes(hops: usize) -> u64 {
        ((hops + 1) * size_of::<Entry>()) as u64
    }

    /// Adds the route of one direction of a flow; returns what its packets carry at the start.
    pub fn add(&mut self, path: &[PortId]) -> u32 {
        let start = match self.released.get_mut(path.len()).and_then(Vec::pop) {
            Some(start) => start,
            None => self.make_room(path.len()),
        };
        for (index, port) in (start..).zip(path) {
            self.entries[index as usize] = Entry {
                arrivals: 0,
                port: *port,
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
            for (index, port) in (*start..).zip(path) {
                match first.iter().find(|(known, _)| known == port) {
                    Some((_, counted_at)) => {
                        self.entries[index as usize].counted_at = *counted_at;
                    }
                    None => first.push((*port, index)),
                }
            }
        }
    }

    /// The place of a new route and of the mark at its end.
    fn make_room(&mut self, hops: usize) -> u32 {
        let start = self.entries.len();
        let end = start + hops;
        let entry = |index| Entry {
            arrivals: 0,
            port: Self::END,
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
        let on_the_way = |entry: &&Entry| entry.port != Self::END;
        let length = entries.iter().take_while(on_the_way).count();
        if self.released.len() <= length {
            self.released.resize(length + 1, Vec::new());
        }
        self.released[length].push(start);
    }

    /// The index of the first hop of a packet that carries `start`.
    #[inline]
    pub(crate) fn enter(&mut self, start: u32) -> u32 {
        if start & Self::SPRAYED == 0 {
            return start;
        }
        let Sprayed { starts, stream } = &mut self.sprayed[(start ^ Self::SPRAYED) as usize];
        starts[stream.up_to(starts.len() as u64 - 1) as usize]
    }

    /// The first and the last port of the route that the hop at this index is of.
    pub(crate) fn ends(&self, index: u32) -> (PortId, PortId) {
        let (before, behind) = self.entries.split_at(index as usize);
        let on_the_way = |entry: &&Entry| entry.port != Self::END;
        let last = behind.iter().take_while(on_the_way).last();
        let first = before.iter().rev().take_while(on_the_way).last();
        let here = behind[0].port;
        let port = |entry: Option<&Entry>| entry.map_or(here, |entry| entry.port);
        (port(first), port(last))
    }

    /// The hop at this index, with the arriving packet counted; `None` where the route ends.
    #[inline]
    pub(crate) fn arrive(&mut self, index: u32) -> Option<Hop> {
        let Entry {
            port, counted_at, ..
        } = self.entries[index as usize];
        let count = &mut self.entries[counted_at as usize].arrivals;
        *count += 1;
        let arrivals = *count;
        (port != Self::END).then_some(Hop { arrivals, port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_released_route_gives_its_place_to_one_of_its_length_and_counts_from_zero() {
        let mut routes = Routes::default();
        let long = routes.add(&[PortId(1), PortId(2), PortId(3)]);
        let short = routes.add(&[PortId(4)]);
        assert_eq!(routes.arrive(long).unwrap().arrivals, 1);
        routes.release(long);
        assert_ne!(routes.add(&[PortId(5)]), long);
        assert_eq!(routes.add(&[PortId(7), PortId(8), PortId(9)]), long);
        let ports: Vec<_> = (long..).map_while(|index| routes.arrive(index)).collect();
        assert!(ports.iter().all(|hop| hop.arrivals == 1));
        assert_eq!(
            ports.iter().map(|hop| hop.port.0).collect::<Vec<_>>(),
            [7, 8, 9]
        );
        assert_eq!(routes.arrive(short).unwrap().port, PortId(4));
    }

    #[test]
    fn sprayed_packets_take_all_paths_and_a_port_counts_them_once() {
        let mut routes = Routes::default();
        let paths = [[1, 2, 9], [1, 3, 9]].map(|path| path.map(PortId).to_vec());
        let sprayed = routes.add_all(&paths, Stream::new(1, "spray", 0));
        let mut taken = [0, 0];
        for packet in 1..=1000_u64 {
            let start = routes.enter(sprayed);
            let hops: Vec<Hop> = (start..).map_while(|index| routes.arrive(index)).collect();
            let own = (hops[1].port.0 - 2) as usize;
            taken[own] += 1;
            let counts: Vec<u64> = hops.iter().map(|hop| hop.arrivals).collect();
            assert_eq!(counts, [packet, taken[own], packet]);
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
            let hops = (start..).map_while(|index| routes.arrive(index));
            assert!(hops.into_iter().all(|hop| hop.arrivals == 1));
        }
    }
}

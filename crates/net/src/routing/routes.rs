//! The table of all routes of a network, and the sets of routes from which packets choose.
//!
//! The table does not change while packets move. The counts at the hops and the random numbers for choices belong to
//! the region that moves the packets.

use std::ops::Range;

use super::Path;
use crate::prefetch::prefetch;
use crate::topology::PortId;

/// One entry of a route: a hop that a packet passes, or the entry before the first hop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    /// the output port of the next hop; [`Routes::END`] at the end of the route. It is stored here so that a packet
    /// reads one entry per hop
    pub(crate) next: PortId,
    /// the index where its packets are counted, and the flag [`Hop::AHEAD`]
    counted_at: u32,
}

impl Hop {
    /// Flag of a hop whose packets are forwarded ahead to the next hop.
    const AHEAD: u32 = 1 << 31;

    /// The index where its packets are counted: its own, or that of the same port in another route of the flow.
    #[inline]
    pub(crate) fn counted_at(self) -> u32 {
        self.counted_at & !Self::AHEAD
    }

    /// Whether its packets are forwarded ahead to the next hop.
    #[inline]
    pub(crate) fn is_ahead(self) -> bool {
        self.counted_at & Self::AHEAD != 0
    }
}

/// All routes of a network in one table; a packet carries the index of its next hop.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    entries: Vec<Hop>,
    /// where released routes begin, by number of hops
    released: Vec<Vec<u32>>,
    /// sets of routes, from which each packet draws one with equal probability: where the routes begin
    sprayed: Vec<Vec<u32>>,
    /// free indices in `sprayed`
    released_sprayed: Vec<u32>,
    /// by port: where a set that is being added counts it; [`Self::NOWHERE`] at all others
    counted_at: Vec<u32>,
}

impl Routes {
    /// The output port after the end of a route: there is none.
    pub(crate) const END: PortId = PortId(u32::MAX);
    /// No entry.
    const NOWHERE: u32 = u32::MAX;
    /// Flag of a start that is an index into `sprayed`.
    const SPRAYED: u32 = 1 << 31;

    /// The output port of a hop; [`Routes::END`] after the last.
    pub(crate) fn output(&self, hop: u32) -> PortId {
        self.entries[hop as usize - 1].next
    }

    /// Prefetches a hop that a packet will soon pass.
    #[inline]
    pub(crate) fn prefetch(&self, hop: u32) {
        prefetch(&self.entries[hop as usize]);
    }

    /// Memory of a route of `hops` hops in bytes, including the counts of its packets.
    pub fn bytes(hops: usize) -> u64 {
        ((hops + 1) * (size_of::<Hop>() + size_of::<u64>())) as u64
    }

    /// Number of entries in the table.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Adds the route of one direction of a flow. Returns the start that its packets carry.
    pub fn add(&mut self, path: &[PortId]) -> u32 {
        let start = match self.released.get_mut(path.len()).and_then(Vec::pop) {
            Some(start) => start,
            None => self.make_room(path.len()),
        };
        let ports = path.iter().copied().chain([Self::END]);
        for (index, next) in (start..).zip(ports) {
            self.entries[index as usize] = Hop {
                next,
                counted_at: index,
            };
        }
        start
    }

    /// Adds the paths of one direction of a flow. If there are several, each packet draws one. Returns the start that
    /// its packets carry. A port that lies on several paths counts the flow's packets only once.
    pub(crate) fn add_all(&mut self, paths: &[Path]) -> u32 {
        if let [path] = paths {
            return self.add(path);
        }
        let starts: Vec<u32> = paths.iter().map(|path| self.add(path)).collect();
        self.count_together(&starts, paths);
        let place = if let Some(place) = self.released_sprayed.pop() {
            self.sprayed[place as usize] = starts;
            place
        } else {
            self.sprayed.push(starts);
            self.sprayed.len() as u32 - 1
        };
        Self::SPRAYED | place
    }

    fn count_together(&mut self, starts: &[u32], paths: &[Path]) {
        let ports = paths.iter().flatten().map(|port| port.0 as usize);
        let needed = ports.clone().max().map_or(0, |last| last + 1);
        if self.counted_at.len() < needed {
            self.counted_at.resize(needed, Self::NOWHERE);
        }
        for (start, path) in starts.iter().zip(paths) {
            for (index, port) in (start + 1..).zip(path) {
                let first = &mut self.counted_at[port.0 as usize];
                *first = (*first).min(index);
                self.entries[index as usize].counted_at = *first;
            }
        }
        ports.for_each(|port| self.counted_at[port] = Self::NOWHERE);
    }

    /// Reserves entries for a new route, including the one before its first hop.
    fn make_room(&mut self, hops: usize) -> u32 {
        let start = self.entries.len();
        let end = start + hops;
        let entry = |index| Hop {
            next: Self::END,
            counted_at: index as u32,
        };
        self.entries.extend((start..=end).map(entry));
        start as u32
    }

    /// Lets packets that carry `start` be forwarded ahead to some ports. `fed_by` gives the port that feeds each such
    /// port.
    ///
    /// # Panics
    /// If a route reaches such a port from another port.
    pub(crate) fn forward_ahead(&mut self, start: u32, fed_by: &[Option<PortId>]) {
        let routes: Vec<_> = self.places_of(start).collect();
        for places in routes {
            let mut from = None; // the host
            for index in places {
                let next = self.entries[index].next;
                if next != Self::END
                    && let feeder @ Some(_) = fed_by[next.0 as usize]
                {
                    assert_eq!(feeder, from, "{next:?} is fed by another port");
                    self.entries[index].counted_at |= Hop::AHEAD;
                }
                from = Some(next);
            }
        }
    }

    /// Releases the route or the set of routes, so that others can use its entries. No packet may be on it.
    pub(crate) fn release(&mut self, start: u32) {
        if start & Self::SPRAYED == 0 {
            self.release_one(start);
            return;
        }
        let place = start ^ Self::SPRAYED;
        for start in std::mem::take(&mut self.sprayed[place as usize]) {
            self.release_one(start);
        }
        self.released_sprayed.push(place);
    }

    fn release_one(&mut self, start: u32) {
        let hops = self.hops(start);
        if self.released.len() <= hops {
            self.released.resize(hops + 1, Vec::new());
        }
        self.released[hops].push(start);
    }

    /// The first output port of the route that a packet carries as `start`. For a set of routes, that of its first
    /// route.
    pub(crate) fn first_output(&self, start: u32) -> PortId {
        let start = self.sprayed(start).map_or(start, |(_, starts)| starts[0]);
        self.output(start + 1)
    }

    /// The set of routes that packets carry as `start`: its index, and where its routes begin. None if `start` is a
    /// single route.
    #[inline]
    pub(crate) fn sprayed(&self, start: u32) -> Option<(usize, &[u32])> {
        let place = (start ^ Self::SPRAYED) as usize;
        (start & Self::SPRAYED != 0).then(|| (place, &self.sprayed[place][..]))
    }

    /// The ranges of entries of the route, or of each route in the set, that packets carry as `start`.
    pub(crate) fn places_of(&self, start: u32) -> impl Iterator<Item = Range<usize>> {
        let starts = match self.sprayed(start) {
            Some((_, starts)) => starts.to_vec(),
            None => vec![start],
        };
        let place = |start: u32| start as usize..start as usize + 1 + self.hops(start);
        starts.into_iter().map(place)
    }

    /// The number of hops of a single route.
    fn hops(&self, start: u32) -> usize {
        let on_the_way = |hop: &&Hop| hop.next != Self::END;
        let entries = &self.entries[start as usize..];
        entries.iter().take_while(on_the_way).count()
    }

    /// The first and the last port of the route that contains the hop at this index.
    pub(crate) fn ends(&self, index: u32) -> (PortId, PortId) {
        let (before, behind) = self.entries.split_at(index as usize);
        let here = before[before.len() - 1].next;
        let on_the_way = |entry: &&Hop| entry.next != Self::END;
        let last = behind.iter().take_while(on_the_way).last();
        let first = before.iter().rev().take_while(on_the_way).last();
        let port = |entry: Option<&Hop>| entry.map_or(here, |entry| entry.next);
        (port(first), port(last))
    }

    /// The hop at this index.
    #[inline]
    pub(crate) fn hop(&self, index: u32) -> Hop {
        self.entries[index as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_takes_an_entry_and_a_count_per_hop_and_one_of_each_in_front() {
        // 4 bytes for the port, 4 for the index of the count, 8 for the count
        assert_eq!(Routes::bytes(0), 16);
        assert_eq!(Routes::bytes(6), 7 * 16);
        let mut routes = Routes::default();
        routes.add(&[1, 2, 3].map(PortId));
        let entries = routes.len() * (size_of::<Hop>() + size_of::<u64>());
        assert_eq!(Routes::bytes(3), entries as u64);
    }
}

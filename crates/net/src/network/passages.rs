//! What a region keeps beside the table of routes: how many packets of each flow and direction have
//! arrived at each hop, and the streams from which packets of sprayed flows draw their routes.

use crate::routing::Routes;
use crate::stream::Stream;
use crate::topology::PortId;

/// Counts by hop, and streams by sprayed set of routes.
pub(crate) struct Passages {
    /// by entry of the table
    arrivals: Vec<u64>,
    /// by place of a sprayed set
    streams: Vec<Option<Stream>>,
}

impl Passages {
    /// Counts of zero for this table of routes.
    pub(crate) fn new(routes: &Routes) -> Self {
        Self {
            arrivals: vec![0; routes.len()],
            streams: Vec::new(),
        }
    }

    /// The route of a packet that carries `start`: the index of its first hop, and that hop's output port.
    #[inline(always)] // what only few packets need is in `draw`
    pub(crate) fn enter(&mut self, routes: &Routes, start: u32) -> (u32, PortId) {
        let index = match routes.sprayed(start) {
            None => start,
            Some((place, starts)) => self.draw(place, starts),
        };
        (index + 1, routes.output(index + 1))
    }

    /// Draws the route of a packet of a sprayed flow; returns where it begins.
    #[inline(never)]
    fn draw(&mut self, place: usize, starts: &[u32]) -> u32 {
        let stream = self.streams[place].as_mut().expect("the set was added");
        starts[stream.up_to(starts.len() as u64 - 1) as usize]
    }

    /// Counts a packet that has arrived at a hop. `counted_at` is the entry that the hop names for this.
    #[inline]
    pub(crate) fn count(&mut self, counted_at: u32) {
        self.arrivals[counted_at as usize] += 1;
    }

    /// The number of packets counted at this entry.
    #[inline]
    pub(crate) fn arrivals(&self, counted_at: u32) -> u64 {
        self.arrivals[counted_at as usize]
    }

    /// Sets the counts of a route that was added to the table as `start` to zero. If `start` is a set of
    /// routes, packets draw one from `stream`.
    pub(crate) fn add(&mut self, routes: &Routes, start: u32, stream: Stream) {
        self.arrivals.resize(routes.len(), 0);
        for hops in routes.places_of(start) {
            self.arrivals[hops].fill(0);
        }
        if let Some((place, _)) = routes.sprayed(start) {
            if self.streams.len() <= place {
                self.streams.resize(place + 1, None);
            }
            self.streams[place] = Some(stream);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::Path;

    /// A table of routes, and the counts and streams beside it.
    struct Table {
        routes: Routes,
        passages: Passages,
    }

    impl Table {
        fn new() -> Self {
            let routes = Routes::default();
            let passages = Passages::new(&routes);
            Self { routes, passages }
        }

        fn add(&mut self, paths: &[&[u32]]) -> u32 {
            let path = |path: &&[u32]| path.iter().copied().map(PortId).collect();
            let paths: Vec<Path> = paths.iter().map(path).collect();
            let start = self.routes.add_all(&paths);
            let stream = Stream::new(1, "spray", 0);
            self.passages.add(&self.routes, start, stream);
            start
        }

        /// Sends a packet that carries `start`. Returns the ports that it passes, and the packets counted at each.
        fn follow(&mut self, start: u32) -> Vec<(u32, u64)> {
            let (mut index, mut port) = self.passages.enter(&self.routes, start);
            let mut hops = Vec::new();
            while port != Routes::END {
                let hop = self.routes.hop(index);
                self.passages.count(hop.counted_at());
                hops.push((port.0, self.passages.arrivals(hop.counted_at())));
                (index, port) = (index + 1, hop.next);
            }
            hops
        }
    }

    #[test]
    fn a_released_route_gives_its_place_to_one_of_its_length_and_counts_from_zero() {
        let mut table = Table::new();
        let long = table.add(&[&[1, 2, 3]]);
        let short = table.add(&[&[4]]);
        assert_eq!(table.follow(long), [(1, 1), (2, 1), (3, 1)]);
        assert_eq!(
            [long, short].map(|it| table.routes.first_output(it).0),
            [1, 4],
            "a host's adapter"
        );
        table.routes.release(long);
        assert_ne!(table.add(&[&[5]]), long);
        assert_eq!(table.add(&[&[7, 8, 9]]), long);
        assert_eq!(table.follow(long), [(7, 1), (8, 1), (9, 1)]);
        assert_eq!(table.follow(short), [(4, 1)]);
    }

    #[test]
    fn sprayed_packets_take_all_paths_and_a_port_counts_them_once() {
        let mut table = Table::new();
        let sprayed = table.add(&[&[1, 2, 9], &[1, 3, 9]]);
        let mut taken = [0, 0];
        for packet in 1..=1000_u64 {
            let hops = table.follow(sprayed);
            let own = hops[1].0;
            let count = &mut taken[own as usize - 2];
            *count += 1;
            assert_eq!(hops, [(1, packet), (own, *count), (9, packet)]);
        }
        // 500 expected, and a standard deviation of 16
        assert!((440..560).contains(&taken[0]), "{taken:?}");
        table.routes.release(sprayed);
        let starts = [7, 8].map(|port| table.add(&[&[1, port, 9]]));
        assert!(
            starts.iter().all(|start| *start < 8),
            "released places are used again"
        );
        for start in starts {
            assert!(table.follow(start).iter().all(|hop| hop.1 == 1));
        }
    }
}

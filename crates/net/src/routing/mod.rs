//! Routing: which ports a flow's packets go through. One file a policy.

mod destination_suffix;

pub use destination_suffix::DestinationSuffix;

use crate::topology::PortId;

/// A hop of a route, as a packet comes to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    /// packets of the flow and direction that have arrived at `port`, this one included
    pub(crate) arrivals: u64,
    /// the output port
    pub(crate) port: PortId,
}

/// All routes of a network in one table; a packet carries the index of its next hop.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    hops: Vec<Hop>,
    /// where released routes begin, by their number of hops
    released: Vec<Vec<u32>>,
}

impl Routes {
    const END: PortId = PortId(u32::MAX);

    /// Adds the route of one direction of a flow; returns what its packets carry at the start.
    pub fn add(&mut self, path: &[PortId]) -> u32 {
        let hop = |port| Hop { arrivals: 0, port };
        if let Some(start) = self.released.get_mut(path.len()).and_then(Vec::pop) {
            for (old, port) in self.hops[start as usize..].iter_mut().zip(path) {
                *old = hop(*port);
            }
            return start;
        }
        let start = self.hops.len() as u32;
        let end = [hop(Self::END)];
        self.hops.extend(path.iter().copied().map(hop).chain(end));
        start
    }

    /// Gives a route back, for another of its length to take its place. No packet may be on it.
    pub fn release(&mut self, start: u32) {
        let hops = &self.hops[start as usize..];
        let length = hops.iter().take_while(|hop| hop.port != Self::END).count();
        if self.released.len() <= length {
            self.released.resize(length + 1, Vec::new());
        }
        self.released[length].push(start);
    }

    /// The hop at this index, with the arriving packet counted; `None` where the route ends.
    #[inline]
    pub(crate) fn arrive(&mut self, index: u32) -> Option<Hop> {
        let hop = &mut self.hops[index as usize];
        hop.arrivals += 1;
        (hop.port != Self::END).then_some(*hop)
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
}

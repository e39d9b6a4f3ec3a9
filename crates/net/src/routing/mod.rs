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
}

impl Routes {
    const END: PortId = PortId(u32::MAX);

    /// Adds the route of one direction of a flow; returns what its packets carry at the start.
    pub fn add(&mut self, path: &[PortId]) -> u32 {
        let start = self.hops.len() as u32;
        let hop = |port| Hop { arrivals: 0, port };
        let end = [hop(Self::END)];
        self.hops.extend(path.iter().copied().map(hop).chain(end));
        start
    }

    /// The hop at this index, with the arriving packet counted; `None` where the route ends.
    #[inline]
    pub(crate) fn arrive(&mut self, index: u32) -> Option<Hop> {
        let hop = &mut self.hops[index as usize];
        hop.arrivals += 1;
        (hop.port != Self::END).then_some(*hop)
    }
}

//! Routing: which ports a flow's packets go through. One file a policy.

mod destination_suffix;

pub use destination_suffix::DestinationSuffix;

use crate::topology::PortId;

/// One hop of a route.
#[derive(Clone, Copy, Debug)]
struct Hop {
    /// packets of the flow that have arrived at `port`
    arrivals: u64,
    /// the output port, or `Routes::END`
    port: u32,
}

/// All routes of a network in one table; a packet carries the index of its next hop.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    hops: Vec<Hop>,
}

impl Routes {
    const END: u32 = u32::MAX;

    /// Adds the route of one direction of a flow; returns what its packets carry at the start.
    pub fn add(&mut self, path: &[PortId]) -> u32 {
        let start = self.hops.len() as u32;
        let hop = |port| Hop { arrivals: 0, port };
        self.hops
            .extend(path.iter().map(|port| hop(port.0)).chain([hop(Self::END)]));
        start
    }

    /// The output port of the hop at this index, or `None` where the route ends.
    #[inline]
    pub(crate) fn port(&self, index: u32) -> Option<PortId> {
        let port = self.hops[index as usize].port;
        (port != Self::END).then_some(PortId(port))
    }

    /// Counts an arrival at the hop's output port; returns how many there were with it.
    #[inline]
    pub(crate) fn count_arrival(&mut self, index: u32) -> u64 {
        let hop = &mut self.hops[index as usize];
        hop.arrivals += 1;
        hop.arrivals
    }
}

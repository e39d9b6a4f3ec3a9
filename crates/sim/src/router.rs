//! How a flow's packets find their way: the job's routing, asked when a flow starts.

use fairport_net::routing::DestinationSuffix;
use fairport_net::{PortId, Topology};

use crate::job::RoutingJob;

/// The routing policy of a run. Hosts are meant by their numbers.
pub(crate) enum Router {
    DestinationSuffix(DestinationSuffix),
}

impl Router {
    pub(crate) fn new(job: RoutingJob, topology: &Topology) -> Self {
        match job {
            RoutingJob::DestinationSuffix => {
                Self::DestinationSuffix(DestinationSuffix::new(topology))
            }
        }
    }

    /// The output ports from one host to another; none where no path leads there.
    pub(crate) fn path(&mut self, topology: &Topology, src: u32, dst: u32) -> Option<Vec<PortId>> {
        match self {
            Self::DestinationSuffix(policy) => policy.path(topology, src as usize, dst as usize),
        }
    }
}

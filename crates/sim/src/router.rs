//! How a flow's packets find their way: the job's routing, asked when a flow starts.

use fairport_net::routing::{
    DestinationSuffix, Ecmp, EqualLength, FiveTuple, Path, RiplHash, Routing, ShortestPaths,
    SpanningTree, Spray, TwoLevel,
};
use fairport_net::{BuildError, Topology};

use crate::job::{Job, RoutingJob, TopologyJob};

/// The routing policy of a run. Hosts are meant by their numbers.
pub(crate) struct Router {
    policy: Box<dyn Routing>,
    distances: ShortestPaths,
}

impl Router {
    pub(crate) fn new(job: &Job, topology: &Topology) -> Result<Self, BuildError> {
        let policy: Box<dyn Routing> = match job.routing {
            RoutingJob::DestinationSuffix => Box::new(DestinationSuffix::new(topology)),
            RoutingJob::Ecmp => Box::new(Ecmp::new(topology, job.seed)),
            RoutingJob::RiplHash => Box::new(RiplHash::new(topology)),
            RoutingJob::SpanningTree => Box::new(SpanningTree::new(topology)),
            RoutingJob::EqualLength { core } => {
                Box::new(EqualLength::new(topology, job.seed, core)?)
            }
            RoutingJob::Spray => Box::new(Spray::new(topology)),
            RoutingJob::TwoLevel => Box::new(TwoLevel::new(fat_tree_k(&job.topology)?)),
        };
        let distances = ShortestPaths::new(topology);
        Ok(Self { policy, distances })
    }

    /// The links between two hosts by the shortest way, whatever way the policy takes: so a flow's
    /// hop class says where it comes from.
    pub(crate) fn hops(&mut self, topology: &Topology, src: u32, dst: u32) -> u32 {
        let links = self.distances.links(topology, src as usize, dst as usize);
        links.expect("a topology is connected")
    }

    /// The paths of a flow from one host to another, there and back; of several in one direction
    /// each packet takes one.
    pub(crate) fn paths(
        &mut self,
        topology: &Topology,
        flow: u32,
        src: u32,
        dst: u32,
    ) -> [Vec<Path>; 2] {
        let address = |host: u32| topology.node(topology.hosts()[host as usize]).address;
        let tuple = FiveTuple::of_flow(flow, address(src), address(dst));
        let (src, dst) = (src as usize, dst as usize);
        [
            self.policy.paths(topology, src, dst, &tuple),
            self.policy.paths(topology, dst, src, &tuple.reversed()),
        ]
    }
}

fn fat_tree_k(job: &TopologyJob) -> Result<u32, BuildError> {
    let TopologyJob::FatTree { k } = job else {
        let problem = "needs a fat-tree: it looks at the addresses of one";
        let remedy = "use topology.kind = \"fat-tree\", or routing = \"ecmp\"";
        return Err(BuildError::new("routing", "two-level", problem, remedy));
    };
    Ok(*k)
}

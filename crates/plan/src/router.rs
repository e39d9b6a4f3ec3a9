//! How a flow's packets find their way: the job's routing, asked when a flow starts.

use fairport_net::routing::{
    DestinationSuffix, Ecmp, EqualLength, FiveTuple, RiplHash, Routing, ShortestPaths,
    SpanningTree, Spray, TwoLevel,
};
use fairport_net::{BuildError, Topology};

use crate::job::{Job, PerJob, RoutingJob, TopologyJob};
use crate::paths::FlowPaths;

/// The routing policy of a run. Hosts are meant by their numbers.
pub struct Router {
    policy: Box<dyn Routing>,
    distances: ShortestPaths,
}

impl Router {
    pub fn new(job: &Job, topology: &Topology) -> Result<Self, BuildError> {
        let policy: Box<dyn Routing> = match job.routing {
            RoutingJob::DestinationSuffix => Box::new(DestinationSuffix::new(topology)),
            RoutingJob::Ecmp => Box::new(Ecmp::new(topology, job.seed)),
            RoutingJob::RiplHash => Box::new(RiplHash::new(topology)),
            RoutingJob::SpanningTree => Box::new(SpanningTree::new(topology)),
            RoutingJob::EqualLength { core, per } => {
                let policy = EqualLength::new(topology, job.seed, core)?;
                Box::new(match per {
                    PerJob::Flow => policy,
                    PerJob::Packet => policy.per_packet(),
                })
            }
            RoutingJob::Spray => Box::new(Spray::new(topology)),
            RoutingJob::TwoLevel => Box::new(TwoLevel::new(fat_tree_k(&job.topology)?)),
        };
        let distances = ShortestPaths::new(topology);
        Ok(Self { policy, distances })
    }

    /// The paths of a flow from one host to another, there and back.
    pub fn paths(&mut self, topology: &Topology, flow: u32, src: u32, dst: u32) -> FlowPaths {
        let address = |host: u32| topology.node(topology.hosts()[host as usize]).address;
        let tuple = FiveTuple::of_flow(flow, address(src), address(dst));
        let (from, to) = (src as usize, dst as usize);
        // by the shortest way, whatever way the policy takes: so a flow's hop class says where it
        // comes from
        let links = self.distances.links(topology, from, to);
        let mut forward = self.policy.paths(topology, from, to, &tuple);
        let mut backward = self.policy.paths(topology, to, from, &tuple.reversed());
        for (host, paths) in [(from, &mut forward), (to, &mut backward)] {
            if let Some(own) = topology.own_port(topology.hosts()[host]) {
                for path in paths {
                    path.insert(0, own);
                }
            }
        }
        FlowPaths {
            hops: links.expect("a topology is connected"),
            forward,
            backward,
        }
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

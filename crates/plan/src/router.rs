//! How a flow's packets find their way: the job's routing, asked when a flow starts.

use std::fmt;

use fairport_net::routing::{
    DestinationSuffix, Ecmp, EqualLength, FiveTuple, Path, RiplHash, Routing, ShortestPaths,
    SpanningTree, Spray, TwoLevel,
};
use fairport_net::{BuildError, Topology};

use crate::job::{Job, PerJob, RoutingJob, TopologyJob};
use crate::paths::FlowPaths;

/// The routing policy of a run. Hosts are meant by their numbers.
pub(crate) struct Router {
    policy: Box<dyn Routing>,
    distances: ShortestPaths,
}

impl Router {
    /// The policy that the job asks for.
    ///
    /// # Errors
    /// If the topology does not suit the policy; the error names the field.
    pub(crate) fn new(job: &Job, topology: &Topology) -> Result<Self, BuildError> {
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
    pub(crate) fn paths(
        &mut self,
        topology: &Topology,
        flow: u32,
        src: u32,
        dst: u32,
    ) -> FlowPaths {
        // by the shortest way, whatever way the policy takes: so a flow's hop class says where it
        // comes from
        let links = self.distances.links(topology, src as usize, dst as usize);
        let tuple = tuple(topology, flow, src, dst);
        FlowPaths {
            hops: links.expect("a topology is connected"),
            forward: self.one_way(topology, [src, dst], &tuple),
            backward: self.one_way(topology, [dst, src], &tuple.reversed()),
        }
    }

    /// The paths of a flow's data alone.
    pub(crate) fn forward(
        &mut self,
        topology: &Topology,
        flow: u32,
        [src, dst]: [u32; 2],
    ) -> Vec<Path> {
        let tuple = tuple(topology, flow, src, dst);
        self.one_way(topology, [src, dst], &tuple)
    }

    fn one_way(
        &mut self,
        topology: &Topology,
        [from, to]: [u32; 2],
        tuple: &FiveTuple,
    ) -> Vec<Path> {
        let mut paths = self
            .policy
            .paths(topology, from as usize, to as usize, tuple);
        if let Some(own) = topology.own_port(topology.hosts()[from as usize]) {
            for path in &mut paths {
                path.insert(0, own);
            }
        }
        paths
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router").finish_non_exhaustive()
    }
}

fn tuple(topology: &Topology, flow: u32, src: u32, dst: u32) -> FiveTuple {
    let address = |host: u32| topology.node(topology.hosts()[host as usize]).address;
    FiveTuple::of_flow(flow, address(src), address(dst))
}

fn fat_tree_k(job: &TopologyJob) -> Result<u32, BuildError> {
    let TopologyJob::FatTree { k } = job else {
        let problem = "needs a fat-tree: it looks at the addresses of one";
        let remedy = "use topology.kind = \"fat-tree\", or routing = \"ecmp\"";
        return Err(BuildError::new("routing", "two-level", problem, remedy));
    };
    Ok(*k)
}

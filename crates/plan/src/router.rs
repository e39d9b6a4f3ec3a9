//! The router: applies the job's routing policy when a flow starts, which gives the flow its paths.

use std::fmt;

use fairport_net::routing::{Demand, FiveTuple, Path, Protocol, Routes, Routing, ShortestPaths};
use fairport_net::{BuildError, PortId, Topology};

use crate::job::Job;

/// The routing policy of a run. Hosts are given by number.
pub(crate) struct Router {
    policy: Box<dyn Routing>,
    distances: ShortestPaths,
}

impl Router {
    /// The policy that the job names.
    ///
    /// # Errors
    /// If the topology does not suit the policy; the error names the field.
    pub(crate) fn new(job: &Job, topology: &Topology) -> Result<Self, BuildError> {
        let policy = job.routing.build(&job.topology, topology, job.seed)?;
        let distances = ShortestPaths::new(topology);
        Ok(Self { policy, distances })
    }

    /// The paths of a flow from one host to another, in both directions.
    pub(crate) fn paths(
        &mut self,
        topology: &Topology,
        flow: u32,
        [src, dst]: [u32; 2],
        protocol: Protocol,
    ) -> FlowPaths {
        // of the shortest path, whatever paths the policy chooses, so that a flow's hop class shows where the flow
        // comes from
        let links = self.distances.links(topology, src as usize, dst as usize);
        let tuple = tuple(topology, flow, [src, dst], protocol);
        FlowPaths {
            hops: links.expect("a topology is connected"),
            forward: self.one_way(topology, [src, dst], &tuple),
            backward: self.one_way(topology, [dst, src], &tuple.reversed()),
        }
    }

    /// The paths of a flow's data only.
    pub(crate) fn forward(
        &mut self,
        topology: &Topology,
        flow: u32,
        ends: [u32; 2],
        protocol: Protocol,
    ) -> Vec<Path> {
        let tuple = tuple(topology, flow, ends, protocol);
        self.one_way(topology, ends, &tuple)
    }

    /// The ports that the flows of this demand are expected to load, each with its load in bit/s.
    pub(crate) fn expected_load(
        &mut self,
        topology: &Topology,
        demand: &Demand,
    ) -> Vec<(PortId, f64)> {
        let mut load = vec![0.0; topology.ports().len()];
        self.policy.add_expected_load(topology, demand, &mut load);
        let loads = topology.port_ids().zip(load);
        loads.filter(|(_, bps)| *bps > 0.0).collect()
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

/// A flow's paths through the network, in both directions.
pub struct FlowPaths {
    /// number of links on the shortest path between the two hosts
    pub hops: u32,
    /// paths of the data; if there are several, each packet takes one
    pub forward: Vec<Path>,
    /// path of the ACKs
    pub backward: Vec<Path>,
}

impl FlowPaths {
    /// Memory of the paths and of the routes made from them, in bytes.
    pub fn bytes(&self) -> u64 {
        let path = |path: &Path| Routes::bytes(path.len()) + 4 * path.len() as u64;
        self.forward.iter().chain(&self.backward).map(path).sum()
    }

    /// Counts the flow at every port that its data may pass.
    pub fn count(&self, flows_through: &mut [u32]) {
        for port in ports_of(&self.forward) {
            flows_through[port.0 as usize] += 1;
        }
    }
}

/// The ports on these paths, each listed once.
pub(crate) fn ports_of(paths: &[Path]) -> Vec<PortId> {
    let mut ports: Vec<PortId> = paths.iter().flatten().copied().collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router").finish_non_exhaustive()
    }
}

fn tuple(topology: &Topology, flow: u32, ends: [u32; 2], protocol: Protocol) -> FiveTuple {
    let address = |host: u32| topology.node(topology.hosts()[host as usize]).address;
    let [source, destination] = ends.map(address);
    FiveTuple::of_flow(flow, protocol, source, destination)
}

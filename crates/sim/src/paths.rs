//! The flows' paths through the network, and the ports where they meet.

use std::collections::BTreeMap;

use fairport_net::routing::{Path, Routes};
use fairport_net::{BuildError, NodeId, PortId, Topology};

use crate::job::Job;
use crate::router::Router;

/// A flow's ways through the network, there and back.
pub(crate) struct FlowPaths {
    /// number of the sending host
    pub(crate) src: u32,
    /// number of the receiving host
    pub(crate) dst: u32,
    /// links between the two by the shortest way
    pub(crate) hops: u32,
    /// of data; of several, each packet takes one
    pub(crate) forward: Vec<Path>,
    /// of ACKs
    pub(crate) backward: Vec<Path>,
}

impl FlowPaths {
    /// What the paths and the routes made of them take, octets.
    pub(crate) fn bytes(&self) -> u64 {
        let path = |path: &Path| Routes::bytes(path.len()) + 4 * path.len() as u64;
        self.forward.iter().chain(&self.backward).map(path).sum()
    }
}

/// The paths of all flows of the job.
pub(crate) fn paths(job: &Job, topology: &Topology) -> Result<Vec<FlowPaths>, BuildError> {
    let mut router = Router::new(job, topology)?;
    let name = |host: &NodeId| topology.node(*host).name.as_str();
    let numbers: BTreeMap<&str, u32> = topology.hosts().iter().map(name).zip(0..).collect();
    let find = |i: usize, end: &str, name: &str| {
        numbers.get(name).copied().ok_or_else(|| {
            let field = format!("flows.{i}.{end}");
            let remedy = format!("name one of the {} hosts", numbers.len());
            BuildError::new(field, name, "is not a host here", remedy)
        })
    };
    let mut paths = Vec::with_capacity(job.flows.len());
    for (i, flow) in job.flows.iter().enumerate() {
        let (src, dst) = (find(i, "src", &flow.src)?, find(i, "dst", &flow.dst)?);
        if src == dst {
            let remedy = "send to another host";
            let field = format!("flows.{i}.src");
            return Err(BuildError::new(
                field,
                &flow.src,
                "is also the receiver",
                remedy,
            ));
        }
        let [mut forward, mut backward] = router.paths(topology, i as u32, src, dst);
        for (host, paths) in [(src, &mut forward), (dst, &mut backward)] {
            if let Some(own) = topology.own_port(topology.hosts()[host as usize]) {
                for path in paths {
                    path.insert(0, own);
                }
            }
        }
        paths.push(FlowPaths {
            src,
            dst,
            hops: router.hops(topology, src, dst),
            forward,
            backward,
        });
    }
    Ok(paths)
}

/// How many flows' data pass each port.
pub(crate) fn flows_through(topology: &Topology, paths: &[FlowPaths]) -> Vec<u32> {
    let mut flows = vec![0; topology.ports().len()];
    for path in paths {
        let mut ports: Vec<PortId> = path.forward.iter().flatten().copied().collect();
        ports.sort();
        ports.dedup();
        for port in ports {
            flows[port.0 as usize] += 1;
        }
    }
    flows
}

/// The port that most flows' data passes; of several, the one of the highest number.
pub(crate) fn busiest_port(flows_through: &[u32]) -> PortId {
    let ports = 0..flows_through.len() as u32;
    PortId(
        ports
            .max_by_key(|port| flows_through[*port as usize])
            .unwrap_or(0),
    )
}

/// The forwarding nodes' ports where data of two or more flows meets: what is watched closely.
pub(crate) fn shared_ports(topology: &Topology, flows_through: &[u32]) -> Vec<PortId> {
    let ports = (0..topology.ports().len() as u32).map(PortId);
    let shared = |port: &PortId| {
        flows_through[port.0 as usize] >= 2 && topology.node(topology.port(*port).node).forwards
    };
    ports.filter(shared).collect()
}

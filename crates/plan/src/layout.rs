//! A job's network and the paths of its flows, to be shown or exported without a run.

use fairport_net::routing::{Path, Protocol};
use fairport_net::{BuildError, Topology};
use serde::Serialize;

use crate::ends::{HostNumbers, listed_flows, workload_ends};
use crate::job::Job;
use crate::router::{FlowPaths, Router};
use crate::topology::with_fabric;
use crate::wiring::link_rate;
use crate::workload::Ends;

/// The nodes and links of a network, and the paths of its flows. Ports are given as indices into `ports`.
#[derive(Clone, Debug, Serialize)]
pub struct Layout {
    /// names of all ports
    pub ports: Vec<String>,
    /// hosts and switches
    pub nodes: Vec<NodeLayout>,
    /// in the order in which they give port numbers to their nodes
    pub links: Vec<LinkLayout>,
    /// the flows that the job lists, by number, followed by one for each pair of hosts between which a workload may
    /// start flows
    pub flows: Vec<FlowLayout>,
    /// number of flows that the job lists
    pub listed: usize,
}

/// A host or a switch.
#[derive(Clone, Debug, Serialize)]
pub struct NodeLayout {
    /// its name
    pub name: String,
    /// whether it is a host
    pub is_host: bool,
    /// whether it forwards packets for others
    pub forwards: bool,
    /// number of links to the nearest host
    pub height: u32,
}

/// A link, which is the same in both directions.
#[derive(Clone, Debug, Serialize)]
pub struct LinkLayout {
    /// the ports at its ends
    pub ports: [u32; 2],
    /// the nodes at its ends, as indices into the nodes
    pub ends: [u32; 2],
    /// rate in bit/s, its own or the network's
    pub rate_bps: u64,
    /// propagation delay in ps, its own or the network's
    pub delay_ps: u64,
    /// buffer of the ports at its ends in bytes, if the link overrides it
    pub limit_bytes: Option<u32>,
}

/// The paths of a flow, each as its output ports in order. If there are several, each packet takes one.
#[derive(Clone, Debug, Serialize)]
pub struct FlowLayout {
    /// name of the sending host
    pub src: String,
    /// name of the receiving host
    pub dst: String,
    /// number of links on the shortest path between the two hosts
    pub hops: u32,
    /// paths of the data
    pub forward: Vec<Vec<u32>>,
    /// paths of the ACKs
    pub backward: Vec<Vec<u32>>,
}

/// The network that the job describes, and the paths of its flows.
///
/// # Errors
/// If the job asks for something impossible, or its flows have more than `most_paths` paths in all; the error names the
/// field.
pub fn layout(job: &Job, most_paths: usize) -> Result<Layout, BuildError> {
    job.check()?;
    let topology = with_fabric(job)?;
    let hosts = HostNumbers::new(&topology);
    let mut router = Router::new(job, &topology)?;
    let listed = listed_flows(job, &hosts)?;
    let workloads = workload_ends(job, &topology, &hosts)?;
    let listed_pairs = listed
        .iter()
        .map(|flow| (flow.spec.hosts(), flow.spec.protocol()));
    let possible_pairs = workloads.iter().flat_map(Ends::distinct_pairs);
    let possible_pairs = possible_pairs.map(|ends| (ends.map(|end| end.host), Protocol::Tcp));
    let pairs = listed_pairs.chain(possible_pairs);
    let mut number_of_paths = 0;
    let flows = (0..).zip(pairs).map(|(number, (ends, protocol))| {
        let paths = router.paths(&topology, number, ends, protocol);
        number_of_paths += paths.forward.len() + paths.backward.len();
        if number_of_paths > most_paths {
            return Err(too_many_paths(most_paths, number));
        }
        Ok(flow(&topology, ends, &paths))
    });
    let flows = flows.collect::<Result<_, _>>()?;
    let heights = job.topology.build()?.heights(); // a switch that lost its links keeps its place
    let nodes = topology.nodes().iter().zip(heights);
    Ok(Layout {
        ports: topology.port_names(),
        nodes: nodes
            .map(|(node, height)| NodeLayout {
                name: node.name.clone(),
                is_host: node.is_host,
                forwards: node.forwards,
                height,
            })
            .collect(),
        links: links(job, &topology),
        flows,
        listed: listed.len(),
    })
}

fn too_many_paths(most_paths: usize, flows: u32) -> BuildError {
    let problem = format!(
        "gives the first {flows} flows and pairs of hosts more than {most_paths} paths, too many to list"
    );
    let remedy = "name fewer hosts in `traffic`, or take a routing with one path for each flow";
    BuildError::new("routing.kind", "", problem, remedy)
}

fn links(job: &Job, topology: &Topology) -> Vec<LinkLayout> {
    let links = topology.port_ids().step_by(2).map(|first| {
        let port = topology.port(first);
        LinkLayout {
            ports: [first, port.peer].map(|port| port.0),
            ends: [port.node, topology.far_node(first)].map(|node| node.0),
            rate_bps: link_rate(job, topology, first).as_bps(),
            delay_ps: port.options.delay.unwrap_or(job.link.delay_ps).as_ps(),
            limit_bytes: port.options.limit_bytes,
        }
    });
    // leaves out failed links, and the ports by which forwarding hosts reach themselves
    links.filter(|link| link.ends[0] != link.ends[1]).collect()
}

fn flow(topology: &Topology, ends: [u32; 2], paths: &FlowPaths) -> FlowLayout {
    let [src, dst] = ends.map(|host| topology.node(topology.hosts()[host as usize]).name.clone());
    let ports = |path: &Path| -> Vec<u32> {
        let ports = path.iter().copied().filter(|port| topology.leads_on(*port));
        ports.map(|port| port.0).collect()
    };
    FlowLayout {
        src,
        dst,
        hops: paths.hops,
        forward: paths.forward.iter().map(ports).collect(),
        backward: paths.backward.iter().map(ports).collect(),
    }
}

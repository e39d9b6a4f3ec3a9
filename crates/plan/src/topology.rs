//! From a job's topology to the network's.

use fairport_net::topology::{
    Dancehall, LinkOptions, bcube, custom, dancehall, dumbbell, fat_tree, leaf_spine, star,
    testbed, three_tier, two_switch, vl2,
};
use fairport_net::{BuildError, Topology};
use fairport_units::{Duration, Rate};

use crate::job::{GraphLinkJob, Job, TopologyJob};

/// The job's topology, with what links between switches have of their own.
pub(crate) fn with_fabric(job: &Job) -> Result<Topology, BuildError> {
    let mut topology = topology(&job.topology)?;
    let links = topology.set_fabric(job.fabric);
    let given = [
        ("rate_bps", job.fabric.rate.map(Rate::as_bps)),
        ("delay_ps", job.fabric.delay.map(Duration::as_ps)),
        ("limit_bytes", job.fabric.limit_bytes.map(u64::from)),
    ];
    for (field, value) in given {
        if let (0, Some(value)) = (links, value) {
            let problem = "is given, and this topology has no links between switches";
            let remedy = "leave [fabric] out, and say under [link] what links have";
            let field = format!("fabric.{field}");
            return Err(BuildError::new(field, value, problem, remedy));
        }
    }
    Ok(topology)
}

/// Builds a topology alone.
///
/// # Errors
/// If it cannot be built; the error names the field.
pub fn topology(job: &TopologyJob) -> Result<Topology, BuildError> {
    match job {
        TopologyJob::FatTree { k } => fat_tree(*k),
        TopologyJob::LeafSpine {
            leaves,
            spines,
            hosts_per_leaf,
        } => leaf_spine(*leaves, *spines, *hosts_per_leaf),
        TopologyJob::ThreeTier {
            aggs,
            edges_per_agg,
            hosts_per_edge,
        } => three_tier(*aggs, *edges_per_agg, *hosts_per_edge),
        TopologyJob::Vl2 {
            d_a,
            d_i,
            hosts_per_rack,
        } => vl2(*d_a, *d_i, *hosts_per_rack),
        TopologyJob::Bcube { n, k } => bcube(*n, *k),
        TopologyJob::Star { hosts } => star(*hosts),
        TopologyJob::Dumbbell { left, right } => dumbbell(*left, *right),
        TopologyJob::Dancehall {
            server_routers,
            servers_per_router,
            left,
            right,
            clients,
            middle_clients,
            client_rate_bps,
            client_delay_ps,
        } => dancehall(&Dancehall {
            server_routers: server_routers.clone(),
            servers_per_router: *servers_per_router,
            left: *left,
            right: *right,
            clients: *clients,
            middle_clients: *middle_clients,
            client_rate: *client_rate_bps,
            client_delay: *client_delay_ps,
        }),
        TopologyJob::Testbed => Ok(testbed()),
        TopologyJob::TwoSwitch { peers } => two_switch(*peers),
        TopologyJob::Graph {
            hosts,
            hosts_forward,
            switches,
            links,
        } => {
            let links: Vec<_> = links.iter().map(graph_link).collect();
            custom(hosts, *hosts_forward, switches, &links)
        }
    }
}

fn graph_link(job: &GraphLinkJob) -> ([String; 2], LinkOptions) {
    let options = LinkOptions {
        rate: job.rate_bps,
        delay: job.delay_ps,
        limit_bytes: job.limit_bytes,
    };
    (job.ends.clone(), options)
}

//! The job's topology, with the options of the fabric's links, and without failed links.

use fairport_net::{BuildError, Topology};
use fairport_units::{Duration, Rate};

use crate::job::Job;

/// The job's topology, with the job's options for links between switches, and without the links that have failed.
pub(crate) fn with_fabric(job: &Job) -> Result<Topology, BuildError> {
    let mut topology = job.topology.build()?;
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
    topology.fail(&job.failed_links)?;
    Ok(topology)
}

//! Places where packets are lost that no queue drops, as the job has them.

use fairport_net::loss::{Loss, Runs};
use fairport_net::stream::Stream;
use fairport_net::{BuildError, PortId, Topology};

use crate::job::{Job, LossJob, LossKindJob};

/// The losses of the job, port by port.
pub(crate) struct Losses<'a> {
    job: &'a Job,
    topology: &'a Topology,
}

impl<'a> Losses<'a> {
    /// Refuses a port that is not there.
    pub(crate) fn new(job: &'a Job, topology: &'a Topology) -> Result<Self, BuildError> {
        let ports = 0..topology.ports().len() as u32;
        let names: Vec<String> = match job.losses.as_slice() {
            [] => Vec::new(),
            _ => ports.map(|port| topology.port_name(PortId(port))).collect(),
        };
        for (i, loss) in job.losses.iter().enumerate() {
            if let Some(unknown) = loss.ports.iter().find(|name| !names.contains(name)) {
                let remedy =
                    "name a node and a number, such as `s0:0`; the table `ports` lists all";
                let field = format!("losses.{i}.at");
                return Err(BuildError::new(
                    field,
                    unknown,
                    "is not a port here",
                    remedy,
                ));
            }
        }
        Ok(Self { job, topology })
    }

    /// The losses at a port. Of several that the job has there, a packet comes to the last first.
    pub(crate) fn at(&self, port: PortId) -> Vec<Loss> {
        let here = |(_, loss): &(u64, &LossJob)| {
            if loss.ports.is_empty() {
                let node = self.topology.port(port).node;
                return !self.topology.node(node).is_host;
            }
            loss.ports.contains(&self.topology.port_name(port))
        };
        let loss = |(i, loss): (u64, &LossJob)| match loss.packets {
            LossKindJob::Random { probability_ppb } => Loss::Random {
                probability_ppb,
                stream: Stream::new(self.job.seed, "loss", i << 32 | u64::from(port.0)),
            },
            LossKindJob::OnOff { drops, off_ps } => Loss::OnOff(Runs::new(drops, off_ps)),
        };
        let losses = (0..).zip(&self.job.losses).filter(here);
        let mut losses: Vec<Loss> = losses.map(loss).collect();
        losses.reverse();
        losses
    }
}

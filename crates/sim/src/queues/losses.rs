//! Places where packets are lost that no queue drops, as the job has them.

use fairport_net::discipline::{Discipline, Loss, Lossy};
use fairport_net::port::Queueing;
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

    /// A port's queue behind the losses that are at the port: one that is served first in, first
    /// out, whose discipline decides about each packet as it arrives.
    pub(crate) fn before(&self, port: PortId, queueing: Queueing) -> Result<Queueing, BuildError> {
        let here = |(_, loss): &(u64, &LossJob)| {
            if loss.ports.is_empty() {
                let node = self.topology.port(port).node;
                return !self.topology.node(node).is_host;
            }
            loss.ports.contains(&self.topology.port_name(port))
        };
        let behind = |discipline, (i, loss): (u64, &LossJob)| {
            let loss = match loss.packets {
                LossKindJob::Random { probability_ppb } => Loss::Random {
                    probability_ppb,
                    stream: Stream::new(self.job.seed, "loss", i << 32 | u64::from(port.0)),
                },
                LossKindJob::OnOff { drops, off_ps } => Loss::OnOff { drops, off: off_ps },
            };
            Discipline::Lossy(Box::new(Lossy::new(loss, discipline)))
        };
        let mut losses = (0..).zip(&self.job.losses).filter(here).peekable();
        let first = losses.peek().map(|(i, _)| *i);
        match (queueing, first) {
            (Queueing::Fifo { discipline, leaves }, _) => Ok(Queueing::Fifo {
                discipline: losses.fold(discipline, behind),
                leaves,
            }),
            (queueing, None) => Ok(queueing),
            (_, Some(i)) => Err(BuildError::new(
                format!("losses.{i}.at"),
                self.topology.port_name(port),
                "has a queue that is not served first in, first out",
                "lose packets at another port, or use a queue such as drop-tail or red",
            )),
        }
    }
}

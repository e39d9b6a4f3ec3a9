//! The disciplines that decide at dequeue, as the job has them: one function a kind.

use fairport_net::discipline::DropTail;
use fairport_net::scheduler::{
    CoDel, CoDelConfig, Drr, FqCoDel, FqCoDelConfig, LinuxSfq, LinuxSfqConfig, Scheduler, Sfq,
    SharedBuffer, StrictPriority, SwitchMemory,
};
use fairport_net::{BuildError, NodeId, Topology};
use fairport_units::Time;

use super::{PortQueue, room};
use crate::job::{CoDelJob, Job, QueueJob, SchedulerJob};

/// What schedulers share beyond one port.
#[derive(Default)]
pub(crate) struct Shared {
    /// of each switch, by node; filled where ports share a memory
    memories: Vec<SwitchMemory>,
    /// buckets of SFQ, by the number of the sending host
    placed: Vec<Option<u32>>,
}

impl Shared {
    /// What the job's queue asks for in this topology.
    pub(crate) fn new(job: &Job, topology: &Topology) -> Result<Self, BuildError> {
        match &job.queue {
            QueueJob::Scheduled(SchedulerJob::SharedBuffer { memory_bytes, .. }) => Ok(Self {
                memories: topology
                    .nodes()
                    .iter()
                    .map(|_| SwitchMemory::new(*memory_bytes))
                    .collect(),
                ..Self::default()
            }),
            QueueJob::Scheduled(SchedulerJob::Sfq {
                placed, buckets, ..
            }) => Ok(Self {
                placed: buckets_of_hosts(placed, *buckets, topology)?,
                ..Self::default()
            }),
            _ => Ok(Self::default()),
        }
    }
}

/// The scheduler of a port at `node`.
pub(crate) fn build(
    job: &SchedulerJob,
    port: &PortQueue,
    node: NodeId,
    shared: &Shared,
) -> Result<Scheduler, BuildError> {
    let quantum = |given: Option<u32>| positive("quantum", given.unwrap_or(port.full_frame));
    Ok(match job {
        SchedulerJob::Sfq {
            limit_packets,
            buckets,
            seed,
            ..
        } => Scheduler::Sfq(Sfq::new(
            positive("limit", *limit_packets)?,
            positive("buckets", *buckets)?,
            seed.unwrap_or(port.seed),
            shared.placed.clone(),
        )),
        SchedulerJob::LinuxSfq {
            limit_packets,
            depth_packets,
            divisor,
            flows,
            quantum_bytes,
            perturb_ps,
        } => {
            let config = LinuxSfqConfig {
                limit_packets: positive("limit", *limit_packets)?,
                depth_packets: positive("depth", *depth_packets)?,
                divisor: positive("divisor", *divisor)?,
                flows: positive("flows", *flows)?,
                quantum_bytes: quantum(*quantum_bytes)?,
                perturb: *perturb_ps,
            };
            Scheduler::LinuxSfq(LinuxSfq::new(config, port.stream()))
        }
        SchedulerJob::Drr {
            limit,
            quantum_bytes,
        } => Scheduler::Drr(Drr::new(room(*limit, port)?, quantum(*quantum_bytes)?)),
        SchedulerJob::Codel { limit, codel } => {
            Scheduler::CoDel(CoDel::new(room(*limit, port)?, control(codel, port)?))
        }
        SchedulerJob::FqCodel {
            limit,
            codel,
            queues,
            quantum_bytes,
        } => Scheduler::FqCoDel(fq_codel(
            room(*limit, port)?,
            positive("queues", *queues)?,
            quantum(*quantum_bytes)?,
            control(codel, port)?,
            port,
        )),
        SchedulerJob::StrictPriority { limit } => {
            Scheduler::StrictPriority(StrictPriority::new(room(*limit, port)?))
        }
        SchedulerJob::SharedBuffer { alpha, .. } => {
            let memory = shared.memories[node.0 as usize].clone();
            Scheduler::SharedBuffer(SharedBuffer::new(memory, above_zero(*alpha)?))
        }
    })
}

fn fq_codel(
    limit: DropTail,
    queues: u32,
    quantum_bytes: u32,
    codel: CoDelConfig,
    port: &PortQueue,
) -> FqCoDel {
    let config = FqCoDelConfig {
        limit,
        queues,
        quantum_bytes,
        codel,
    };
    FqCoDel::new(config, port.stream().up_to(u64::MAX))
}

fn control(job: &CoDelJob, port: &PortQueue) -> Result<CoDelConfig, BuildError> {
    for (field, span) in [("target", job.target_ps), ("interval", job.interval_ps)] {
        if span == Time::ZERO {
            let remedy = "give a time above 0, such as \"5ms\"";
            let field = format!("queue.{field}");
            return Err(BuildError::new(field, "0s", "is no time at all", remedy));
        }
    }
    Ok(CoDelConfig {
        target: job.target_ps,
        interval: job.interval_ps,
        ecn: job.ecn,
        max_packet_bytes: port.full_frame,
    })
}

fn positive(field: &str, value: u32) -> Result<u32, BuildError> {
    if value == 0 {
        let field = format!("queue.{field}");
        let remedy = "give a value above 0";
        return Err(BuildError::new(field, 0, "holds nothing", remedy));
    }
    Ok(value)
}

fn above_zero(alpha: f64) -> Result<f64, BuildError> {
    if alpha > 0.0 {
        return Ok(alpha);
    }
    let remedy = "give a number above 0, such as 1.0";
    Err(BuildError::new(
        "queue.alpha",
        alpha,
        "lets no packet in",
        remedy,
    ))
}

/// The bucket of each host that is placed in one.
fn buckets_of_hosts(
    placed: &[Vec<String>],
    buckets: u32,
    topology: &Topology,
) -> Result<Vec<Option<u32>>, BuildError> {
    let hosts = topology.hosts();
    let mut bucket_of = vec![None; hosts.len()];
    for (bucket, names) in placed.iter().enumerate() {
        for (i, name) in names.iter().enumerate() {
            let refuse = |problem: &str, remedy: String| {
                let field = format!("queue.placed.{bucket}.{i}");
                BuildError::new(field, name, problem, remedy)
            };
            let is_named = |host: &NodeId| topology.node(*host).name == *name;
            let number = hosts.iter().position(is_named).ok_or_else(|| {
                let remedy = format!("name one of the {} hosts", hosts.len());
                refuse("is not a host of the topology", remedy)
            })?;
            if bucket_of[number].is_some() {
                let remedy = "place each host once".to_string();
                return Err(refuse("is placed already", remedy));
            }
            if bucket as u32 >= buckets {
                let remedy = "give no more lists than there are buckets".to_string();
                return Err(refuse("is placed in a bucket that there is not", remedy));
            }
            bucket_of[number] = Some(bucket as u32);
        }
    }
    Ok(bucket_of)
}

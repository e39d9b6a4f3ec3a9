//! The queue discipline of a switch port, as the job has it: one function a kind.
//!
//! A discipline that draws random numbers takes a stream of its port's own:
//! `Stream::new(job.seed, "queue", port number)`.

pub(crate) mod losses;
mod red;
pub(crate) mod schedulers;
pub mod shaping;

use fairport_net::discipline::{
    Discipline, DropTail, Pie, PieConfig, StepMarking, Threshold, WeightedTailDrop,
};
use fairport_net::port::{BufferRelease, Queueing};
use fairport_net::stream::Stream;
use fairport_net::{BuildError, NodeId};
use fairport_units::{Rate, Time};

use self::red::{red, rio};
use self::schedulers::Shared;
use crate::job::{BufferJob, PieJob, QueueJob, ThresholdJob};

/// What a discipline is built from: the job's queue, and what this port has of its own.
pub(crate) struct PortQueue<'a> {
    pub(crate) queue: &'a QueueJob,
    /// in place of the queue's own limit
    pub(crate) own_limit_bytes: Option<u32>,
    /// what a packet of the MTU takes in the buffer
    pub(crate) full_frame: u32,
    /// at which the queue is emptied
    pub(crate) rate: Rate,
    pub(crate) seed: u64,
    /// the port's number
    pub(crate) port: u64,
}

impl PortQueue<'_> {
    /// The random numbers of this port's discipline.
    pub(crate) fn stream(&self) -> Stream {
        Stream::new(self.seed, "queue", self.port)
    }

    /// How long a packet of this size takes.
    pub(crate) fn packet_time(&self, bytes: u32) -> Time {
        let ps = 8 * 1_000_000_000_000 * u128::from(bytes.max(1)) / u128::from(self.rate.as_bps());
        Time::from_ps(ps.max(1) as u64)
    }
}

/// How a port at `node` queues.
pub(crate) fn build(
    port: &PortQueue,
    node: NodeId,
    shared: &Shared,
) -> Result<Queueing, BuildError> {
    if let QueueJob::Scheduled(job) = port.queue {
        let scheduler = schedulers::build(job, port, node, shared)?;
        return Ok(Queueing::Scheduled(Box::new(scheduler)));
    }
    fifo(port)
}

fn fifo(port: &PortQueue) -> Result<Queueing, BuildError> {
    let (QueueJob::DropTail(buffer)
    | QueueJob::StepMarking { buffer, .. }
    | QueueJob::Red { buffer, .. }
    | QueueJob::Rio { buffer, .. }
    | QueueJob::Pie(PieJob { buffer, .. })
    | QueueJob::WeightedTailDrop { buffer, .. }) = port.queue
    else {
        unreachable!("a scheduler is built elsewhere")
    };
    let room = drop_tail(buffer, port)?;
    let discipline = match port.queue {
        QueueJob::DropTail(_) => Discipline::DropTail(room),
        QueueJob::StepMarking { mark_above, .. } => step_marking(room, *mark_above),
        QueueJob::Red {
            variant,
            ramp,
            average,
            ..
        } => red(room, *variant, *ramp, *average, port)?,
        QueueJob::Rio {
            short,
            long,
            average,
            ..
        } => rio(room, *short, *long, *average, port)?,
        QueueJob::Pie(job) => pie(room, job, port)?,
        QueueJob::WeightedTailDrop { thresholds, .. } => {
            weighted_tail_drop(room, *thresholds, port)?
        }
        QueueJob::Scheduled(_) => unreachable!("a scheduler is built elsewhere"),
    };
    Ok(Queueing::Fifo {
        discipline,
        leaves: leaves(buffer),
    })
}

fn step_marking(buffer: DropTail, mark_above: ThresholdJob) -> Discipline {
    let threshold = threshold(mark_above);
    Discipline::StepMarking(Box::new(StepMarking::new(buffer, threshold)))
}

fn threshold(job: ThresholdJob) -> Threshold {
    match job {
        ThresholdJob::Bytes(bytes) => Threshold::Bytes(bytes),
        ThresholdJob::Packets(packets) => Threshold::Packets(packets),
    }
}

fn pie(buffer: DropTail, job: &PieJob, port: &PortQueue) -> Result<Discipline, BuildError> {
    for (field, span) in [("target", job.target_ps), ("update", job.update_ps)] {
        if span == Time::ZERO {
            let remedy = "give a time above 0, such as \"15ms\"";
            let field = format!("queue.{field}");
            return Err(BuildError::new(field, "0s", "is no time at all", remedy));
        }
    }
    let config = PieConfig {
        target: job.target_ps,
        update: job.update_ps,
        max_burst: job.max_burst_ps,
        ecn: job.ecn,
        mean_packet_bytes: job.mean_packet_bytes,
        buffer,
    };
    Ok(Discipline::Pie(Box::new(Pie::new(config, port.stream()))))
}

fn weighted_tail_drop(
    buffer: DropTail,
    thresholds: [ThresholdJob; 4],
    port: &PortQueue,
) -> Result<Discipline, BuildError> {
    for (class, threshold) in thresholds.iter().enumerate() {
        if matches!(threshold, ThresholdJob::Packets(0))
            || matches!(threshold, ThresholdJob::Bytes(bytes) if *bytes < port.full_frame)
        {
            return Err(BuildError::new(
                format!("queue.thresholds.{class}"),
                format!("{threshold:?}"),
                "leaves no room for one packet",
                "give a larger share, or a larger queue.limit",
            ));
        }
    }
    let room = thresholds.map(|threshold| match threshold {
        ThresholdJob::Bytes(bytes) => DropTail::bytes(bytes),
        ThresholdJob::Packets(packets) => DropTail::packets(packets),
    });
    let weighted = WeightedTailDrop::new(buffer, room);
    Ok(Discipline::WeightedTailDrop(Box::new(weighted)))
}

fn leaves(buffer: &BufferJob) -> BufferRelease {
    if buffer.count_in_service {
        BufferRelease::EndOfService
    } else {
        BufferRelease::StartOfService
    }
}

/// The buffer with the limit of its port, which must have room for a packet.
fn drop_tail(buffer: &BufferJob, port: &PortQueue) -> Result<DropTail, BuildError> {
    let packets = buffer.limit_packets.unwrap_or(0);
    let limit = buffer
        .limit_bytes
        .map_or(ThresholdJob::Packets(packets), ThresholdJob::Bytes);
    room(limit, port)
}

/// As much room as this, or as the port has of its own; there must be room for a packet.
pub(crate) fn room(limit: ThresholdJob, port: &PortQueue) -> Result<DropTail, BuildError> {
    let (value, problem, remedy) = match port.own_limit_bytes.map_or(limit, ThresholdJob::Bytes) {
        ThresholdJob::Bytes(bytes) if bytes >= port.full_frame => {
            return Ok(DropTail::bytes(bytes));
        }
        ThresholdJob::Packets(packets) if packets > 0 => return Ok(DropTail::packets(packets)),
        ThresholdJob::Bytes(bytes) => (
            format!("{bytes} B"),
            format!("is smaller than one full frame of {} B", port.full_frame),
            "give room for at least one packet, such as \"16KiB\"",
        ),
        ThresholdJob::Packets(_) => (
            "0 packets".to_string(),
            "holds nothing".to_string(),
            "give a limit, such as \"16KiB\" or \"11 packets\"",
        ),
    };
    Err(BuildError::new("queue.limit", value, problem, remedy))
}

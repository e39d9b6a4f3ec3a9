//! The queue discipline of a switch port, as the job has it: one function a kind.
//!
//! A discipline that draws random numbers takes a stream of its port's own:
//! `Stream::new(job.seed, "queue", port number)`.

use fairport_net::BuildError;
use fairport_net::discipline::{Discipline, DropTail, StepMarking, Threshold};
use fairport_net::port::Leaves;

use crate::job::{BufferJob, QueueJob, ThresholdJob};

/// What a discipline is built from: the job's queue, and what this port has of its own.
pub(crate) struct PortQueue<'a> {
    pub(crate) queue: &'a QueueJob,
    /// in place of the queue's own limit
    pub(crate) own_limit_bytes: Option<u32>,
    /// what a packet of the MTU takes in the buffer
    pub(crate) full_frame: u32,
}

/// The discipline of a port, and when packets leave its buffer.
pub(crate) fn build(port: &PortQueue) -> Result<(Discipline, Leaves), BuildError> {
    match port.queue {
        QueueJob::DropTail(buffer) => Ok((
            Discipline::DropTail(drop_tail(buffer, port)?),
            leaves(buffer),
        )),
        QueueJob::StepMarking { buffer, mark_above } => Ok((
            step_marking(drop_tail(buffer, port)?, *mark_above),
            leaves(buffer),
        )),
    }
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

fn leaves(buffer: &BufferJob) -> Leaves {
    if buffer.count_in_service {
        Leaves::AtEndOfService
    } else {
        Leaves::AtStartOfService
    }
}

/// The buffer with the limit of its port, which must have room for a packet.
fn drop_tail(buffer: &BufferJob, port: &PortQueue) -> Result<DropTail, BuildError> {
    let (value, problem, remedy) = match (
        port.own_limit_bytes.or(buffer.limit_bytes),
        buffer.limit_packets,
    ) {
        (Some(bytes), _) if bytes >= port.full_frame => return Ok(DropTail::bytes(bytes)),
        (None, Some(packets)) if packets > 0 => return Ok(DropTail::packets(packets)),
        (Some(bytes), _) => (
            format!("{bytes} B"),
            format!("is smaller than one full frame of {} B", port.full_frame),
            "give room for at least one packet, such as \"16KiB\"",
        ),
        (None, _) => (
            "0 packets".to_string(),
            "holds nothing".to_string(),
            "give a limit, such as \"16KiB\" or \"11 packets\"",
        ),
    };
    Err(BuildError::new("queue.limit", value, problem, remedy))
}

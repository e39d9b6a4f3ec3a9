//! The part of a job that says how switch ports queue.

use fairport_units::Time;
use serde::{Deserialize, Serialize};

/// The queue discipline of every switch port.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum QueueJob {
    /// see [`fairport_net::discipline::DropTail`]; its fields stand beside `kind`
    DropTail(BufferJob),
    /// see [`fairport_net::discipline::StepMarking`]
    StepMarking {
        /// the room that there is
        buffer: BufferJob,
        /// K
        mark_above: ThresholdJob,
    },
    /// see [`fairport_net::discipline::Red`] and [`fairport_net::discipline::RedLinux`]
    Red {
        /// the room that there is
        buffer: BufferJob,
        /// whose algorithm
        variant: RedVariantJob,
        /// thresholds of the average queue
        ramp: RampJob,
        /// weight, gentleness, marking
        average: AverageJob,
    },
    /// see [`fairport_net::discipline::Rio`]
    Rio {
        /// the room that there is
        buffer: BufferJob,
        /// for packets of short flows, over their own average
        short: RampJob,
        /// for all others, over the average of all
        long: RampJob,
        /// weight, gentleness, marking
        average: AverageJob,
    },
    /// see [`fairport_net::discipline::Pie`]
    Pie(PieJob),
    /// see [`fairport_net::discipline::WeightedTailDrop`]
    WeightedTailDrop {
        /// the room that there is
        buffer: BufferJob,
        /// how much of it each class may fill
        thresholds: [ThresholdJob; 4],
    },
    /// a discipline that decides at dequeue
    Scheduled(SchedulerJob),
}

/// Disciplines that decide at dequeue. A turn without octets is one packet of the MTU.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "scheduler", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SchedulerJob {
    /// see [`fairport_net::scheduler::Sfq`]
    Sfq {
        /// packets in all buckets
        limit_packets: u32,
        /// number of buckets
        buckets: u32,
        /// of the hash; none: the run's
        seed: Option<u64>,
        /// names of hosts: what comes from those of the n-th list goes into the n-th bucket
        placed: Vec<Vec<String>>,
    },
    /// see [`fairport_net::scheduler::LinuxSfq`]
    LinuxSfq {
        /// packets in all
        limit_packets: u32,
        /// packets of one queue
        depth_packets: u32,
        /// hash buckets
        divisor: u32,
        /// queues that may hold packets at the same time
        flows: u32,
        /// octets of a turn
        quantum_bytes: Option<u32>,
        /// how often flows are hashed anew; 0 for never
        perturb_ps: Time,
    },
    /// see [`fairport_net::scheduler::Drr`]
    Drr {
        /// the room for all queues
        limit: ThresholdJob,
        /// octets of a turn
        quantum_bytes: Option<u32>,
    },
    /// see [`fairport_net::scheduler::CoDel`]
    Codel {
        /// the room that there is
        limit: ThresholdJob,
        /// its settings
        codel: CoDelJob,
    },
    /// see [`fairport_net::scheduler::FqCoDel`]
    FqCodel {
        /// the room for all queues
        limit: ThresholdJob,
        /// settings of each queue
        codel: CoDelJob,
        /// number of queues
        queues: u32,
        /// octets of a turn
        quantum_bytes: Option<u32>,
    },
    /// see [`fairport_net::scheduler::StrictPriority`]
    StrictPriority {
        /// the room of each of the two queues
        limit: ThresholdJob,
    },
    /// see [`fairport_net::scheduler::SharedBuffer`]
    SharedBuffer {
        /// of each switch
        memory_bytes: u32,
        /// a queue's threshold over the free memory
        alpha: f64,
    },
}

/// Settings of `CoDel`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CoDelJob {
    /// acceptable time in the queue
    pub target_ps: Time,
    /// how long it must have been exceeded
    pub interval_ps: Time,
    /// whether packets that can be marked are marked instead of dropped
    pub ecn: bool,
}

/// A first-in-first-out buffer, limited in octets or in packets.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct BufferJob {
    /// octets
    pub limit_bytes: Option<u32>,
    /// packets
    pub limit_packets: Option<u32>,
    /// whether the packet in service counts against the limit
    pub count_in_service: bool,
}

/// A queue length: `{"bytes": 30000}` or `{"packets": 20}`.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThresholdJob {
    /// octets
    Bytes(u32),
    /// packets
    Packets(u32),
}

/// PIE (RFC 8033).
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PieJob {
    /// the room that there is
    pub buffer: BufferJob,
    /// the delay aimed at
    pub target_ps: Time,
    /// from one update to the next
    pub update_ps: Time,
    /// how long a new queue may grow unhindered
    pub max_burst_ps: Time,
    /// a queue of at most two such packets is left alone
    pub mean_packet_bytes: u32,
    /// mark what can be marked instead of dropping it early
    pub ecn: bool,
}

/// Whose RED.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RedVariantJob {
    /// as the paper prints it
    FloydJacobson,
    /// ns-2's
    Ns2,
    /// Linux' up to 3.2
    Linux,
}

/// How the probability of an early drop follows the average queue.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RampJob {
    /// below it nothing is dropped early
    pub min: ThresholdJob,
    /// where the probability is `max_p_ppb`
    pub max: ThresholdJob,
    /// in parts of 10^9
    pub max_p_ppb: u32,
}

/// How RED and RIO average the queue, and what they do by it.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AverageJob {
    /// weight of a new sample, in parts of 10^9
    pub weight_ppb: u32,
    /// whether the probability climbs to 1 above `max` instead of jumping there
    pub gentle: bool,
    /// mark what can be marked instead of dropping it early
    pub ecn: bool,
    /// typical size of a packet: how fast the average of an idle queue falls
    pub mean_packet_bytes: u32,
}

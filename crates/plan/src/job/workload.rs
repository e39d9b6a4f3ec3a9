//! The workloads of a job: what starts flows while the run goes on.

use fairport_net::processing::Processing;
use fairport_units::{Duration, Instant};
use serde::{Deserialize, Serialize};

use crate::sampling::Cdf;

/// A host, and the stack that it uses for this traffic.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EndJob {
    /// name of the host
    pub host: String,
    /// index into the stacks
    pub stack: u32,
}

/// A workload.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadJob {
    /// which part of the traffic it is, for the tables
    pub traffic: u32,
    /// when it begins
    pub start_ps: Instant,
    /// from when on it starts nothing; without it, it goes on to the end
    pub stop_ps: Option<Instant>,
    /// who may send
    pub senders: Vec<EndJob>,
    /// who may receive
    pub receivers: Vec<EndJob>,
    /// what it does
    pub pattern: WorkloadPattern,
}

/// What a workload does.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum WorkloadPattern {
    /// barrier-synchronised blocks from all senders to the one receiver
    Incast(IncastJob),
    /// Poisson arrivals between random pairs
    Poisson(PoissonJob),
    /// transfers to the one receiver, launched again and again
    Periodic(PeriodicJob),
    /// requests and answers on connections that stay open; the senders are the servers
    RequestResponse(RequestResponseJob),
    /// flows as a file lists them
    Trace(TraceJob),
    /// users that fetch pages; the senders are the servers
    Web(WebJob),
}

/// Barrier-synchronised blocks.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct IncastJob {
    /// what each sender sends in a round
    pub block_bytes: u64,
    /// how many rounds; without it, to the end
    pub rounds: Option<u32>,
    /// between the end of a round and the next one
    pub pause_ps: Duration,
    /// every block starts later by a time of its own, uniform up to this
    pub jitter_ps: Duration,
    /// whether a sender keeps one connection for all rounds
    pub persistent: bool,
}

/// Poisson arrivals.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PoissonJob {
    /// payload offered, in parts of 10^6 of the capacity
    pub load_ppm: u64,
    /// what load 1 is
    pub capacity_bps: u64,
    /// sizes of the flows
    pub sizes: CdfJob,
    /// how many flows; without it, to the end
    pub flows: Option<u64>,
}

/// A distribution of sizes.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CdfJob {
    /// values in units, and the probability of each and less, in parts of 10^9
    pub points: Vec<(u64, u64)>,
    /// bytes of a unit
    pub unit_bytes: u64,
}

impl CdfJob {
    pub(crate) fn distribution(&self) -> Cdf {
        Cdf::new(self.points.clone(), self.unit_bytes)
    }
}

/// Transfers launched again and again.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PeriodicJob {
    /// size of each transfer
    pub size_bytes: u64,
    /// from launch to launch
    pub period_ps: Duration,
    /// every launch is later by a time of its own, uniform up to this
    pub jitter_ps: Duration,
    /// whether a sender keeps one connection for all transfers
    pub persistent: bool,
}

/// Requests and answers on connections that stay open.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RequestResponseJob {
    /// connections of each receiver, which is the client
    pub connections: u32,
    /// requests on each connection; without it, to the end
    pub requests: Option<u32>,
    /// size of a request
    pub request: CdfJob,
    /// size of an answer
    pub response: CdfJob,
    /// from an answer's arrival to the next request
    pub think: Processing,
    /// every connection is opened later by a time of its own, uniform up to this
    pub jitter_ps: Duration,
}

/// Flows as a file lists them: four columns of one length.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TraceJob {
    /// after the workload's own start, in order
    pub start_ps: Vec<Duration>,
    /// index into the senders
    pub src: Vec<u32>,
    /// index into the receivers, of another host
    pub dst: Vec<u32>,
    /// what the flow sends
    pub bytes: Vec<u64>,
}

/// Users that fetch pages.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WebJob {
    /// users; they share the receivers evenly
    pub sessions: u32,
    /// between the first pages of two users, on average
    pub session_gap_mean_ps: Duration,
    /// from a page's last object to the next page, on average
    pub think_mean_ps: Duration,
    /// between the starts of two objects of a page, on average
    pub object_gap_mean_ps: Duration,
    /// objects of a page: fewest and most, all equally likely
    pub objects: [u64; 2],
    /// smallest and largest object, packets
    pub size_packets: [u64; 2],
    /// shape of the bounded Pareto distribution between them, in thousandths
    pub shape_milli: u32,
    /// payload of a packet
    pub packet_bytes: u64,
}

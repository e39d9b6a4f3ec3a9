//! The workloads of a job, which start flows during the run.

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
    /// index of the stack
    pub stack: u32,
}

/// A workload.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadJob {
    /// number of the part of the traffic that it is, for the tables
    pub traffic: u32,
    /// when it begins
    pub start_ps: Instant,
    /// from when on it starts nothing; without it, it continues to the end
    pub stop_ps: Option<Instant>,
    /// hosts that may send
    pub senders: Vec<EndJob>,
    /// hosts that may receive
    pub receivers: Vec<EndJob>,
    /// what the workload does
    pub pattern: WorkloadPattern,
}

/// What a workload does.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum WorkloadPattern {
    /// barrier-synchronised blocks from all senders to a single receiver
    Incast(IncastJob),
    /// Poisson arrivals between random pairs
    Poisson(PoissonJob),
    /// repeated transfers to a single receiver
    Periodic(PeriodicJob),
    /// requests and responses on connections that stay open; the senders are the servers
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
    /// bytes that each sender sends per round
    pub block_bytes: u64,
    /// number of rounds; without it, rounds continue to the end
    pub rounds: Option<u32>,
    /// time between the end of a round and the next round
    pub pause_ps: Duration,
    /// each block starts later by a time drawn uniformly up to this
    pub jitter_ps: Duration,
    /// whether a sender keeps one connection for all rounds
    pub persistent: bool,
}

/// Poisson arrivals.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PoissonJob {
    /// offered payload, as a share of the capacity in parts of 10^6
    pub load_ppm: u64,
    /// the capacity, which is a load of 1; without it, the rates of the senders' links together
    pub capacity_bps: Option<u64>,
    /// sizes of the flows
    pub sizes: CdfJob,
    /// number of flows; without it, flows start until the end
    pub flows: Option<u64>,
}

/// A distribution of sizes.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CdfJob {
    /// values in units, each with the probability of at most this value in parts of 10^9
    pub points: Vec<(u64, u64)>,
    /// bytes per unit
    pub unit_bytes: u64,
}

impl CdfJob {
    pub(crate) fn distribution(&self) -> Cdf {
        Cdf::new(self.points.clone(), self.unit_bytes)
    }
}

/// Repeated transfers.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PeriodicJob {
    /// size of each transfer
    pub size_bytes: u64,
    /// time from launch to launch
    pub period_ps: Duration,
    /// each launch is later by a time drawn uniformly up to this
    pub jitter_ps: Duration,
    /// whether a sender keeps one connection for all transfers
    pub persistent: bool,
}

/// Requests and responses on connections that stay open.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RequestResponseJob {
    /// number of connections of each receiver, which is the client
    pub connections: u32,
    /// number of requests on each connection; without it, they continue to the end
    pub requests: Option<u32>,
    /// size of a request
    pub request: CdfJob,
    /// size of a response
    pub response: CdfJob,
    /// time from the arrival of a response to the next request
    pub think: Processing,
    /// each connection is opened later by a time drawn uniformly up to this
    pub jitter_ps: Duration,
}

/// Flows as listed in a file: four columns of the same length.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TraceJob {
    /// start times after the workload's own start, in order
    pub start_ps: Vec<Duration>,
    /// indices of the senders
    pub src: Vec<u32>,
    /// indices of the receivers, which are other hosts
    pub dst: Vec<u32>,
    /// bytes that each flow sends
    pub bytes: Vec<u64>,
}

/// Users that fetch pages.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WebJob {
    /// number of users, who share the receivers evenly
    pub sessions: u32,
    /// mean time between the first pages of two users
    pub session_gap_mean_ps: Duration,
    /// mean time from a page's last object to the next page, or from its start
    pub think_mean_ps: Duration,
    /// whether it counts from the page's start, so that a user's pages may overlap
    pub think_from_start: bool,
    /// mean time between the starts of two objects of a page
    pub object_gap_mean_ps: Duration,
    /// fewest and most objects of a page; all numbers between are equally likely
    pub objects: [u64; 2],
    /// smallest and largest object, in packets
    pub size_packets: [u64; 2],
    /// shape of the bounded Pareto distribution of object sizes, in thousandths
    pub shape_milli: u32,
    /// payload of a packet
    pub packet_bytes: u64,
}

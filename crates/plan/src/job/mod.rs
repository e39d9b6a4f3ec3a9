//! The job: everything that decides a run's result, in base units, as JSON.
//!
//! The Python front validates what a person wrote and lowers it to this. Times are integer
//! picoseconds, rates bit/s, sizes bytes, clock errors parts of 10^9. Unknown fields are refused.

pub mod workload;

use fairport_net::arbitration::Rule;
use fairport_net::processing::Processing;
use fairport_net::topology::{self, LinkOptions};
use fairport_net::{QueueConfig, classifier, framing, loss, routing, shaper};
use fairport_units::{Duration, Instant, Rate};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::host_profile::HostProfile;
use crate::udp::Udp;

/// One run.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// what all random streams derive from
    pub seed: u64,
    /// how long is simulated
    pub duration_ps: Duration,
    /// hosts, switches and links
    pub topology: topology::Config,
    /// how paths are chosen
    pub routing: routing::Config,
    /// what every link has unless the fabric or the topology says otherwise
    pub link: LinkJob,
    /// what links between switches have unless the topology says otherwise
    #[serde(default)]
    pub fabric: LinkOptions,
    /// what every switch has
    pub switch: SwitchJob,
    /// what every switch port's buffer has
    pub queue: QueueConfig,
    /// what holds packets back before the line
    pub shaper: Option<shaper::Config>,
    /// what separates short flows from long ones at the edge; without it all packets are of class 0
    pub classifier: Option<classifier::Config>,
    /// where packets are lost that no queue drops
    #[serde(default)]
    pub losses: Vec<loss::Config>,
    /// what every host has
    pub host: HostJob,
    /// the TCP stacks that flows refer to
    pub stacks: Vec<StackJob>,
    /// the flows that are known before the run
    pub flows: Vec<FlowJob>,
    /// what starts flows during the run
    #[serde(default)]
    pub workloads: Vec<workload::WorkloadJob>,
    /// what is recorded, and from when to when is measured
    pub probes: ProbesJob,
}

/// What every link has.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LinkJob {
    /// rate in both directions
    pub rate_bps: Rate,
    /// propagation delay
    pub delay_ps: Duration,
    /// every link adds a constant of its own, uniform up to this
    pub delay_spread_ps: Duration,
    /// largest IP packet
    pub mtu_bytes: u32,
    /// what a frame adds to an IP packet
    pub framing: framing::Config,
    /// every port's clock is off by a constant of its own, uniform within ± this
    pub clock_error_ppb: u32,
}

/// What every switch has.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchJob {
    /// from a packet's last bit to its arrival at the output port's buffer
    pub processing_delay_ps: Duration,
    /// who goes first among simultaneous arrivals
    pub arbitration: Rule,
    /// whether a departure makes room for an arrival of the same picosecond
    pub departure_first: bool,
}

/// What every host has.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HostJob {
    /// latency of the host's stack and adapter, each way
    pub delay_ps: Duration,
    /// every host adds a constant of its own, uniform up to this
    pub delay_spread_ps: Duration,
    /// time for each segment, sent or received, one after another
    pub processing: Processing,
    /// measured times, in place of `processing`
    #[serde(default)]
    pub profile: Option<HostProfile>,
    /// each packet reaches it later by a time drawn uniformly up to this, in order
    #[serde(default)]
    pub jitter_ps: Duration,
    /// packets that its NIC queues
    pub queue_packets: u32,
}

/// A stack: a preset, and the settings in which it differs.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct StackJob {
    /// name of the preset
    pub preset: String,
    /// settings by name, see [`fairport_tcp::Settings`]
    pub overrides: Map<String, Value>,
}

/// One flow that is known before the run.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FlowJob {
    /// which part of the traffic it is of, for the tables
    #[serde(default)]
    pub traffic: u32,
    /// name of the sending host
    pub src: String,
    /// name of the receiving host
    pub dst: String,
    /// when it opens its connection
    pub start_ps: Instant,
    /// the flow draws an extra delay, uniform up to this
    pub start_jitter_ps: Duration,
    /// when its application stops; without it, when all is sent
    #[serde(default)]
    pub stop_ps: Option<Instant>,
    /// how much it sends; without it, without end
    pub size_bytes: Option<u64>,
    /// what sends UDP datagrams; without it, TCP
    #[serde(default)]
    pub udp: Option<Udp>,
    /// index into the stacks
    pub sender_stack: u32,
    /// index into the stacks
    pub receiver_stack: u32,
}

/// What is recorded.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ProbesJob {
    /// from one row per flow in the table series to the next
    pub series_interval_ps: Duration,
    /// from one row per port in the table queue to the next
    pub queue_interval_ps: Duration,
    /// start of the measurement; without it, when all flows are established
    pub measure_from_ps: Option<Instant>,
    /// end of the measurement; without it, the end of the run
    pub measure_to_ps: Option<Instant>,
    /// flows with rows in the tables series and rtt: those of the lowest numbers
    #[serde(default = "watched_flows")]
    pub watched_flows: u32,
    /// ports with rows in the table queue: those that the data of most flows may share
    #[serde(default = "watched_ports")]
    pub watched_ports: u32,
}

fn watched_flows() -> u32 {
    1000
}

fn watched_ports() -> u32 {
    100
}

//! The job: everything that decides a run's result, in base units, as JSON.
//!
//! The Python front end validates a scenario and converts it to a job. Times are integer picoseconds, rates bit/s,
//! sizes bytes, clock errors parts of 10^9. Unknown fields are refused.

mod check;
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

/// Below `opt-level = 2` a crate uses the generic code that a crate below it has compiled. With this, test programs
/// have the reader of a job and do not compile it again.
#[cfg(all(debug_assertions, not(test)))]
#[used]
static COMPILED: fn(Value) -> serde_json::Result<Job> = serde_json::from_value;

/// The description of one run.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// seed from which all random streams derive
    pub seed: u64,
    /// length of the simulated time
    pub duration_ps: Duration,
    /// hosts, switches and links
    pub topology: topology::Config,
    /// how paths are chosen
    pub routing: routing::Config,
    /// options of every link, unless the fabric or the topology overrides them
    pub link: LinkJob,
    /// options of links between switches, unless the topology overrides them
    #[serde(default)]
    pub fabric: LinkOptions,
    /// links that have failed before the run: ports, or switches for all their links
    #[serde(default)]
    pub failed_links: Vec<String>,
    /// options of every switch
    pub switch: SwitchJob,
    /// queue of every switch port
    pub queue: QueueConfig,
    /// shaper, which delays packets before the line
    pub shaper: Option<shaper::Config>,
    /// edge classifier, which separates short flows from long ones; without it all packets have class 0
    pub classifier: Option<classifier::Config>,
    /// where packets are lost other than in queues
    #[serde(default)]
    pub losses: Vec<loss::Config>,
    /// options of every host
    pub host: HostJob,
    /// the TCP stacks that flows refer to
    pub stacks: Vec<StackJob>,
    /// the flows that are known before the run
    pub flows: Vec<FlowJob>,
    /// the numbers of parts of the traffic that are permutations: their flows' receivers are drawn from the hosts that
    /// they list, so that each host sends to exactly one other and receives from exactly one
    #[serde(default)]
    pub permutations: Vec<u32>,
    /// what starts flows during the run
    #[serde(default)]
    pub workloads: Vec<workload::WorkloadJob>,
    /// what is recorded, and the bounds of the measurement
    pub probes: ProbesJob,
}

/// Options of every link.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LinkJob {
    /// rate in both directions
    pub rate_bps: Rate,
    /// propagation delay
    pub delay_ps: Duration,
    /// each link adds a constant delay, drawn uniformly up to this
    pub delay_spread_ps: Duration,
    /// largest IP packet, in bytes
    pub mtu_bytes: u32,
    /// the bytes that a frame adds to an IP packet
    pub framing: framing::Config,
    /// each port's clock has a constant error, drawn uniformly within ± this
    pub clock_error_ppb: u32,
}

/// Options of every switch.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchJob {
    /// time from a packet's last bit to its arrival at the output port's buffer
    pub processing_delay_ps: Duration,
    /// which of several simultaneous arrivals goes first
    pub arbitration: Rule,
    /// whether a departure makes room for an arrival in the same picosecond
    pub departure_first: bool,
}

/// Options of every host.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HostJob {
    /// latency of the host's stack and adapter, in each direction
    pub delay_ps: Duration,
    /// each host adds a constant delay, drawn uniformly up to this
    pub delay_spread_ps: Duration,
    /// processing time of each segment, sent or received; segments are processed one after another
    pub processing: Processing,
    /// measured times, which replace `processing`
    #[serde(default)]
    pub profile: Option<HostProfile>,
    /// each packet reaches the host later by a time drawn uniformly up to this, in order
    #[serde(default)]
    pub jitter_ps: Duration,
    /// shortest time between two interrupts of a host's adapter; packets that come in between wait for the next one
    #[serde(default)]
    pub interrupt_interval_ps: Duration,
    /// number of packets that the NIC's queue holds
    pub queue_packets: u32,
}

/// A stack: a preset, and the settings that differ from it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct StackJob {
    /// name of the preset
    pub preset: String,
    /// settings by name, see [`fairport_tcp::Settings`]
    pub overrides: Map<String, Value>,
}

/// A flow that is known before the run.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FlowJob {
    /// number of the part of the traffic that it belongs to, for the tables
    #[serde(default)]
    pub traffic: u32,
    /// name of the sending host
    pub src: String,
    /// name of the receiving host
    pub dst: String,
    /// when it opens its connection
    pub start_ps: Instant,
    /// the flow starts later by a time drawn uniformly up to this
    pub start_jitter_ps: Duration,
    /// when its application stops; without it, when everything is sent
    #[serde(default)]
    pub stop_ps: Option<Instant>,
    /// bytes to send; without it, the flow has no end
    pub size_bytes: Option<u64>,
    /// source of UDP datagrams; without it, the flow uses TCP
    #[serde(default)]
    pub udp: Option<Udp>,
    /// index of the sender's stack
    pub sender_stack: u32,
    /// index of the receiver's stack
    pub receiver_stack: u32,
}

/// What is recorded.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ProbesJob {
    /// time between two rows of a flow in the table `series`
    pub series_interval_ps: Duration,
    /// time between two rows of a port in the table `queue`
    pub queue_interval_ps: Duration,
    /// start of the measurement; without it, it starts when all flows are established
    pub measure_from_ps: Option<Instant>,
    /// end of the measurement; without it, it ends with the run
    pub measure_to_ps: Option<Instant>,
    /// number of flows with rows in the tables `series` and `rtt`: those with the lowest numbers
    #[serde(default = "watched_flows")]
    pub watched_flows: u32,
    /// number of ports with rows in the table `queue`: those that the data of most flows may share; if none is shared,
    /// those that any data may pass
    #[serde(default = "watched_ports")]
    pub watched_ports: u32,
}

fn watched_flows() -> u32 {
    1000
}

fn watched_ports() -> u32 {
    100
}

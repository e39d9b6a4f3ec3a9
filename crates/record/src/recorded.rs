//! All results of a run.

use fairport_net::discipline::Reason;
use fairport_tcp::{DecisionCause, DecisionKind, TimeoutCause};
use fairport_units::{Duration, Instant};

use crate::column::Table;
use crate::packet_log::PACKET_FATES;
use crate::trace::FATES;

/// Transport protocols, in the order of the numbers in the table `flows`.
const PROTOCOLS: [&str; 2] = ["tcp", "udp"];

/// Kinds of answers by hosts, in the order of the numbers in the table `answers`.
const ANSWERS: [&str; 4] = ["ack", "duplicate-ack", "later-duplicate-ack", "data"];

/// All results of a run.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// hash of packet facts; equal for the same scenario, seed and version on every machine
    pub fingerprint: u64,
    /// the hash of each port
    pub port_fingerprints: Vec<u64>,
    /// packets whose last bit arrived at a next node
    pub packet_hops: u64,
    /// number of packet-hops plus number of timers that fired
    pub events: u64,
    /// start of the measurement
    pub measure_from: Instant,
    /// end of the measurement
    pub measure_to: Instant,
    /// length of the simulated time
    pub simulated: Duration,
    /// decisions of watched flows for which the table `decisions` had no room
    pub decisions_left_out: u64,
    /// lists of names: ports, reasons of drops, causes of timeouts and of decisions, and others
    pub names: Vec<(&'static str, Vec<String>)>,
    /// the tables
    pub tables: Vec<Table>,
}

impl Recorded {
    /// The table with this name.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }
}

/// The lists of names for things that the network and TCP number, for the fates of packets, and for transport
/// protocols.
pub fn names() -> Vec<(&'static str, Vec<String>)> {
    let list = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    vec![
        ("reason", list(&Reason::NAMES)),
        ("cause", list(&TimeoutCause::NAMES)),
        ("what", list(DecisionKind::NAMES)),
        ("decision_cause", list(DecisionCause::NAMES)),
        ("fate", list(&FATES)),
        ("packet_fate", list(&PACKET_FATES)),
        ("protocol", list(&PROTOCOLS)),
        ("answer", list(&ANSWERS)),
    ]
}

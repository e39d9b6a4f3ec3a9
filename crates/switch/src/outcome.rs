//! What a run in real time leaves.

use fairport_record::Table;
use fairport_wire::FlowKey;

use crate::health::Health;

/// What a run in real time leaves.
pub struct Outcome {
    /// How well the switch kept its times.
    pub health: Health,
    /// The tables of packets and queues.
    pub tables: Vec<Table>,
    /// Packets whose last bit arrived at a next node.
    pub packet_hops: u64,
    /// Hash of what happened at every port. No two runs of real hosts have the same.
    pub fingerprint: u64,
    /// What the data of each flow is known by, in the order of their numbers.
    pub flows: Vec<FlowKey>,
    /// Lists of names of what the tables number.
    pub names: Vec<(&'static str, Vec<String>)>,
}

//! The results of a run in real time.

use std::io;

use fairport_record::{Fingerprint, Table, names, ports};
use fairport_units::Instant;
use fairport_wire::FlowKey;

use super::Switch;
use crate::edge::PacketObserver;
use crate::health::Health;

/// The results of a run in real time.
pub struct Outcome {
    /// How punctual the switch was.
    pub health: Health,
    /// The tables of packets and queues.
    pub tables: Vec<Table>,
    /// Packets whose last bit arrived at a next node.
    pub packet_hops: u64,
    /// Hash of what happened at every port. It is different for every run with real hosts.
    pub fingerprint: u64,
    /// The key of each flow's data, in the order of their numbers.
    pub flows: Vec<FlowKey>,
    /// Lists of names for the numbers in the tables.
    pub names: Vec<(&'static str, Vec<String>)>,
}

impl Switch {
    /// Ends the run and returns its results. The captures are complete.
    ///
    /// # Errors
    /// If the captures could not be written.
    pub fn into_outcome(mut self) -> io::Result<Outcome> {
        self.network.settle(self.end);
        self.release_frames();
        if let Some(capturing) = self.capturing.take() {
            self.health.capture_losses = capturing.finish()?;
        }
        self.network.assert_conservation();
        let packet_hops = self.network.packet_hops();
        let ports = ports(
            |_| &self.network,
            self.end - Instant::ZERO,
            &self.flows_through,
            &self.clock_errors_ppb,
        );
        let mut names = names();
        names.push(("port", self.topology.port_names()));
        let states = self.topology.port_ids();
        let states = states.map(|port| self.network.port_state(port));
        let fingerprint = Fingerprint::new(states).digest;
        let PacketObserver { recorder, log, .. } = self.network.into_observer();
        let mut tables = vec![self.queue.into_table(), ports];
        tables.extend(self.finders.into_tables());
        tables.extend(recorder.into_tables());
        tables.push(log.into_table(self.end));
        Ok(Outcome {
            health: self.health,
            flows: self.flows.into_keys(),
            tables,
            packet_hops,
            fingerprint,
            names,
        })
    }
}

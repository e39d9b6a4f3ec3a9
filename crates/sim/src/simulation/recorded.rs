//! The record of a finished run. The tables of flows, ports, rounds and requests are made here; the other
//! tables have grown during the run.

use fairport_net::Observer;
use fairport_record::tables::LoggedPackets;
use fairport_record::{
    Fingerprint, FlowLog, PortFingerprint, Recorded, Recorder, Simulated, Table, Watcher, names,
    ports,
};

use super::Simulation;

impl<P: Simulated + Send, O: Observer<P, PortState = PortFingerprint> + Watcher + Send>
    Simulation<P, O>
{
    /// The run's record.
    ///
    /// # Panics
    /// If the run has not ended, or if a packet of some flow is unaccounted for.
    pub fn into_recorded(mut self) -> Recorded {
        assert!(self.finished, "the run has not ended");
        self.handle_pending();
        self.flows.assert_conservation();
        let mut names = names();
        names.push(("port", self.flows.topology().port_names()));
        let domains = &self.flows.domains;
        let states = self.flows.topology().port_ids();
        let states = states.map(|port| domains.network_of(port).port_state(port));
        let fingerprint = Fingerprint::new(states);
        let packet_hops = domains.packet_hops();
        let timers_fired: u64 = domains.list.iter().map(|it| it.hosts.timers_fired).sum();
        let simulated = self.duration;
        // making the table of drops takes most of the memory, so the simulation is freed first
        let (mut tables, log, recorder) = self.into_parts();
        let (measure_from, measure_to) = (log.from(), log.to());
        let decisions_left_out = log.decisions_left_out();
        tables.extend(log.into_tables());
        tables.extend(recorder.into_tables());
        tables.push(LoggedPackets::default().into_table());
        Recorded {
            fingerprint: fingerprint.digest,
            port_fingerprints: fingerprint.ports,
            packet_hops,
            events: packet_hops + timers_fired,
            measure_from,
            measure_to,
            simulated,
            decisions_left_out,
            names,
            tables,
        }
    }

    /// The tables of flows, ports, rounds, requests and samples, and the merged logs and recorders of all domains.
    fn into_parts(self) -> (Vec<Table>, FlowLog, Recorder) {
        let ports = ports(
            |port| self.flows.domains.network_of(port),
            self.duration,
            self.flows.through(),
            &self.clock_errors_ppb,
        );
        let mut tables = vec![self.flows.table(), ports];
        tables.extend(self.workloads.log.tables());
        tables.extend([self.series.into_table(), self.queue.into_table()]);
        let mut domains = self.flows.domains.list.into_iter();
        let first = domains.next().expect("at least one domain");
        let mut log = first.hosts.reports.log;
        let mut recorder = first.network.into_observer().into_recorder();
        for domain in domains {
            log.absorb(domain.hosts.reports.log);
            recorder.absorb(domain.network.into_observer().into_recorder());
        }
        (tables, log, recorder)
    }
}

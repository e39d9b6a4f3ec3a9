//! At the end of a run: the tables of flows, ports, rounds and requests, beside those that grew
//! meanwhile.

use fairport_net::Observer;
use fairport_record::tables::{Flow, Flows, LoggedPackets};
use fairport_record::{
    Fingerprint, PortFingerprint, Recorded, Simulated, Table, Watcher, names, ports,
};
use fairport_units::Duration;

use crate::flow::LiveFlow;
use crate::simulation::Simulation;

impl<P: Simulated, O: Observer<P, PortState = PortFingerprint> + Watcher> Simulation<P, O> {
    /// What the run leaves.
    ///
    /// # Panics
    /// If the run has not ended, or if a packet of some flow is unaccounted for.
    pub fn into_recorded(self) -> Recorded {
        assert!(self.finished, "a record before the end of the run");
        self.assert_conservation_by_flow();
        let mut names = names();
        names.push(("port", self.port_names()));
        let ports = ports(
            &self.network,
            self.network.observer().recorder(),
            self.duration,
            &self.flows_through,
            &self.clock_errors_ppb,
        );
        let mut tables = vec![self.flows(), ports];
        tables.extend(self.workloads.log.tables());
        let fingerprint = Fingerprint::new(self.network.port_states());
        let packet_hops = self.network.packet_hops();
        let log = self.hosts.reports.log;
        let (measure_from, measure_to) = (log.from(), log.to());
        let decisions_left_out = log.decisions_left_out();
        tables.extend([self.series.into_table(), self.queue.into_table()]);
        tables.extend(log.into_tables());
        let recorder = self.network.into_observer().into_recorder();
        tables.extend(recorder.into_tables());
        tables.push(LoggedPackets::default().into_table());
        Recorded {
            fingerprint: fingerprint.digest,
            port_fingerprints: fingerprint.ports,
            packet_hops,
            events: packet_hops + self.hosts.timers_fired,
            measure_from,
            measure_to,
            simulated: self.duration,
            decisions_left_out,
            names,
            tables,
        }
    }

    /// Asserts, flow by flow: packets sent = received + dropped + under way.
    fn assert_conservation_by_flow(&self) {
        let mut in_flight = vec![0; self.flows.len()];
        for header in self.network.in_flight() {
            in_flight[header.flow as usize] += 1;
        }
        for (flow, live) in (0..).zip(&self.hosts.live) {
            let (sent, received) = match live {
                Some(live) => live.packets(),
                None => self.hosts.reports.state(flow).packets(),
            };
            let losses = self.network.observer().recorder().losses(flow);
            assert_eq!(
                sent,
                received + losses.drops + losses.late_drops + in_flight[flow as usize],
                "conservation of flow {flow}"
            );
        }
    }

    /// One row per flow.
    fn flows(&self) -> Table {
        let mut table = Flows::with_capacity(self.flows.len());
        for flow in 0..self.flows.len() as u32 {
            table.push(self.flow(flow));
        }
        table.into_table()
    }

    fn flow(&self, flow: u32) -> Flow {
        let planned = &self.flows[flow as usize];
        let log = &self.hosts.reports.log;
        let record = log.flow(flow);
        let live = self.hosts.live[flow as usize].as_ref();
        let counters = live.map_or(record.counters, LiveFlow::counters);
        let delivered_bytes = self.hosts.progress(flow).delivered_bytes;
        let application = &planned.spec.application;
        let is_complete =
            application.size_bytes() == Some(delivered_bytes) && !application.stays_open();
        let measured_bytes = record.measured_bytes();
        let losses = self.network.observer().recorder().losses(flow);
        Flow {
            flow,
            src: planned.spec.src.host,
            dst: planned.spec.dst.host,
            hops: planned.hops,
            traffic: planned.spec.traffic,
            protocol: u8::from(application.datagrams().is_some()),
            stack: planned.spec.src.stack,
            start_s: planned.start,
            established_s: record.established_at,
            end_s: record.finished_at,
            size_bytes: application.size_bytes(),
            delivered_bytes,
            measured_bytes,
            goodput_bps: measured_bytes as f64 * 8.0 / (log.to() - log.from()).as_secs_f64(),
            fct_s: if is_complete {
                record.finished_at - planned.start
            } else {
                Duration::NEVER
            },
            ideal_fct_s: planned.ideal,
            segments_sent: counters.segments_sent,
            retransmits: counters.retransmits,
            fast_recoveries: counters.fast_recoveries,
            timeouts: counters.timeouts,
            timeout_period_s: counters.timeout_period,
            drops: losses.drops,
            marks: losses.marks,
            rtt_mean_s: record.rtt().mean_s(),
            rtt_min_s: record.rtt().min_s(),
            rtt_max_s: record.rtt().max_s(),
        }
    }
}

//! The record of a finished run. The tables of flows, ports, rounds and requests are made here; the other
//! tables have grown during the run.

use fairport_net::Observer;
use fairport_plan::flow::Side;
use fairport_record::tables::{Flow, Flows, LoggedPackets};
use fairport_record::{
    Fingerprint, FlowLog, PortFingerprint, Recorded, Recorder, Simulated, Table, Watcher, names,
    ports,
};
use fairport_units::Duration;

use crate::flow::LiveFlow;
use crate::simulation::Simulation;

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
        self.assert_conservation_by_flow();
        let mut names = names();
        names.push(("port", self.topology.port_names()));
        let states = self.topology.port_ids();
        let states = states.map(|port| self.network_of(port).port_state(port));
        let fingerprint = Fingerprint::new(states);
        let packet_hops = self.packet_hops();
        let timers_fired: u64 = self.domains.iter().map(|it| it.hosts.timers_fired).sum();
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
            |port| self.network_of(port),
            self.duration,
            &self.flows_through,
            &self.clock_errors_ppb,
        );
        let mut tables = vec![self.flows(), ports];
        tables.extend(self.workloads.log.tables());
        tables.extend([self.series.into_table(), self.queue.into_table()]);
        let mut domains = self.domains.into_iter();
        let first = domains.next().expect("at least one domain");
        let mut log = first.hosts.reports.log;
        let mut recorder = first.network.into_observer().into_recorder();
        for domain in domains {
            log.absorb(domain.hosts.reports.log);
            recorder.absorb(domain.network.into_observer().into_recorder());
        }
        (tables, log, recorder)
    }

    /// Asserts for every flow: packets sent = received + dropped + in flight.
    fn assert_conservation_by_flow(&self) {
        let mut in_flight = vec![0; self.flows.len()];
        for header in self.domains.iter().flat_map(|it| it.network.in_flight()) {
            in_flight[header.flow as usize] += 1;
        }
        for flow in 0..self.flows.len() as u32 {
            let (sent, received) = self.packets(flow);
            let losses = self.losses(flow);
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
        let [sender, receiver] = [Side::Sender, Side::Receiver].map(|side| {
            let log = &self.domains[self.domain_at(flow, side)].hosts.reports.log;
            (log, log.flow(flow))
        });
        let live = self.live(flow, Side::Sender);
        let done = &self.lives[flow as usize].done;
        let counters = live.map_or(done.counters, LiveFlow::counters);
        let delivered_bytes = self.progress(flow).delivered_bytes;
        let application = &planned.spec.application;
        let is_complete =
            application.size_bytes() == Some(delivered_bytes) && !application.stays_open();
        let measured_bytes = receiver.1.measured_bytes();
        let finished_at = self.finished_at(flow);
        let losses = self.losses(flow);
        let rtt = if application.datagrams().is_some() {
            receiver.1.rtt()
        } else {
            sender.1.rtt()
        };
        let span = sender.0.to() - sender.0.from();
        Flow {
            flow,
            src: planned.spec.src.host,
            dst: planned.spec.dst.host,
            hops: planned.hops,
            traffic: planned.spec.traffic,
            protocol: u8::from(application.datagrams().is_some()),
            stack: planned.spec.src.stack,
            start_s: planned.start,
            established_s: sender.1.established_at,
            end_s: finished_at,
            size_bytes: application.size_bytes(),
            delivered_bytes,
            measured_bytes,
            goodput_bps: measured_bytes as f64 * 8.0 / span.as_secs_f64(),
            fct_s: if is_complete {
                finished_at - planned.start
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
            rtt_mean_s: rtt.mean_s(),
            rtt_min_s: rtt.min_s(),
            rtt_max_s: rtt.max_s(),
        }
    }
}

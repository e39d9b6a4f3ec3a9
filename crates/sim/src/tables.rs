//! What a run gives at its end: the tables of flows and ports, and those that grew meanwhile.

use fairport_net::PortId;
use fairport_net::discipline::Reason;
use fairport_tcp::TimeoutCause;
use fairport_units::Time;

use crate::results::{Column, Results, Table};
use crate::simulation::{FlowSpec, Simulation};

impl Simulation {
    /// What the run gave.
    ///
    /// # Panics
    /// If the run has not ended, or if a packet of some flow is unaccounted for.
    pub fn into_results(self) -> Results {
        assert!(self.finished, "results before the end of the run");
        self.assert_conservation_by_flow();
        let names = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        let probes = self.network.observer();
        let fingerprint = probes.fingerprint.digest();
        let mut tables: Vec<Table> = vec![
            flows(&self),
            ports(&self),
            self.hosts.measurement.timeouts_table(),
            self.hosts.measurement.rtt_table(),
        ];
        let port_names = self.port_names();
        let packet_hops = self.network.packet_hops();
        let probes = self.network.into_observer();
        tables.extend([
            self.series.into_table(),
            self.queue.into_table(),
            probes.drops.into_table(),
            probes.marks.into_table(),
            probes.trace.into_table(),
        ]);
        Results {
            fingerprint,
            packet_hops,
            events: packet_hops + self.hosts.timers_fired,
            measure_from: self.hosts.measurement.from,
            measure_to: self.hosts.measurement.to,
            simulated: self.duration,
            names: vec![
                ("port", port_names),
                ("reason", names(&Reason::NAMES)),
                ("cause", names(&TimeoutCause::NAMES)),
            ],
            tables,
        }
    }

    /// Asserts, flow by flow: segments sent = delivered + dropped + in flight.
    fn assert_conservation_by_flow(&self) {
        let mut in_flight = vec![0; self.flows.len()];
        for packet in self.network.in_flight() {
            in_flight[packet.flow as usize] += 1;
        }
        let dropped = &self.network.observer().flow_drops;
        for (flow, ends) in self.hosts.ends.chunks(2).enumerate() {
            let sent = ends[0].sent + ends[1].sent;
            let received = ends[0].received + ends[1].received;
            assert_eq!(
                sent,
                received + dropped[flow] + in_flight[flow],
                "conservation of flow {flow}"
            );
        }
    }
}

/// One row a flow.
fn flows(run: &Simulation) -> Table {
    let specs = &run.flows;
    let measurement = &run.hosts.measurement;
    let records = &measurement.flows;
    let window_s = (measurement.to - measurement.from).as_secs_f64();
    let senders: Vec<_> = run
        .hosts
        .ends
        .iter()
        .step_by(2)
        .map(|e| e.connection.counters())
        .collect();
    let receivers = run.hosts.ends.iter().skip(1).step_by(2);
    let delivered: Vec<u64> = receivers.map(|e| e.connection.delivered_bytes()).collect();
    let measured: Vec<u64> = records
        .iter()
        .map(|record| record.delivered_by_end - record.delivered_before)
        .collect();
    let goodput = |bytes: &u64| *bytes as f64 * 8.0 / window_s;
    let u32s = |of: fn(&FlowSpec) -> u32| Column::U32(specs.iter().map(of).collect());
    let fct = specs.iter().zip(records).map(|(spec, record)| {
        if record.finished_at == Time::NEVER {
            Time::NEVER
        } else {
            record.finished_at - spec.start
        }
    });
    Table {
        name: "flows",
        columns: vec![
            ("flow", Column::U32((0..specs.len() as u32).collect())),
            ("src", u32s(|f| f.src)),
            ("dst", u32s(|f| f.dst)),
            ("hops", u32s(|f| f.hops)),
            ("stack", u32s(|f| f.stack)),
            ("start_s", Column::seconds(specs.iter().map(|f| f.start))),
            (
                "established_s",
                Column::seconds(records.iter().map(|r| r.established_at)),
            ),
            (
                "end_s",
                Column::seconds(records.iter().map(|r| r.finished_at)),
            ),
            (
                "size_bytes",
                Column::U64(specs.iter().map(|f| f.size_bytes.unwrap_or(0)).collect()),
            ),
            ("delivered_bytes", Column::U64(delivered)),
            (
                "goodput_bps",
                Column::F64(measured.iter().map(goodput).collect()),
            ),
            ("measured_bytes", Column::U64(measured)),
            ("fct_s", Column::seconds(fct)),
            (
                "segments_sent",
                Column::U64(senders.iter().map(|c| c.segments_sent).collect()),
            ),
            (
                "retransmits",
                Column::U64(senders.iter().map(|c| c.retransmits).collect()),
            ),
            (
                "timeouts",
                Column::U64(senders.iter().map(|c| c.timeouts).collect()),
            ),
            (
                "timeout_period_s",
                Column::seconds(senders.iter().map(|c| c.timeout_period)),
            ),
            (
                "drops",
                Column::U64(run.network.observer().flow_drops.clone()),
            ),
            (
                "marks",
                Column::U64(run.network.observer().flow_marks.clone()),
            ),
            (
                "rtt_mean_s",
                Column::F64(records.iter().map(|r| r.rtt.mean_s()).collect()),
            ),
            (
                "rtt_min_s",
                Column::F64(records.iter().map(|r| r.rtt.min_s()).collect()),
            ),
            (
                "rtt_max_s",
                Column::F64(records.iter().map(|r| r.rtt.max_s()).collect()),
            ),
        ],
    }
}

/// One row a port.
fn ports(run: &Simulation) -> Table {
    let ports: Vec<u32> = (0..run.topology.ports().len() as u32).collect();
    let totals: Vec<_> = ports
        .iter()
        .map(|port| *run.network.totals(PortId(*port)))
        .collect();
    let duration_ps = run.duration.as_ps() as f64;
    Table {
        name: "ports",
        columns: vec![
            (
                "packets",
                Column::U64(totals.iter().map(|t| t.accepted).collect()),
            ),
            (
                "bytes",
                Column::U64(totals.iter().map(|t| t.accepted_bytes).collect()),
            ),
            (
                "drops",
                Column::U64(totals.iter().map(|t| t.arrivals - t.accepted).collect()),
            ),
            (
                "marks",
                Column::U64(totals.iter().map(|t| t.marked).collect()),
            ),
            (
                "queue_mean_bytes",
                Column::F64(
                    totals
                        .iter()
                        .map(|t| t.backlog_integral as f64 / duration_ps)
                        .collect(),
                ),
            ),
            (
                "queue_max_bytes",
                Column::U64(
                    totals
                        .iter()
                        .map(|t| u64::from(t.backlog_max_bytes))
                        .collect(),
                ),
            ),
            (
                "busy_share",
                Column::F64(
                    ports
                        .iter()
                        .map(|port| run.network.busy(PortId(*port)).as_ps() as f64 / duration_ps)
                        .collect(),
                ),
            ),
            ("flows", Column::U32(run.flows_through.clone())),
            ("port", Column::U32(ports)),
        ],
    }
}

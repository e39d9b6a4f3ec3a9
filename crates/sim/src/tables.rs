//! What a run gives at its end: the tables of flows and ports, and those that grew meanwhile.

use fairport_net::PortId;
use fairport_net::discipline::Reason;
use fairport_tcp::{Counters, TimeoutCause};
use fairport_units::Time;

use crate::flow::{FlowSpec, LiveFlow};
use crate::measurement::{FlowRecord, RttSummary};
use crate::results::{Column, Results, Table};
use crate::simulation::Simulation;
use crate::workload_tables;

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
            workload_tables::rounds(&self.nursery.workloads.log),
            workload_tables::requests(&self.nursery.workloads.log),
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

    /// Asserts, flow by flow: packets sent = received + dropped + under way.
    fn assert_conservation_by_flow(&self) {
        let mut in_flight = vec![0; self.flows.len()];
        for header in self.network.in_flight() {
            in_flight[header.flow as usize] += 1;
        }
        let dropped = &self.network.observer().flow_drops;
        let records = &self.hosts.measurement.flows;
        for (flow, live) in self.hosts.live.iter().enumerate() {
            let (sent, received) = match live {
                Some(live) => live.packets(),
                None => (records[flow].sent, records[flow].received),
            };
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
    let counters: Vec<Counters> = run
        .hosts
        .live
        .iter()
        .zip(records)
        .map(|(live, record)| live.as_ref().map_or(record.counters, LiveFlow::counters))
        .collect();
    let measured: Vec<u64> = records
        .iter()
        .map(|record| record.delivered_by_end - record.delivered_before)
        .collect();
    let goodput = measured.iter().map(|bytes| *bytes as f64 * 8.0 / window_s);
    let u32s = |of: fn(&FlowSpec) -> u32| Column::U32(specs.iter().map(of).collect());
    let count = |of: fn(&Counters) -> u64| Column::U64(counters.iter().map(of).collect());
    let time = |of: fn(&FlowRecord) -> Time| Column::seconds(records.iter().map(of));
    let rtt = |of: fn(&RttSummary) -> f64| {
        let summaries = records.iter().map(|record| of(&record.rtt));
        Column::F64(summaries.collect())
    };
    let delivered = run.delivered();
    let fct = specs.iter().zip(records).zip(&delivered);
    let fct = fct.map(|((spec, record), delivered)| {
        let is_complete = spec.how.size_bytes == Some(*delivered);
        if is_complete && !spec.how.persistent {
            record.finished_at - spec.start
        } else {
            Time::NEVER
        }
    });
    let fct = Column::seconds(fct);
    let sizes = specs.iter().map(|spec| spec.how.size_bytes.unwrap_or(0));
    let protocols = specs.iter().map(|spec| u8::from(spec.how.udp.is_some()));
    let ideal = specs.iter().map(|spec| spec.ideal);
    Table {
        name: "flows",
        columns: vec![
            ("flow", Column::U32((0..specs.len() as u32).collect())),
            ("src", u32s(|f| f.how.src.host)),
            ("dst", u32s(|f| f.how.dst.host)),
            ("hops", u32s(|f| f.hops)),
            ("traffic", u32s(|f| f.how.origin.traffic)),
            ("protocol", Column::U8(protocols.collect())),
            ("stack", u32s(|f| f.how.src.stack)),
            ("start_s", Column::seconds(specs.iter().map(|f| f.start))),
            ("established_s", time(|r| r.established_at)),
            ("end_s", time(|r| r.finished_at)),
            ("size_bytes", Column::U64(sizes.collect())),
            ("delivered_bytes", Column::U64(delivered)),
            ("goodput_bps", Column::F64(goodput.collect())),
            ("measured_bytes", Column::U64(measured)),
            ("fct_s", fct),
            ("ideal_fct_s", Column::seconds(ideal)),
            ("segments_sent", count(|c| c.segments_sent)),
            ("retransmits", count(|c| c.retransmits)),
            ("fast_recoveries", count(|c| c.fast_recoveries)),
            ("timeouts", count(|c| c.timeouts)),
            (
                "timeout_period_s",
                Column::seconds(counters.iter().map(|c| c.timeout_period)),
            ),
            (
                "drops",
                Column::U64(run.network.observer().flow_drops.clone()),
            ),
            (
                "marks",
                Column::U64(run.network.observer().flow_marks.clone()),
            ),
            ("rtt_mean_s", rtt(RttSummary::mean_s)),
            ("rtt_min_s", rtt(RttSummary::min_s)),
            ("rtt_max_s", rtt(RttSummary::max_s)),
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
                Column::U64(
                    ports
                        .iter()
                        .map(|port| run.network.drops(PortId(*port)))
                        .collect(),
                ),
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
            (
                "clock_error_ppm",
                Column::F64(
                    run.clock_errors_ppb
                        .iter()
                        .map(|ppb| f64::from(*ppb) / 1e3)
                        .collect(),
                ),
            ),
            ("port", Column::U32(ports)),
        ],
    }
}

//! The tables that are made once, at the end: flows and ports.

use fairport_net::PortId;
use fairport_units::Time;

use crate::results::{Column, Table};
use crate::simulation::{FlowSpec, Simulation};

/// One row a flow.
pub(crate) fn flows(run: &Simulation) -> Table {
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
            ("marks", Column::U64(vec![0; specs.len()])),
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
pub(crate) fn ports(run: &Simulation) -> Table {
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
            ("marks", Column::U64(vec![0; totals.len()])),
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

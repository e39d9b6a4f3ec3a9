//! The tables of flows, of their timeouts and round-trip times, and of further facts about each.

use fairport_record::tables::{Flow, Flows, RttBin, RttBins, Timeouts};
use fairport_record::{Column, Table};
use fairport_units::{Duration, Instant};
use fairport_wire::udp;

use super::data_flows::DataFlows;
use crate::analysis::Analysis;
use crate::flow::{Cause, FlowTotals};

/// One row per flow. `hosts` are its two hosts, `measured` its bytes during the measurement, which took `span_s`.
pub(super) fn flows(
    analysis: &Analysis,
    data: &DataFlows,
    hosts: &[[u32; 2]],
    measured: &[u64],
    span_s: f64,
) -> Table {
    let mut table = Flows::with_capacity(data.totals().len());
    for (flow, direction, totals) in data.iter() {
        let [src, dst] = hosts[flow as usize];
        let counts = &totals.counts;
        let (drops, marks) = analysis
            .switch
            .as_ref()
            .map_or((0, 0), |switch| switch.losses(flow));
        let is_udp = analysis.connections.key(direction).protocol == udp::PROTOCOL;
        let has_ended = counts.fins > 0;
        let ended = Instant::from_ns(totals.ended_ns);
        let measured_bytes = measured[flow as usize];
        table.push(Flow {
            flow,
            src,
            dst,
            hops: 0,
            traffic: u32::from(is_udp || !data.is_long(totals)),
            protocol: u8::from(is_udp),
            stack: 0,
            start_s: Instant::from_ns(totals.first_ns),
            established_s: totals
                .established_ns
                .map_or(Instant::NEVER, Instant::from_ns),
            end_s: if has_ended { ended } else { Instant::NEVER },
            size_bytes: has_ended.then_some(counts.delivered_bytes),
            delivered_bytes: counts.delivered_bytes,
            measured_bytes,
            goodput_bps: measured_bytes as f64 * 8.0 / span_s,
            fct_s: if has_ended && totals.has_start {
                ended.saturating_sub(Instant::from_ns(totals.first_ns))
            } else {
                Duration::NEVER
            },
            ideal_fct_s: Duration::NEVER,
            segments_sent: counts.segments,
            retransmits: counts.retransmits,
            fast_recoveries: counts.fast_recoveries,
            timeouts: counts.timeouts + totals.back.timeouts,
            timeout_period_s: Duration::from_ns(counts.timeout_ns + totals.back.timeout_ns),
            drops,
            marks,
            rtt_mean_s: totals.rtt.mean_s(),
            rtt_min_s: totals.rtt.min_s(),
            rtt_max_s: totals.rtt.max_s(),
        });
    }
    table.into_table()
}

/// The table with the directions of its packets counted from that of their flows' data. Until the captures have been
/// read, the direction of a connection's first packet counts as forward.
pub(super) fn along_data(mut table: Table, data: &DataFlows) -> Table {
    let find = |name| table.columns.iter().position(|(own, _)| *own == name);
    let (Some(flow), Some(is_backward)) = (find("flow"), find("is_backward")) else {
        return table;
    };
    let [(_, Column::U32(flows)), (_, Column::U8(directions))] = table
        .columns
        .get_disjoint_mut([flow, is_backward])
        .expect("two columns")
    else {
        unreachable!("the columns' types are those of their declaration");
    };
    for (flow, direction) in flows.iter().zip(directions) {
        *direction ^= u8::from(data.is_turned(*flow));
    }
    table
}

/// The inferred timeouts.
pub(super) fn timeouts(analysis: &Analysis, data: &DataFlows) -> Table {
    let mut table = Timeouts::default();
    for mut row in analysis.tracker.timeouts() {
        row.is_backward ^= data.is_turned(row.flow);
        table.push(row);
    }
    table.into_table()
}

/// The histograms of round-trip times.
pub(super) fn rtt(analysis: &Analysis, data: &DataFlows) -> Table {
    let mut table = RttBins::default();
    for (flow, direction, _) in data.iter() {
        for (rtt_s, samples) in analysis.tracker.rtt_bins(direction) {
            table.push(RttBin {
                flow,
                rtt_s,
                samples,
            });
        }
    }
    table.into_table()
}

/// The facts about each flow that are not in the table of flows.
pub(super) fn conversations(analysis: &Analysis, data: &DataFlows) -> Table {
    let (directions, totals) = (data.directions().iter(), data.totals().iter());
    let ports: Vec<[u16; 2]> = directions
        .clone()
        .map(|one| analysis.connections.key(*one).ports)
        .collect();
    let ways: Vec<[Option<u32>; 2]> = directions
        .map(|one| {
            analysis
                .switch
                .as_ref()
                .map_or([None; 2], |it| it.way(*one))
        })
        .collect();
    let port = |side: usize| Column::U32(ports.iter().map(|both| both[side].into()).collect());
    let way = |side: usize| {
        let numbers = ways.iter().map(|way| way[side].unwrap_or(u32::MAX));
        Column::U32(numbers.collect())
    };
    let ttl = totals.clone().map(|flow| flow.counts.ttl.into());
    let count = |of: fn(&FlowTotals) -> u64| Column::U64(totals.clone().map(of).collect());
    let seconds = |of: &dyn Fn(&FlowTotals) -> Option<u64>| {
        let seconds = |ns: Option<u64>| ns.map_or(f64::NAN, |ns| ns as f64 / 1e9);
        Column::F64(totals.clone().map(|flow| seconds(of(flow))).collect())
    };
    let stalled = |cause: Cause| seconds(&|flow| Some(flow.counts.stalled_ns[cause as usize]));
    let columns = vec![
        ("flow", Column::U32((0..ports.len() as u32).collect())),
        ("src_port", port(0)),
        ("dst_port", port(1)),
        ("ingress_port", way(0)),
        ("egress_port", way(1)),
        ("ttl", Column::U32(ttl.collect())),
        ("packets", count(|flow| flow.counts.packets)),
        ("packets_back", count(|flow| flow.back.packets)),
        ("spurious_retransmits", count(|flow| flow.counts.spurious)),
        ("merged_segments", count(|flow| flow.counts.merged)),
        ("out_of_order", count(|flow| flow.counts.out_of_order)),
        ("duplicate_acks", count(|flow| flow.counts.duplicate_acks)),
        ("gap_bytes", count(|flow| flow.counts.gap_bytes)),
        ("unseen_bytes", count(|flow| flow.counts.unseen_bytes)),
        ("zero_windows", count(|flow| flow.counts.zero_windows)),
        (
            "zero_window_s",
            seconds(&|flow| Some(flow.counts.zero_window_ns)),
        ),
        (
            "window_max_bytes",
            count(|flow| flow.counts.window_max_bytes.map_or(u64::MAX, u64::from)),
        ),
        (
            "in_flight_max_bytes",
            count(|flow| flow.counts.in_flight_max_bytes),
        ),
        ("stalled_timeout_s", stalled(Cause::Timeout)),
        ("stalled_window_s", stalled(Cause::Window)),
        ("stalled_idle_s", stalled(Cause::Idle)),
        ("stalled_network_s", stalled(Cause::Network)),
        ("to_sender_s", seconds(&|flow| flow.legs_ns[0])),
        ("to_receiver_s", seconds(&|flow| flow.legs_ns[1])),
    ];
    Table {
        name: "conversations",
        columns,
    }
}

//! The result of an analysis: the tables of a run, and additional facts from the captures.

use fairport_record::tables::{Flow, Flows, RttBin, RttBins, Timeouts};
use fairport_record::{Column, Table};
use fairport_units::{Duration, Instant};
use fairport_wire::udp;

use crate::analysis::Analysis;
use crate::flow::{Cause, FlowEnd};
use crate::join::OutputSummary;
use crate::layout::Layout;
use crate::packet::address;
use crate::reading::FileSummary;

/// A flow of at least this many bytes is a long one, and so is one without an end that always had data to send and has
/// lasted for a while.
const LONG_BYTES: u64 = 1_000_000;
/// A flow that had nothing to send for this share of its time did not always have data.
const IDLE: f64 = 0.5;
/// A flow has lasted for a while after this share of the time of the longest one.
const A_WHILE: f64 = 0.5;
/// A long flow that lasts for this share of the captures counts as lasting to the end.
const LASTING: f64 = 0.9;

/// The result of an analysis.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// the tables of a run, as far as captures can fill them, and `conversations` with additional facts about each flow
    pub tables: Vec<Table>,
    /// lists of names: hosts, ports, and others
    pub names: Vec<(&'static str, Vec<String>)>,
    /// what was read from each file
    pub files: Vec<FileSummary>,
    /// the side of each tap, and the clocks
    pub layout: Layout,
    /// the outputs that were joined
    pub outputs: Vec<OutputSummary>,
    /// hash of what happened at the outputs, or of the flows' sums
    pub fingerprint: u64,
    /// number of TCP and UDP packets
    pub packets: u64,
    /// when the captures begin, in ns of their clock
    pub start_ns: u64,
    /// length of the captures
    pub duration: Duration,
    /// start of the measurement, from the start of the captures
    pub measure_from: Instant,
    /// end of the measurement, from the start of the captures
    pub measure_to: Instant,
    /// final interval of the series
    pub interval: Duration,
    /// whether the captures give reasons for drops
    pub has_reasons: bool,
}

/// The flows, each with the direction of its data.
struct Ends {
    directions: Vec<u32>,
    flows: Vec<FlowEnd>,
    /// when the captures end
    end_ns: u64,
    /// how long the longest flow lasted: of those of many bytes, or if there is none, of all
    longest_ns: u64,
}

impl Ends {
    fn of(analysis: &Analysis) -> Self {
        let connections = 0..analysis.tracker.connections() as u32;
        let directions: Vec<u32> = connections
            .map(|connection| analysis.tracker.data_direction(connection))
            .collect();
        let ends = directions.iter().map(|one| analysis.tracker.end(*one));
        let ends: Vec<FlowEnd> = ends.collect();
        let lasted_ns = |end: &FlowEnd| end.last_ns - end.first_ns;
        let big = ends
            .iter()
            .filter(|end| end.counts.delivered_bytes >= LONG_BYTES);
        let longest_ns = big.map(lasted_ns).max();
        let longest_ns = longest_ns.or_else(|| ends.iter().map(lasted_ns).max());
        Self {
            directions,
            end_ns: analysis.end_ns,
            longest_ns: longest_ns.unwrap_or(0),
            flows: ends,
        }
    }

    /// Whether a flow is long enough for its goodput to say something. One that has just begun when the captures end has
    /// no end either.
    fn is_long(&self, end: &FlowEnd) -> bool {
        let lasted_ns = self.end_ns.saturating_sub(end.first_ns);
        let is_idle = end.idle_ns(self.end_ns) as f64 > IDLE * lasted_ns as f64;
        let has_begun = lasted_ns as f64 >= A_WHILE * self.longest_ns as f64;
        end.counts.delivered_bytes >= LONG_BYTES || (end.counts.fins == 0 && !is_idle && has_begun)
    }

    /// Whether a flow's data travels in the second direction of its connection.
    fn are_turned(&self, flow: u32) -> bool {
        !self.directions[flow as usize].is_multiple_of(2)
    }

    fn iter(&self) -> impl Iterator<Item = (u32, u32, &FlowEnd)> {
        let both = self.directions.iter().zip(&self.flows);
        (0..)
            .zip(both)
            .map(|(flow, (direction, end))| (flow, *direction, end))
    }
}

/// The bounds of the measurement: from the first whole interval after the long flows that last to the end are
/// established, to the end of the captures.
fn measurement(ends: &Ends, interval_ns: u64) -> (u64, u64) {
    let end_ns = ends.end_ns;
    let lasts = |end: &&FlowEnd| {
        ends.is_long(end)
            && end.counts.segments > 0
            && end.last_ns as f64 >= LASTING * end_ns as f64
    };
    let established = ends
        .flows
        .iter()
        .filter(lasts)
        .filter_map(|end| end.established_ns);
    // a flow that begins late is not a reason to measure only the last moments
    let early = established.filter(|ns| *ns <= end_ns / 2);
    let from_ns = early.max().unwrap_or(0).next_multiple_of(interval_ns);
    (from_ns.min(end_ns), end_ns)
}

pub(crate) fn outcome(analysis: Analysis) -> Outcome {
    let ends = Ends::of(&analysis);
    // nothing is measured after the captures end
    let given = analysis.measure_ns;
    let given = given.map(|(from_ns, to_ns)| (from_ns, to_ns.min(analysis.end_ns)));
    let series = &analysis.tracker.series;
    let (from_ns, to_ns) = given.unwrap_or_else(|| measurement(&ends, series.interval_ns()));
    let measured: Vec<u64> = ends
        .iter()
        .map(|(_, direction, end)| match given {
            Some(_) => end.measured_bytes,
            None if from_ns == 0 => end.counts.delivered_bytes,
            None => series.bytes_from(direction, from_ns),
        })
        .collect();
    let span_s = (to_ns.saturating_sub(from_ns)).max(1) as f64 / 1e9;
    let (hosts, numbers) = hosts(&analysis, &ends);
    let mut tables = vec![
        flows(&analysis, &ends, &numbers, &measured, span_s),
        timeouts(&analysis, &ends),
        rtt(&analysis, &ends),
        conversations(&analysis, &ends),
    ];
    let mut names = fairport_record::names();
    names.push(("host", hosts));
    let packets = analysis.packets;
    let mut fingerprint = hash_of(&ends);
    let (mut outputs, mut has_reasons, mut ports) = (Vec::new(), false, Vec::new());
    if let Some(switch) = analysis.switch {
        let layout = &analysis.layout;
        ports = switch.names(&layout.ingress, &layout.egress);
        fingerprint = switch.fingerprint();
        has_reasons = switch.has_reasons();
        outputs = switch.summaries(&layout.egress, &analysis.completeness);
        let tables_of_ports = switch.into_tables(analysis.end_ns);
        tables.extend(tables_of_ports.into_iter().map(|it| along_data(it, &ends)));
    }
    names.push(("port", ports));
    let series = analysis.tracker.series;
    let interval = Duration::from_ns(series.interval_ns());
    tables.push(series.into_rows(&ends.directions).into_table());
    Outcome {
        tables,
        names,
        files: analysis.files,
        layout: analysis.layout,
        outputs,
        fingerprint,
        packets,
        start_ns: analysis.start_ns,
        duration: Duration::from_ns(analysis.end_ns),
        measure_from: Instant::from_ns(from_ns),
        measure_to: Instant::from_ns(to_ns),
        interval,
        has_reasons,
    }
}

/// The addresses of the hosts in order, and by flow the numbers of its two ends.
fn hosts(analysis: &Analysis, ends: &Ends) -> (Vec<String>, Vec<[u32; 2]>) {
    let keys = ends
        .directions
        .iter()
        .map(|one| analysis.connections.key(*one));
    let keys: Vec<_> = keys.map(|key| [key.source, key.destination]).collect();
    let mut known: Vec<u128> = keys.iter().flatten().copied().collect();
    known.sort_unstable();
    known.dedup();
    let number = |address: u128| known.partition_point(|one| *one < address) as u32;
    let numbers = keys.iter().map(|ends| ends.map(number)).collect();
    (
        known.iter().map(|one| address(*one).to_string()).collect(),
        numbers,
    )
}

fn flows(
    analysis: &Analysis,
    ends: &Ends,
    hosts: &[[u32; 2]],
    measured: &[u64],
    span_s: f64,
) -> Table {
    let mut table = Flows::with_capacity(ends.flows.len());
    for (flow, direction, end) in ends.iter() {
        let [src, dst] = hosts[flow as usize];
        let counts = &end.counts;
        let (drops, marks) = analysis
            .switch
            .as_ref()
            .map_or((0, 0), |switch| switch.losses(flow));
        let is_udp = analysis.connections.key(direction).protocol == udp::PROTOCOL;
        let has_ended = counts.fins > 0;
        let ended = Instant::from_ns(end.ended_ns);
        let measured_bytes = measured[flow as usize];
        table.push(Flow {
            flow,
            src,
            dst,
            hops: 0,
            traffic: u32::from(is_udp || !ends.is_long(end)),
            protocol: u8::from(is_udp),
            stack: 0,
            start_s: Instant::from_ns(end.first_ns),
            established_s: end.established_ns.map_or(Instant::NEVER, Instant::from_ns),
            end_s: if has_ended { ended } else { Instant::NEVER },
            size_bytes: has_ended.then_some(counts.delivered_bytes),
            delivered_bytes: counts.delivered_bytes,
            measured_bytes,
            goodput_bps: measured_bytes as f64 * 8.0 / span_s,
            fct_s: if has_ended && end.has_start {
                ended.saturating_sub(Instant::from_ns(end.first_ns))
            } else {
                Duration::NEVER
            },
            ideal_fct_s: Duration::NEVER,
            segments_sent: counts.segments,
            retransmits: counts.retransmits,
            fast_recoveries: counts.fast_recoveries,
            timeouts: counts.timeouts + end.back.timeouts,
            timeout_period_s: Duration::from_ns(counts.timeout_ns + end.back.timeout_ns),
            drops,
            marks,
            rtt_mean_s: end.rtt.mean_s(),
            rtt_min_s: end.rtt.min_s(),
            rtt_max_s: end.rtt.max_s(),
        });
    }
    table.into_table()
}

/// The table with the directions of its packets counted from that of their flows' data. Until the captures have been
/// read, the direction of a connection's first packet counts as forward.
fn along_data(mut table: Table, ends: &Ends) -> Table {
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
        *direction ^= u8::from(ends.are_turned(*flow));
    }
    table
}

fn timeouts(analysis: &Analysis, ends: &Ends) -> Table {
    let mut table = Timeouts::default();
    for mut row in analysis.tracker.timeouts() {
        row.is_backward ^= ends.are_turned(row.flow);
        table.push(row);
    }
    table.into_table()
}

fn rtt(analysis: &Analysis, ends: &Ends) -> Table {
    let mut table = RttBins::default();
    for (flow, direction, _) in ends.iter() {
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
fn conversations(analysis: &Analysis, ends: &Ends) -> Table {
    let u64s = |of: fn(&FlowEnd) -> u64| Column::U64(ends.flows.iter().map(of).collect());
    let seconds = |of: fn(&FlowEnd) -> Option<u64>| {
        let seconds = |ns: Option<u64>| ns.map_or(f64::NAN, |ns| ns as f64 / 1e9);
        Column::F64(ends.flows.iter().map(|end| seconds(of(end))).collect())
    };
    let keys = ends
        .directions
        .iter()
        .map(|one| analysis.connections.key(*one).ports);
    let ports: Vec<[u16; 2]> = keys.collect();
    let port = |side: usize| Column::U32(ports.iter().map(|both| u32::from(both[side])).collect());
    let way_of = |direction: &u32| {
        let switch = analysis.switch.as_ref();
        switch.map_or([None; 2], |switch| switch.way(*direction))
    };
    let ways: Vec<[Option<u32>; 2]> = ends.directions.iter().map(way_of).collect();
    let way = |side: usize| {
        let numbers = ways.iter().map(|way| way[side].unwrap_or(u32::MAX));
        Column::U32(numbers.collect())
    };
    let stalled = |cause: Cause| {
        let seconds = ends
            .flows
            .iter()
            .map(|end| end.counts.stalled_ns[cause as usize] as f64 / 1e9);
        Column::F64(seconds.collect())
    };
    Table {
        name: "conversations",
        columns: vec![
            ("flow", Column::U32((0..ends.flows.len() as u32).collect())),
            ("src_port", port(0)),
            ("dst_port", port(1)),
            ("ingress_port", way(0)),
            ("egress_port", way(1)),
            (
                "ttl",
                Column::U32(
                    ends.flows
                        .iter()
                        .map(|end| u32::from(end.counts.ttl))
                        .collect(),
                ),
            ),
            ("packets", u64s(|end| end.counts.packets)),
            ("packets_back", u64s(|end| end.back.packets)),
            ("spurious_retransmits", u64s(|end| end.counts.spurious)),
            ("merged_segments", u64s(|end| end.counts.merged)),
            ("out_of_order", u64s(|end| end.counts.out_of_order)),
            ("duplicate_acks", u64s(|end| end.counts.duplicate_acks)),
            ("gap_bytes", u64s(|end| end.counts.gap_bytes)),
            ("unseen_bytes", u64s(|end| end.counts.unseen_bytes)),
            ("zero_windows", u64s(|end| end.counts.zero_windows)),
            (
                "zero_window_s",
                seconds(|end| Some(end.counts.zero_window_ns)),
            ),
            (
                "window_max_bytes",
                u64s(|end| end.counts.window_max_bytes.map_or(u64::MAX, u64::from)),
            ),
            (
                "in_flight_max_bytes",
                u64s(|end| end.counts.in_flight_max_bytes),
            ),
            ("stalled_timeout_s", stalled(Cause::Timeout)),
            ("stalled_window_s", stalled(Cause::Window)),
            ("stalled_idle_s", stalled(Cause::Idle)),
            ("stalled_network_s", stalled(Cause::Network)),
            ("to_sender_s", seconds(|end| end.legs_ns[0])),
            ("to_receiver_s", seconds(|end| end.legs_ns[1])),
        ],
    }
}

/// A hash that is equal for equal captures.
fn hash_of(ends: &Ends) -> u64 {
    use std::hash::Hasher;
    let mut hasher = rustc_hash::FxHasher::default();
    for (flow, _, end) in ends.iter() {
        hasher.write_u32(flow);
        hasher.write_u64(end.first_ns);
        hasher.write_u64(end.counts.delivered_bytes);
        hasher.write_u64(end.counts.segments);
    }
    hasher.finish()
}

//! The result of an analysis: the tables of a run, and additional facts from the captures.

mod data_flows;
mod tables;

use fairport_record::Table;
use fairport_units::{Duration, Instant};

use crate::analysis::Analysis;
use crate::join::OutputSummary;
use crate::layout::Layout;
use crate::packet::address;
use crate::reading::FileSummary;
use data_flows::DataFlows;

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

/// Makes the result from what the analysis has found.
pub(crate) fn outcome(analysis: Analysis) -> Outcome {
    let data = DataFlows::of(&analysis);
    // nothing is measured after the captures end
    let given = analysis.measure_ns;
    let given = given.map(|(from_ns, to_ns)| (from_ns, to_ns.min(analysis.end_ns)));
    let series = &analysis.tracker.series;
    let ended_ns = analysis.completeness.iter().filter_map(|one| one.ended_ns);
    let ended_ns = ended_ns.min();
    let (from_ns, to_ns) =
        given.unwrap_or_else(|| data.measurement(series.interval_ns(), ended_ns));
    let measured: Vec<u64> = data
        .iter()
        .map(|(_, direction, totals)| match given {
            Some(_) => totals.measured_bytes,
            None if from_ns == 0 && ended_ns.is_none() => totals.counts.delivered_bytes,
            None => series.bytes_between(direction, from_ns, ended_ns.map_or(u64::MAX, |_| to_ns)),
        })
        .collect();
    let span_s = (to_ns.saturating_sub(from_ns)).max(1) as f64 / 1e9;
    let (hosts, numbers) = hosts(&analysis, &data);
    let mut tables = vec![
        tables::flows(&analysis, &data, &numbers, &measured, span_s),
        tables::timeouts(&analysis, &data),
        tables::rtt(&analysis, &data),
        tables::conversations(&analysis, &data),
    ];
    let mut names = fairport_record::names();
    names.push(("host", hosts));
    let packets = analysis.packets;
    let mut fingerprint = data.hash();
    let (mut outputs, mut has_reasons, mut ports) = (Vec::new(), false, Vec::new());
    if let Some(switch) = analysis.switch {
        let layout = &analysis.layout;
        ports = switch.names(&layout.ingress, &layout.egress);
        fingerprint = switch.fingerprint();
        has_reasons = switch.has_reasons();
        outputs = switch.summaries(&layout.egress, &analysis.completeness);
        let tables_of_ports = switch.into_tables(analysis.end_ns);
        tables.extend(
            tables_of_ports
                .into_iter()
                .map(|it| tables::along_data(it, &data)),
        );
    }
    names.push(("port", ports));
    let series = analysis.tracker.series;
    let interval = Duration::from_ns(series.interval_ns());
    tables.push(series.into_rows(data.directions()).into_table());
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
fn hosts(analysis: &Analysis, data: &DataFlows) -> (Vec<String>, Vec<[u32; 2]>) {
    let keys = data
        .directions()
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

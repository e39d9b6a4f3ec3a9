//! Laws that every record obeys, whatever was run. A property test checks them over random scenarios, and a backend can
//! be checked against them.
//!
//! - Shares are between 0 and 1.
//! - No time lies outside the run. (A flow that has not started has its planned start.)
//! - Every table has the same numbers of drops, marks and timeouts.
//! - No flow delivers more than it has to send, nor more than its segments hold.
//! - No queue exceeds its limit.
//! - No flow's goodput exceeds the rate of the line into its receiver, nor does the sum of all flows into it. One
//!   packet per line is allowed in addition, because it counts as a whole even if part of it was sent before the
//!   measurement.
//! - Probes change nothing: see [`first_difference`].

use std::collections::BTreeMap;

use crate::column::Column;
use crate::recorded::Recorded;

/// Limits of the network that are not in the tables.
#[derive(Clone, Debug)]
pub struct Limits {
    /// payload rate of the line into each host in bit/s, by number of the host; for a host that is slower than its
    /// line, its processing rate, if that is larger
    pub payload_bps: Vec<f64>,
    /// size of each port's buffer in bytes, by number of the port
    pub queue_bytes: Vec<f64>,
    /// largest payload of a segment or datagram, in bytes
    pub segment_bytes: f64,
}

/// A law that a record breaks, and where it does.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// the law
    pub law: &'static str,
    /// where it is broken, and the value there
    pub at: String,
}

/// All laws that a record breaks.
pub fn violations(recorded: &Recorded, limits: &Limits) -> Vec<Violation> {
    let view = View(recorded);
    let mut found = Vec::new();
    shares(&view, &mut found);
    dates(&view, &mut found);
    counts(&view, &mut found);
    deliveries(&view, limits, &mut found);
    queues(&view, limits, &mut found);
    goodput(&view, limits, &mut found);
    found
}

/// The first port at which two runs differ, or none.
pub fn first_difference(one: &Recorded, other: &Recorded) -> Option<usize> {
    let ports = one.port_fingerprints.iter().zip(&other.port_fingerprints);
    let mut ports = ports.map(|(one, other)| one == other);
    ports.position(|is_equal| !is_equal)
}

/// A record whose columns are read as numbers.
struct View<'a>(&'a Recorded);

impl View<'_> {
    fn column(&self, table: &str, name: &str) -> Vec<f64> {
        let column = self.0.table(table).and_then(|table| table.column(name));
        // a backend may not know it
        column.map(Column::to_f64).unwrap_or_default()
    }

    fn rows(&self, table: &str) -> f64 {
        self.0.table(table).map_or(0, crate::Table::rows) as f64
    }

    fn sum(&self, table: &str, name: &str) -> f64 {
        self.column(table, name).iter().sum()
    }
}

fn broken(found: &mut Vec<Violation>, law: &'static str, at: String) {
    found.push(Violation { law, at });
}

fn shares(view: &View<'_>, found: &mut Vec<Violation>) {
    for (port, share) in view.column("ports", "busy_share").iter().enumerate() {
        if !(0.0..=1.0).contains(share) {
            let at = format!("ports.busy_share of port {port}: {share}");
            broken(found, "a share is within 0 and 1", at);
        }
    }
}

fn dates(view: &View<'_>, found: &mut Vec<Violation>) {
    let law = "nothing is dated outside the run";
    let end = view.0.simulated.as_secs_f64();
    let is_date = |name: &str| matches!(name, "time_s" | "start_s" | "end_s" | "established_s");
    for table in &view.0.tables {
        for (name, _) in &table.columns {
            let is_planned = (table.name, *name) == ("flows", "start_s");
            if is_planned || !(is_date(name) || *name == "depart_s") {
                continue;
            }
            let values = view.column(table.name, name);
            let outside = values
                .iter()
                .find(|time| !(time.is_nan() || (0.0..=end).contains(*time)));
            if let Some(time) = outside {
                broken(found, law, format!("{}.{name}: {time}", table.name));
            }
        }
    }
}

#[expect(
    clippy::float_cmp,
    reason = "counts are whole numbers, which f64 holds exactly"
)]
fn counts(view: &View<'_>, found: &mut Vec<Violation>) {
    let law = "drops, marks and timeouts are as many in every table";
    let pairs = [
        ("drops", "flows"),
        ("drops", "ports"),
        ("marks", "flows"),
        ("marks", "ports"),
        ("timeouts", "flows"),
    ];
    for (what, table) in pairs {
        let (rows, sum) = (view.rows(what), view.sum(table, what));
        if rows != sum {
            broken(
                found,
                law,
                format!("{rows} rows of {what}, {sum} in {table}"),
            );
        }
    }
}

fn deliveries(view: &View<'_>, limits: &Limits, found: &mut Vec<Violation>) {
    let law = "no flow delivers more than it sent";
    let sizes = view.column("flows", "size_bytes");
    let segments = view.column("flows", "segments_sent");
    let retransmits = view.column("flows", "retransmits");
    for (flow, delivered) in view.column("flows", "delivered_bytes").iter().enumerate() {
        let sent = (segments[flow] - retransmits[flow]) * limits.segment_bytes;
        // an endless flow has the largest number as its size
        if *delivered > sizes[flow].min(sent) {
            let at = format!("flow {flow}: {delivered} of {} B, {sent} sent", sizes[flow]);
            broken(found, law, at);
        }
    }
}

fn queues(view: &View<'_>, limits: &Limits, found: &mut Vec<Violation>) {
    let law = "no queue exceeds its limit";
    let most = view.column("ports", "queue_max_bytes");
    let means = view.column("ports", "queue_mean_bytes");
    for (port, (most, mean)) in most.iter().zip(means).enumerate() {
        if *most > limits.queue_bytes[port] || mean > *most {
            let at = format!("port {port}: {most} B at most, {mean} on average");
            broken(found, law, at);
        }
    }
    let ports = view.column("queue", "port");
    for (port, bytes) in ports.iter().zip(view.column("queue", "bytes")) {
        if bytes > most[*port as usize] {
            broken(found, law, format!("queue.bytes of port {port}: {bytes}"));
        }
    }
}

fn goodput(view: &View<'_>, limits: &Limits, found: &mut Vec<Violation>) {
    let window_s = (view.0.measure_to - view.0.measure_from).as_secs_f64();
    let mut by_host: BTreeMap<u32, f64> = BTreeMap::new();
    let measured = view.column("flows", "measured_bytes");
    for (host, bytes) in view.column("flows", "dst").iter().zip(measured) {
        *by_host.entry(*host as u32).or_default() += bytes;
    }
    for (host, bytes) in by_host {
        let line_bytes = limits.payload_bps[host as usize] * window_s / 8.0;
        if bytes > line_bytes + limits.segment_bytes {
            let at = format!("into host {host}: {bytes} B in {window_s} s, of {line_bytes}");
            broken(found, "no goodput exceeds the line", at);
        }
    }
}

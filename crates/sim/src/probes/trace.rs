//! The packets round the worst blackout: every packet at the port that most flows pass is kept for
//! a short while, and the neighbourhood of the longest run of drops at one ingress port for good.
//!
//! The run seen here only chooses which packets to keep. Drop runs as results come from the drops
//! table and one function of the Python side.

use fairport_net::{Arrival, PortId, Topology};
use fairport_tcp::Segment;
use fairport_units::Time;

use crate::results::{Column, Table};

/// Packets kept; a run that spreads over more is passed over.
const KEPT: usize = 64;
/// Packets shown before the run's first drop, as far as they are kept.
const BEFORE: u64 = 8;

#[derive(Clone, Copy)]
struct Row {
    time: Time,
    depart: Time,
    ingress_port: u32,
    flow: u32,
    seq: u32,
    size_bytes: u32,
    dropped: bool,
}

/// Drops from one ingress port since its last accepted packet.
#[derive(Clone, Copy, Default)]
struct Run {
    length: u64,
    /// `port_arrival` and `port_accepted` at its first drop
    first_arrival: u64,
    first_accepted: u64,
    /// packets of others accepted between its first and its last drop
    others: u64,
}

/// The watched port, and its worst blackout so far.
pub(crate) struct Trace {
    pub(crate) port: PortId,
    /// number at its node, by port
    number: Vec<u16>,
    /// the port's n-th arrival lies at (n - 1) mod `KEPT`
    rows: Vec<Row>,
    /// the highest n
    newest: u64,
    /// by the number of the ingress port
    runs: Vec<Run>,
    worst_length: u64,
    worst: Vec<Row>,
    /// `port_arrival` of the first of these
    worst_from: u64,
}

impl Trace {
    /// Watches `port`.
    pub(crate) fn new(topology: &Topology, port: PortId) -> Self {
        let radix = topology.node(topology.port(port).node).ports.len();
        Self {
            port,
            number: topology.ports().iter().map(|port| port.number).collect(),
            rows: Vec::with_capacity(KEPT),
            newest: 0,
            runs: vec![Run::default(); radix],
            worst_length: 1,
            worst: Vec::new(),
            worst_from: 0,
        }
    }

    /// Forgets the worst blackout: the measurement begins.
    pub(crate) fn restart(&mut self) {
        self.worst_length = 1;
        self.worst.clear();
    }

    /// A packet met the watched port.
    pub(crate) fn note(&mut self, arrival: &Arrival<'_, Segment>) {
        let packet = arrival.packet;
        let counts = arrival.counts;
        let row = Row {
            time: arrival.time,
            depart: arrival.depart,
            ingress_port: arrival.ingress.0,
            flow: packet.header.flow,
            seq: packet.content.seq,
            size_bytes: u32::from(packet.header.size_bytes),
            dropped: !arrival.verdict.is_accepted(),
        };
        self.newest = counts.port_arrival;
        if self.rows.len() < KEPT {
            self.rows.push(row);
        } else {
            self.rows[(counts.port_arrival - 1) as usize % KEPT] = row;
        }
        let ingress = self.number[arrival.ingress.0 as usize] as usize;
        let run = &mut self.runs[ingress];
        if row.dropped {
            if run.length == 0 {
                run.first_arrival = counts.port_arrival;
                run.first_accepted = counts.port_accepted;
            }
            run.length += 1;
            run.others = counts.port_accepted - run.first_accepted;
        } else if run.length > 0 {
            let ended = std::mem::take(run);
            self.consider(ended, counts.port_arrival);
        }
    }

    /// The port's n-th arrival, which had been accepted, is dropped after all.
    pub(crate) fn dropped(&mut self, port_arrival: u64) {
        self.amend(port_arrival, |row| row.dropped = true);
    }

    /// The last bit of the port's n-th arrival leaves at `depart`.
    pub(crate) fn departs(&mut self, port_arrival: u64, depart: Time) {
        self.amend(port_arrival, |row| row.depart = depart);
    }

    /// Changes a row wherever it is still kept.
    fn amend(&mut self, port_arrival: u64, change: impl Fn(&mut Row)) {
        let newest = self.newest;
        if newest - port_arrival < self.rows.len() as u64 {
            change(&mut self.rows[(port_arrival - 1) as usize % KEPT]);
        }
        let in_worst = port_arrival.checked_sub(self.worst_from);
        if let Some(row) = in_worst.and_then(|place| self.worst.get_mut(place as usize)) {
            change(row);
        }
    }

    /// Keeps the rows round a run that the `last` arrival ended, if it is the worst blackout yet:
    /// between any two of its drops, on average, another's packet got in.
    fn consider(&mut self, run: Run, last: u64) {
        let oldest = last + 1 - self.rows.len() as u64;
        let is_blackout = run.others + 1 >= run.length;
        if run.length > self.worst_length && is_blackout && run.first_arrival >= oldest {
            self.worst_length = run.length;
            let from = run.first_arrival.saturating_sub(BEFORE).max(oldest);
            let kept = (from..=last).map(|n| self.rows[(n - 1) as usize % KEPT]);
            self.worst.clear();
            self.worst.extend(kept);
            self.worst_from = from;
        }
    }

    pub(crate) fn into_table(self) -> Table {
        let rows = &self.worst;
        let number = |of: fn(&Row) -> u32| Column::U32(rows.iter().map(of).collect());
        let fate = rows.iter().map(|row| u8::from(row.dropped));
        Table {
            name: "trace",
            columns: vec![
                ("time_s", Column::seconds(rows.iter().map(|row| row.time))),
                ("port", Column::U32(vec![self.port.0; rows.len()])),
                ("ingress_port", number(|row| row.ingress_port)),
                ("flow", number(|row| row.flow)),
                ("seq", number(|row| row.seq)),
                ("size_bytes", number(|row| row.size_bytes)),
                ("fate", Column::U8(fate.collect())),
                (
                    "depart_s",
                    Column::seconds(rows.iter().map(|row| row.depart)),
                ),
            ],
        }
    }
}

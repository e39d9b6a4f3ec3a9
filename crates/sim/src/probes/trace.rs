//! The packets round the worst blackout: every packet at the ports where flows meet is kept for a
//! short while, and the neighbourhood of the longest run of drops at one ingress port for good.
//!
//! The run seen here only chooses which packets to keep. Drop runs as results come from the drops
//! table and one function of the Python side.

use fairport_net::discipline::Verdict;
use fairport_net::{Arrival, PortId, Topology};
use fairport_tcp::Segment;
use fairport_units::Time;

use crate::results::{Column, Table};

/// Packets kept a port.
const KEPT: usize = 128;
/// Packets shown before the run's first drop.
const BEFORE: u64 = 8;

#[derive(Clone, Copy)]
struct Row {
    time: Time,
    depart: Time,
    ingress_port: u32,
    flow: u32,
    seq: u32,
    size_bytes: u32,
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

/// What is kept of one port.
struct Watch {
    rows: Vec<Row>,
    runs: Vec<Run>,
}

/// The watched ports, and the worst blackout so far.
pub(crate) struct Trace {
    /// index into `watches` by port, or `UNWATCHED`
    watch_of: Vec<u32>,
    /// number at its node, by port
    number: Vec<u16>,
    watches: Vec<Watch>,
    worst_length: u64,
    worst_port: u32,
    worst: Vec<Row>,
}

const UNWATCHED: u32 = u32::MAX;

impl Trace {
    pub(crate) fn new(topology: &Topology, shared: &[PortId]) -> Self {
        let mut watch_of = vec![UNWATCHED; topology.ports().len()];
        let mut watches = Vec::new();
        for port in shared {
            watch_of[port.0 as usize] = watches.len() as u32;
            let radix = topology.node(topology.port(*port).node).ports.len();
            watches.push(Watch {
                rows: Vec::new(),
                runs: vec![Run::default(); radix],
            });
        }
        Self {
            watch_of,
            number: topology.ports().iter().map(|port| port.number).collect(),
            watches,
            worst_length: 1,
            worst_port: 0,
            worst: Vec::new(),
        }
    }

    #[inline]
    pub(crate) fn note(&mut self, arrival: &Arrival<'_, Segment>) {
        let index = self.watch_of[arrival.port.0 as usize];
        if index != UNWATCHED {
            self.keep(index as usize, arrival);
        }
    }

    fn keep(&mut self, index: usize, arrival: &Arrival<'_, Segment>) {
        let watch = &mut self.watches[index];
        let packet = arrival.packet;
        let counts = arrival.counts;
        let row = Row {
            time: arrival.time,
            depart: arrival.depart,
            ingress_port: packet.ingress.0,
            flow: packet.flow,
            seq: packet.content.seq,
            size_bytes: u32::from(packet.size_bytes),
        };
        // the port's n-th arrival lies at (n - 1) mod KEPT
        if watch.rows.len() < KEPT {
            watch.rows.push(row);
        } else {
            watch.rows[(counts.port_arrival - 1) as usize % KEPT] = row;
        }
        let run = &mut watch.runs[self.number[packet.ingress.0 as usize] as usize];
        if arrival.verdict != Verdict::Accepted {
            if run.length == 0 {
                run.first_arrival = counts.port_arrival;
                run.first_accepted = counts.port_accepted;
            }
            run.length += 1;
            run.others = counts.port_accepted - run.first_accepted;
        } else if run.length > 0 {
            if run.length > self.worst_length && run.others >= run.length {
                self.worst_length = run.length;
                self.worst_port = arrival.port.0;
                let kept = watch.rows.len() as u64;
                let oldest = counts.port_arrival - kept + 1;
                let from = run.first_arrival.saturating_sub(BEFORE).max(oldest);
                self.worst.clear();
                let rows =
                    (from..=counts.port_arrival).map(|n| watch.rows[(n - 1) as usize % KEPT]);
                self.worst.extend(rows);
            }
            *run = Run::default();
        }
    }

    pub(crate) fn into_table(self) -> Table {
        let column = |of: fn(&Row) -> u32| Column::U32(self.worst.iter().map(of).collect());
        let fate = self
            .worst
            .iter()
            .map(|row| u8::from(row.depart == Time::NEVER))
            .collect();
        Table {
            name: "trace",
            columns: vec![
                (
                    "time_s",
                    Column::seconds(self.worst.iter().map(|row| row.time)),
                ),
                ("port", Column::U32(vec![self.worst_port; self.worst.len()])),
                ("ingress_port", column(|row| row.ingress_port)),
                ("flow", column(|row| row.flow)),
                ("seq", column(|row| row.seq)),
                ("size_bytes", column(|row| row.size_bytes)),
                ("fate", Column::U8(fate)),
                (
                    "depart_s",
                    Column::seconds(self.worst.iter().map(|row| row.depart)),
                ),
            ],
        }
    }
}

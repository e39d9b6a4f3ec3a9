//! The packets around the longest blackout of each ingress port. At the port that most flows pass, every packet is kept
//! for a short time, and the packets around each ingress port's longest drop run are kept until the end. Only at the
//! end is it known who was starved, so a single blackout for the whole port would often show the wrong ingress port.
//!
//! The drop runs found here only select packets to keep. Drop runs in results are computed from the table `drops`, by
//! one function in Python.

use fairport_net::{Arrival, PortId, Topology};
use fairport_units::Instant;

use crate::column::Table;
use crate::content::Content;
use crate::tables::{TracedPacket, TracedPackets};

/// Number of recent packets that are kept. A longer run counts only as far as it fits.
const KEPT: usize = 64;
/// Maximum number of ingress ports whose longest blackout is kept. If there are more, the longest blackouts are kept.
const MOST_BLACKOUTS: usize = 64;
/// Packets shown before the first drop of a run and after its last drop.
const AROUND: u64 = 8;
/// The numbers of [`FATES`].
const FATE_FORWARDED: u8 = 0;
const FATE_DROPPED: u8 = 1;
/// The fate of an arrival that is counted but was not seen, such as a packet that a capture lacks; it is in no table.
const FATE_UNSEEN: u8 = 2;
/// What happened to a traced packet, in the order of the numbers.
pub(crate) const FATES: [&str; 2] = ["forwarded", "dropped"];

/// The drops from one ingress port since its last accepted packet.
#[derive(Clone, Copy, Default)]
struct Run {
    length: u64,
    /// `port_arrival` and `port_accepted` at the first drop
    first_arrival: u64,
    first_accepted: u64,
    /// packets from other ingress ports accepted between the first and the last drop
    others: u64,
}

/// The longest blackout of one ingress port so far.
struct Blackout {
    ingress_port: u32,
    /// number of consecutive drops
    length: u64,
    /// `port_arrival` of the first row, and of the last row once all have arrived
    from: u64,
    to: u64,
    rows: Vec<TracedPacket>,
}

/// The watched port, and the longest blackout of each of its ingress ports so far.
pub(crate) struct Trace {
    pub(crate) port: PortId,
    /// by port: its number at its node
    number: Vec<u16>,
    /// recent arrivals: the port's n-th arrival is at index (n - 1) mod `KEPT`
    rows: Vec<TracedPacket>,
    /// number of the latest arrival
    newest: u64,
    /// by number of the ingress port
    runs: Vec<Run>,
    blackouts: Vec<Blackout>,
    /// the largest `to` of the blackouts
    newest_in_blackout: u64,
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
            blackouts: Vec::new(),
            newest_in_blackout: 0,
        }
    }

    /// Takes over another trace of the port, if that has seen packets. The port belongs to only one region.
    pub(crate) fn absorb(&mut self, other: Self) {
        if other.newest > 0 {
            *self = other;
        }
    }

    /// The measurement begins: forgets the blackouts and the present drop runs.
    pub(crate) fn restart(&mut self) {
        self.blackouts.clear();
        self.newest_in_blackout = 0;
        self.runs.fill(Run::default());
    }

    /// A packet arrived at the watched port.
    #[expect(clippy::inline_always, reason = "as the recorder's `detail`")]
    #[inline(always)]
    pub(crate) fn note(&mut self, arrival: &Arrival<'_, impl Content>) {
        let is_dropped = !arrival.admission.is_accepted();
        let row = TracedPacket {
            blackout_of: arrival.ingress.0,
            time_s: arrival.time,
            port: self.port.0,
            ingress_port: arrival.ingress.0,
            flow: arrival.header.flow,
            seq: arrival.content.seq(),
            size_bytes: arrival.frame_bytes,
            fate: if is_dropped {
                FATE_DROPPED
            } else {
                FATE_FORWARDED
            },
            depart_s: arrival.depart,
        };
        while self.newest + 1 < arrival.port_arrival {
            self.keep(TracedPacket {
                fate: FATE_UNSEEN,
                ..row
            });
        }
        self.keep(row);
        let ingress = self.number[arrival.ingress.0 as usize] as usize;
        let run = &mut self.runs[ingress];
        if !is_dropped {
            *run = Run::default();
            return;
        }
        let counts = (arrival.counts)();
        if run.length == 0 {
            run.first_arrival = counts.port_arrival;
            run.first_accepted = counts.port_accepted;
        }
        run.length += 1;
        run.others = counts.port_accepted - run.first_accepted;
        let run = *run;
        self.consider(run, arrival.ingress.0, counts.port_arrival);
    }

    /// Keeps the row of the next arrival, for a while and in the blackouts that it is near to.
    #[inline]
    fn keep(&mut self, row: TracedPacket) {
        self.newest += 1;
        if self.rows.len() < KEPT {
            self.rows.push(row);
        } else {
            self.rows[(self.newest - 1) as usize % KEPT] = row;
        }
        if self.newest <= self.newest_in_blackout {
            for blackout in &mut self.blackouts {
                let next = blackout.from + blackout.rows.len() as u64;
                if self.newest == next && next <= blackout.to {
                    blackout.rows.push(row);
                }
            }
        }
    }

    /// The port's n-th arrival, which had been accepted, is dropped after all.
    pub(crate) fn dropped(&mut self, port_arrival: u64) {
        self.amend(port_arrival, |row| row.fate = FATE_DROPPED);
    }

    /// The last bit of the port's n-th arrival leaves at `depart`.
    pub(crate) fn departs(&mut self, port_arrival: u64, depart: Instant) {
        self.amend(port_arrival, |row| row.depart_s = depart);
    }

    /// Changes a row in every place where it is still kept.
    fn amend(&mut self, port_arrival: u64, change: impl Fn(&mut TracedPacket)) {
        let newest = self.newest;
        if newest - port_arrival < self.rows.len() as u64 {
            change(&mut self.rows[(port_arrival - 1) as usize % KEPT]);
        }
        if port_arrival > self.newest_in_blackout {
            return;
        }
        for blackout in &mut self.blackouts {
            let place = port_arrival.checked_sub(blackout.from);
            if let Some(row) = place.and_then(|place| blackout.rows.get_mut(place as usize)) {
                change(row);
            }
        }
    }

    /// Keeps the rows around a run whose latest drop is the arrival `last`, if it is the longest blackout of its
    /// ingress port so far. A run is a blackout if, on average, a packet from another ingress port was accepted between
    /// two of its drops.
    #[inline(never)]
    fn consider(&mut self, run: Run, ingress_port: u32, last: u64) {
        let oldest = last + 1 - self.rows.len() as u64;
        let is_blackout = run.length >= 2 && run.others + 1 >= run.length;
        if !is_blackout || run.first_arrival < oldest {
            return;
        }
        let from = run.first_arrival.saturating_sub(AROUND).max(oldest);
        let Some(place) = self.place(ingress_port, run.length) else {
            return;
        };
        let blackout = Blackout {
            ingress_port,
            length: run.length,
            from,
            to: last + AROUND,
            rows: (from..=last)
                .map(|n| self.rows[(n - 1) as usize % KEPT])
                .collect(),
        };
        match self.blackouts.get_mut(place) {
            Some(shorter) => *shorter = blackout,
            None => self.blackouts.push(blackout),
        }
        self.newest_in_blackout = last + AROUND;
    }

    /// The index for a blackout of this length: that of its ingress port's shorter one, or the end of the list, or if
    /// the list is full, that of the shortest. None if the blackout there is not shorter.
    fn place(&self, ingress_port: u32, length: u64) -> Option<usize> {
        let of_port = |one: &Blackout| one.ingress_port == ingress_port;
        let place = match self.blackouts.iter().position(of_port) {
            Some(place) => place,
            None if self.blackouts.len() < MOST_BLACKOUTS => return Some(self.blackouts.len()),
            None => (0..self.blackouts.len()).min_by_key(|&n| self.blackouts[n].length)?,
        };
        (length > self.blackouts[place].length).then_some(place)
    }

    /// One row per packet and blackout. The longest blackout comes first, each in order of time. A departure after
    /// `end` has not happened.
    pub(crate) fn into_table(mut self, end: Instant) -> Table {
        self.blackouts
            .sort_by_key(|one| (std::cmp::Reverse(one.length), one.ingress_port));
        let mut table = TracedPackets::default();
        for blackout in self.blackouts {
            let seen = |row: &TracedPacket| row.fate != FATE_UNSEEN;
            for row in blackout.rows.into_iter().filter(seen) {
                let has_left = row.depart_s <= end;
                table.push(TracedPacket {
                    blackout_of: blackout.ingress_port,
                    depart_s: if has_left {
                        row.depart_s
                    } else {
                        Instant::NEVER
                    },
                    ..row
                });
            }
        }
        table.into_table()
    }
}

//! The state of an analysis: follows the packets of capture files, and joins those of two sides of a switch.

use std::hint::black_box;
use std::slice;

use crate::error::Error;
use crate::flow::{Connections, Seen, Tracker};
use crate::join::{Completeness, Emitted, Fate, Join, JoinedSwitch, Side};
use crate::layout::Layout;
use crate::packet::Packet;
use crate::reading::{FileSummary, Found, Reading, SLICE, earliest};

/// Number of packets decoded together before they are followed.
const BATCH: usize = 64;
/// Timestamps below this many ns count from the beginning of a run, not from 1970.
const RUN_CLOCK_NS: u64 = 86_400_000_000_000;

/// Options of an analysis.
#[derive(Clone, Debug)]
pub struct Options {
    /// decode the packets inside tunnels
    pub tunnels: bool,
    /// how long a packet waits for its copy at the other side
    pub window_ns: u64,
    /// interval of the series
    pub interval_ns: u64,
    /// bounds of the measurement, from the start of the captures; none: from when the long flows are established
    pub measure_ns: Option<(u64, u64)>,
    /// log each packet at the outputs, which takes memory in proportion to the captures
    pub logs_packets: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tunnels: false,
            window_ns: 2_000_000_000,
            interval_ns: 10_000_000,
            measure_ns: None,
            logs_packets: false,
        }
    }
}

/// The progress of an analysis.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// records read so far in the present pass, of whatever kind
    pub packets: u64,
    /// bytes read so far in the present pass, after unpacking
    pub bytes: u64,
}

impl Progress {
    pub(crate) fn of(readings: &[Reading]) -> Self {
        Self {
            packets: readings.iter().map(Reading::records).sum(),
            bytes: readings.iter().map(|one| one.capture.position()).sum(),
        }
    }
}

/// The state of an analysis.
pub(crate) struct Analysis {
    pub(crate) connections: Connections,
    pub(crate) tracker: Tracker,
    /// the join, until it is finished
    join: Option<Join>,
    pub(crate) switch: Option<JoinedSwitch>,
    pub(crate) layout: Layout,
    pub(crate) files: Vec<FileSummary>,
    /// by output
    pub(crate) completeness: Vec<Completeness>,
    pub(crate) packets: u64,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) measure_ns: Option<(u64, u64)>,
}

impl Analysis {
    pub(crate) fn new(
        layout: Layout,
        readings: &[Reading],
        options: &Options,
    ) -> Result<Self, Error> {
        let firsts = readings.iter().filter_map(|one| one.next.as_ref());
        let first_ns = firsts.map(|next| next.packet.time_ns).min().unwrap_or(0);
        let [ingress, egress] = [&layout.ingress, &layout.egress].map(|ports| ports.len() as u32);
        let is_joined = egress > 0;
        let switch = is_joined.then(|| JoinedSwitch::new(ingress, egress, options.logs_packets));
        Ok(Self {
            connections: Connections::default(),
            tracker: Tracker::new(options.interval_ns, options.measure_ns),
            join: is_joined.then(|| Join::new(options.window_ns, ingress, egress)),
            switch: switch.transpose()?,
            layout,
            files: Vec::new(),
            completeness: Vec::new(),
            packets: 0,
            start_ns: if first_ns < RUN_CLOCK_NS { 0 } else { first_ns },
            end_ns: 0,
            measure_ns: options.measure_ns,
        })
    }

    /// Reads a single capture, without joining it. Packets are processed in batches, so that the data of all flows in a
    /// batch is fetched into the cache together.
    pub(crate) fn read_one(
        &mut self,
        reading: &mut Reading,
        mut goes_on: impl FnMut(Progress) -> bool,
    ) -> Result<(), Error> {
        let mut batch: Vec<Found> = Vec::with_capacity(BATCH);
        let mut directions: Vec<u32> = Vec::with_capacity(BATCH);
        batch.extend(reading.next.take());
        let mut is_over = false;
        while !is_over {
            let packets = batch.iter().map(|found| &found.packet);
            directions.extend(packets.map(|packet| self.connections.direction(packet)));
            black_box(self.tracker.warm(&directions));
            for (found, direction) in batch.iter().zip(&directions) {
                self.packets += 1;
                self.follow(*direction, &found.packet);
            }
            let is_due = batch.is_empty() || self.packets % SLICE < BATCH as u64;
            if is_due && !goes_on(Progress::of(slice::from_ref(reading))) {
                break;
            }
            batch.clear();
            directions.clear();
            loop {
                let before = batch.len();
                let more = reading.read(&mut self.layout.segments, |found| batch.push(found))?;
                is_over = !more && before == 0;
                if batch.len() == before || batch.len() == BATCH {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Follows a packet that is not joined.
    #[inline]
    fn follow(&mut self, direction: u32, packet: &Packet) {
        let time_ns = packet.time_ns.saturating_sub(self.start_ns);
        self.end_ns = self.end_ns.max(time_ns);
        self.tracker.observe(&Seen {
            direction,
            packet,
            time_ns,
            left_ns: Some(time_ns),
        });
    }

    pub(crate) fn read(
        &mut self,
        readings: &mut [Reading],
        mut goes_on: impl FnMut(Progress) -> bool,
    ) -> Result<(), Error> {
        let mut join = self.join.take();
        'files: while let Some(file) = earliest(readings) {
            if let Some(found) = readings[file].next.take() {
                self.add(file, &found, join.as_mut());
            }
            let mut is_next = false;
            while !is_next {
                is_next = readings[file].advance(&mut self.layout.segments)?;
                let is_due = !is_next || self.packets.is_multiple_of(SLICE);
                if is_due && !goes_on(Progress::of(readings)) {
                    break 'files;
                }
            }
        }
        if let Some(mut join) = join {
            join.finish(|emitted| self.decide(emitted));
            self.completeness = join.completeness().collect();
        }
        Ok(())
    }

    #[inline]
    fn add(&mut self, file: usize, found: &Found, join: Option<&mut Join>) {
        self.packets += 1;
        let Found { packet, facts } = found;
        let direction = self.connections.direction(packet);
        let Some(join) = join else {
            self.follow(direction, packet);
            return;
        };
        let time_ns = packet.time_ns.saturating_sub(self.start_ns);
        self.end_ns = self.end_ns.max(time_ns);
        let side = self.layout.side(file, facts.interface, facts.direction);
        if let (Side::Egress(egress), Some(switch)) = (side, &mut self.switch)
            && !join.goes_back(direction)
            && !join.leaves_elsewhere(direction, egress)
        {
            switch.pass(egress, time_ns, packet.frame_bytes);
        }
        join.add(packet, direction, side, time_ns, facts.reason, |emitted| {
            self.decide(emitted);
        });
    }

    /// Processes a packet whose fate is decided.
    fn decide(&mut self, emitted: &Emitted) {
        let (time_ns, switch) = (emitted.time_ns, &mut self.switch);
        if let (Some(joined), Some(switch)) = (&emitted.joined, switch) {
            switch.arrive(joined, emitted);
        }
        let left_ns = match emitted.joined.map(|joined| joined.fate) {
            Some(Fate::Forwarded { left_ns, .. }) => Some(left_ns),
            Some(Fate::Unseen) | None => Some(time_ns),
            // what nobody saw leaving has arrived only if it is acknowledged
            Some(Fate::Open | Fate::Dropped(_)) => None,
        };
        self.tracker.observe(&Seen {
            direction: emitted.direction,
            packet: &emitted.packet,
            time_ns,
            left_ns,
        });
    }
}

//! The analysis: from capture files to the tables of a run.

use std::hint::black_box;

use crate::capture::Capture;
use crate::error::Error;
use crate::flow::{Connections, Seen, Tracker};
use crate::join::{Completeness, Emitted, Facts, Fate, Join, JoinedSwitch, Passed, Side};
use crate::layout::Layout;
use crate::outcome::{Outcome, outcome};
use crate::packet::{Packet, UnreadCounts};
use crate::reading::{FileSummary, Next, Reading, earliest};
use crate::record::Direction;
use crate::taps::{Role, Source};

/// Number of packets decoded together before they are followed.
const BATCH: usize = 64;
/// If an ingress capture lacks one packet in this many, it is not an ingress capture, or a bad one.
const MISSING: u64 = 50;
/// Number of packets between two reports of progress.
const SLICE: u64 = 200_000;
/// Number of records of a file that are checked for both directions.
const PEEKED: usize = 4096;
/// Timestamps below this many ns count from the beginning of a run, not from 1970.
const RUN_CLOCK_NS: u64 = 86_400_000_000_000;
/// Bytes of the frame check sequence, which is not in captures but is in buffers.
const CHECK_BYTES: u32 = 4;

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
    /// packets read so far
    pub packets: u64,
    /// bytes read so far in the present pass, after unpacking
    pub bytes: u64,
}

/// The state of an analysis.
pub(crate) struct Analysis {
    pub(crate) connections: Connections,
    pub(crate) tracker: Tracker,
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

/// Analyses captures. `goes_on` is called from time to time; the analysis ends early if it returns false.
///
/// # Errors
/// If a file cannot be opened or is not a capture, if no file contains TCP or UDP, if the given sides do not share a
/// packet, or if timestamps are more than 213 days apart.
pub fn analyse(
    sources: &[Source],
    options: &Options,
    mut goes_on: impl FnMut(Progress) -> bool,
) -> Result<Outcome, Error> {
    let layout = layout(sources, options, &mut goes_on)?;
    let mut readings = Vec::new();
    for (source, has_copies) in sources.iter().zip(&layout.has_copies) {
        readings.push(Reading::open(source, *has_copies)?);
    }
    for (file, reading) in readings.iter_mut().enumerate() {
        reading.advance(file, &layout, options.tunnels)?;
    }
    let mut analysis = Analysis::new(layout, &readings, options)?;
    for reading in &mut readings {
        reading.starts_at(analysis.start_ns)?;
    }
    match readings.as_mut_slice() {
        [reading] if analysis.switch.is_none() => analysis.read_one(reading, options, goes_on)?,
        readings => analysis.read(readings, options, goes_on)?,
    }
    analysis.files = readings.iter().map(Reading::summary).collect();
    check_content(sources, &analysis)?;
    check_sides(sources, &analysis)?;
    check_measure(&analysis)?;
    Ok(outcome(analysis))
}

/// Detects sides that were exchanged. Then the packets that left by the "ingress" were seen at the "egress" before, and
/// the packets dropped between them were seen only at the "egress".
fn check_sides(sources: &[Source], analysis: &Analysis) -> Result<(), Error> {
    let sum = |of: fn(&Completeness) -> u64| analysis.completeness.iter().map(of).sum::<u64>();
    let is_missing = MISSING * sum(|one| one.missed_at_ingress) > sum(|one| one.joined);
    let backward = analysis
        .layout
        .clocks
        .iter()
        .position(|clock| clock.is_backward);
    match backward {
        Some(file) if is_missing && sources[file].role == Role::Ingress => Err(Error::new(
            &sources[file].file,
            "looks like the output: its packets were seen by the egress capture first, and it lacks many of them",
            "exchange --ingress and --egress",
        )),
        _ => Ok(()),
    }
}

fn check_measure(analysis: &Analysis) -> Result<(), Error> {
    match analysis.measure_ns {
        Some((from_ns, _)) if from_ns >= analysis.end_ns => {
            let last_s = analysis.end_ns as f64 / 1e9;
            let problem =
                format!("is not before the end of the captures, which last {last_s:.3} s");
            Err(Error::new(
                "--from",
                problem,
                "measure from an earlier time",
            ))
        }
        _ => Ok(()),
    }
}

fn check_content(sources: &[Source], analysis: &Analysis) -> Result<(), Error> {
    if analysis.packets > 0 {
        return Ok(());
    }
    let file = sources.first().map_or("", |source| source.file.as_str());
    let mut unread = UnreadCounts::default();
    for file in &analysis.files {
        unread.merge(&file.unread);
    }
    Err(Error::new(file, unread.problem(), unread.remedy()))
}

/// The first pass over the files, if one is needed.
fn layout(
    sources: &[Source],
    options: &Options,
    goes_on: &mut impl FnMut(Progress) -> bool,
) -> Result<Layout, Error> {
    let has_roles = sources.iter().any(|source| source.role != Role::Auto);
    let stream = sources.iter().find(|source| is_stream(&source.file));
    if let Some(source) = stream
        && (has_roles || sources.len() > 1)
    {
        let name = if source.file == "-" {
            "stdin"
        } else {
            &source.file
        };
        let remedy = "write it to a file first: the join reads its captures twice";
        return Err(Error::new(
            name,
            "cannot be joined with other captures",
            remedy,
        ));
    }
    let is_simple = match sources {
        [source] if stream.is_none() => !may_be_joined(source)?,
        _ => stream.is_some(),
    };
    if is_simple && !has_roles {
        return Ok(Layout::alone(sources.len()));
    }
    Layout::find(sources, options.tunnels, |packets, bytes| {
        goes_on(Progress { packets, bytes })
    })
}

/// Whether the file can be read only once: standard input, or a named pipe.
fn is_stream(file: &str) -> bool {
    let is_pipe = |about: std::fs::Metadata| !about.is_file() && !about.is_dir();
    file == "-" || std::fs::metadata(file).is_ok_and(is_pipe)
}

/// Whether a file may hold both sides of a switch: packets of both directions, or, where it does not say which way
/// they went, of several interfaces.
fn may_be_joined(source: &Source) -> Result<bool, Error> {
    let mut capture = Capture::open(&source.file)?;
    let mut has = [false; 3];
    let mut first = None;
    for _ in 0..PEEKED {
        let Some(record) = capture.next_record() else {
            break;
        };
        has[record.direction as usize] = true;
        let is_unknown = record.direction == Direction::Unknown;
        if is_unknown && *first.get_or_insert(record.interface) != record.interface {
            return Ok(true);
        }
    }
    Ok(has[Direction::In as usize] && has[Direction::Out as usize])
}

impl Analysis {
    fn new(layout: Layout, readings: &[Reading], options: &Options) -> Result<Self, Error> {
        let firsts = readings.iter().filter_map(|one| one.next.as_ref());
        let first_ns = firsts.map(|next| next.packet.time_ns).min().unwrap_or(0);
        let [ingress, egress] = [&layout.ingress, &layout.egress].map(|ports| ports.len() as u32);
        let switch = match egress {
            0 => None,
            _ => Some(JoinedSwitch::new(ingress, egress, options.logs_packets)?),
        };
        Ok(Self {
            connections: Connections::default(),
            tracker: Tracker::new(options.interval_ns, options.measure_ns),
            switch,
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
    fn read_one(
        &mut self,
        reading: &mut Reading,
        options: &Options,
        mut goes_on: impl FnMut(Progress) -> bool,
    ) -> Result<(), Error> {
        let mut batch: Vec<Next> = Vec::with_capacity(BATCH);
        let mut directions: Vec<u32> = Vec::with_capacity(BATCH);
        batch.extend(reading.next.take());
        while !batch.is_empty() {
            let packets = batch.iter().map(|next| &next.packet);
            directions.extend(packets.map(|packet| self.connections.direction(packet)));
            black_box(self.tracker.warm(&directions));
            for (next, direction) in batch.iter().zip(&directions) {
                self.packets += 1;
                self.follow(*direction, &next.packet);
            }
            batch.clear();
            directions.clear();
            if self.packets % SLICE < BATCH as u64 {
                let (packets, bytes) = (self.packets, reading.capture.position());
                if !goes_on(Progress { packets, bytes }) {
                    break;
                }
            }
            while batch.len() < BATCH
                && reading.read(0, &self.layout, options.tunnels, |next| batch.push(next))?
            {
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

    fn read(
        &mut self,
        readings: &mut [Reading],
        options: &Options,
        mut goes_on: impl FnMut(Progress) -> bool,
    ) -> Result<(), Error> {
        let [ingress, egress] =
            [&self.layout.ingress, &self.layout.egress].map(|ports| ports.len() as u32);
        let mut join = (egress > 0).then(|| Join::new(options.window_ns, ingress, egress));
        while let Some(file) = earliest(readings) {
            let reading = &mut readings[file];
            let next = reading.next.take();
            if let Some(next) = next {
                self.add(&next, join.as_mut());
            }
            let reading = &mut readings[file];
            reading.advance(file, &self.layout, options.tunnels)?;
            if self.packets.is_multiple_of(SLICE) {
                let bytes = readings.iter().map(|one| one.capture.position()).sum();
                let packets = self.packets;
                if !goes_on(Progress { packets, bytes }) {
                    break;
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
    fn add(&mut self, next: &Next, join: Option<&mut Join>) {
        self.packets += 1;
        let packet = &next.packet;
        let direction = self.connections.direction(packet);
        let Some(join) = join else {
            self.follow(direction, packet);
            return;
        };
        let time_ns = packet.time_ns.saturating_sub(self.start_ns);
        self.end_ns = self.end_ns.max(time_ns);
        if let (Side::Egress(egress), Some(switch)) = (next.side, &mut self.switch)
            && !join.goes_back(direction)
            && !join.leaves_elsewhere(direction, egress)
        {
            switch.pass(egress, time_ns, packet.frame_bytes);
        }
        join.add(
            packet,
            direction,
            next.side,
            time_ns,
            next.reason,
            |emitted| self.decide(emitted),
        );
    }

    /// Processes a packet whose fate is decided.
    fn decide(&mut self, emitted: &Emitted) {
        let Emitted {
            packet,
            direction,
            time_ns,
            ..
        } = *emitted;
        let Some(joined) = emitted.joined else {
            self.tracker.observe(&Seen {
                direction,
                packet: &packet,
                time_ns,
                left_ns: Some(time_ns),
            });
            return;
        };
        if let Some(switch) = &mut self.switch {
            let passed = Passed {
                time_ns,
                direction,
                facts: Facts {
                    seq: packet.seq,
                    identity: u64::from(packet.seq) << 32 | u64::from(packet.ack),
                },
                frame_bytes: packet.frame_bytes + CHECK_BYTES,
                has_data: packet.payload > 0,
                is_apart: emitted.is_apart,
            };
            switch.arrive(&joined, &passed);
        }
        let left_ns = match joined.fate {
            Fate::Forwarded { left_ns, .. } => Some(left_ns),
            Fate::Unseen => Some(time_ns),
            // what nobody saw leaving has arrived only if it is acknowledged
            Fate::Open | Fate::Dropped(_) => None,
        };
        self.tracker.observe(&Seen {
            direction,
            packet: &packet,
            time_ns,
            left_ns,
        });
    }
}

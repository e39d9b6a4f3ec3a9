//! Taps, which are the interfaces of files, and a first pass over each file.
//!
//! The pass finds what the user does not say: the directions that a capture gives for its packets, and which packets
//! were seen at two places.

use rustc_hash::FxHashSet;

use crate::error::Error;
use crate::join::{Clock, Sampler};
use crate::packet::{Key, Packet, UnreadCounts};
use crate::reading::{Found, Reading, SLICE};
use crate::record::{Direction, Interface};
use crate::segments::SegmentSizes;

/// The side of the switch that a file belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// to be found from the packets
    #[default]
    Auto,
    /// packets that come in for the output
    Ingress,
    /// packets at the output
    Egress,
}

/// A capture to be analysed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// name of the file, or `-` for standard input
    pub file: String,
    /// name of the port; none: as in the capture
    pub name: Option<String>,
    /// the side that it belongs to
    pub role: Role,
}

/// An interface of a file.
#[derive(Clone, Debug, Default)]
pub struct Tap {
    /// number of the file
    pub file: usize,
    /// name of the tap
    pub name: String,
    /// numbers of TCP and UDP packets that came in, that went out, and without a direction
    pub packets: [u64; 3],
    /// bytes of their data, in the same order
    pub payload: [u64; 3],
    /// number of the ingress port; none if it is not one
    pub(crate) ingress: Option<u32>,
    /// number of the output; none if it is not one
    pub(crate) egress: Option<u32>,
}

impl Tap {
    /// Whether packets came in here, according to the capture.
    pub(crate) fn came_in(&self) -> bool {
        self.packets[Direction::In as usize] > 0
    }

    /// Whether packets went out here, according to the capture.
    pub(crate) fn went_out(&self) -> bool {
        self.packets[Direction::Out as usize] > 0
    }

    /// Bytes of data of all its packets.
    pub(crate) fn data(&self) -> u64 {
        self.payload.iter().sum()
    }

    /// Whether the capture gives directions for some packets.
    pub(crate) fn is_directed(&self) -> bool {
        self.came_in() || self.went_out()
    }
}

/// The result of the first pass over a file.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    pub(crate) taps: Vec<Tap>,
    /// by interface: packets that came in or have no direction, and packets that went out
    pub(crate) incoming: Vec<Sampler>,
    pub(crate) outgoing: Vec<Sampler>,
    /// by interface: of the packets without a direction, those without data that answer data seen there
    pub(crate) acks: Vec<Sampler>,
    /// by interface: who sends data to whom, in packets without a direction
    senders: Vec<FxHashSet<Key>>,
    /// packets that it holds twice, as far as they were found
    pub(crate) copies: u64,
    /// packets that are not TCP or UDP, or whose headers were not captured
    pub(crate) unread: UnreadCounts,
    /// the times of its earliest and latest packets
    pub(crate) span_ns: Option<(u64, u64)>,
}

impl Survey {
    fn add_interfaces(&mut self, file: usize, source: &Source, interfaces: &[Interface]) {
        for (number, one) in interfaces.iter().enumerate().skip(self.taps.len()) {
            self.taps.push(Tap {
                file,
                name: port_name(source, one, number),
                ..Tap::default()
            });
            self.incoming.push(Sampler::default());
            self.outgoing.push(Sampler::default());
            self.acks.push(Sampler::default());
            self.senders.push(FxHashSet::default());
        }
    }

    #[inline]
    fn add(&mut self, packet: &Packet, interface: usize, direction: Direction) {
        let (first_ns, last_ns) = self.span_ns.unwrap_or((packet.time_ns, packet.time_ns));
        self.span_ns = Some((first_ns.min(packet.time_ns), last_ns.max(packet.time_ns)));
        let tap = &mut self.taps[interface];
        tap.packets[direction as usize] += 1;
        tap.payload[direction as usize] += u64::from(packet.payload);
        match direction {
            Direction::Out => self.outgoing[interface].add(packet),
            Direction::In => self.incoming[interface].add(packet),
            Direction::Unknown if packet.payload > 0 => {
                self.senders[interface].insert(packet.key);
                self.incoming[interface].add(packet);
            }
            // the port may have been captured in both directions, and ACKs pass the other way
            Direction::Unknown => {
                if self.senders[interface].contains(&packet.key.reversed()) {
                    self.acks[interface].add(packet);
                }
            }
        }
    }
}

/// A tap, by file and interface.
pub(crate) type TapIndex = (usize, usize);

pub(crate) fn all_taps(surveys: &[Survey]) -> impl Iterator<Item = (TapIndex, &Tap)> {
    surveys.iter().enumerate().flat_map(|(file, survey)| {
        let taps = survey.taps.iter().enumerate();
        taps.map(move |(interface, tap)| ((file, interface), tap))
    })
}

/// The ingress taps and the outputs. The first output has the most data.
#[derive(Debug, Default)]
pub(crate) struct Sides {
    pub(crate) ingress: Vec<TapIndex>,
    pub(crate) egress: Vec<TapIndex>,
}

/// The packets that came in by a tap, or were seen there without a direction.
pub(crate) fn came_by(surveys: &[Survey], (file, interface): TapIndex) -> &Sampler {
    &surveys[file].incoming[interface]
}

/// The packets that left by an output.
pub(crate) fn left_by(surveys: &[Survey], (file, interface): TapIndex) -> &Sampler {
    let survey = &surveys[file];
    if survey.taps[interface].went_out() {
        &survey.outgoing[interface]
    } else {
        &survey.incoming[interface]
    }
}

/// Reads a file once to find what was captured in it.
pub(crate) fn survey(
    file: usize,
    source: &Source,
    tunnels: bool,
    segments: &mut SegmentSizes,
    goes_on: &mut impl FnMut(u64, u64) -> bool,
) -> Result<Survey, Error> {
    let mut reading = Reading::open(&source.file, Clock::default(), tunnels, false)?;
    let mut survey = Survey::default();
    let mut next = None;
    let mut reported = 0;
    while reading.read_as_written(segments, |found| next = Some(found))? {
        let interfaces = reading.capture.interfaces();
        if interfaces.len() > survey.taps.len() {
            survey.add_interfaces(file, source, interfaces);
        }
        if let Some(Found { packet, facts }) = next.take() {
            survey.add(&packet, facts.interface as usize, facts.direction);
        }
        let records = reading.records();
        if records / SLICE > reported {
            reported = records / SLICE;
            if !goes_on(records, reading.capture.position()) {
                break;
            }
        }
    }
    survey.add_interfaces(file, source, reading.capture.interfaces());
    let summary = reading.summary();
    survey.copies = summary.copies;
    survey.unread = summary.unread;
    Ok(survey)
}

/// The name of a port: as given by the user, or that of the interface, or that of the file. If a file has several
/// interfaces without names, as after `mergecap`, they are numbered.
pub(crate) fn port_name(source: &Source, interface: &Interface, number: usize) -> String {
    match &source.name {
        Some(name) => name.clone(),
        None if !interface.name.is_empty() => interface.name.clone(),
        None => {
            let file = std::path::Path::new(&source.file);
            let stem = file
                .file_name()
                .map(|name| name.to_string_lossy().into_owned());
            let stem = stem.unwrap_or_else(|| source.file.clone());
            let stem = stem.split('.').next().unwrap_or(&stem);
            if number == 0 {
                stem.to_owned()
            } else {
                format!("{stem}-{number}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_without_names_are_numbered() {
        let source = Source {
            file: "here/all.pcapng".into(),
            ..Source::default()
        };
        let mut interface = Interface::default();
        let names = [0, 1, 2].map(|number| port_name(&source, &interface, number));
        assert_eq!(names, ["all", "all-1", "all-2"]);
        interface.name = "eth0".into();
        assert_eq!(port_name(&source, &interface, 2), "eth0");
    }
}

//! Where packets were captured, which side of the switch each place is, and whose clock it goes by.
//!
//! What the user does not say is found by a first pass over the files: the directions that a capture notes of
//! its packets, and which of them are seen at two places.

use crate::capture::Capture;
use crate::error::Error;
use crate::join::{Clock, Sampler, Side};
use crate::packet::{decode, is_known_link};
use crate::record::{Direction, Interface};
use crate::sides::{self, align};

/// Which side of the switch a file is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// find it out
    #[default]
    Auto,
    /// packets that come in for the output
    Ingress,
    /// the output
    Egress,
}

/// A capture to be analysed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// its file, or `-` for standard input
    pub file: String,
    /// what the port is called; none: as the capture calls it
    pub name: Option<String>,
    /// which side it is
    pub role: Role,
}

/// An interface of a file.
#[derive(Clone, Debug, Default)]
pub struct Tap {
    /// number of the file
    pub file: usize,
    /// what it is called
    pub name: String,
    /// packets of TCP and UDP that came in, that went out, and of which the capture does not say
    pub packets: [u64; 3],
    /// bytes of their data, in the same order
    pub payload: [u64; 3],
    /// number of the port by which they come in for an output; none: they do not
    pub(crate) ingress: Option<u32>,
    /// number of the output by which they leave; none: they do not
    pub(crate) egress: Option<u32>,
}

impl Tap {
    /// Whether packets came in here, as the capture says.
    pub(crate) fn came_in(&self) -> bool {
        self.packets[Direction::In as usize] > 0
    }

    /// Whether packets went out here, as the capture says.
    pub(crate) fn went_out(&self) -> bool {
        self.packets[Direction::Out as usize] > 0
    }

    /// Whether the capture says of some packets which way they went.
    pub(crate) fn is_directed(&self) -> bool {
        self.came_in() || self.went_out()
    }
}

/// What the first pass found of a file.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    pub(crate) taps: Vec<Tap>,
    /// by interface: those that came in, or of which it is not known; those that went out
    pub(crate) incoming: Vec<Sampler>,
    pub(crate) outgoing: Vec<Sampler>,
}

impl Survey {
    fn add_interfaces(&mut self, file: usize, source: &Source, interfaces: &[Interface]) {
        for one in &interfaces[self.taps.len()..] {
            self.taps.push(Tap {
                file,
                name: port_name(source, one),
                ..Tap::default()
            });
            self.incoming.push(Sampler::default());
            self.outgoing.push(Sampler::default());
        }
    }
}

/// All taps, and the clock of each file.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// by file and interface
    pub taps: Vec<Vec<Tap>>,
    /// by file
    pub clocks: Vec<Clock>,
    /// names of the ports by which packets come in
    pub ingress: Vec<String>,
    /// names of the outputs; none: nothing is joined
    pub egress: Vec<String>,
}

impl Layout {
    /// Of sources of which nothing need be found out: one file without sides.
    pub(crate) fn alone(files: usize) -> Self {
        Self {
            taps: vec![Vec::new(); files],
            clocks: vec![Clock::default(); files],
            ingress: Vec::new(),
            egress: Vec::new(),
        }
    }

    /// Where a packet of this file and interface was seen.
    #[inline]
    pub(crate) fn side(&self, file: usize, interface: u32, direction: Direction) -> Side {
        let elsewhere = Side::Other((file as u32) << 16 | interface & 0xffff);
        let Some(tap) = self.taps[file].get(interface as usize) else {
            return elsewhere;
        };
        match (tap.ingress, tap.egress, direction) {
            (Some(ingress), _, Direction::In) | (Some(ingress), None, Direction::Unknown) => {
                Side::Ingress(ingress)
            }
            (_, Some(egress), Direction::Out | Direction::Unknown) => Side::Egress(egress),
            _ => elsewhere,
        }
    }

    /// Reads all files once, and finds out what they are.
    ///
    /// # Errors
    /// If a file cannot be read, or the sides that were given share no packet.
    pub(crate) fn find(
        sources: &[Source],
        tunnels: bool,
        mut goes_on: impl FnMut(u64, u64) -> bool,
    ) -> Result<Self, Error> {
        let mut surveys = Vec::new();
        for (file, source) in sources.iter().enumerate() {
            surveys.push(survey(file, source, tunnels, &mut goes_on)?);
        }
        let sides = sides::find(sources, &surveys)?;
        let mut layout = Self::alone(sources.len());
        if !sides.egress.is_empty() {
            layout.clocks = align(sources, &surveys, &sides)?;
        }
        let mut taps: Vec<Vec<Tap>> = surveys.into_iter().map(|one| one.taps).collect();
        for (file, interface) in sides.ingress {
            let tap = &mut taps[file][interface];
            tap.ingress = Some(number_of(&mut layout.ingress, &tap.name));
        }
        for (file, interface) in sides.egress {
            let tap = &mut taps[file][interface];
            tap.egress = Some(number_of(&mut layout.egress, &tap.name));
        }
        layout.taps = taps;
        Ok(layout)
    }
}

/// The place of a port among those that are known by now.
fn number_of(known: &mut Vec<String>, name: &str) -> u32 {
    let place = known.iter().position(|one| one == name);
    place.unwrap_or_else(|| {
        known.push(name.to_owned());
        known.len() - 1
    }) as u32
}

fn survey(
    file: usize,
    source: &Source,
    tunnels: bool,
    goes_on: &mut impl FnMut(u64, u64) -> bool,
) -> Result<Survey, Error> {
    let mut capture = Capture::open(&source.file)?;
    let mut survey = Survey::default();
    let mut records = 0_u64;
    while let Some(record) = capture.next_record() {
        let (interface, direction) = (record.interface as usize, record.direction);
        let (bytes, length, link) = (record.bytes, record.length, record.link_type);
        let packet = decode(bytes, length, link, record.time_ns, tunnels);
        records += 1;
        if interface >= survey.taps.len() {
            survey.add_interfaces(file, source, capture.interfaces());
        }
        if let Some(packet) = packet {
            let tap = &mut survey.taps[interface];
            tap.packets[direction as usize] += 1;
            tap.payload[direction as usize] += u64::from(packet.payload);
            match direction {
                Direction::Out => survey.outgoing[interface].add(&packet),
                // the port may have been captured in both directions: ACKs pass the other way
                Direction::Unknown if packet.payload == 0 => {}
                Direction::In | Direction::Unknown => survey.incoming[interface].add(&packet),
            }
        }
        if records.is_multiple_of(200_000) && !goes_on(records, capture.position()) {
            break;
        }
    }
    check_links(&capture)?;
    Ok(survey)
}

/// What a port is called: as the user says, as the interface is, or as the file.
pub(crate) fn port_name(source: &Source, interface: &Interface) -> String {
    match &source.name {
        Some(name) => name.clone(),
        None if !interface.name.is_empty() => interface.name.clone(),
        None => {
            let file = std::path::Path::new(&source.file);
            let stem = file
                .file_name()
                .map(|name| name.to_string_lossy().into_owned());
            let stem = stem.unwrap_or_else(|| source.file.clone());
            stem.split('.').next().unwrap_or(&stem).to_owned()
        }
    }
}

/// Whether packets of a capture can be read at all.
pub(crate) fn check_links(capture: &Capture) -> Result<(), Error> {
    let unknown = |one: &&Interface| !is_known_link(one.link_type);
    let interfaces = capture.interfaces();
    match interfaces.iter().find(unknown) {
        Some(one) if interfaces.iter().all(|one| !is_known_link(one.link_type)) => Err(Error::new(
            capture.name(),
            format!(
                "was captured on a link of type {}, which cannot be read",
                one.link_type
            ),
            "capture on Ethernet, on Linux's `any`, or raw IP",
        )),
        _ => Ok(()),
    }
}

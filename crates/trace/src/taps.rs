//! Where packets were captured: files and their interfaces, and a first pass over each file.
//!
//! The pass finds what the user does not say: the directions that a capture notes of its packets, and which
//! of them are seen at two places.

use crate::capture::Capture;
use crate::copies::Copies;
use crate::error::Error;
use crate::join::Sampler;
use crate::packet::{decode, is_known_link};
use crate::record::{Direction, Interface};

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
    /// packets that it holds twice, as far as they were found
    pub(crate) copies: u64,
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

/// Reads a file once, and finds out what was captured in it.
pub(crate) fn survey(
    file: usize,
    source: &Source,
    tunnels: bool,
    goes_on: &mut impl FnMut(u64, u64) -> bool,
) -> Result<Survey, Error> {
    let mut capture = Capture::open(&source.file)?;
    let mut survey = Survey::default();
    let mut copies = Copies::new(false);
    let mut records = 0_u64;
    while let Some(record) = capture.next_record() {
        let (interface, direction) = (record.interface as usize, record.direction);
        let (bytes, length, link) = (record.bytes, record.length, record.link_type);
        let packet = decode(bytes, length, link, record.time_ns, tunnels);
        records += 1;
        if interface >= survey.taps.len() {
            survey.add_interfaces(file, source, capture.interfaces());
        }
        if let Some(packet) = packet
            && !copies.is_copy(&packet, interface as u32, direction)
        {
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
    survey.copies = copies.found;
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

//! Where packets were captured, which side of the switch each place is, and whose clock it goes by.
//!
//! What the user does not say is found by a first pass over the files: the directions that a capture notes of
//! its packets, and which of them are seen at two places.

use crate::capture::Capture;
use crate::error::Error;
use crate::join::{Clock, Sampler, Side};
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
    /// bytes of their data
    pub payload: u64,
    /// what it is; none: neither
    pub(crate) side: Option<Side>,
}

/// What the first pass found of a file.
#[derive(Debug, Default)]
struct Survey {
    taps: Vec<Tap>,
    /// by interface: those that came in, or of which it is not known; those that went out
    incoming: Vec<Sampler>,
    outgoing: Vec<Sampler>,
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
    /// name of the output, where there is one
    pub egress: Option<String>,
}

impl Layout {
    /// Of sources of which nothing need be found out: one file without sides.
    pub(crate) fn alone(files: usize) -> Self {
        Self {
            taps: vec![Vec::new(); files],
            clocks: vec![Clock::default(); files],
            ingress: Vec::new(),
            egress: None,
        }
    }

    /// Where a packet of this file and interface was seen.
    #[inline]
    pub(crate) fn side(&self, file: usize, interface: u32, direction: Direction) -> Side {
        let elsewhere = Side::Other((file as u32) << 16 | interface & 0xffff);
        let side = self.taps[file]
            .get(interface as usize)
            .and_then(|tap| tap.side);
        match (side, direction) {
            (Some(Side::Ingress(_)), Direction::Out)
            | (Some(Side::Egress), Direction::In)
            | (None, _) => elsewhere,
            (Some(side), _) => side,
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
        let is_given = sources.iter().any(|source| source.role != Role::Auto);
        let (chosen, is_given) = if is_given {
            (given(sources, &surveys)?, true)
        } else if let Some(found) = found(&surveys) {
            (Some(found), false)
        } else {
            (by_order(sources, &surveys)?, false)
        };
        let Some(egress) = chosen else {
            let mut layout = Self::alone(sources.len());
            layout.taps = surveys.into_iter().map(|survey| survey.taps).collect();
            return Ok(layout);
        };
        joined(sources, surveys, egress, is_given)
    }
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
            tap.payload += u64::from(packet.payload);
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

/// A tap, by file and interface.
type TapIndex = (usize, usize);

fn given(sources: &[Source], surveys: &[Survey]) -> Result<Option<TapIndex>, Error> {
    let of = |role: Role| sources.iter().position(|source| source.role == role);
    let (Some(_), Some(egress)) = (of(Role::Ingress), of(Role::Egress)) else {
        let (there, missing) = if of(Role::Ingress).is_some() {
            ("--ingress", "--egress")
        } else {
            ("--egress", "--ingress")
        };
        let problem =
            format!("is given without {missing}: the join needs both sides of the switch");
        let remedy = format!("add {missing} FILE, or give the captures without {there}");
        return Err(Error::new(there, problem, remedy));
    };
    let taps = surveys[egress].taps.iter().enumerate();
    let largest = taps
        .max_by_key(|(_, tap)| tap.payload)
        .map(|(place, _)| place);
    Ok(Some((egress, largest.unwrap_or(0))))
}

/// Of the interfaces whose packets go out, the one with most data that was seen coming in, too.
fn found(surveys: &[Survey]) -> Option<TapIndex> {
    let mut best: Option<(u64, TapIndex)> = None;
    for (file, survey) in surveys.iter().enumerate() {
        for (interface, tap) in survey.taps.iter().enumerate() {
            let goes_out = tap.packets[Direction::Out as usize] > 0;
            let is_shared = goes_out
                && surveys.iter().any(|other| {
                    let mut incoming = other.incoming.iter().zip(&other.taps);
                    incoming.any(|(sampler, tap)| {
                        tap.packets[Direction::In as usize] > 0
                            && sampler.clock(&survey.outgoing[interface]).is_some()
                    })
                });
            if is_shared && best.is_none_or(|(payload, _)| tap.payload > payload) {
                best = Some((tap.payload, (file, interface)));
            }
        }
    }
    best.map(|(_, place)| place)
}

/// Where captures do not say which way packets went: the file that saw them later than every other did. One
/// alone, or several that share nothing, have no output.
fn by_order(sources: &[Source], surveys: &[Survey]) -> Result<Option<TapIndex>, Error> {
    let mut shared: Option<usize> = None;
    for (file, survey) in surveys.iter().enumerate() {
        for (place, later) in survey.incoming.iter().enumerate() {
            let others = surveys.iter().filter(|one| !std::ptr::eq(*one, survey));
            let earlier = others.flat_map(|one| &one.incoming);
            let ahead_ns: Vec<i64> = earlier.filter_map(|one| one.ahead_ns(later)).collect();
            if !ahead_ns.is_empty() {
                shared = Some(file);
            }
            if !ahead_ns.is_empty() && ahead_ns.iter().all(|ahead_ns| *ahead_ns >= 0) {
                return Ok(Some((file, place)));
            }
        }
    }
    match shared {
        None => Ok(None),
        Some(file) => Err(Error::new(
            &sources[file].file,
            "shows the same packets as another capture, and neither says which way they went",
            "say which is which: --ingress PORT=FILE for each port where packets come in, --egress PORT=FILE \
             for the output",
        )),
    }
}

/// The layout with this output.
fn joined(
    sources: &[Source],
    mut surveys: Vec<Survey>,
    (egress_file, egress_tap): TapIndex,
    is_given: bool,
) -> Result<Layout, Error> {
    let mut layout = Layout::alone(sources.len());
    let egress = std::mem::take(&mut surveys[egress_file]);
    let of_egress = {
        let tap = &egress.taps.get(egress_tap);
        let goes_out = tap.is_some_and(|tap| tap.packets[Direction::Out as usize] > 0);
        let samplers = if goes_out {
            &egress.outgoing
        } else {
            &egress.incoming
        };
        samplers.get(egress_tap)
    };
    let Some(of_egress) = of_egress else {
        return Err(Error::new(
            &sources[egress_file].file,
            "holds no packet",
            "capture again",
        ));
    };
    let upstream: Vec<bool> = surveys
        .iter()
        .map(|one| is_upstream(one, &surveys))
        .collect();
    for (file, survey) in surveys.iter_mut().enumerate() {
        let clocks: Vec<Option<Clock>> = survey
            .incoming
            .iter()
            .map(|incoming| incoming.clock(of_egress))
            .collect();
        let most = clocks.iter().flatten().max_by_key(|clock| clock.samples);
        let is_ingress = match sources[file].role {
            Role::Ingress => true,
            Role::Egress => false,
            Role::Auto => !is_given && most.is_some() && file != egress_file && !upstream[file],
        };
        layout.clocks[file] = most.copied().unwrap_or_default();
        if !is_ingress {
            continue;
        }
        for tap in &mut survey.taps {
            let known = layout.ingress.iter().position(|name| *name == tap.name);
            let number = known.unwrap_or(layout.ingress.len());
            if known.is_none() {
                layout.ingress.push(tap.name.clone());
            }
            tap.side = Some(Side::Ingress(number as u32));
        }
    }
    let is_shared = layout.clocks.iter().any(|clock| clock.samples > 0);
    surveys[egress_file] = egress;
    let mut files = surveys.into_iter().map(|survey| survey.taps);
    layout.taps = files.by_ref().collect();
    if is_same_file(&mut layout, egress_file, egress_tap) || is_shared {
        if let Some(tap) = layout.taps[egress_file].get_mut(egress_tap) {
            tap.side = Some(Side::Egress);
            layout.egress = Some(tap.name.clone());
        }
        return Ok(layout);
    }
    Err(Error::new(
        &sources[egress_file].file,
        "shares no packet with the ingress captures",
        "give captures of the two sides of one switch, taken at the same time; a router that rewrites \
         addresses or ports (NAT) between them cannot be joined",
    ))
}

/// Whether another file shows packets of this one coming in later: then this one is of a switch before.
fn is_upstream(survey: &Survey, surveys: &[Survey]) -> bool {
    let comes_in = |one: &Survey| -> Vec<usize> {
        let taps = one.taps.iter().enumerate();
        taps.filter(|(_, tap)| tap.packets[Direction::In as usize] > 0)
            .map(|(place, _)| place)
            .collect()
    };
    let later = |here: usize, other: &Survey, there: usize| {
        let ahead_ns = survey.incoming[here].ahead_ns(&other.incoming[there]);
        ahead_ns.is_some_and(|ahead_ns| ahead_ns > 0)
    };
    comes_in(survey).into_iter().any(|here| {
        surveys.iter().any(|other| {
            let mut there = comes_in(other).into_iter();
            !std::ptr::eq(survey, other) && there.any(|there| later(here, other, there))
        })
    })
}

/// Where one file has both sides: its other interfaces, where packets come in, are the ingress.
fn is_same_file(layout: &mut Layout, file: usize, egress: usize) -> bool {
    let comes_in = |tap: &Tap| tap.packets[Direction::In as usize] > 0;
    let Layout { taps, ingress, .. } = layout;
    if !ingress.is_empty() {
        return false;
    }
    for (interface, tap) in taps[file].iter_mut().enumerate() {
        if interface != egress && comes_in(tap) {
            tap.side = Some(Side::Ingress(ingress.len() as u32));
            ingress.push(tap.name.clone());
        }
    }
    !ingress.is_empty()
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

//! The layout: the taps of all files, the side of the switch that each belongs to, and the clocks of the files.

use crate::error::Error;
use crate::join::{Clock, Side};
use crate::one_switch;
use crate::record::Direction;
use crate::segments::SegmentSizes;
use crate::sides::{self, align};
use crate::taps::{Source, Survey, Tap, survey};

/// All taps, and the clock of each file.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// by file and interface
    pub taps: Vec<Vec<Tap>>,
    /// by file
    pub clocks: Vec<Clock>,
    /// by file: whether it holds packets twice
    pub(crate) has_copies: Vec<bool>,
    /// how long the segments of each connection are
    pub(crate) segments: SegmentSizes,
    /// by file: whether it shows packets of the outputs at another switch, and is not used
    pub is_elsewhere: Vec<bool>,
    /// names of the ingress ports
    pub ingress: Vec<String>,
    /// names of the outputs; if empty, nothing is joined
    pub egress: Vec<String>,
}

impl Layout {
    /// A layout without sides, for sources that need no first pass.
    pub(crate) fn alone(files: usize) -> Self {
        Self {
            taps: vec![Vec::new(); files],
            clocks: vec![Clock::default(); files],
            has_copies: vec![false; files],
            segments: SegmentSizes::default(),
            is_elsewhere: vec![false; files],
            ingress: Vec::new(),
            egress: Vec::new(),
        }
    }

    /// The place where a packet of this file and interface was seen.
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

    /// Reads all files to find the taps, their sides and their clocks. If the size of a connection's segments was found
    /// behind long packets of it, the files are read once more, as these were not cut.
    ///
    /// # Errors
    /// If a file cannot be read, or the given sides do not share a packet.
    pub(crate) fn find(
        sources: &[Source],
        tunnels: bool,
        mut goes_on: impl FnMut(u64, u64) -> bool,
    ) -> Result<Self, Error> {
        let mut segments = SegmentSizes::default();
        let mut surveys = survey_all(sources, tunnels, &mut segments, &mut goes_on)?;
        segments.is_final = true;
        if segments.is_late {
            surveys = survey_all(sources, tunnels, &mut segments, &mut goes_on)?;
        }
        let sides = sides::find(sources, &surveys)?;
        let mut layout = Self {
            segments,
            ..Self::alone(sources.len())
        };
        if !sides.egress.is_empty() {
            layout.clocks = align(sources, &surveys, &sides)?;
        }
        one_switch::check_times(sources, &surveys, &layout.clocks)?;
        for (file, is_elsewhere) in layout.is_elsewhere.iter_mut().enumerate() {
            *is_elsewhere = one_switch::is_elsewhere(&surveys, &sides, file);
        }
        layout.has_copies = surveys.iter().map(|one| one.copies > 0).collect();
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

fn survey_all(
    sources: &[Source],
    tunnels: bool,
    segments: &mut SegmentSizes,
    goes_on: &mut impl FnMut(u64, u64) -> bool,
) -> Result<Vec<Survey>, Error> {
    let files = sources.iter().enumerate();
    files
        .map(|(file, source)| survey(file, source, tunnels, segments, goes_on))
        .collect()
}

/// The number of a port among the known ones. A new name is added.
fn number_of(known: &mut Vec<String>, name: &str) -> u32 {
    let place = known.iter().position(|one| one == name);
    place.unwrap_or_else(|| {
        known.push(name.to_owned());
        known.len() - 1
    }) as u32
}

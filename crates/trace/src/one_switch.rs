//! Checks that captures are of one switch and of one time.
//!
//! A packet comes into a switch by one port and leaves by one. So two ingress taps, or two outputs, that show the same
//! packets are of two switches, one after the other. If they were joined, each packet would have a copy that never
//! leaves, or one that never came in.

use crate::error::Error;
use crate::join::Clock;
use crate::taps::{Sides, Source, Survey, TapIndex, all_taps, came_by, left_by};

/// Shorter gaps between captures are normal, for example if a capture is split into files.
const SHORT_GAP_NS: u64 = 1_000_000_000;
const ONE_SWITCH: &str =
    "give the captures of one switch only, each once, and analyse other switches apart";
pub(crate) const NAME_SIDES: &str = "say which is which: --ingress PORT=FILE for each port where packets come in, \
                                     --egress PORT=FILE for each output";
const TWO_SIDES: &str = "give captures of the two sides of one switch: of packets that came in, and of packets that left \
                         by an output";

/// The ingress tap where this one's packets came in later, on their way to an output: then this one is of an earlier
/// switch. Of two copies of a capture, the second has the first.
pub(crate) fn next_ingress(surveys: &[Survey], sides: &Sides, place: TapIndex) -> Option<TapIndex> {
    let came = came_by(surveys, place);
    let is_next = |other: &&TapIndex| {
        let later = came_by(surveys, **other);
        let mut outputs = sides.egress.iter().map(|output| left_by(surveys, *output));
        let by_ns = i64::from(place < **other);
        **other != place && outputs.any(|left| came.precedes(later, by_ns, left))
    };
    sides.ingress.iter().find(is_next).copied()
}

/// Checks that the two sides are not one capture, given twice by two paths or as a copy.
pub(crate) fn check_copies(
    sources: &[Source],
    surveys: &[Survey],
    sides: &Sides,
) -> Result<(), Error> {
    for &tap in &sides.ingress {
        let came = came_by(surveys, tap);
        let is_copy =
            |output: &&TapIndex| output.0 != tap.0 && came.is_copy_of(left_by(surveys, **output));
        if let Some((copy, _)) = sides.egress.iter().find(is_copy) {
            let problem = format!(
                "shows the packets of {} at the same times: they are one capture",
                sources[tap.0].file
            );
            return Err(Error::new(&sources[*copy].file, problem, TWO_SIDES));
        }
    }
    Ok(())
}

/// Checks the sides that the user gave.
pub(crate) fn check_given(
    sources: &[Source],
    surveys: &[Survey],
    sides: &Sides,
) -> Result<(), Error> {
    let file = |place: TapIndex| &sources[place.0].file;
    for place in &sides.ingress {
        if let Some(next) = next_ingress(surveys, sides, *place) {
            let problem = format!("shows packets that come in at {}, too", file(next));
            return Err(Error::new(file(*place), problem, ONE_SWITCH));
        }
    }
    for place in &sides.egress {
        let left = left_by(surveys, *place);
        let is_next = |other: &&TapIndex| {
            let later = left_by(surveys, **other);
            let mut before = sides.ingress.iter().map(|tap| came_by(surveys, *tap));
            *other != place && before.any(|came| left.precedes(later, 1, came))
        };
        if let Some(next) = sides.egress.iter().find(is_next) {
            let problem = format!("shows packets that leave by {}, too", file(*next));
            return Err(Error::new(file(*place), problem, ONE_SWITCH));
        }
    }
    Ok(())
}

/// Whether a file shows packets of the outputs at another place than the taps of the switch.
pub(crate) fn is_elsewhere(surveys: &[Survey], sides: &Sides, file: usize) -> bool {
    let mut used = sides.ingress.iter().chain(&sides.egress);
    if used.any(|place| place.0 == file) {
        return false;
    }
    let Survey {
        incoming, outgoing, ..
    } = &surveys[file];
    let mut left = sides.egress.iter().map(|place| left_by(surveys, *place));
    left.any(|left| {
        incoming
            .iter()
            .chain(outgoing)
            .any(|seen| seen.shares(left))
    })
}

/// Checks captures among which no output was found: they must not show the same packets.
pub(crate) fn check_apart(sources: &[Source], surveys: &[Survey]) -> Result<(), Error> {
    let taps: Vec<_> = all_taps(surveys).collect();
    let pairs =
        (0..taps.len()).flat_map(|one| (one + 1..taps.len()).map(move |other| [one, other]));
    let same = |[one, other]: &[usize; 2]| {
        left_by(surveys, taps[*one].0).shares(left_by(surveys, taps[*other].0))
    };
    let Some(both) = pairs.into_iter().find(same) else {
        return Ok(());
    };
    let [(place, tap), (other, _)] = both.map(|one| taps[one]);
    let name = &sources[place.0].file;
    if sources.len() == 1 {
        return Err(Error::new(
            name,
            "shows the same packets at several interfaces, and does not say which way they went",
            "give each interface a file of its own, with --ingress or --egress: tshark -r FILE -Y \
             frame.interface_id==0 -w PORT.pcapng",
        ));
    }
    if both.iter().all(|one| taps[*one].1.is_directed()) {
        let way = if tap.went_out() {
            "went out"
        } else {
            "came in"
        };
        let there = &sources[other.0].file;
        let problem = format!("shows the same packets as {there}, and both say that they {way}");
        return Err(Error::new(name, problem, TWO_SIDES));
    }
    Err(Error::new(
        name,
        "shows the same packets as another capture, and neither says which way they went",
        NAME_SIDES,
    ))
}

/// Checks that the captures were taken at the same time, by their clocks as they are aligned: nothing was captured for
/// longer than all captures last. What is measured over such a gap means nothing.
pub(crate) fn check_times(
    sources: &[Source],
    surveys: &[Survey],
    clocks: &[Clock],
) -> Result<(), Error> {
    let files = surveys.iter().zip(clocks).enumerate();
    let mut spans: Vec<(u64, u64, usize)> = files
        .filter_map(|(file, (survey, clock))| {
            let (first_ns, last_ns) = survey.span_ns?;
            Some((clock.aligned(first_ns), clock.aligned(last_ns), file))
        })
        .collect();
    spans.sort_unstable();
    let (mut seen_ns, mut until_ns, mut gap) = (0_u64, None, (0_u64, 0_usize));
    for (from_ns, to_ns, file) in spans {
        let before_ns = until_ns.unwrap_or(from_ns);
        gap = gap.max((from_ns.saturating_sub(before_ns), file));
        seen_ns += to_ns.saturating_sub(from_ns.max(before_ns));
        until_ns = Some(before_ns.max(to_ns));
    }
    let (gap_ns, file) = gap;
    if gap_ns <= seen_ns.max(SHORT_GAP_NS) {
        return Ok(());
    }
    let later_s = gap_ns as f64 / 1e9;
    Err(Error::new(
        &sources[file].file,
        format!("begins {later_s:.1} s after other captures end"),
        "give captures that were taken at the same time",
    ))
}

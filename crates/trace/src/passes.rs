//! The passes over capture files: a first one where the files must be joined, then the analysis, and its outcome.

use crate::analysis::{Analysis, Options, Progress};
use crate::capture::Capture;
use crate::error::Error;
use crate::join::Completeness;
use crate::layout::Layout;
use crate::outcome::{Outcome, outcome};
use crate::packet::UnreadCounts;
use crate::reading::Reading;
use crate::record::Direction;
use crate::taps::{Role, Source};

/// If an ingress capture lacks one packet in this many, it is not an ingress capture, or a bad one.
const MISSING: u64 = 50;
/// Number of records of a file that are checked for both directions.
const PEEKED: usize = 4096;

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
    // what has ended a pass ends those after it
    let mut has_ended = false;
    let mut goes_on = |progress| {
        has_ended = has_ended || !goes_on(progress);
        !has_ended
    };
    let mut layout = layout(sources, options, &mut goes_on)?;
    let mut readings = Vec::new();
    let known = layout.clocks.iter().zip(&layout.has_copies);
    for (source, (clock, has_copies)) in sources.iter().zip(known) {
        readings.push(Reading::open(
            &source.file,
            *clock,
            options.tunnels,
            *has_copies,
        )?);
    }
    for file in 0..readings.len() {
        while !readings[file].advance(&mut layout.segments)? && goes_on(Progress::of(&readings)) {}
    }
    let mut analysis = Analysis::new(layout, &readings, options)?;
    for reading in &mut readings {
        reading.starts_at(analysis.start_ns)?;
    }
    match readings.as_mut_slice() {
        [reading] if analysis.switch.is_none() => analysis.read_one(reading, goes_on)?,
        readings => analysis.read(readings, goes_on)?,
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

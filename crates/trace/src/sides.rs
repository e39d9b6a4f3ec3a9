//! Finds which taps are on which side of the switch, and how their clocks differ.
//!
//! A switch may have several outputs. A packet leaves by only one of them, so two outputs have no packet in common.

use std::cmp::Reverse;

use crate::error::Error;
use crate::join::{Clock, Sampler};
use crate::one_switch;
use crate::record::Direction;
use crate::taps::{Role, Sides, Source, Survey, Tap, TapIndex, all_taps, came_by, left_by};

/// A switch may forward an ACK this late without another clock.
const PROMPT_NS: i64 = 200_000;

/// The two sides, as given by the user or as shown by the packets. Without an output, nothing can be joined.
pub(crate) fn find(sources: &[Source], surveys: &[Survey]) -> Result<Sides, Error> {
    let is_given = sources.iter().any(|source| source.role != Role::Auto);
    let sides = if is_given {
        given(sources, surveys)?
    } else {
        let mut egress = found(surveys);
        if egress.is_empty() {
            egress = by_order(sources, surveys)?;
        }
        ingress_of(surveys, egress)
    };
    one_switch::check_copies(sources, surveys, &sides)?;
    if is_given {
        one_switch::check_given(sources, surveys, &sides)?;
    }
    Ok(sides)
}

fn given(sources: &[Source], surveys: &[Survey]) -> Result<Sides, Error> {
    let has = |role: Role| sources.iter().any(|source| source.role == role);
    let missing = match (has(Role::Ingress), has(Role::Egress)) {
        (true, true) => None,
        (true, false) => Some(("--ingress", "--egress")),
        (false, _) => Some(("--egress", "--ingress")),
    };
    if let Some((there, missing)) = missing {
        let problem =
            format!("is given without {missing}: the join needs both sides of the switch");
        let remedy = format!("add {missing} FILE, or give the captures without {there}");
        return Err(Error::new(there, problem, remedy));
    }
    check_directions(sources, surveys)?;
    let is = |role: Role, way: Direction, (file, _): TapIndex, tap: &Tap| {
        let counts = [way, Direction::Unknown].map(|way| tap.packets[way as usize]);
        sources[file].role == role && counts.iter().any(|count| *count > 0)
    };
    let mut sides = Sides::default();
    for (place, tap) in all_taps(surveys) {
        if is(Role::Ingress, Direction::In, place, tap) {
            sides.ingress.push(place);
        }
        if is(Role::Egress, Direction::Out, place, tap) {
            sides.egress.push(place);
        }
    }
    let without = match (sides.ingress.is_empty(), sides.egress.is_empty()) {
        (true, _) => Some(Role::Ingress),
        (_, true) => Some(Role::Egress),
        _ => None,
    };
    let mut files = sources.iter().zip(surveys);
    if let Some((source, survey)) = files.find(|(source, _)| Some(source.role) == without) {
        let unread = &survey.unread;
        let problem = format!(
            "holds no TCP or UDP{}, so that nothing can be joined with it",
            unread.in_brackets()
        );
        return Err(Error::new(&source.file, problem, unread.remedy()));
    }
    sort_by_data(surveys, &mut sides.egress);
    Ok(sides)
}

fn sort_by_data(surveys: &[Survey], outputs: &mut [TapIndex]) {
    outputs.sort_by_key(|(file, interface)| Reverse(surveys[*file].taps[*interface].data()));
}

/// Checks that captures with directions agree with the sides that the user gave.
fn check_directions(sources: &[Source], surveys: &[Survey]) -> Result<(), Error> {
    let sum = |survey: &Survey, way: Direction| -> u64 {
        survey
            .taps
            .iter()
            .map(|tap| tap.packets[way as usize])
            .sum()
    };
    let goes_only = |survey: &Survey, way: Direction| {
        let ways = [Direction::Unknown, Direction::In, Direction::Out];
        let has = |one: &Direction| sum(survey, *one) > 0;
        has(&way) && ways.iter().filter(|one| has(one)).count() == 1
    };
    for (file, survey) in surveys.iter().enumerate() {
        let source = &sources[file];
        let problem = match source.role {
            Role::Ingress if goes_only(survey, Direction::Out) => {
                "is given as --ingress, and says that its packets all went out"
            }
            Role::Egress if goes_only(survey, Direction::In) => {
                "is given as --egress, and says that its packets all came in"
            }
            _ => continue,
        };
        let remedy = "exchange --ingress and --egress, or capture the other direction of that port";
        return Err(Error::new(&source.file, problem, remedy));
    }
    let of = |role: Role| {
        let files = sources.iter().zip(surveys);
        files.filter(move |(source, _)| source.role == role)
    };
    let is_directed = |survey: &Survey| survey.taps.iter().any(Tap::is_directed);
    let twice = of(Role::Ingress).find(|(source, survey)| {
        !is_directed(survey) && of(Role::Egress).any(|(other, _)| other.file == source.file)
    });
    match twice {
        None => Ok(()),
        Some((source, _)) => Err(Error::new(
            &source.file,
            "is given as --ingress and as --egress, and does not say which way its packets went",
            "capture the two directions apart: tcpdump -Q in and tcpdump -Q out",
        )),
    }
}

/// The outputs among the interfaces whose outgoing packets were also seen coming in: the one with the most data, and
/// every other one with outgoing data that shares no packet with an output with more data.
fn found(surveys: &[Survey]) -> Vec<TapIndex> {
    let comes_in: Vec<&Sampler> = all_taps(surveys)
        .filter(|((file, _), tap)| tap.came_in() && !is_upstream(&surveys[*file], surveys))
        .map(|(place, _)| came_by(surveys, place))
        .collect();
    let delay_ns = |place| {
        let left = left_by(surveys, place);
        comes_in.iter().filter_map(|came| came.ahead_ns(left)).min()
    };
    let mut outputs: Vec<(TapIndex, i64, u64)> = all_taps(surveys)
        .filter(|(_, tap)| tap.went_out())
        .filter_map(|(place, tap)| {
            Some((
                place,
                delay_ns(place)?,
                tap.payload[Direction::Out as usize],
            ))
        })
        .collect();
    outputs.sort_by_key(|(_, _, data)| Reverse(*data));
    let is_of_other_switch = |(place, delay_ns, _): &(TapIndex, i64, u64)| {
        let left = left_by(surveys, *place);
        // packets leave an earlier switch before they come in, and a later one after they have left
        outputs.iter().any(|(other, after_ns, _)| {
            let ahead_ns = left_by(surveys, *other).ahead_ns(left);
            other != place
                && *after_ns >= 0
                && ahead_ns.is_some_and(|ahead_ns| *delay_ns < 0 || ahead_ns > 0)
        })
    };
    let mut chosen: Vec<TapIndex> = Vec::new();
    for output in outputs.iter().filter(|one| !is_of_other_switch(one)) {
        let (place, _, data) = *output;
        if chosen.is_empty() || (data > 0 && is_apart(surveys, &chosen, place)) {
            chosen.push(place);
        }
    }
    chosen
}

/// Whether this output shares no packet with the chosen ones.
fn is_apart(surveys: &[Survey], chosen: &[TapIndex], place: TapIndex) -> bool {
    let left = left_by(surveys, place);
    let mut others = chosen.iter().map(|other| left_by(surveys, *other));
    !others.any(|other| other.shares(left))
}

/// The outputs if the captures do not give directions: the taps that saw the packets later than every other tap. A
/// single tap, or several that share no packet, have no output.
fn by_order(sources: &[Source], surveys: &[Survey]) -> Result<Vec<TapIndex>, Error> {
    let mut outputs: Vec<TapIndex> = Vec::new();
    for (place, tap) in all_taps(surveys) {
        if tap.came_in() {
            continue;
        }
        let later = left_by(surveys, place);
        let others = surveys.iter().flat_map(|one| &one.incoming);
        let others = others.filter(|other| !std::ptr::eq(*other, later));
        let ahead_ns: Vec<i64> = others.filter_map(|one| one.ahead_ns(later)).collect();
        let is_last = !ahead_ns.is_empty() && ahead_ns.iter().all(|ahead_ns| *ahead_ns >= 0);
        if is_last && is_apart(surveys, &outputs, place) {
            outputs.push(place);
        }
    }
    sort_by_data(surveys, &mut outputs);
    if outputs.is_empty() {
        one_switch::check_apart(sources, surveys)?;
    }
    check_order(sources, surveys, &outputs)?;
    Ok(outputs)
}

/// Checks that the order of the packets is not that of clocks that differ.
fn check_order(sources: &[Source], surveys: &[Survey], outputs: &[TapIndex]) -> Result<(), Error> {
    let taps: Vec<TapIndex> = all_taps(surveys).map(|(place, _)| place).collect();
    let pairs = outputs
        .iter()
        .flat_map(|output| taps.iter().map(move |place| (*place, *output)));
    let mut early = pairs.filter_map(|(place, output)| {
        Some((place, output, acks_ahead_ns(surveys, place, output)?))
    });
    let Some((place, output, ahead_ns)) = early.next() else {
        return Ok(());
    };
    let problem = format!(
        "shows data and the ACKs that answer them at least {:.1} ms after {}: their clocks differ, so that the order \
         of the packets does not show the sides",
        ahead_ns as f64 / 1e6,
        sources[place.0].file
    );
    let name = &sources[output.0].file;
    Err(Error::new(name, problem, one_switch::NAME_SIDES))
}

/// The least time by which an ingress port's capture saw ACKs before that of the output, if their clocks must differ by
/// about that. ACKs pass the two ports of their data in the opposite order.
fn acks_ahead_ns(surveys: &[Survey], place: TapIndex, output: TapIndex) -> Option<i64> {
    let acks = |(file, interface): TapIndex| &surveys[file].acks[interface];
    let ahead_ns = acks(place).ahead_ns(acks(output));
    ahead_ns.filter(|ahead_ns| place.0 != output.0 && *ahead_ns > PROMPT_NS)
}

/// These outputs with their ingress ports. In other files, all interfaces that share packets with an output. In an output's
/// own file, the interfaces that share packets with another output.
fn ingress_of(surveys: &[Survey], egress: Vec<TapIndex>) -> Sides {
    let shares = |place: TapIndex| {
        let came = came_by(surveys, place);
        let others = egress.iter().filter(|output| **output != place);
        others
            .into_iter()
            .any(|output| came.shares(left_by(surveys, *output)))
    };
    let mut ingress = Vec::new();
    for (file, survey) in surveys.iter().enumerate() {
        let places: Vec<TapIndex> = (0..survey.taps.len()).map(|one| (file, one)).collect();
        if egress.iter().any(|(output, _)| *output == file) {
            let taps = places.into_iter().zip(&survey.taps);
            let comes_in = |place: &TapIndex, tap: &Tap| {
                tap.came_in() || !tap.is_directed() && !egress.contains(place)
            };
            let here = taps.filter(|(place, tap)| comes_in(place, tap) && shares(*place));
            ingress.extend(here.map(|(place, _)| place));
        } else if places.iter().any(|place| shares(*place)) && !is_upstream(survey, surveys) {
            let is_used = |place: &TapIndex| survey.taps[place.1].packets != [0; 3];
            ingress.extend(places.into_iter().filter(is_used));
        }
    }
    let mut sides = Sides { ingress, egress };
    let is_nearest = |place: &TapIndex| one_switch::next_ingress(surveys, &sides, *place).is_none();
    sides.ingress = sides.ingress.iter().copied().filter(is_nearest).collect();
    sides
}

/// Whether another file shows packets of this one coming in later. This one then belongs to an earlier switch.
fn is_upstream(survey: &Survey, surveys: &[Survey]) -> bool {
    let comes_in = |one: &Survey| -> Vec<usize> {
        let taps = one.taps.iter().enumerate();
        taps.filter(|(_, tap)| tap.came_in())
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

/// The clock of each file, with that of the first output as the reference. Files are aligned one after another, through
/// the file with the most common packets.
pub(crate) fn align(
    sources: &[Source],
    surveys: &[Survey],
    sides: &Sides,
) -> Result<Vec<Clock>, Error> {
    let mut shared: Vec<(usize, usize, Clock)> = Vec::new();
    for (tap, _) in all_taps(surveys) {
        for output in sides.egress.iter().filter(|output| output.0 != tap.0) {
            let is_other = acks_ahead_ns(surveys, tap, *output).is_some();
            let clock = came_by(surveys, tap).clock(left_by(surveys, *output), is_other);
            shared.extend(clock.map(|clock| (tap.0, output.0, clock)));
        }
    }
    shared.sort_by_key(|(_, _, clock)| Reverse(clock.samples));
    let reference = sides.egress[0].0;
    let is_one_file = sides.ingress.iter().any(|(file, _)| *file == reference);
    if shared.is_empty() && !is_one_file {
        let remedy = "give captures of the two sides of one switch, taken at the same time; a router that \
                      rewrites addresses or ports (NAT) between them cannot be joined, nor can a host that merges \
                      segments of unknown size: ethtool -K PORT gro off tso off gso off";
        let problem = "shares no packet with the ingress captures";
        return Err(Error::new(&sources[reference].file, problem, remedy));
    }
    let mut clocks: Vec<Option<Clock>> = vec![None; surveys.len()];
    clocks[reference] = Some(Clock::default());
    while let Some((file, clock)) =
        shared
            .iter()
            .find_map(|(from, to, clock)| match (&clocks[*from], &clocks[*to]) {
                (None, Some(known)) => Some((*from, clock.then(known))),
                (Some(known), None) => Some((*to, clock.inverse().then(known))),
                _ => None,
            })
    {
        clocks[file] = Some(clock);
    }
    Ok(clocks.into_iter().map(Option::unwrap_or_default).collect())
}

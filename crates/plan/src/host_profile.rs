//! Measured host times: the time from a packet's arrival at a host to what the host sends in answer.
//!
//! A profile has one distribution per kind of answer and load, given by quantiles. A draw takes a random position in
//! the distribution, interpolates linearly between quantiles, and uses integers only. A host's answers leave in order:
//! a short time after a long one waits for it. Everything that a host sends at one instant leaves together, after one
//! drawn time.
//!
//! What makes a host stall (its other programs, its kernel's ticks, a program that reads late) happens so often per
//! second, not per packet: on Linux, times a few microseconds apart are alike, and times 20 us apart are nearly
//! independent. So a host with a fast adapter draws no more often than one at 1 Gbit/s. What it sends in between takes
//! the last position.

use std::array;
use std::hint::select_unpredictable;
use std::sync::Arc;

use fairport_net::BuildError;
use fairport_net::stream::Stream;
use fairport_units::{Duration, Instant, Rate};
use serde::{Deserialize, Serialize};

/// The share 1, in millionths.
const WHOLE: u32 = 1_000_000;

/// A measured profile.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HostProfile {
    /// by quantile: the share of all times that are not above it, in millionths, starting with 0
    pub levels_ppm: Vec<u32>,
    /// times until an ACK
    pub ack: AnswerTimes,
    /// times until an ACK that is sent while segments are missing, which the kernel sends at once
    pub duplicate_ack: AnswerTimes,
    /// times until data
    pub data: AnswerTimes,
}

/// The times of one kind of answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerTimes {
    /// correlation between a host's consecutive times, in millionths
    pub correlation_ppm: u32,
    /// by load, the highest first
    pub loads: Vec<LoadTimes>,
}

/// The times under one load.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LoadTimes {
    /// applies to a packet that reaches the host at least this long after the previous one
    pub gap_min_ps: Duration,
    /// one quantile per level, in order
    pub quantiles_ps: Vec<Duration>,
}

/// Kinds of answers by a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// an ACK
    Ack,
    /// an ACK that is sent while segments are missing
    DuplicateAck,
    /// data
    Data,
}

impl HostProfile {
    /// Checks that the profile is a distribution.
    ///
    /// # Errors
    /// If it is not; the error names the field.
    pub fn check(&self) -> Result<(), BuildError> {
        let wrong = |problem| {
            let remedy = "measure one with `fairport doctor --measure-hosts`";
            Err(BuildError::new("host.profile", "", problem, remedy))
        };
        let levels = &self.levels_ppm;
        let rise = levels.windows(2).all(|pair| pair[0] < pair[1]);
        if levels.first() != Some(&0) || !rise || levels.last() > Some(&WHOLE) {
            return wrong("has levels that do not rise from 0 to at most 1");
        }
        for times in [&self.ack, &self.duplicate_ack, &self.data] {
            if times.correlation_ppm > WHOLE {
                return wrong("has a correlation above 1");
            }
            let gaps = times.loads.windows(2);
            let rise = gaps
                .map(|pair| [pair[0].gap_min_ps, pair[1].gap_min_ps])
                .all(|[one, next]| one < next);
            let first = times.loads.first().map(|load| load.gap_min_ps);
            if first != Some(Duration::ZERO) || !rise {
                return wrong("has loads whose gaps do not rise from 0");
            }
            for load in &times.loads {
                if load.quantiles_ps.len() != levels.len() || !load.quantiles_ps.is_sorted() {
                    return wrong("has quantiles that do not rise, or not one per level");
                }
            }
        }
        Ok(())
    }
}

/// A linear piece of a distribution, between two quantiles.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// its first and its last position
    from: u32,
    to: u32,
    /// the time at `from`, in ps
    time_ps: u64,
    /// increase of the time per 2^32 positions, in ps
    slope_ps: u64,
}

/// Number of sections into which a guide divides all positions, as a power of two.
const SECTIONS_BITS: u32 = 6;

/// The times under one load, prepared for drawing.
#[derive(Debug)]
struct Distribution {
    gap_min: Duration,
    pieces: Vec<Piece>,
    /// by section: the piece at its beginning; most sections have no other
    guide: [u16; 1 << SECTIONS_BITS],
}

impl Distribution {
    fn new(levels_ppm: &[u32], times: &LoadTimes) -> Self {
        let position = |ppm: u32| (u64::from(ppm) << 32) / u64::from(WHOLE);
        let begin = |ppm: u32| u32::try_from(position(ppm)).unwrap_or(u32::MAX);
        let quantiles = &times.quantiles_ps;
        let piece = |i: usize| {
            let from = position(levels_ppm[i]);
            let next = (i + 1).min(levels_ppm.len() - 1);
            let width = position(levels_ppm[next]) - from;
            let rise = quantiles[next] - quantiles[i];
            Piece {
                from: begin(levels_ppm[i]),
                to: levels_ppm.get(i + 1).map_or(u32::MAX, |it| begin(*it) - 1),
                time_ps: quantiles[i].as_ps(),
                // after the last level the time is constant
                slope_ps: (u128::from(rise.as_ps()) << 32)
                    .checked_div(width.into())
                    .map_or(0, |slope| u64::try_from(slope).unwrap_or(u64::MAX)),
            }
        };
        let pieces: Vec<_> = (0..levels_ppm.len()).map(piece).collect();
        let first = |section: usize| {
            let position = (section as u32) << (32 - SECTIONS_BITS);
            let behind = pieces.iter().rposition(|piece| piece.from <= position);
            u16::try_from(behind.unwrap_or_default()).unwrap_or_default()
        };
        Self {
            gap_min: times.gap_min_ps,
            guide: array::from_fn(first),
            pieces,
        }
    }

    /// The time at a position from 0 to 2^32 - 1.
    #[inline]
    fn at(&self, position: u32) -> Duration {
        let section = position >> (32 - SECTIONS_BITS);
        let mut number = usize::from(self.guide[section as usize]);
        while position > self.pieces[number].to {
            number += 1;
        }
        let piece = &self.pieces[number];
        let beyond = u128::from(piece.slope_ps) * u128::from(position - piece.from);
        Duration::from_ps(piece.time_ps + (beyond >> 32) as u64)
    }
}

/// One kind of answer, prepared for drawing.
#[derive(Debug)]
struct Times {
    /// a random number of 32 bits below this repeats the previous position
    correlation: u64,
    busiest: Distribution,
    /// under the other loads, the highest first
    others: Vec<Distribution>,
}

impl Times {
    fn new(levels_ppm: &[u32], times: &AnswerTimes) -> Self {
        let load = |load| Distribution::new(levels_ppm, load);
        let correlation = u64::from(times.correlation_ppm) << 32;
        Self {
            correlation: correlation.div_ceil(u64::from(WHOLE)),
            busiest: load(&times.loads[0]),
            others: times.loads[1..].iter().map(load).collect(),
        }
    }

    /// The distribution for a packet that reaches the host `gap` after the previous one.
    #[inline]
    fn after(&self, gap: Duration) -> &Distribution {
        let mut found = &self.busiest;
        for load in &self.others {
            if load.gap_min > gap {
                break;
            }
            found = load;
        }
        found
    }
}

/// A profile, prepared for drawing by all hosts.
#[derive(Debug)]
pub(crate) struct Tables([Times; 3]);

impl Tables {
    /// Prepares a profile that was checked.
    pub(crate) fn new(profile: &HostProfile) -> Self {
        let times = |times| Times::new(&profile.levels_ppm, times);
        Self([
            times(&profile.ack),
            times(&profile.duplicate_ack),
            times(&profile.data),
        ])
    }
}

/// How long a host keeps a drawn position: such that with an adapter of this rate it draws as often as with 1 Gbit/s.
pub(crate) fn keeps(adapter: Rate) -> Duration {
    const FULL_FRAME: u64 = 1538;
    let slower = Rate::from_bps(1_000_000_000).time_of(FULL_FRAME);
    slower.saturating_sub(adapter.time_of(FULL_FRAME))
}

/// A host with times from a profile.
#[derive(Clone, Debug)]
pub struct MeasuredHost {
    tables: Arc<Tables>,
    stream: Stream,
    /// how long a position is kept
    keeps: Duration,
    /// by kind of answer: the last position drawn, and from when on another is drawn
    positions: [u32; 3],
    kept_until: [Instant; 3],
    /// when a packet last reached the host, and how long after the one before
    reached_at: Instant,
    gap: Duration,
    /// when the host was last asked to send something, and when that leaves
    asked_at: Instant,
    leaves_at: Instant,
}

impl MeasuredHost {
    pub(crate) fn new(tables: Arc<Tables>, mut stream: Stream, keeps: Duration) -> Self {
        Self {
            tables,
            keeps,
            kept_until: [Instant::ZERO; 3],
            positions: [(); 3].map(|()| stream.up_to(u64::MAX) as u32),
            stream,
            reached_at: Instant::ZERO,
            gap: Duration::NEVER,
            asked_at: Instant::NEVER,
            leaves_at: Instant::ZERO,
        }
    }

    /// A packet reaches the host at `now`.
    #[inline]
    pub fn reached(&mut self, now: Instant) {
        self.gap = now - self.reached_at;
        self.reached_at = now;
    }

    /// When everything that was sent so far will have left.
    pub fn free_at(&self) -> Instant {
        self.leaves_at
    }

    /// When something that the host sends at `now` leaves it. Calls are in order of time.
    #[inline]
    pub fn answer(&mut self, now: Instant, answer: Answer) -> Instant {
        if now != self.asked_at {
            self.asked_at = now;
            self.leaves_at = self.leaves_at.max(now + self.draw(now, answer));
        }
        self.leaves_at
    }

    /// Draws a time. With the probability of the correlation, it repeats the previous position. So each time has the
    /// measured distribution, and consecutive times have the measured correlation.
    #[inline]
    fn draw(&mut self, now: Instant, answer: Answer) -> Duration {
        let times = &self.tables.0[answer as usize];
        let random = self.stream.up_to(u64::MAX);
        let position = &mut self.positions[answer as usize];
        let kept_until = &mut self.kept_until[answer as usize];
        let is_kept = now < *kept_until;
        let repeats = is_kept | (u64::from(random as u32) < times.correlation);
        // the outcome cannot be predicted, so there is no branch on it
        *position = select_unpredictable(repeats, *position, (random >> 32) as u32);
        *kept_until = select_unpredictable(is_kept, *kept_until, now + self.keeps);
        times.after(self.gap).at(*position)
    }
}

#[cfg(test)]
mod tests;

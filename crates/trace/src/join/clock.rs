//! Measures the offset and the drift between the clocks of two captures.
//!
//! Packets that were seen at both sides are sampled by a hash of their key, so that both sides sample the same packets
//! whatever is lost. The difference of their timestamps is the difference of the clocks plus the time in the switch.
//! The latter is never negative and often almost zero, so the line along the lower edge of the differences describes
//! the clocks: its height is their offset, and its slope is their drift.

use rustc_hash::FxHashMap;

use super::packets::key;
use crate::packet::Packet;

/// Maximum number of sampled packets. If there would be more, half of them are removed.
const MOST_SAMPLES: usize = 1 << 18;
/// Number of samples that suffice to compare each tap with each other one.
const ENOUGH_SAMPLES: usize = 1 << 12;
/// Number of parts of the capture; the smallest difference in each is used.
const PARTS: usize = 64;
/// Captures with a common clock differ by the switch's delay, which is between zero and this.
const ONE_CLOCK_NS: i64 = 10_000_000;
/// A capture may have a segment this much later, if its host held it back to merge it with others (GRO).
const HELD_BACK_NS: i64 = 200_000;
/// Captures with a common clock may seem to drift by up to this much. If two links of the same rate have separate
/// clocks, packets arrive a little earlier or later each time, until an additional one fits in between.
const ONE_CLOCK_SLIP_NS: f64 = 1_000_000.0;
/// No two clocks drift apart faster, not even if both are slewed. Where a port's buffer fills, the smallest waiting times
/// may.
const FASTEST_DRIFT: f64 = 5e-4;
/// Packets that wait for longer were not queued.
const LONGEST_QUEUE_NS: i64 = 500_000_000;
/// A drift is significant if it moves the line by this many times the scatter around it.
const SIGNIFICANT: f64 = 4.0;

/// Converts a capture's timestamps to those of the reference.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clock {
    /// added to a timestamp at the beginning of the captures
    pub offset_ns: i64,
    /// added in addition, per ns after the beginning
    pub drift: f64,
    /// when the captures begin
    pub from_ns: u64,
    /// number of sampled packets that were seen at both sides
    pub samples: u64,
    /// if both sides are assumed to share one clock: the shortest time between them
    pub least_ns: i64,
    /// whether each of them was seen at the egress first, but earlier only by at most a queue's delay
    pub is_backward: bool,
}

impl Clock {
    /// The time of the reference's clock when this clock shows `time_ns`.
    #[inline]
    pub(crate) fn aligned(&self, time_ns: u64) -> u64 {
        if self.offset_ns == 0 && self.drift == 0.0 {
            return time_ns;
        }
        let since = time_ns.wrapping_sub(self.from_ns).cast_signed() as f64;
        let correction = self.offset_ns.saturating_add((since * self.drift) as i64);
        time_ns.saturating_add_signed(correction)
    }

    /// Combines two conversions: from these timestamps to the reference's, and from there by `next`.
    pub(crate) fn then(&self, next: &Self) -> Self {
        let middle_ns = self.aligned(self.from_ns);
        let there_ns = next.aligned(middle_ns);
        Self {
            offset_ns: there_ns.wrapping_sub(self.from_ns).cast_signed(),
            drift: self.drift + next.drift + self.drift * next.drift,
            ..*self
        }
    }

    /// The opposite conversion, from the reference's timestamps to these.
    pub(crate) fn inverse(&self) -> Self {
        Self {
            offset_ns: self.offset_ns.saturating_neg(),
            drift: -self.drift / (1.0 + self.drift),
            from_ns: self.from_ns.saturating_add_signed(self.offset_ns),
            samples: self.samples,
            least_ns: 0,
            is_backward: false,
        }
    }
}

/// The sampled packets at one side.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    /// packets whose key has none of these bits set are sampled
    mask: u64,
    /// by key: when the packet was seen; 0 if it was seen twice
    seen: FxHashMap<u64, u64>,
    /// whether the host that captured them merged segments
    has_merged: bool,
}

impl Sampler {
    #[inline]
    pub(crate) fn add(&mut self, packet: &Packet) {
        self.has_merged |= packet.is_merged;
        let key = key(packet);
        if key & self.mask != 0 {
            return;
        }
        self.seen
            .entry(key)
            .and_modify(|time_ns| *time_ns = 0)
            .or_insert(packet.time_ns);
        if self.seen.len() > MOST_SAMPLES {
            self.mask = self.mask << 1 | 1;
            let mask = self.mask;
            self.seen.retain(|key, _| key & mask == 0);
        }
    }

    /// The least time by which this side saw the common packets before `other` did. None if there is no common packet.
    pub(crate) fn ahead_ns(&self, other: &Self) -> Option<i64> {
        self.differences(other)
            .map(|(_, difference)| difference)
            .min()
    }

    /// Whether the two sides have a packet in common.
    pub(crate) fn shares(&self, other: &Self) -> bool {
        self.differences(other).next().is_some()
    }

    /// Whether both sides saw their common packets at the same times. Then they are one capture: a switch takes a while.
    pub(crate) fn is_copy_of(&self, other: &Self) -> bool {
        let mut differences = self.differences(other);
        differences.next().is_some_and(|(_, first)| first == 0)
            && differences.all(|(_, difference)| difference == 0)
    }

    /// Whether every packet that the three have in common was seen here, then at `next` (at least `by_ns` later), and
    /// at `last` at another time than here. False without a common packet. Of many packets, some are looked at.
    pub(crate) fn precedes(&self, next: &Self, by_ns: i64, last: &Self) -> bool {
        let share = (self.seen.len() / ENOUGH_SAMPLES).next_power_of_two() as u64;
        let mask = (self.mask + 1) * share - 1;
        let some = self.seen.iter().filter(|(key, _)| *key & mask == 0);
        let mut times = some.filter_map(|(key, here_ns)| {
            let time_ns = |side: &Self| side.seen.get(key).copied().filter(|ns| *ns > 0);
            let (next_ns, last_ns) = (time_ns(next)?, time_ns(last)?);
            let later_ns = next_ns.wrapping_sub(*here_ns).cast_signed();
            (*here_ns > 0).then_some(later_ns >= by_ns && last_ns != *here_ns)
        });
        times.next().is_some_and(|first| first) && times.all(|is_so| is_so)
    }

    /// The common packets: when this side saw each, and how much later the other side did.
    fn differences(&self, other: &Self) -> impl Iterator<Item = (u64, i64)> {
        let both = self.seen.iter();
        both.filter_map(|(key, here_ns)| Some((*here_ns, *other.seen.get(key)?)))
            .filter(|(here_ns, there_ns)| *here_ns > 0 && *there_ns > 0)
            .map(|(here_ns, there_ns)| (here_ns, there_ns.wrapping_sub(here_ns).cast_signed()))
    }

    /// The clock of this side, with that of `egress` as the reference. None if they have no packet in common. `is_other`:
    /// whether it is known that they do not share one clock.
    pub(crate) fn clock(&self, egress: &Self, is_other: bool) -> Option<Clock> {
        let mut differences: Vec<(u64, i64)> = self.differences(egress).collect();
        differences.sort_unstable();
        let (from_ns, _) = *differences.first()?;
        let line = Line::under(&differences);
        let duration_ns = (differences[differences.len() - 1].0 - from_ns) as f64;
        let drift = if (line.slope * duration_ns).abs() > SIGNIFICANT * line.scatter_ns.max(1000.0)
        {
            line.slope
        } else {
            0.0
        };
        let rest = |drift: f64| {
            let differences = differences.iter();
            let rest = differences.map(move |(time_ns, difference)| {
                difference.saturating_sub(((time_ns - from_ns) as f64 * drift) as i64)
            });
            rest.min()
        };
        let is_drift =
            (drift * duration_ns).abs() >= ONE_CLOCK_SLIP_NS && drift.abs() <= FASTEST_DRIFT;
        let earliest_ns = if self.has_merged { -HELD_BACK_NS } else { 0 };
        let least = rest(0.0)?;
        let is_one_clock = !is_other && !is_drift && (earliest_ns..ONE_CLOCK_NS).contains(&least);
        let (drift, least) = if is_one_clock {
            (0.0, least)
        } else {
            (drift, rest(drift)?)
        };
        let latest = differences.iter().map(|(_, difference)| *difference).max();
        let is_backward = latest.is_some_and(|latest| latest < 0) && least > -LONGEST_QUEUE_NS;
        Some(Clock {
            offset_ns: if is_one_clock { 0 } else { least },
            drift,
            from_ns,
            samples: differences.len() as u64,
            least_ns: if is_one_clock { least } else { 0 },
            is_backward,
        })
    }
}

/// The line along the lower edge of the differences.
struct Line {
    slope: f64,
    /// median distance of the parts' smallest differences from the line
    scatter_ns: f64,
}

impl Line {
    /// The line through the smallest differences of the capture's parts, with the median of all slopes (Theil, Sen).
    fn under(differences: &[(u64, i64)]) -> Self {
        let (first, last) = (differences[0].0, differences[differences.len() - 1].0);
        let part_ns = ((last - first) / PARTS as u64).max(1);
        let mut lowest: Vec<Option<(u64, i64)>> = vec![None; PARTS + 1];
        for &(time_ns, difference) in differences {
            let part = ((time_ns - first) / part_ns).min(PARTS as u64) as usize;
            match &mut lowest[part] {
                Some(known) if known.1 <= difference => {}
                place => *place = Some((time_ns, difference)),
            }
        }
        let points: Vec<(f64, f64)> = lowest
            .into_iter()
            .flatten()
            .map(|(time_ns, difference)| ((time_ns - first) as f64, difference as f64))
            .collect();
        let mut slopes = Vec::new();
        for (place, one) in points.iter().enumerate() {
            for other in &points[place + 1..] {
                slopes.push((other.1 - one.1) / (other.0 - one.0).max(1.0));
            }
        }
        let slope = median(slopes);
        let height = median(
            points
                .iter()
                .map(|point| point.1 - slope * point.0)
                .collect(),
        );
        let distance = |point: &(f64, f64)| (point.1 - slope * point.0 - height).abs();
        Self {
            slope,
            scatter_ns: median(points.iter().map(distance).collect()),
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The clock of captures of 1 s whose times differ by `offset_ns`, plus 50 ppm of the elapsed time.
    fn clock(offset_ns: i64) -> Clock {
        let (mut here, mut there) = (Sampler::default(), Sampler::default());
        for number in 0..1000_u64 {
            let time_ns = 5_000_000_000 + number * 1_000_000;
            let drift_ns = (number * 50).cast_signed();
            here.seen.insert(number, time_ns);
            let seen_ns = time_ns.saturating_add_signed(offset_ns + drift_ns);
            there.seen.insert(number, seen_ns);
        }
        here.clock(&there, false).expect("they share packets")
    }

    #[test]
    fn a_phase_that_slips_is_no_drift() {
        let clock = clock(14_000);
        assert_eq!((clock.offset_ns, clock.drift), (0, 0.0));
    }

    #[test]
    fn a_buffer_that_fills_is_no_drift() {
        let (mut here, mut there) = (Sampler::default(), Sampler::default());
        for number in 0..1000_u64 {
            // within 4 s the shortest wait grows to 3 ms
            let time_ns = 5_000_000_000 + number * 4_000_000;
            here.seen.insert(number, time_ns);
            there.seen.insert(number, time_ns + 1_000 + number * 3_000);
        }
        let clock = here.clock(&there, false).expect("they share packets");
        assert_eq!((clock.offset_ns, clock.drift), (0, 0.0));
        let clock = here.clock(&there, true).expect("they share packets");
        assert_eq!(clock.offset_ns, 1_000, "known to be another clock");
    }

    #[test]
    fn a_clock_is_aligned_by_way_of_another() {
        let there = clock(3_000_000_000);
        let back = there.then(&there.inverse());
        for time_ns in [5_000_000_000, 5_900_000_000] {
            assert!(back.aligned(time_ns).abs_diff(time_ns) <= 2);
            let twice = there.then(&there);
            let aligned = there.aligned(there.aligned(time_ns));
            assert!(twice.aligned(time_ns).abs_diff(aligned) <= 2);
        }
    }

    #[test]
    fn segments_that_were_held_back_show_no_other_clock() {
        let (mut here, mut there) = (Sampler::default(), Sampler::default());
        for number in 0..1000_u64 {
            let time_ns = 5_000_000_000 + number * 1_000_000;
            here.seen.insert(number, time_ns + 90_000 * (number % 2));
            there.seen.insert(number, time_ns);
        }
        let offset_ns = |here: &Sampler| here.clock(&there, false).map(|clock| clock.offset_ns);
        assert_eq!(offset_ns(&here), Some(-90_000));
        here.has_merged = true;
        assert_eq!(offset_ns(&here), Some(0));
    }

    #[test]
    fn a_damaged_timestamp_does_not_overflow() {
        let (mut here, mut there) = (Sampler::default(), Sampler::default());
        for number in 0..1000_u64 {
            let time_ns = 5_000_000_000 + number * 1_000_000;
            here.seen.insert(number, time_ns);
            there
                .seen
                .insert(number, time_ns + 3_000_000_000 + number * 50);
        }
        let last_ns = there.seen.get_mut(&999).expect("it is the last one");
        *last_ns = here.seen[&999] + (1 << 63);
        let clock = here.clock(&there, false).expect("they share packets");
        assert!(clock.drift > 0.0);
        assert_eq!(
            (clock.offset_ns, clock.inverse().offset_ns),
            (i64::MIN, i64::MAX)
        );
    }

    #[test]
    fn clocks_that_differ_may_drift() {
        for offset_ns in [3_000_000_000, -200_000] {
            let clock = clock(offset_ns);
            assert_eq!(clock.offset_ns, offset_ns);
            assert!((clock.drift - 50e-6).abs() < 1e-7, "{}", clock.drift);
        }
    }

    #[test]
    fn a_long_capture_and_a_short_one_sample_the_same_packets() {
        let (mut long, mut short, mut last) = <(Sampler, Sampler, Sampler)>::default();
        for number in 0..3 * MOST_SAMPLES as u32 {
            let mut packet = Packet {
                time_ns: 5_000_000_000 + u64::from(number),
                seq: number * 1448,
                ..Packet::bare(1000)
            };
            long.add(&packet);
            // the other ports have only every eighth of these packets
            if number % 8 == 0 {
                packet.time_ns += 1000;
                short.add(&packet);
                packet.time_ns += 1000;
                last.add(&packet);
            }
        }
        let shorter = long.seen.len() as f64 / (3 * MOST_SAMPLES) as f64;
        assert!((0.2..0.3).contains(&shorter), "{shorter}");
        let common = long.differences(&short).count();
        let expected = short.seen.len() as f64 * shorter;
        assert!((common as f64 / expected - 1.0).abs() < 0.05, "{common}");
        assert!(long.precedes(&short, 1000, &last));
        assert!(!long.precedes(&short, 1001, &last));
        assert!(!short.precedes(&long, 0, &last));
    }
}

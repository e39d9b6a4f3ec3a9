//! Decides at random which packets are dropped early; shared by RED and RIO.
//!
//! Floyd & Jacobson 1993, sections 4 and 7; Floyd, "Recommendation on using the gentle variant of
//! RED", 2000; ns-2's `red.cc` for the variant `ns2`.

use fairport_units::Duration;
use serde::{Deserialize, Serialize};

use super::{Backlog, DropTail};
use crate::BuildError;
use crate::context::positive_share;
use crate::limit::Limit;
use crate::stream::Stream;

/// The known variants of RED.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// the algorithm as printed in the paper
    FloydJacobson,
    /// ns-2's `red.cc`: `wait_` is true, and neither the first packet above the threshold nor one that finds a queue of
    /// at most one is dropped early
    Ns2,
}

/// How the probability of an early drop depends on the average queue.
#[derive(Clone, Copy, Debug)]
#[repr(C)] // `min` is what every packet is compared with
pub struct Ramp {
    /// below this average nothing is dropped early
    pub min: f64,
    /// at this average the probability is `max_p`; if `gentle`, everything is dropped at twice this
    pub max: f64,
    /// probability at `max`, over 0 up to 1
    pub max_p: f64,
    /// whether the probability rises from `max_p` to 1 between `max` and twice `max` (Floyd 2000) instead of jumping to
    /// 1 at `max`
    pub gentle: bool,
}

impl Ramp {
    /// A ramp from `min` to `max`, which must have the same unit. `prefix` begins the names of the fields in errors.
    pub(super) fn new(
        prefix: &str,
        [min, max]: [Limit; 2],
        max_p_ppb: u32,
        gentle: bool,
    ) -> Result<Self, BuildError> {
        let refuse = |problem: String, remedy: &str| {
            Err(BuildError::new(
                format!("queue.{prefix}min"),
                min,
                problem,
                remedy,
            ))
        };
        let ((Limit::Packets(lower), Limit::Packets(upper))
        | (Limit::Bytes(lower), Limit::Bytes(upper))) = (min, max)
        else {
            let problem = format!("is not in the unit of {prefix}max, {max}");
            return refuse(problem, "give both in bytes or both in packets");
        };
        if lower >= upper {
            let problem = format!("is not below {prefix}max, {max}");
            return refuse(problem, "give the smaller one as min");
        }
        Ok(Self {
            min: f64::from(lower),
            max: f64::from(upper),
            max_p: positive_share(&format!("{prefix}max_p"), max_p_ppb)?,
            gentle,
        })
    }

    /// The average from which on every packet is dropped.
    #[inline]
    pub(super) fn end(&self) -> f64 {
        if self.gentle {
            2.0 * self.max
        } else {
            self.max
        }
    }

    /// The probability of an early drop at an `average` between `min` and [`Ramp::end`].
    #[inline]
    pub(super) fn probability(&self, average: f64) -> f64 {
        if average < self.max {
            self.max_p * (average - self.min) / (self.max - self.min)
        } else {
            self.max_p + (1.0 - self.max_p) * (average - self.max) / self.max
        }
    }
}

/// The unit in which the queue is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueUnit {
    /// packets
    Packets,
    /// bytes; the probability is scaled by the packet's size over this typical size, as in ns-2 (`bytes_`,
    /// `queue_in_bytes_`)
    Bytes(u32),
}

impl QueueUnit {
    /// The unit of a threshold. `mean_packet_bytes` is the size of a typical packet.
    pub(super) fn new(threshold: Limit, mean_packet_bytes: u32) -> Self {
        match threshold {
            Limit::Packets(_) => Self::Packets,
            Limit::Bytes(_) => Self::Bytes(mean_packet_bytes.max(1)),
        }
    }

    #[inline]
    pub(super) fn of(self, backlog: Backlog) -> f64 {
        f64::from(match self {
            Self::Packets => backlog.packets,
            Self::Bytes(_) => backlog.bytes,
        })
    }
}

/// The settings that RED and RIO share.
#[derive(Clone, Debug)]
pub struct EarlyDrop {
    /// weight of a new sample in an average (`w_q`), above 0 and at most 1
    pub weight: f64,
    /// unit of the queue, the averages and the thresholds
    pub unit: QueueUnit,
    /// which algorithm draws the gaps between drops
    pub variant: Variant,
    /// mark ECN-capable packets instead of dropping them early
    pub ecn: bool,
    /// the buffer and its limit
    pub buffer: DropTail,
    /// time that a packet of typical size takes on the link; it determines how fast an average falls while the link is
    /// idle
    pub packet_time: Duration,
}

/// Whether a packet is dropped early, in the terms of ns-2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DropType {
    /// the packet is not dropped early
    None,
    /// drawn at random: the packet is marked or dropped
    Unforced,
    /// the average is so high that every packet is dropped
    Forced,
}

/// Draws packets so that the gaps between them are uniform rather than geometric (F&J 1993 section 7): the chance of
/// each packet grows with the number of packets since the last one drawn.
#[derive(Clone, Debug)]
#[repr(C)] // what a packet reads that is not drawn comes first
pub(super) struct DropProbability {
    /// the average was already above `min` when the last packet arrived (ns-2's `old`)
    above: bool,
    variant: Variant,
    unit: QueueUnit,
    ramp: Ramp,
    /// packets since the last one drawn, or since the average rose above `min`
    count: f64,
    count_bytes: u64,
}

impl DropProbability {
    pub(super) fn new(ramp: Ramp, variant: Variant, unit: QueueUnit) -> Self {
        Self {
            above: false,
            variant,
            unit,
            ramp,
            count: 0.0,
            count_bytes: 0,
        }
    }

    /// Decides about a packet. `queue` is the present queue of those packets over which `average` is taken.
    #[inline]
    pub(super) fn draw(
        &mut self,
        average: f64,
        queue: f64,
        frame_bytes: u32,
        stream: &mut Stream,
    ) -> DropType {
        if self.passes(average, queue) {
            return DropType::None;
        }
        self.draw_above(average, frame_bytes, stream)
    }

    /// Whether no packet is drawn at this average and queue.
    #[inline]
    pub(super) fn passes(&mut self, average: f64, queue: f64) -> bool {
        let passes = average < self.ramp.min || (self.variant == Variant::Ns2 && queue <= 1.0);
        self.above &= !passes;
        passes
    }

    /// [`Self::draw`] for an average above `min`.
    #[inline(never)] // while the queue is short, a port pays only for a comparison
    fn draw_above(&mut self, average: f64, frame_bytes: u32, stream: &mut Stream) -> DropType {
        if average >= self.ramp.end() {
            self.restart();
            return DropType::Forced;
        }
        self.count += 1.0;
        self.count_bytes += u64::from(frame_bytes);
        if !self.above {
            self.above = true;
            self.count_bytes = u64::from(frame_bytes);
            self.count = match self.variant {
                Variant::FloydJacobson => 0.0,
                Variant::Ns2 => {
                    self.count = 1.0;
                    return DropType::None;
                }
            };
        }
        if stream.unit() <= self.chance(average, frame_bytes) {
            self.restart();
            return DropType::Unforced;
        }
        DropType::None
    }

    /// Restarts the count, because a packet was lost.
    pub(super) fn restart(&mut self) {
        self.count = 0.0;
        self.count_bytes = 0;
    }

    /// The probability that this packet is drawn.
    fn chance(&self, average: f64, frame_bytes: u32) -> f64 {
        let base = self.ramp.probability(average);
        match (self.variant, self.unit) {
            (Variant::FloydJacobson, QueueUnit::Packets) => spread(base, self.count),
            (Variant::FloydJacobson, QueueUnit::Bytes(typical)) => {
                let size = f64::from(frame_bytes) / f64::from(typical);
                spread((base * size).min(1.0), self.count)
            }
            (Variant::Ns2, QueueUnit::Packets) => wait(base, self.count, 1.0),
            (Variant::Ns2, QueueUnit::Bytes(typical)) => {
                let count = (self.count_bytes / u64::from(typical)) as f64;
                let size = f64::from(frame_bytes) / f64::from(typical);
                wait(base, count, size)
            }
        }
    }
}

/// The chance that makes gaps uniform from 1 to 1/`base` - 1 packets.
fn spread(base: f64, count: f64) -> f64 {
    if count * base < 1.0 {
        (base / (1.0 - count * base)).min(1.0)
    } else {
        1.0
    }
}

/// The chance that makes gaps uniform from 1/`base` to 2/`base` - 1 packets: none is drawn before 1/`base` packets. It is
/// scaled by the packet's `size`, unless it is certain: so ns-2 ends a gap with a short packet, too.
fn wait(base: f64, count: f64, size: f64) -> f64 {
    let passed = count * base;
    if passed < 1.0 {
        return 0.0;
    }
    let chance = base / (2.0 - passed);
    if passed < 2.0 && chance < 1.0 {
        (chance * size).min(1.0)
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAMP: Ramp = Ramp {
        min: 5.0,
        max: 15.0,
        max_p: 0.1,
        gentle: true,
    };

    /// Numbers of packets between two draws while the queue and its average are constant at `packets`.
    fn gaps(variant: Variant, packets: f64) -> Vec<u32> {
        let mut drop_probability = DropProbability::new(RAMP, variant, QueueUnit::Packets);
        let mut stream = Stream::new(1, "test", 0);
        let (mut gap, mut gaps) = (0, Vec::new());
        while gaps.len() < 5000 {
            gap += 1;
            match drop_probability.draw(packets, packets, 1518, &mut stream) {
                DropType::None => {}
                DropType::Unforced => gaps.push(std::mem::take(&mut gap)),
                DropType::Forced => panic!("the average is below the end"),
            }
        }
        gaps.split_off(1) // the first gap starts differently
    }

    fn mean(gaps: &[u32]) -> f64 {
        f64::from(gaps.iter().sum::<u32>()) / gaps.len() as f64
    }

    #[test]
    fn the_probability_climbs_to_max_p_and_gently_on_to_1() {
        for (average, probability) in [(5.0, 0.0), (10.0, 0.05), (15.0, 0.1), (22.5, 0.55)] {
            assert!((RAMP.probability(average) - probability).abs() < 1e-12);
        }
        let steep = Ramp {
            gentle: false,
            ..RAMP
        };
        assert_eq!((RAMP.end(), steep.end()), (30.0, 15.0));
    }

    #[test]
    fn gaps_between_drops_are_uniform_not_geometric() {
        // p = 0.05 at an average of 10: the n-th packet is drawn with probability 1 / (20 - n), so the gaps are uniform
        // over 1..=19
        let gaps = gaps(Variant::FloydJacobson, 10.0);
        assert_eq!(
            (gaps.iter().min(), gaps.iter().max()),
            (Some(&1), Some(&19))
        );
        assert!((mean(&gaps) - 10.0).abs() < 0.25, "{}", mean(&gaps));
        let short = gaps.iter().filter(|gap| **gap <= 5).count() as f64 / gaps.len() as f64;
        assert!((short - 5.0 / 19.0).abs() < 0.02, "{short}");
    }

    #[test]
    fn with_wait_no_two_drops_are_close() {
        // ns-2's wait_: the n-th packet is drawn with probability 1 / (40 - n) from the 20th on, uniform over 20..=39
        let gaps = gaps(Variant::Ns2, 10.0);
        assert_eq!(
            (gaps.iter().min(), gaps.iter().max()),
            (Some(&20), Some(&39))
        );
        assert!((mean(&gaps) - 29.5).abs() < 0.3, "{}", mean(&gaps));
    }

    #[test]
    fn ns2_spares_the_first_packet_above_the_threshold_and_a_queue_of_one() {
        let mut drop_probability = DropProbability::new(RAMP, Variant::Ns2, QueueUnit::Packets);
        let mut stream = Stream::new(1, "test", 0);
        assert_eq!(
            drop_probability.draw(40.0, 1.0, 1518, &mut stream),
            DropType::None
        );
        drop_probability.count = 100.0; // almost certain, except that it is the first above
        assert_eq!(
            drop_probability.draw(10.0, 2.0, 1518, &mut stream),
            DropType::None
        );
        assert!((drop_probability.count - 1.0).abs() < 1e-12);
    }

    #[test]
    fn counted_in_bytes_a_short_packet_is_drawn_less() {
        let ramp = Ramp {
            min: 5000.0,
            max: 15000.0,
            ..RAMP
        };
        let mut paper = DropProbability::new(ramp, Variant::FloydJacobson, QueueUnit::Bytes(1000));
        paper.count = 4.0;
        // p = 0.05 at 10 000 bytes, and a tenth of that for 100 bytes: p / (1 - 4 p)
        assert!((paper.chance(10_000.0, 1000) - 0.0625).abs() < 1e-12);
        assert!((paper.chance(10_000.0, 100) - 0.005 / 0.98).abs() < 1e-12);
        let mut ns2 = DropProbability::new(ramp, Variant::Ns2, QueueUnit::Bytes(1000));
        ns2.count_bytes = 30_999;
        // 30 whole typical packets: 0.05 / (2 - 30 · 0.05), and a tenth of that
        assert!((ns2.chance(10_000.0, 1000) - 0.1).abs() < 1e-12);
        assert!((ns2.chance(10_000.0, 100) - 0.01).abs() < 1e-12);
        ns2.count_bytes = 40_000;
        assert!(ns2.chance(10_000.0, 100) >= 1.0, "after 2 / p");
    }

    /// F&J 1993, figure 2: packets are counted if `min` <= average, starting with the first one.
    #[test]
    fn packets_count_from_the_lower_threshold_on() {
        let mut drops = DropProbability::new(RAMP, Variant::FloydJacobson, QueueUnit::Packets);
        let mut stream = Stream::new(1, "test", 0);
        let mut count = |average| {
            drops.draw(average, 20.0, 1518, &mut stream);
            drops.count as u32
        };
        // at `min` itself the probability is 0
        assert_eq!([5.0, 5.0, 5.0].map(&mut count), [0, 1, 2]);
        // below it packets do not count, and then the count starts again
        assert_eq!([4.9; 5].map(&mut count), [2; 5]);
        assert_eq!([5.0, 5.0].map(&mut count), [0, 1]);
    }
}

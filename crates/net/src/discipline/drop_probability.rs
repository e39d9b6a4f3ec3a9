//! Decides at random which packets are dropped early; shared by RED and RIO.
//!
//! Floyd & Jacobson 1993, sections 4 and 7; ns-2.35's `red.cc` and `rio.cc`.

use fairport_units::Duration;
use serde::{Deserialize, Serialize};

use super::{Admission, Backlog, DropTail, PacketView, Ramp, Reason};
use crate::limit::Limit;
use crate::stream::Stream;

/// The known variants of RED.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// the algorithm as printed in the paper
    FloydJacobson,
    /// ns-2.35's `red.cc`: `wait_` is true, and neither the first packet above the threshold nor one that finds a queue
    /// of at most one is dropped early; packets are marked while the probability is below `mark_p_`
    Ns2,
    /// ns-2.35's `rio.cc`, which was made from an older `red.cc`: above the end of the ramp the first packet is dropped,
    /// too, and packets are marked while the average is below `max`
    #[serde(skip)]
    Rio,
}

/// The probability from which on ns-2.35's RED drops packets that could be marked (`mark_p_`).
const MARK_P: f64 = 0.1;

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
enum DropType {
    /// the packet is not dropped early
    None,
    /// the packet is marked if it can be marked, and otherwise dropped
    Unforced,
    /// the average is so high that the packet is dropped
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

    /// The admission of a packet, which has room in the buffer if it `fits`. The other arguments are those of
    /// [`Self::draw`]. With `ecn`, packets that can be marked are not dropped early.
    #[inline]
    pub(super) fn admission(
        &mut self,
        average: f64,
        queue: f64,
        packet: &PacketView,
        fits: bool,
        ecn: bool,
        stream: &mut Stream,
    ) -> Admission {
        let drop_type = self.draw(average, queue, packet.frame_bytes, stream);
        if !fits {
            self.restart();
            return Admission::Dropped(Reason::Full);
        }
        match drop_type {
            DropType::None => Admission::Accepted,
            DropType::Unforced if ecn && packet.is_ecn_capable() => Admission::Marked,
            DropType::Unforced | DropType::Forced => Admission::Dropped(Reason::Early),
        }
    }

    /// Decides about a packet. `queue` is the present queue of those packets over which `average` is taken.
    #[inline]
    fn draw(
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
        let passes =
            average < self.ramp.min || (self.variant != Variant::FloydJacobson && queue <= 1.0);
        self.above &= !passes;
        passes
    }

    /// [`Self::draw`] for an average above `min`.
    #[inline(never)] // while the queue is short, a port pays only for a comparison
    fn draw_above(&mut self, average: f64, frame_bytes: u32, stream: &mut Stream) -> DropType {
        if self.variant != Variant::Ns2 && average >= self.ramp.end() {
            self.restart();
            return DropType::Forced;
        }
        self.count += 1.0;
        self.count_bytes += u64::from(frame_bytes);
        if !self.above {
            self.above = true;
            self.count_bytes = u64::from(frame_bytes);
            if self.variant != Variant::FloydJacobson {
                self.count = 1.0;
                return DropType::None;
            }
            self.count = 0.0;
        }
        let probability = self.ramp.probability(average);
        if stream.unit() > self.chance(probability, frame_bytes) {
            return DropType::None;
        }
        self.restart();
        let may_mark = match self.variant {
            Variant::FloydJacobson => true,
            Variant::Ns2 => probability < MARK_P,
            Variant::Rio => average < self.ramp.max,
        };
        if may_mark {
            DropType::Unforced
        } else {
            DropType::Forced
        }
    }

    /// Restarts the count, because a packet was lost.
    fn restart(&mut self) {
        self.count = 0.0;
        self.count_bytes = 0;
    }

    /// The probability that this packet is drawn, if every one were drawn with probability `base`.
    fn chance(&self, base: f64, frame_bytes: u32) -> f64 {
        let is_paper = self.variant == Variant::FloydJacobson;
        match self.unit {
            QueueUnit::Packets if is_paper => spread(base, self.count),
            QueueUnit::Packets => wait(base, self.count, 1.0),
            QueueUnit::Bytes(typical) => {
                let size = f64::from(frame_bytes) / f64::from(typical);
                if is_paper {
                    return spread((base * size).min(1.0), self.count);
                }
                let count = (self.count_bytes / u64::from(typical)) as f64;
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
    // after 2/`base` packets it is negative
    if (0.0..1.0).contains(&chance) {
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
        let new = |variant| DropProbability::new(RAMP, variant, QueueUnit::Bytes(1000));
        let mut paper = new(Variant::FloydJacobson);
        paper.count = 4.0;
        // p = 0.05, and a tenth of that for 100 bytes: p / (1 - 4 p)
        assert!((paper.chance(0.05, 1000) - 0.0625).abs() < 1e-12);
        assert!((paper.chance(0.05, 100) - 0.005 / 0.98).abs() < 1e-12);
        let mut ns2 = new(Variant::Ns2);
        ns2.count_bytes = 30_999;
        // 30 whole typical packets: 0.05 / (2 - 30 · 0.05), and a tenth of that
        assert!((ns2.chance(0.05, 1000) - 0.1).abs() < 1e-12);
        assert!((ns2.chance(0.05, 100) - 0.01).abs() < 1e-12);
        ns2.count_bytes = 40_000;
        assert!(ns2.chance(0.05, 100) >= 1.0, "after 2 / p");
    }

    /// ns-2.35's `red.cc`, by default (`use_mark_p_`), has no forced drop above the end of the ramp: there the
    /// probability is 1, but the first packet above `min` is spared, and in bytes a short packet after a drop. `rio.cc`
    /// drops every packet there.
    #[test]
    fn above_the_end_of_the_ramp_red_of_ns2_still_counts_and_rio_does_not() {
        use DropType::{Forced, None};
        let mut stream = Stream::new(1, "test", 0);
        let mut drawn = |variant, unit| {
            let mut drops = DropProbability::new(RAMP, variant, unit);
            [1518, 1518, 400, 400].map(|size| drops.draw(30.0, 2.0, size, &mut stream))
        };
        let (packets, bytes) = (QueueUnit::Packets, QueueUnit::Bytes(500));
        assert_eq!(drawn(Variant::Ns2, packets), [None, Forced, Forced, Forced]);
        assert_eq!(drawn(Variant::Ns2, bytes), [None, Forced, None, Forced]);
        for variant in [Variant::Rio, Variant::FloydJacobson] {
            assert_eq!(drawn(variant, bytes), [Forced; 4]);
        }
    }

    /// `mark_p_` of ns-2.35's `red.cc` is 0.1; `rio.cc` compares the average with `max`; the paper marks on the ramp.
    #[test]
    fn each_variant_ends_marking_where_its_source_does() {
        use DropType::{Forced, Unforced};
        let steep = Ramp { max_p: 0.2, ..RAMP };
        let drawn = |variant, average| {
            let mut drops = DropProbability::new(steep, variant, QueueUnit::Packets);
            let mut stream = Stream::new(1, "test", 0);
            let mut draw = || drops.draw(average, average, 1518, &mut stream);
            std::iter::repeat_with(&mut draw).find(|drawn| *drawn != DropType::None)
        };
        // the probability is 0.098 at 9.9, 0.1 at 10, 0.198 at 14.9 and 0.2 at 15
        for (variant, wanted) in [
            (Variant::Ns2, [Unforced, Forced, Forced, Forced]),
            (Variant::Rio, [Unforced, Unforced, Unforced, Forced]),
            (Variant::FloydJacobson, [Unforced; 4]),
        ] {
            let averages = [9.9, 10.0, 14.9, 15.0];
            assert_eq!(averages.map(|it| drawn(variant, it)), wanted.map(Some));
        }
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

//! RIO: RED with In and Out. Drops of the favoured class depend only on the average of that class, other drops on the
//! average of the whole queue.
//!
//! Clark & Fang, "Explicit Allocation of Best-Effort Packet Delivery Service", 1998, as in ns-2's `rio.cc`, which marks
//! only while the average is below the upper threshold. RIO-PS (Guo & Matta, "The War Between Mice and Elephants",
//! 2001) is RIO with packets of short flows as the favoured class ([`SHORT`]), which the edge classifier sets.

use std::collections::VecDeque;

use fairport_units::Instant;
use serde::{Deserialize, Serialize};

use super::average::Average;
use super::drop_probability::{DropProbability, EarlyDrop, QueueUnit, Variant};
use super::{Admission, Backlog, DropTail, NOTHING, PacketView, QueueDiscipline, QueueView, Ramp};
use crate::BuildError;
use crate::classifier::SHORT;
use crate::context::{PortContext, positive_share};
use crate::limit::Limit;
use crate::stream::Stream;

/// A RIO queue, in the plan of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// the buffer's limit
    pub limit: Limit,
    /// whether the packet in service counts against the limit
    pub count_in_service: bool,
    /// average of short flows' packets below which none of them is dropped early; all thresholds have the same unit
    pub short_min: Limit,
    /// average of short flows' packets at which the probability is `short_max_p_ppb`
    pub short_max: Limit,
    /// probability at `short_max`, in parts of 10^9
    pub short_max_p_ppb: u32,
    /// average of all packets below which no packet of other flows is dropped early
    pub long_min: Limit,
    /// average of all packets at which the probability for other flows is `long_max_p_ppb`
    pub long_max: Limit,
    /// probability at `long_max`, in parts of 10^9
    pub long_max_p_ppb: u32,
    /// weight of a new sample in the averages, in parts of 10^9
    pub weight_ppb: u32,
    /// whether the probabilities rise to 1 between `max` and twice `max` instead of jumping there
    pub gentle: bool,
    /// mark ECN-capable packets instead of dropping them early
    pub ecn: bool,
    /// typical size of a packet; it determines how fast the averages of an idle queue fall
    pub mean_packet_bytes: u32,
}

impl Config {
    pub(crate) fn build(&self, port: &PortContext<'_>) -> Result<Rio, BuildError> {
        let ramp = |prefix, range, max_p_ppb| Ramp::new(prefix, range, max_p_ppb, self.gentle);
        let short_range = [self.short_min, self.short_max];
        let short = ramp("short_", short_range, self.short_max_p_ppb)?;
        let long = ramp("long_", [self.long_min, self.long_max], self.long_max_p_ppb)?;
        let unit = QueueUnit::new(self.short_min, self.mean_packet_bytes);
        if unit != QueueUnit::new(self.long_min, self.mean_packet_bytes) {
            return Err(BuildError::new(
                "queue.short_min",
                self.short_min,
                format!("is not in the unit of long_min, {}", self.long_min),
                "give all four thresholds in bytes, or all in packets",
            ));
        }
        let early_drop = EarlyDrop {
            weight: positive_share("weight", self.weight_ppb)?,
            unit,
            variant: Variant::Rio,
            ecn: self.ecn,
            buffer: port.buffer(self.limit)?,
            packet_time: port.packet_time(self.mean_packet_bytes),
        };
        Ok(Rio::new(short, long, &early_drop, port.stream()))
    }
}

/// A RIO queue: one FIFO for both classes.
///
/// Both averages take every packet of their kind as a sample, and both fall while the link is idle, whichever packet
/// ends the idle time. ns-2 updates the total only when an In packet arrives, so Out packets alone see an average that
/// does not change; here we follow the paper.
#[derive(Clone, Debug)]
#[repr(C, align(64))] // what every packet needs comes first, then what one of a short flow needs
pub struct Rio {
    total_average: Average,
    unit: QueueUnit,
    buffer: DropTail,
    long: DropProbability,
    /// the waiting packets of short flows
    short_backlog: Backlog,
    /// size of the packet accepted last, if it is of a short flow and its departure is not known yet
    entering: Option<u32>,
    short: DropProbability,
    short_average: Average,
    /// when each waiting packet of a short flow leaves the buffer, and its size
    short_leaves: VecDeque<(Instant, u32)>,
    ecn: bool,
    stream: Stream,
}

impl Rio {
    /// An empty queue that draws from `stream`. The ramp `short`, over the average of packets of the class [`SHORT`]
    /// (In), decides about these; the ramp `long`, over the average of the whole queue, decides about all others (Out).
    pub fn new(short: Ramp, long: Ramp, config: &EarlyDrop, stream: Stream) -> Self {
        let average = || Average::new(config.weight, config.packet_time);
        let drop_probability = |ramp| DropProbability::new(ramp, config.variant, config.unit);
        Self {
            short_average: average(),
            total_average: average(),
            short: drop_probability(short),
            long: drop_probability(long),
            unit: config.unit,
            ecn: config.ecn,
            buffer: config.buffer.clone(),
            stream,
            short_backlog: NOTHING,
            short_leaves: VecDeque::new(),
            entering: None,
        }
    }

    /// The admission of a packet if the average is above `min`, or the buffer is full.
    #[inline(never)] // so that the path of a short queue stays short
    fn admit_above_min(
        &mut self,
        waiting: f64,
        queue: &QueueView,
        packet: &PacketView,
    ) -> Admission {
        let is_short = packet.class == SHORT;
        let (average, drop_probability) = if is_short {
            (&mut self.short_average, &mut self.short)
        } else {
            (&mut self.total_average, &mut self.long)
        };
        let average = average.value();
        let fits = self.buffer.fits(queue.backlog, packet.frame_bytes);
        let (ecn, stream) = (self.ecn, &mut self.stream);
        let admission = drop_probability.admission(average, waiting, packet, fits, ecn, stream);
        if is_short && admission.is_accepted() {
            self.entering = Some(packet.frame_bytes);
        }
        admission
    }

    #[inline]
    fn release(&mut self, now: Instant) {
        while self.short_backlog.packets > 0
            && let Some((leaves, frame_bytes)) = self.short_leaves.front().copied()
            && leaves <= now
        {
            self.short_leaves.pop_front();
            self.short_backlog.bytes -= frame_bytes;
            self.short_backlog.packets -= 1;
        }
    }
}

impl QueueDiscipline for Rio {
    #[inline]
    fn admit(&mut self, queue: &QueueView, packet: &PacketView) -> Admission {
        self.release(queue.now);
        let idle = queue.idle();
        let is_short = packet.class == SHORT;
        let total = self.unit.of(queue.backlog);
        let mut bound = self.total_average.update(total, idle);
        let (drop_probability, waiting) = if is_short {
            let waiting = self.unit.of(self.short_backlog);
            bound = self.short_average.update(waiting, idle);
            (&mut self.short, waiting)
        } else {
            self.short_average.rest(idle);
            (&mut self.long, total)
        };
        if drop_probability.passes(bound, waiting)
            && self.buffer.fits(queue.backlog, packet.frame_bytes)
        {
            if is_short {
                self.entering = Some(packet.frame_bytes);
            }
            return Admission::Accepted;
        }
        self.admit_above_min(waiting, queue, packet)
    }

    #[inline]
    fn on_accepted(&mut self, leaves: Instant) {
        if let Some(frame_bytes) = self.entering.take() {
            self.short_leaves.push_back((leaves, frame_bytes));
            self.short_backlog.bytes += frame_bytes;
            self.short_backlog.packets += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use fairport_units::Duration;

    use super::super::Reason;
    use super::*;
    use crate::discipline::fixtures::{ECT0, frame, full_frames};

    fn ramp(min: f64, max: f64, max_p: f64) -> Ramp {
        Ramp {
            min,
            max,
            max_p,
            gentle: false,
        }
    }

    /// ns-2.35's thresholds: In 15/30 with 1/50, Out 5/15 with 1/5, weight 0.002.
    fn rio(ecn: bool) -> Rio {
        let (short, long) = (ramp(15.0, 30.0, 0.02), ramp(5.0, 15.0, 0.2));
        let config = EarlyDrop {
            weight: 0.002,
            unit: QueueUnit::Packets,
            variant: Variant::Rio,
            ecn,
            buffer: DropTail::packets(100),
            packet_time: Duration::from_us(12),
        };
        Rio::new(short, long, &config, Stream::new(1, "test", 0))
    }

    fn packet(class: u8) -> PacketView {
        PacketView {
            class,
            ecn: ECT0,
            ..frame(1518)
        }
    }

    /// How many of 10 000 packets of a class are dropped or marked, with `waiting` packets in the queue, `short` of
    /// which are of short flows, after the averages have settled.
    fn cut(rio: &mut Rio, class: u8, waiting: u32, short: u32) -> usize {
        rio.short_leaves = (0..short).map(|_| (Instant::NEVER, 1518)).collect();
        rio.short_backlog = full_frames(short).backlog;
        let mut admit = || rio.admit(&full_frames(waiting), &packet(class)) != Admission::Accepted;
        let _settle = (0..10_000).filter(|_| admit()).count();
        (0..10_000).filter(|_| admit()).count()
    }

    #[test]
    fn short_packets_follow_their_own_average_and_long_ones_that_of_all() {
        // 12 packets, 2 of them short: an average of 2 drops none; for long packets p is 0.2 · 7/10 = 0.14, and with
        // wait the mean gap is 1.5 / p - 0.5 = 10.2
        let mut rio = rio(false);
        assert_eq!(cut(&mut rio, SHORT, 12, 2), 0);
        let long = cut(&mut rio, 0, 12, 2);
        assert!((900..1050).contains(&long), "{long}");
    }

    #[test]
    fn at_an_average_of_20_all_long_packets_are_lost_and_few_short_ones() {
        let mut rio = rio(false);
        assert_eq!(cut(&mut rio, 0, 20, 20), 10_000);
        // p = 0.02 · 5/15 = 1/150: gaps of 150 to 299
        let short = cut(&mut rio, SHORT, 20, 20);
        assert!((40..52).contains(&short), "{short}");
    }

    /// In ns-2's `rio.cc`, `in_idle_` stays set when an Out packet ends the idle time.
    #[test]
    fn an_idle_link_forgets_short_packets_also_if_a_long_one_ends_the_idle_time() {
        let mut rio = rio(false);
        cut(&mut rio, SHORT, 20, 20);
        rio.short_leaves.clear();
        rio.short_backlog = NOTHING;
        let mut queue = full_frames(0);
        queue.now = Instant::from_ms(100); // 8333 packets of 12 us
        queue.idle_at = Instant::ZERO;
        rio.admit(&queue, &packet(0));
        queue.idle_at = queue.now + Duration::from_us(12);
        rio.admit(&queue, &packet(SHORT));
        assert!(rio.short_average.value() < 0.001);
    }

    #[test]
    fn packets_above_the_upper_threshold_are_dropped_though_they_could_be_marked() {
        let mut rio = rio(true);
        cut(&mut rio, 0, 10, 0);
        let admissions: Vec<_> = (0..100)
            .map(|_| rio.admit(&full_frames(10), &packet(0)))
            .collect();
        assert!(admissions.contains(&Admission::Marked));
        assert!(!admissions.contains(&Admission::Dropped(Reason::Early)));
        cut(&mut rio, 0, 20, 0);
        let above = rio.admit(&full_frames(20), &packet(0));
        assert_eq!(above, Admission::Dropped(Reason::Early));
    }

    /// With `gentle`, packets are drawn at random above `max` as well. ns-2's `rio.cc` marks only those below it.
    #[test]
    fn at_the_upper_threshold_a_drawn_packet_is_dropped_though_it_could_be_marked() {
        let gentle = Ramp {
            gentle: true,
            ..ramp(5.0, 15.0, 0.2)
        };
        let config = EarlyDrop {
            weight: 1.0, // the average is the present queue
            unit: QueueUnit::Packets,
            variant: Variant::Rio,
            ecn: true,
            buffer: DropTail::packets(100),
            packet_time: Duration::from_us(12),
        };
        for (waiting, drawn) in [
            (14, Admission::Marked),
            (15, Admission::Dropped(Reason::Early)),
            (16, Admission::Dropped(Reason::Early)),
        ] {
            let mut rio = Rio::new(gentle, gentle, &config, Stream::new(1, "test", 0));
            let admissions = (0..100).map(|_| rio.admit(&full_frames(waiting), &packet(0)));
            let mut others = admissions.filter(|seen| *seen != Admission::Accepted);
            assert_eq!(others.next(), Some(drawn));
            assert!(others.all(|seen| seen == drawn), "{waiting}");
        }
    }

    #[test]
    fn a_short_packet_counts_until_it_leaves_the_buffer() {
        let mut rio = rio(false);
        for at in 1..=3 {
            rio.admit(&full_frames(0), &packet(SHORT));
            rio.on_accepted(Instant::from_us(at));
            rio.admit(&full_frames(0), &packet(0));
            rio.on_accepted(Instant::from_us(at));
        }
        assert_eq!(rio.short_backlog, full_frames(3).backlog);
        rio.release(Instant::from_us(2));
        assert_eq!(rio.short_backlog, full_frames(1).backlog);
    }

    #[test]
    fn only_what_can_be_marked_is_marked_and_only_where_that_is_asked_for() {
        for (ecn, codepoint, is_marked) in
            [(true, ECT0, true), (true, 0, false), (false, ECT0, false)]
        {
            let mut rio = rio(ecn);
            cut(&mut rio, 0, 10, 0);
            let packet = PacketView {
                ecn: codepoint,
                ..packet(0)
            };
            let admissions: Vec<_> = (0..100)
                .map(|_| rio.admit(&full_frames(10), &packet))
                .collect();
            let early = Admission::Dropped(Reason::Early);
            assert_eq!(admissions.contains(&Admission::Marked), is_marked);
            assert_eq!(admissions.contains(&early), !is_marked);
        }
    }
}

//! RED: drops early and at random, more often the longer the average queue is.
//!
//! Floyd & Jacobson, "Random Early Detection Gateways for Congestion Avoidance", 1993, as printed there or as in ns-2
//! ([`Variant`]). Linux's integer version is in `red_linux.rs`.

use serde::{Deserialize, Serialize};

use super::average::Average;
use super::drop_probability::{DropProbability, EarlyDrop, QueueUnit, Variant};
use super::{Admission, DropTail, PacketView, QueueDiscipline, QueueView, Ramp};
use crate::BuildError;
use crate::context::{PortContext, positive_share};
use crate::limit::Limit;
use crate::stream::Stream;

/// A RED queue, in the plan of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// the buffer's limit
    pub limit: Limit,
    /// whether the packet in service counts against the limit
    pub count_in_service: bool,
    /// which algorithm draws the gaps between drops
    pub variant: Variant,
    /// average below which nothing is dropped early
    pub min: Limit,
    /// average at which the probability of an early drop is `max_p_ppb`, in the unit of `min`
    pub max: Limit,
    /// probability at `max`, in parts of 10^9
    pub max_p_ppb: u32,
    /// weight of a new sample in the average, in parts of 10^9
    pub weight_ppb: u32,
    /// whether the probability rises to 1 between `max` and twice `max` instead of jumping there
    pub gentle: bool,
    /// mark ECN-capable packets instead of dropping them early
    pub ecn: bool,
    /// typical size of a packet; it determines how fast the average of an idle queue falls
    pub mean_packet_bytes: u32,
}

impl Config {
    pub(crate) fn build(&self, port: &PortContext<'_>) -> Result<Red, BuildError> {
        let ramp = Ramp::new("", [self.min, self.max], self.max_p_ppb, self.gentle)?;
        let early_drop = EarlyDrop {
            weight: positive_share("weight", self.weight_ppb)?,
            unit: QueueUnit::new(self.min, self.mean_packet_bytes),
            variant: self.variant,
            ecn: self.ecn,
            buffer: port.buffer(self.limit)?,
            packet_time: port.packet_time(self.mean_packet_bytes),
        };
        Ok(Red::new(ramp, &early_drop, port.stream()))
    }
}

/// A RED queue. A packet that finds it empty reads two cache lines and draws no random number.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Red {
    average: Average,
    unit: QueueUnit,
    buffer: DropTail,
    drop_probability: DropProbability,
    ecn: bool,
    stream: Stream,
}

impl Red {
    /// An empty queue that draws from `stream`. `ramp` gives the probability as a function of the average.
    pub fn new(ramp: Ramp, config: &EarlyDrop, stream: Stream) -> Self {
        Self {
            average: Average::new(config.weight, config.packet_time),
            drop_probability: DropProbability::new(ramp, config.variant, config.unit),
            unit: config.unit,
            ecn: config.ecn,
            buffer: config.buffer.clone(),
            stream,
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
        let average = self.average.value();
        let fits = self.buffer.fits(queue.backlog, packet.frame_bytes);
        let (ecn, stream) = (self.ecn, &mut self.stream);
        self.drop_probability
            .admission(average, waiting, packet, fits, ecn, stream)
    }
}

impl QueueDiscipline for Red {
    #[inline]
    fn admit(&mut self, queue: &QueueView, packet: &PacketView) -> Admission {
        let waiting = self.unit.of(queue.backlog);
        let bound = self.average.update(waiting, queue.idle());
        let is_short = self.drop_probability.passes(bound, waiting);
        if is_short && self.buffer.fits(queue.backlog, packet.frame_bytes) {
            return Admission::Accepted;
        }
        self.admit_above_min(waiting, queue, packet)
    }
}

#[cfg(test)]
mod tests {
    use fairport_units::{Duration, Instant};

    use super::super::Reason;
    use super::*;
    use crate::discipline::Variant;
    use crate::discipline::fixtures::{ECT0, frame, full_frames};

    fn red(ecn: bool) -> Red {
        let ramp = Ramp {
            min: 5.0,
            max: 15.0,
            max_p: 0.1,
            gentle: true,
        };
        let config = EarlyDrop {
            weight: 0.002,
            unit: QueueUnit::Packets,
            variant: Variant::Ns2,
            ecn,
            buffer: DropTail::packets(100),
            packet_time: Duration::from_us(12),
        };
        Red::new(ramp, &config, Stream::new(1, "test", 0))
    }

    /// The admissions of `arrivals` packets that each find `packets` waiting.
    fn admissions(
        red: &mut Red,
        packets: u32,
        ecn_capable: bool,
        arrivals: usize,
    ) -> Vec<Admission> {
        let packet = PacketView {
            ecn: if ecn_capable { ECT0 } else { 0 },
            ..frame(1518)
        };
        (0..arrivals)
            .map(|_| red.admit(&full_frames(packets), &packet))
            .collect()
    }

    #[test]
    fn a_queue_that_stays_at_10_is_cut_once_in_29_packets() {
        // the average has reached 10 long before the last 10 000 packets: p = 0.05, with wait
        let mut red = red(false);
        admissions(&mut red, 10, false, 10_000);
        let drops = admissions(&mut red, 10, false, 10_000)
            .iter()
            .filter(|admission| **admission == Admission::Dropped(Reason::Early))
            .count();
        assert!(
            (drops as f64 / 10_000.0 - 1.0 / 29.5).abs() < 0.002,
            "{drops}"
        );
    }

    #[test]
    fn a_short_average_lets_a_burst_in_and_a_full_buffer_does_not() {
        let mut red = red(false);
        // the queue grows by one packet per arrival: the average is about 0.002 · n² / 2, and the 70th packet is the
        // first to find 5
        for waiting in 0..70 {
            let accepted = [Admission::Accepted];
            assert_eq!(
                admissions(&mut red, waiting, false, 1),
                accepted,
                "{waiting}"
            );
        }
        assert_eq!(
            admissions(&mut red, 100, false, 1),
            [Admission::Dropped(Reason::Full)]
        );
    }

    #[test]
    fn ecn_capable_packets_are_marked_up_to_a_probability_of_a_tenth() {
        let mut red = red(true);
        let seen = admissions(&mut red, 10, true, 10_000);
        assert!(seen.contains(&Admission::Marked));
        assert!(!seen.contains(&Admission::Dropped(Reason::Early)));
        // ns-2.35 marks while the probability is below 0.1: not above max
        for waiting in [16, 20, 40] {
            admissions(&mut red, waiting, true, 10_000);
            let seen = admissions(&mut red, waiting, true, 100);
            assert!(seen.contains(&Admission::Dropped(Reason::Early)));
            assert!(!seen.contains(&Admission::Marked), "{waiting}");
        }
    }

    /// RFC 3168, section 5: a packet that is not ECN-capable is dropped instead of marked.
    #[test]
    fn what_cannot_be_marked_is_dropped_early() {
        let mut red = red(true);
        let seen = admissions(&mut red, 10, false, 10_000);
        assert!(seen.contains(&Admission::Dropped(Reason::Early)));
        assert!(!seen.contains(&Admission::Marked));
    }

    #[test]
    fn an_idle_link_forgets() {
        let mut red = red(false);
        admissions(&mut red, 40, false, 10_000);
        let mut queue = full_frames(0);
        queue.now = Instant::from_ms(100); // 8333 packets of 12 us
        queue.idle_at = Instant::ZERO;
        assert_eq!(red.admit(&queue, &frame(1518)), Admission::Accepted);
        assert_eq!(
            admissions(&mut red, 40, false, 60),
            [Admission::Accepted; 60]
        );
    }
}

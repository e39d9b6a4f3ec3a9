//! PIE: drops with a probability that a controller derives from the queueing delay and its trend.
//!
//! RFC 8033. A FIFO port knows the exact delay: the time until the link has sent what it holds. So neither timestamps
//! nor an estimate of the departure rate (5.2) are needed, as 4.3 allows. The cap of the adjustment (5.5) and
//! de-randomization (5.4) are implemented; turning PIE off while the queue is short (5.3) is not.

use fairport_units::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{Admission, DropTail, PacketView, QueueDiscipline, QueueView, Reason};
use crate::BuildError;
use crate::context::{PortContext, positive_time, step_time};
use crate::limit::Limit;
use crate::stream::Stream;

/// A PIE queue, in the plan of a run. Names and values of RFC 8033 are in brackets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// the buffer's limit
    pub limit: Limit,
    /// whether the packet in service counts against the limit
    pub count_in_service: bool,
    /// the target of the queueing delay (`QDELAY_REF`, 15 ms)
    pub target_ps: Duration,
    /// time between two updates of the probability (`T_UPDATE`, 15 ms)
    pub update_ps: Duration,
    /// how long a queue that was short may grow without drops (`MAX_BURST`, 150 ms)
    pub max_burst_ps: Duration,
    /// nothing is dropped while at most two packets of this size wait (`MEAN_PKTSIZE`)
    pub mean_packet_bytes: u32,
    /// mark ECN-capable packets while the probability is at most 0.1
    pub ecn: bool,
}

impl Config {
    pub(crate) fn build(&self, port: &PortContext<'_>) -> Result<Pie, BuildError> {
        positive_time("target", self.target_ps, "15ms")?;
        step_time("update", self.update_ps, "15ms")?;
        Ok(Pie::new(self, port.buffer(self.limit)?, port.stream()))
    }
}

/// Largest probability at which packets are marked (`MAX_ECNTH`, RFC 8033 5.1).
const MARKS_UP_TO: f64 = 0.1;

/// A PIE queue.
#[derive(Clone, Debug)]
pub struct Pie {
    buffer: DropTail,
    target: Duration,
    update_interval: Duration,
    max_burst: Duration,
    ecn: bool,
    mean_packet_bytes: u32,
    controller: Controller,
    /// sum of the probabilities since the last drop
    accumulated: f64,
    burst_left: Duration,
    next_update: Instant,
    stream: Stream,
}

impl Pie {
    /// An empty queue in `buffer` that draws from `stream`.
    pub fn new(config: &Config, buffer: DropTail, stream: Stream) -> Self {
        Self {
            buffer,
            target: config.target_ps,
            update_interval: config.update_ps,
            max_burst: config.max_burst_ps,
            ecn: config.ecn,
            mean_packet_bytes: config.mean_packet_bytes,
            controller: Controller::new(config.target_ps),
            accumulated: 0.0,
            burst_left: config.max_burst_ps,
            next_update: Instant::ZERO + config.update_ps,
            stream,
        }
    }

    /// Random early dropping (4.1), with de-randomization (5.4).
    #[inline(never)] // keeps the path of a short queue short
    fn is_drawn(&mut self, backlog_bytes: u32) -> bool {
        let probability = self.controller.probability;
        let is_light = self.controller.delay < self.target / 2 && probability < 0.2;
        if is_light || backlog_bytes <= self.mean_packet_bytes.saturating_mul(2) {
            return false;
        }
        if probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += probability;
        if self.accumulated < 0.85 {
            return false;
        }
        if self.accumulated >= 8.5 || self.stream.unit() <= probability {
            self.accumulated = 0.0;
            return true;
        }
        false
    }

    /// Makes the updates that have become due since the last packet. Nothing was accepted in between, so the delay at
    /// each of those instants is known.
    #[cold]
    fn catch_up(&mut self, queue: &QueueView) {
        while self.next_update <= queue.now {
            self.update(queue.idle_at.saturating_sub(self.next_update));
            self.next_update += self.update_interval;
        }
    }

    fn update(&mut self, delay: Duration) {
        let previous = self.controller.delay;
        self.controller.update(delay);
        self.burst_left = self.burst_left.saturating_sub(self.update_interval);
        let half = self.target / 2;
        if self.controller.probability == 0.0 && delay < half && previous < half {
            self.burst_left = self.max_burst; // 4.4
        }
    }
}

impl QueueDiscipline for Pie {
    #[inline(never)] // makes the dispatcher a jump
    fn admit(&mut self, queue: &QueueView, packet: &PacketView) -> Admission {
        if self.next_update <= queue.now {
            self.catch_up(queue);
        }
        if !self.buffer.fits(queue.backlog, packet.frame_bytes) {
            self.accumulated = 0.0;
            return Admission::Dropped(Reason::Full);
        }
        if self.burst_left > Duration::ZERO || !self.is_drawn(queue.backlog.bytes) {
            return Admission::Accepted;
        }
        if self.ecn && packet.is_ecn_capable() && self.controller.probability <= MARKS_UP_TO {
            Admission::Marked
        } else {
            Admission::Dropped(Reason::Early)
        }
    }
}

/// The drop probability, and how it follows the delay (4.2).
#[derive(Clone, Debug)]
struct Controller {
    target: Duration,
    /// delay at the last update
    delay: Duration,
    probability: f64,
}

impl Controller {
    fn new(target: Duration) -> Self {
        Self {
            target,
            delay: Duration::ZERO,
            probability: 0.0,
        }
    }

    fn update(&mut self, delay: Duration) {
        /// weight of the delay's distance from the target, 1/s
        const ALPHA: f64 = 0.125;
        /// weight of the delay's change, 1/s
        const BETA: f64 = 1.25;
        let from_target = seconds(delay) - seconds(self.target);
        let change = seconds(delay) - seconds(self.delay);
        let mut step = (ALPHA * from_target + BETA * change) / self.caution();
        if self.probability >= 0.1 {
            step = step.min(0.02); // 5.5
        }
        self.probability += step;
        if delay == Duration::ZERO && self.delay == Duration::ZERO {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.delay = delay;
    }

    /// Divisor of a step: a small probability changes in small steps.
    fn caution(&self) -> f64 {
        const LADDER: [(f64, f64); 6] = [
            (0.000_001, 2048.0),
            (0.000_01, 512.0),
            (0.000_1, 128.0),
            (0.001, 32.0),
            (0.01, 8.0),
            (0.1, 2.0),
        ];
        let rung = LADDER.iter().find(|(below, _)| self.probability < *below);
        rung.map_or(1.0, |(_, divisor)| *divisor)
    }
}

/// Picoseconds as seconds. A single division rounds in the same way on every machine.
fn seconds(time: Duration) -> f64 {
    time.as_ps() as f64 / 1e12
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::fixtures::{ECT0, frame, full_frames};

    fn pie(ecn: bool) -> Pie {
        let config = Config {
            limit: Limit::Packets(1000),
            count_in_service: false,
            target_ps: Duration::from_ms(15),
            update_ps: Duration::from_ms(15),
            max_burst_ps: Duration::from_ms(150),
            ecn,
            mean_packet_bytes: 1000,
        };
        let buffer = DropTail::new(config.limit);
        Pie::new(&config, buffer, Stream::new(1, "test", 0))
    }

    /// A queue whose burst allowance is used up, with this delay and probability at the last update.
    fn settled(delay_ms: u64, probability: f64) -> Pie {
        let mut pie = pie(false);
        pie.burst_left = Duration::ZERO;
        pie.controller.delay = Duration::from_ms(delay_ms);
        pie.controller.probability = probability;
        pie
    }

    /// The admission, at `now`, of a packet that finds a queueing delay of `delay`.
    fn admit(pie: &mut Pie, now: Instant, delay: Duration) -> Admission {
        let packet = PacketView {
            ecn: ECT0,
            ..frame(1518)
        };
        let queue = QueueView {
            now,
            idle_at: now + delay,
            ..full_frames(100)
        };
        pie.admit(&queue, &packet)
    }

    #[test]
    fn the_first_steps_are_those_of_the_formula() {
        let mut controller = Controller::new(Duration::from_ms(15));
        // from 0 to 35 ms: (0.125 · 0.020 + 1.25 · 0.035) / 2048 = 0.04625 / 2048
        controller.update(Duration::from_ms(35));
        assert!((controller.probability - 0.046_25 / 2048.0).abs() < 1e-12);
        // now it is between 10^-5 and 10^-4 and the delay is constant, which adds 0.0025 / 128
        controller.update(Duration::from_ms(35));
        assert!((controller.probability - 0.046_25 / 2048.0 - 0.002_5 / 128.0).abs() < 1e-12);
    }

    #[test]
    fn a_large_probability_climbs_by_at_most_two_hundredths() {
        let mut controller = Controller::new(Duration::from_ms(15));
        controller.probability = 0.1;
        controller.update(Duration::from_ms(300));
        assert!((controller.probability - 0.12).abs() < 1e-12);
    }

    #[test]
    fn without_a_queue_the_probability_decays() {
        let mut controller = Controller::new(Duration::from_ms(15));
        controller.probability = 0.5;
        controller.update(Duration::ZERO);
        assert!((controller.probability - (0.5 - 0.001_875) * 0.98).abs() < 1e-12);
    }

    #[test]
    fn a_burst_of_150_ms_passes_and_a_standing_queue_does_not() {
        let mut pie = pie(false);
        let mut first_drop = None;
        for at in 0..3000 {
            let now = Instant::from_ms(at);
            if admit(&mut pie, now, Duration::from_ms(60)) != Admission::Accepted {
                first_drop = first_drop.or(Some(now));
            }
        }
        assert!(first_drop.is_some_and(|at| at > Instant::from_ms(150)));
        assert!(pie.controller.probability > 0.01);
    }

    #[test]
    fn gaps_between_drops_are_not_shorter_than_the_accumulated_probability_allows() {
        let mut pie = settled(30, 0.05);
        let (mut gap, mut gaps) = (0, Vec::new());
        for _ in 0..10_000 {
            gap += 1;
            if admit(&mut pie, Instant::ZERO, Duration::from_ms(30)) != Admission::Accepted {
                gaps.push(std::mem::take(&mut gap));
            }
        }
        // at least 0.85 / 0.05 = 17 packets, at most 8.5 / 0.05 = 170; from the 17th on each is drawn with 0.05
        assert!(gaps.iter().all(|gap| (17..=170).contains(gap)), "{gaps:?}");
        let mean = 10_000.0 / gaps.len() as f64;
        assert!((mean - (16.0 + 1.0 / 0.05)).abs() < 5.0, "{mean}");
    }

    /// RFC 8033 5.4: there is no drop while the probabilities add up to less than 0.85.
    #[test]
    fn a_packet_may_be_dropped_when_the_probabilities_add_up_to_85_percent() {
        for (probability, least) in [(0.849, 0), (0.85, 70)] {
            let drops = (0..100).filter(|number| {
                let mut pie = settled(30, probability);
                pie.stream = Stream::new(1, "test", *number);
                let first = admit(&mut pie, Instant::ZERO, Duration::from_ms(30));
                first != Admission::Accepted
            });
            let drops = drops.count();
            assert!(drops >= least && (drops > 0) == (least > 0), "{drops}");
        }
    }

    /// RFC 8033 5.1: marking ends when the probability exceeds a tenth.
    #[test]
    fn only_what_can_be_marked_is_marked_and_only_where_that_is_asked_for() {
        let drop = Admission::Dropped(Reason::Early);
        for (ecn, codepoint, probability, wanted) in [
            (true, ECT0, 0.1, Admission::Marked),
            (true, ECT0, 0.11, drop),
            (true, 0, 0.05, drop),
            (false, ECT0, 0.05, drop),
        ] {
            let mut pie = settled(30, probability);
            pie.ecn = ecn;
            let packet = PacketView {
                ecn: codepoint,
                ..frame(1518)
            };
            let admissions = (0..1000).map(|_| pie.admit(&full_frames(100), &packet));
            let cut: Vec<_> = admissions.filter(|v| *v != Admission::Accepted).collect();
            assert!(!cut.is_empty() && cut.iter().all(|admission| *admission == wanted));
        }
    }

    #[test]
    fn of_a_light_queue_nothing_is_dropped_early() {
        // RFC 8033 4.1: the delay was below half of the target of 15 ms, and the probability is below 0.2
        for (delay_ms, probability, is_light) in [
            (7, 0.19, true),
            (8, 0.19, false),
            (7, 0.2, false),
            (7, 0.5, false),
        ] {
            let mut pie = settled(delay_ms, probability);
            let drops = (0..1000)
                .filter(|_| admit(&mut pie, Instant::ZERO, Duration::ZERO) != Admission::Accepted)
                .count();
            assert_eq!(
                drops == 0,
                is_light,
                "{delay_ms} ms, {probability}: {drops}"
            );
        }
    }

    #[test]
    fn two_packets_of_the_mean_size_may_always_wait() {
        // RFC 8033 4.1: the mean size is 1000 bytes here; at this probability every other packet is dropped
        for (waiting_bytes, is_dropped) in [(2000, false), (2001, true)] {
            let mut pie = settled(30, 1.0);
            let mut queue = full_frames(2);
            queue.backlog.bytes = waiting_bytes;
            let admission = pie.admit(&queue, &frame(1000));
            assert_eq!(
                admission != Admission::Accepted,
                is_dropped,
                "{waiting_bytes}"
            );
        }
    }

    #[test]
    fn a_burst_is_allowed_anew_after_two_updates_that_find_short_delays_and_nothing_to_drop() {
        // RFC 8033 4.4: half of the target is 7.5 ms. With these delays the probability stays 0.
        for (previous_us, delay_us, is_allowed) in [
            (7000, 7000, true),
            (7400, 7499, true),
            (7400, 7500, false),
            (7499, 7400, true),
            (7500, 7400, false),
        ] {
            let mut pie = settled(0, 0.0);
            pie.controller.delay = Duration::from_us(previous_us);
            pie.update(Duration::from_us(delay_us));
            assert!(pie.controller.probability <= 0.0);
            let is_anew = pie.burst_left == Duration::from_ms(150);
            assert_eq!(is_anew, is_allowed, "{previous_us} us, {delay_us} us");
        }
    }
}

//! `CoDel` (RFC 8289): drops at the head while packets have waited too long for too long.

use fairport_units::Time;

use super::lane::Lane;
use super::{Lost, Waiting};
use crate::discipline::{Backlog, DropTail, NOTHING, Reason, Verdict};

/// What an administrator sets.
#[derive(Clone, Copy, Debug)]
pub struct CoDelConfig {
    /// acceptable time in the queue (RFC 8289: 5 ms)
    pub target: Time,
    /// how long it must have been exceeded, about a round trip (RFC 8289: 100 ms)
    pub interval: Time,
    /// whether packets that can be marked are marked instead of dropped
    pub ecn: bool,
    /// a queue of no more octets than this is never dropped from: the largest packet
    pub max_packet_bytes: u32,
}

/// The state machine of one queue (RFC 8289 5).
#[derive(Clone, Debug)]
pub(super) struct Control {
    /// when the time above target will have lasted an interval; [`Time::NEVER`] while it is below
    above_until: Time,
    drop_next: Time,
    /// drops since this dropping state began
    count: u32,
    /// the count with which it began
    last_count: u32,
    dropping: bool,
}

impl Control {
    pub(super) fn new() -> Self {
        Self {
            above_until: Time::NEVER,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
        }
    }

    /// The next packet of the queue to be sent; those dropped on the way are added to `lost`.
    pub(super) fn dequeue(
        &mut self,
        now: Time,
        lane: &mut Lane,
        config: &CoDelConfig,
        lost: &mut Lost,
    ) -> Option<Waiting> {
        let (mut packet, mut too_long) = self.take(now, lane, config)?;
        if self.dropping {
            self.dropping = too_long;
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                let drop_next = after(self.drop_next, config.interval, self.count);
                if mark(&mut packet, config) {
                    self.drop_next = drop_next;
                    return Some(packet);
                }
                lost.push((packet, Reason::Early));
                let Some(next) = self.take(now, lane, config) else {
                    self.dropping = false;
                    return None;
                };
                (packet, too_long) = next;
                self.dropping = too_long;
                if too_long {
                    self.drop_next = drop_next;
                }
            }
        } else if too_long {
            let marked = mark(&mut packet, config);
            self.begin_dropping(now, config);
            if !marked {
                lost.push((packet, Reason::Early));
                (packet, _) = self.take(now, lane, config)?;
            }
        }
        Some(packet)
    }

    /// A packet goes that did not wait and leaves the queue empty.
    #[inline]
    pub(super) fn rest(&mut self) {
        self.above_until = Time::NEVER;
        self.dropping = false;
    }

    /// A queue whose turn it is holds nothing.
    #[inline]
    pub(super) fn found_empty(&mut self) {
        self.above_until = Time::NEVER;
    }

    /// Drops soon follow each other where they did a short while ago.
    fn begin_dropping(&mut self, now: Time, config: &CoDelConfig) {
        self.dropping = true;
        let drops = self.count - self.last_count;
        let recent = now.saturating_sub(self.drop_next) < config.interval * 16;
        self.count = if drops > 1 && recent { drops } else { 1 };
        self.last_count = self.count;
        self.drop_next = after(now, config.interval, self.count);
    }

    /// Takes the first packet, and says whether packets have waited longer than the target for an
    /// interval.
    fn take(
        &mut self,
        now: Time,
        lane: &mut Lane,
        config: &CoDelConfig,
    ) -> Option<(Waiting, bool)> {
        let Some(packet) = lane.pop() else {
            self.found_empty();
            return None;
        };
        let sojourn = now.saturating_sub(packet.arrived);
        if sojourn < config.target || lane.bytes() <= config.max_packet_bytes {
            self.above_until = Time::NEVER;
            return Some((packet, false));
        }
        if self.above_until == Time::NEVER {
            self.above_until = now + config.interval;
        }
        Some((packet, now >= self.above_until))
    }
}

/// The control law: the `count`-th drop follows after `interval / sqrt(count)`.
fn after(time: Time, interval: Time, count: u32) -> Time {
    // sqrt(count) in units of 2^-16: an integer square root is the same on every machine
    let root = (u64::from(count) << 32).isqrt();
    let ps = (u128::from(interval.as_ps()) << 16) / u128::from(root.max(1));
    time + Time::from_ps(ps as u64)
}

fn mark(packet: &mut Waiting, config: &CoDelConfig) -> bool {
    packet.marked = config.ecn && packet.is_ecn_capable();
    packet.marked
}

/// One first-in-first-out queue under `CoDel`.
#[derive(Clone, Debug)]
pub struct CoDel {
    limit: DropTail,
    config: CoDelConfig,
    lane: Lane,
    control: Control,
}

impl CoDel {
    /// An empty queue with room for `limit`.
    pub fn new(limit: DropTail, config: CoDelConfig) -> Self {
        Self {
            limit,
            config,
            lane: Lane::default(),
            control: Control::new(),
        }
    }

    pub(super) fn enqueue(&mut self, backlog: Backlog, packet: Waiting) -> Verdict {
        let verdict = self.limit.judge(backlog, packet.frame_bytes);
        if verdict == Verdict::Accepted {
            self.lane.push(packet);
        }
        verdict
    }

    pub(super) fn pass(&mut self, packet: &Waiting) -> Verdict {
        let verdict = self.limit.judge(NOTHING, packet.frame_bytes);
        if verdict == Verdict::Accepted {
            self.control.rest();
        }
        verdict
    }

    pub(super) fn dequeue(&mut self, now: Time, lost: &mut Lost) -> Option<Waiting> {
        self.control
            .dequeue(now, &mut self.lane, &self.config, lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{CE, NOT_ECT};

    const CONFIG: CoDelConfig = CoDelConfig {
        target: Time::from_ms(5),
        interval: Time::from_ms(100),
        ecn: false,
        max_packet_bytes: 1518,
    };

    /// A queue in which every packet has waited 10 ms when it is sent, one a millisecond; returns
    /// when packets were dropped and how many were marked within `milliseconds`.
    fn standing_queue(config: CoDelConfig, ecn: u8, milliseconds: u64) -> (Vec<u64>, usize) {
        let mut queue = CoDel::new(DropTail::packets(1000), config);
        let (mut drops, mut marks, mut lost) = (Vec::new(), 0, Lost::new());
        let nothing = Backlog {
            bytes: 0,
            packets: 0,
        };
        let enter = |queue: &mut CoDel, at: u64| {
            let packet = Waiting {
                arrived: Time::from_ms(at),
                ecn,
                ..Waiting::of(0, 1518)
            };
            queue.enqueue(nothing, packet);
        };
        (0..10).for_each(|at| enter(&mut queue, at));
        for at in 10..10 + milliseconds {
            enter(&mut queue, at);
            let sent = queue.dequeue(Time::from_ms(at), &mut lost);
            marks += usize::from(sent.is_some_and(|packet| packet.marked));
            for _ in lost.drain(..) {
                drops.push(at);
                enter(&mut queue, at); // so that the queue stays as long
            }
        }
        (drops, marks)
    }

    #[test]
    fn drops_come_after_an_interval_and_then_by_its_square_root_law() {
        // first drop 100 ms after the first packet that waited too long (at 10 ms); then the n-th
        // 100 / sqrt(n) ms later: 100, 70.7, 57.7, 50 ms
        let (drops, _) = standing_queue(CONFIG, NOT_ECT, 400);
        assert_eq!(drops, [110, 210, 281, 339, 389]);
    }

    #[test]
    fn what_can_be_marked_is_marked_at_the_same_moments() {
        let config = CoDelConfig {
            ecn: true,
            ..CONFIG
        };
        assert_eq!(standing_queue(config, CE, 400), (Vec::new(), 5));
        assert_eq!(standing_queue(config, NOT_ECT, 400).1, 0);
    }

    #[test]
    fn a_queue_of_one_packet_is_left_alone_however_long_it_waits() {
        let mut queue = CoDel::new(DropTail::packets(10), CONFIG);
        let nothing = Backlog {
            bytes: 0,
            packets: 0,
        };
        let mut lost = Lost::new();
        for second in 1..100 {
            queue.enqueue(nothing, Waiting::of(0, 1518));
            assert!(queue.dequeue(Time::from_secs(second), &mut lost).is_some());
        }
        assert!(lost.is_empty());
    }

    #[test]
    fn the_control_law_is_that_of_the_square_root() {
        let gap = |count| after(Time::ZERO, Time::from_ms(100), count).as_ps();
        assert_eq!(gap(1), 100_000_000_000);
        assert_eq!(gap(4), 50_000_000_000);
        assert!(gap(2).abs_diff(70_710_678_118) < 1_000_000);
    }
}

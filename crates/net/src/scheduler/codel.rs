//! `CoDel` (RFC 8289): drops at the head while packets have waited too long for too long.

use fairport_units::Time;

use super::fifo::PacketFifo;
use super::{Waiting, WaitingPackets};
use crate::discipline::{Backlog, DropTail, NOTHING, PacketView, Reason, Verdict};
use crate::pool::Handle;

/// What an administrator sets.
#[derive(Clone, Copy, Debug)]
pub struct CoDelConfig {
    /// acceptable time in the queue (RFC 8289: 5 ms)
    pub target: Time,
    /// how long it must have been exceeded, about a round trip (RFC 8289: 100 ms)
    pub interval: Time,
    /// whether packets that can be marked are marked instead of dropped
    pub ecn: bool,
    /// a queue of no more bytes than this is never dropped from: the largest packet
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

    /// The next packet of the queue to be sent; those dropped on the way are lost in the room.
    #[inline]
    pub(super) fn dequeue(
        &mut self,
        now: Time,
        fifo: &mut PacketFifo,
        config: &CoDelConfig,
        room: &mut WaitingPackets,
    ) -> Option<Handle> {
        let (packet, too_long) = self.take(now, fifo, config, room)?;
        if !self.dropping && !too_long {
            return Some(packet);
        }
        self.dequeue_slow(now, (packet, too_long), fifo, config, room)
    }

    /// The same while packets are dropped, or where the `first` has waited too long.
    #[inline(never)] // so that the path of a queue that is short enough stays short
    fn dequeue_slow(
        &mut self,
        now: Time,
        first: (Handle, bool),
        fifo: &mut PacketFifo,
        config: &CoDelConfig,
        room: &mut WaitingPackets,
    ) -> Option<Handle> {
        let (mut packet, mut too_long) = first;
        if self.dropping {
            self.dropping = too_long;
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                let drop_next = after(self.drop_next, config.interval, self.count);
                if mark(&mut room[packet], config) {
                    self.drop_next = drop_next;
                    return Some(packet);
                }
                room.lose(packet, Reason::Early);
                let Some(next) = self.take(now, fifo, config, room) else {
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
            let marked = mark(&mut room[packet], config);
            self.begin_dropping(now, config);
            if !marked {
                room.lose(packet, Reason::Early);
                (packet, _) = self.take(now, fifo, config, room)?;
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
    #[inline]
    fn take(
        &mut self,
        now: Time,
        fifo: &mut PacketFifo,
        config: &CoDelConfig,
        room: &WaitingPackets,
    ) -> Option<(Handle, bool)> {
        let Some(packet) = fifo.pop(room) else {
            self.found_empty();
            return None;
        };
        let sojourn = now.saturating_sub(room[packet].arrived);
        if sojourn < config.target || fifo.bytes() <= config.max_packet_bytes {
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

fn mark(waiting: &mut Waiting, config: &CoDelConfig) -> bool {
    waiting.marked = config.ecn && waiting.packet.is_ecn_capable();
    waiting.marked
}

/// One first-in-first-out queue under `CoDel`.
#[derive(Clone, Debug)]
pub struct CoDel {
    limit: DropTail,
    config: CoDelConfig,
    fifo: PacketFifo,
    control: Control,
}

impl CoDel {
    /// An empty queue with room for `limit`.
    pub fn new(limit: DropTail, config: CoDelConfig) -> Self {
        Self {
            limit,
            config,
            fifo: PacketFifo::default(),
            control: Control::new(),
        }
    }

    pub(super) fn enqueue(
        &mut self,
        backlog: Backlog,
        packet: Handle,
        room: &mut WaitingPackets,
    ) -> Verdict {
        let verdict = self.limit.admit(backlog, room[packet].packet.frame_bytes);
        if verdict == Verdict::Accepted {
            self.fifo.push(packet, room);
        }
        verdict
    }

    pub(super) fn pass(&mut self, packet: &PacketView) -> Verdict {
        let verdict = self.limit.admit(NOTHING, packet.frame_bytes);
        if verdict == Verdict::Accepted {
            self.control.rest();
        }
        verdict
    }

    pub(super) fn dequeue(&mut self, now: Time, room: &mut WaitingPackets) -> Option<Handle> {
        self.control
            .dequeue(now, &mut self.fifo, &self.config, room)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Scheduler;
    use super::super::fixtures::{TestPort, packet};
    use super::*;
    use crate::packet::{CE, NOT_ECT};

    const CONFIG: CoDelConfig = CoDelConfig {
        target: Time::from_ms(5),
        interval: Time::from_ms(100),
        ecn: false,
        max_packet_bytes: 1518,
    };

    fn port(limit_packets: u32, config: CoDelConfig) -> TestPort {
        let codel = CoDel::new(DropTail::packets(limit_packets), config);
        TestPort::new(Scheduler::CoDel(codel))
    }

    /// A queue in which every packet has waited 10 ms when it is sent, one a millisecond; returns
    /// when packets were dropped and how many were marked within `milliseconds`.
    fn standing_queue(config: CoDelConfig, ecn: u8, milliseconds: u64) -> (Vec<u64>, usize) {
        let mut port = port(1000, config);
        let packet = PacketView {
            ecn,
            ..packet(0, 1518)
        };
        let (mut drops, mut marks) = (Vec::new(), 0);
        for at in 0..10 + milliseconds {
            port.now = Time::from_ms(at);
            port.enter(packet);
            if at < 10 {
                continue;
            }
            marks += usize::from(port.send().is_some_and(|sent| sent.marked));
            for _ in port.lost() {
                drops.push(at);
                port.enter(packet); // so that the queue stays as long
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
        let mut port = port(10, CONFIG);
        for second in 1..100 {
            port.enter(packet(0, 1518));
            port.now = Time::from_secs(second);
            assert!(port.send().is_some());
        }
        assert!(port.lost().is_empty());
    }

    #[test]
    fn the_control_law_is_that_of_the_square_root() {
        let gap = |count| after(Time::ZERO, Time::from_ms(100), count).as_ps();
        assert_eq!(gap(1), 100_000_000_000);
        assert_eq!(gap(4), 50_000_000_000);
        assert!(gap(2).abs_diff(70_710_678_118) < 1_000_000);
    }
}

//! `CoDel` (RFC 8289): drops at the head of the queue once packets have waited too long for an interval.

use fairport_units::{Duration, Instant};
use serde::{Deserialize, Serialize};

use super::{Handle, Offer, PacketFifo, PacketScheduler, Waiting, WaitingPackets};
use crate::BuildError;
use crate::context::{PortContext, positive_time};
use crate::discipline::{Admission, DropTail, NOTHING, PacketView, Reason};
use crate::limit::Limit;

/// A `CoDel` queue, in the plan of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// the buffer's limit
    pub limit: Limit,
    /// acceptable time in the queue (RFC 8289: 5 ms)
    pub target_ps: Duration,
    /// how long the target must have been exceeded, about a round trip (RFC 8289: 100 ms)
    pub interval_ps: Duration,
    /// mark ECN-capable packets instead of dropping them
    pub ecn: bool,
}

impl Config {
    pub(crate) fn build(&self, port: &PortContext<'_>) -> Result<CoDel, BuildError> {
        let buffer = port.buffer(self.limit)?;
        let parameters = Parameters::new(self.target_ps, self.interval_ps, self.ecn, port)?;
        Ok(CoDel::new(buffer, parameters))
    }
}

/// The parameters of one queue.
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    /// acceptable time in the queue
    pub target: Duration,
    /// how long the target must have been exceeded
    pub interval: Duration,
    /// whether ECN-capable packets are marked instead of dropped
    pub ecn: bool,
    /// no packet is dropped while the queue has at most this many bytes: the size of the largest packet
    pub max_packet_bytes: u32,
}

impl Parameters {
    /// Parameters for a port. A time of zero is refused.
    pub(super) fn new(
        target: Duration,
        interval: Duration,
        ecn: bool,
        port: &PortContext<'_>,
    ) -> Result<Self, BuildError> {
        Ok(Self {
            target: positive_time("target", target, "5ms")?,
            interval: positive_time("interval", interval, "100ms")?,
            ecn,
            max_packet_bytes: port.full_frame_bytes(),
        })
    }
}

/// The state machine of one queue (RFC 8289 5).
#[derive(Clone, Debug)]
pub(super) struct Control {
    /// when the target will have been exceeded for an interval; [`Instant::NEVER`] while it is not exceeded
    above_until: Instant,
    drop_next: Instant,
    /// drops in the present dropping state
    count: u32,
    /// the count with which the present dropping state began
    last_count: u32,
    dropping: bool,
}

impl Control {
    pub(super) fn new() -> Self {
        Self {
            above_until: Instant::NEVER,
            drop_next: Instant::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
        }
    }

    /// Removes the next packet to be sent. Packets before it may be dropped.
    #[inline]
    pub(super) fn dequeue(
        &mut self,
        now: Instant,
        fifo: &mut PacketFifo,
        parameters: &Parameters,
        packets: &mut WaitingPackets,
    ) -> Option<Handle> {
        let (packet, too_long) = self.take(now, fifo, parameters, packets)?;
        if !self.dropping && !too_long {
            return Some(packet);
        }
        self.dequeue_slow(now, (packet, too_long), fifo, parameters, packets)
    }

    /// [`Self::dequeue`] while packets are dropped, or if the `first` packet has waited too long.
    #[inline(never)] // keeps the path of a short queue short
    fn dequeue_slow(
        &mut self,
        now: Instant,
        first: (Handle, bool),
        fifo: &mut PacketFifo,
        parameters: &Parameters,
        packets: &mut WaitingPackets,
    ) -> Option<Handle> {
        let (mut packet, mut too_long) = first;
        if self.dropping {
            self.dropping = too_long;
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                let drop_next = after(self.drop_next, parameters.interval, self.count);
                if mark(&mut packets[packet], parameters) {
                    self.drop_next = drop_next;
                    return Some(packet);
                }
                packets.drop_queued(packet, Reason::Early);
                let Some(next) = self.take(now, fifo, parameters, packets) else {
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
            let marked = mark(&mut packets[packet], parameters);
            self.begin_dropping(now, parameters);
            if !marked {
                packets.drop_queued(packet, Reason::Early);
                (packet, _) = self.take(now, fifo, parameters, packets)?;
            }
        }
        Some(packet)
    }

    /// Records that the queue was empty when its turn came.
    #[inline]
    pub(super) fn found_empty(&mut self) {
        self.above_until = Instant::NEVER;
    }

    /// Counts a packet that was pushed out in the rate of the drops, as Linux's FQ-CoDel does.
    pub(super) fn count_pushed_out(&mut self) {
        self.count = self.count.saturating_add(1);
    }

    /// Starts a dropping state. If the last one was recent, drops soon follow each other at its rate.
    fn begin_dropping(&mut self, now: Instant, parameters: &Parameters) {
        self.dropping = true;
        let drops = self.count - self.last_count;
        let recent = now.saturating_sub(self.drop_next) < parameters.interval * 16;
        self.count = if drops > 1 && recent { drops } else { 1 };
        self.last_count = self.count;
        self.drop_next = after(now, parameters.interval, self.count);
    }

    /// Takes the first packet. Also returns whether packets have waited longer than the target for an interval.
    #[inline]
    fn take(
        &mut self,
        now: Instant,
        fifo: &mut PacketFifo,
        parameters: &Parameters,
        packets: &WaitingPackets,
    ) -> Option<(Handle, bool)> {
        let Some(packet) = fifo.pop(packets) else {
            self.found_empty();
            return None;
        };
        let sojourn = now.saturating_sub(packets[packet].arrived);
        if sojourn < parameters.target || fifo.bytes() <= parameters.max_packet_bytes {
            self.above_until = Instant::NEVER;
            return Some((packet, false));
        }
        if self.above_until == Instant::NEVER {
            self.above_until = now + parameters.interval;
        }
        Some((packet, now >= self.above_until))
    }
}

/// The control law: the next drop after `count` drops follows after `interval / sqrt(count)`.
fn after(time: Instant, interval: Duration, count: u32) -> Instant {
    // sqrt(count) in units of 2^-16; an integer square root is the same on every machine
    let root = (u64::from(count) << 32).isqrt();
    let ps = (u128::from(interval.as_ps()) << 16) / u128::from(root.max(1));
    time + Duration::from_ps(ps as u64)
}

fn mark(waiting: &mut Waiting, parameters: &Parameters) -> bool {
    waiting.marked = parameters.ecn && waiting.packet.is_ecn_capable();
    waiting.marked
}

/// One first-in-first-out queue controlled by `CoDel`.
#[derive(Clone, Debug)]
pub struct CoDel {
    buffer: DropTail,
    parameters: Parameters,
    fifo: PacketFifo,
    control: Control,
}

impl CoDel {
    /// An empty queue in `buffer`.
    pub fn new(buffer: DropTail, parameters: Parameters) -> Self {
        Self {
            buffer,
            parameters,
            fifo: PacketFifo::default(),
            control: Control::new(),
        }
    }
}

impl PacketScheduler for CoDel {
    fn enqueue(&mut self, offer: &Offer<'_>, packets: &mut WaitingPackets) -> Admission {
        let frame_bytes = packets[offer.packet].packet.frame_bytes;
        let admission = self.buffer.admission(offer.backlog, frame_bytes);
        if admission == Admission::Accepted {
            self.fifo.push(offer.packet, packets);
        }
        admission
    }

    fn pass(&mut self, _: Instant, packet: &PacketView) -> Option<Admission> {
        // An empty queue is below the target, and a dropping state ends with the first packet that has not waited too
        // long. A packet that passes at once changes neither.
        Some(self.buffer.admission(NOTHING, packet.frame_bytes))
    }

    fn dequeue(&mut self, now: Instant, packets: &mut WaitingPackets) -> Option<Handle> {
        self.control
            .dequeue(now, &mut self.fifo, &self.parameters, packets)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{TestPort, packet};
    use super::*;
    use crate::packet::{CE, NOT_ECT};

    const PARAMETERS: Parameters = Parameters {
        target: Duration::from_ms(5),
        interval: Duration::from_ms(100),
        ecn: false,
        max_packet_bytes: 1518,
    };

    fn port(limit_packets: u32, parameters: Parameters) -> TestPort<CoDel> {
        TestPort::new(CoDel::new(DropTail::packets(limit_packets), parameters))
    }

    /// A queue in which every packet has waited 10 ms when it is sent, one per millisecond. Returns when packets were
    /// dropped and how many were marked within `milliseconds`.
    fn standing_queue(parameters: Parameters, ecn: u8, milliseconds: u64) -> (Vec<u64>, usize) {
        let mut port = port(1000, parameters);
        let packet = PacketView {
            ecn,
            ..packet(0, 1518)
        };
        let (mut drops, mut marks) = (Vec::new(), 0);
        for at in 0..10 + milliseconds {
            port.now = Instant::from_ms(at);
            port.enter(packet);
            if at < 10 {
                continue;
            }
            marks += usize::from(port.send().is_some_and(|sent| sent.marked));
            for _ in port.dropped() {
                drops.push(at);
                port.enter(packet); // keeps the length of the queue
            }
        }
        (drops, marks)
    }

    /// RFC 8289 5.4: a dropping state that follows soon after the last one begins at the rate at which that ended;
    /// otherwise it begins at one drop per interval.
    #[test]
    fn drops_go_on_at_their_rate_unless_sixteen_intervals_have_passed() {
        let interval = PARAMETERS.interval;
        let ended_at = Instant::from_secs(10);
        let begun_again = |after: Duration| {
            let mut control = Control {
                count: 5,
                last_count: 1,
                drop_next: ended_at,
                ..Control::new()
            };
            control.begin_dropping(ended_at + after, &PARAMETERS);
            (control.count, control.drop_next - (ended_at + after))
        };
        // after four drops the next follows after interval / sqrt(4)
        assert_eq!(begun_again(interval * 15), (4, interval / 2));
        assert_eq!(begun_again(interval * 16), (1, interval));
    }

    #[test]
    fn drops_come_after_an_interval_and_then_by_its_square_root_law() {
        // the first drop is 100 ms after the first packet that waited too long (at 10 ms); the n-th is 100 / sqrt(n) ms
        // after the one before: 100, 70.7, 57.7, 50 ms
        let (drops, _) = standing_queue(PARAMETERS, NOT_ECT, 400);
        assert_eq!(drops, [110, 210, 281, 339, 389]);
    }

    #[test]
    fn what_can_be_marked_is_marked_at_the_same_moments() {
        let parameters = Parameters {
            ecn: true,
            ..PARAMETERS
        };
        assert_eq!(standing_queue(parameters, CE, 400), (Vec::new(), 5));
        assert_eq!(standing_queue(parameters, NOT_ECT, 400).1, 0);
    }

    #[test]
    fn a_queue_of_one_packet_is_left_alone_however_long_it_waits() {
        let mut port = port(10, PARAMETERS);
        for second in 1..100 {
            port.enter(packet(0, 1518));
            port.now = Instant::from_secs(second);
            assert!(port.send().is_some());
        }
        assert!(port.dropped().is_empty());
    }

    #[test]
    fn the_control_law_is_that_of_the_square_root() {
        let gap = |count| after(Instant::ZERO, Duration::from_ms(100), count).as_ps();
        assert_eq!(gap(1), 100_000_000_000);
        assert_eq!(gap(4), 50_000_000_000);
        assert!(gap(2).abs_diff(70_710_678_118) < 1_000_000);
    }

    /// RFC 8289 5.5: a queue that is found empty counts as below the target again. FQ-CoDel may push packets out
    /// without its queues noticing.
    #[test]
    fn a_queue_that_was_pushed_out_has_an_interval_again() {
        let counts = crate::observer::Counts::default();
        let mut packets = WaitingPackets::default();
        let (mut fifo, mut control) = (PacketFifo::default(), Control::new());
        let mut send = |packets: &mut WaitingPackets, fifo: &mut PacketFifo, ms| {
            control.dequeue(Instant::from_ms(ms), fifo, &PARAMETERS, packets)
        };
        let fill = |packets: &mut WaitingPackets, fifo: &mut PacketFifo, ms| {
            for index in 0..4 {
                let handle = Handle::at(index);
                packets.enter(handle, Instant::from_ms(ms), packet(0, 1518), counts);
                fifo.push(handle, packets);
            }
        };
        fill(&mut packets, &mut fifo, 0);
        assert!(send(&mut packets, &mut fifo, 10).is_some()); // above target from now on
        while fifo.pop(&packets).is_some() {}
        assert!(send(&mut packets, &mut fifo, 20).is_none());
        fill(&mut packets, &mut fifo, 150);
        assert_eq!(send(&mut packets, &mut fifo, 200), Some(Handle::at(0)));
        assert!(packets.dropped.is_empty());
    }
}

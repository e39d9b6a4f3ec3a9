//! FQ-CoDel (RFC 8290): flows are hashed to queues, each under `CoDel`. The queues are served by deficit round robin,
//! and queues that are not backlogged come first.

mod turns;

use fairport_units::{Duration, Instant};
use serde::{Deserialize, Serialize};

use super::codel::Parameters;
use super::{Handle, Offer, PacketScheduler, WaitingPackets, hash};
use crate::BuildError;
use crate::context::{PortContext, number_of_queues};
use crate::discipline::{Admission, DropTail, NOTHING, PacketView, Reason};
use crate::limit::Limit;
use turns::{FlowQueue, Lists};

/// An FQ-CoDel queue, in the plan of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// the limit of the buffer that all queues share
    pub limit: Limit,
    /// acceptable time in a queue (RFC 8289: 5 ms)
    pub target_ps: Duration,
    /// how long the target must have been exceeded, about a round trip (RFC 8289: 100 ms)
    pub interval_ps: Duration,
    /// mark ECN-capable packets instead of dropping them
    pub ecn: bool,
    /// number of queues to which flows are hashed (RFC 8290: 1024)
    pub queues: u32,
    /// bytes per turn of a queue; without it, the size of one packet of the MTU
    pub quantum_bytes: Option<u32>,
}

impl Config {
    pub(crate) fn build(&self, port: &PortContext<'_>) -> Result<FqCoDel, BuildError> {
        Ok(FqCoDel::new(
            port.buffer(self.limit)?,
            number_of_queues("queues", self.queues)?,
            port.quantum(self.quantum_bytes)?,
            Parameters::new(self.target_ps, self.interval_ps, self.ecn, port)?,
            port.stream().up_to(u64::MAX),
        ))
    }

    /// Memory of the empty queues of one port, in bytes.
    pub(crate) fn state_bytes(&self) -> u64 {
        u64::from(self.queues) * size_of::<FlowQueue>() as u64
    }
}

/// The state of an FQ-CoDel queue.
///
/// A line that has sent the last packet asks for another one, finds every queue empty, and so removes all queues from
/// the lists (as in Linux and in ns-3). A packet that finds the line free therefore finds the lists empty. While only
/// such packets arrive, the lists decide nothing. The last such packet is remembered in `passed`, and its queue goes on
/// the empty lists when another packet has to wait.
#[derive(Clone, Debug)]
#[repr(C)] // what a packet needs that passes comes first
pub struct FqCoDel {
    passed: Option<Passed>,
    buffer: DropTail,
    queues: Box<[FlowQueue]>,
    seed: u64,
    lists: Lists,
    codel: Parameters,
}

/// A packet that was sent at once, and is not yet recorded in the lists.
#[derive(Clone, Copy, Debug)]
struct Passed {
    flow: u32,
    frame_bytes: u32,
}

/// The most packets that are dropped together when the limit is exceeded (RFC 8290 4.1.1).
const DROP_BATCH: u32 = 64;

impl FqCoDel {
    /// `queues` empty queues in one `buffer`, with turns of `quantum_bytes`. Neither number is 0. `seed` is the seed of
    /// the hash.
    pub fn new(
        buffer: DropTail,
        queues: u32,
        quantum_bytes: u32,
        codel: Parameters,
        seed: u64,
    ) -> Self {
        assert!(queues > 0 && quantum_bytes > 0);
        Self {
            passed: None,
            queues: vec![FlowQueue::empty(); queues as usize].into_boxed_slice(),
            seed,
            lists: Lists::new(quantum_bytes),
            buffer,
            codel,
        }
    }

    #[inline]
    fn queue_of(&self, flow: u32) -> u32 {
        hash::queue_of(u64::from(flow), self.seed, self.queues.len() as u32)
    }

    /// Restarts the lists, because the line was idle before the packet `passed`. Only that packet's queue is on the
    /// lists then, and it is empty, because the packet has left.
    #[inline(never)]
    fn begin_anew(&mut self, passed: Passed) {
        let own = self.queue_of(passed.flow);
        self.lists.clear(&mut self.queues);
        self.lists.activate(own, &mut self.queues);
        let queue = &mut self.queues[own as usize];
        queue.credits -= i64::from(passed.frame_bytes);
    }

    /// The queue with the most bytes. Among equals, the first queue in the lists; in Linux, the first in the table.
    fn fattest(&self) -> u32 {
        let bytes = |index: u32| self.queues[index as usize].fifo.bytes();
        self.lists
            .iter(&self.queues)
            .reduce(|most, next| {
                if bytes(next) > bytes(most) {
                    next
                } else {
                    most
                }
            })
            .expect("the newcomer's queue is on a list")
    }

    /// Drops packets until the newcomer, which is in its queue already, fits or is dropped itself. As `fq_codel_drop`
    /// of Linux: from the head of the fattest queue, until half of its bytes are gone, but at most a batch. `CoDel`
    /// counts these drops as its own.
    #[inline(never)]
    fn make_room(&mut self, offer: &Offer<'_>, packets: &mut WaitingPackets) -> Admission {
        let mut backlog = offer.backlog;
        let newcomer_bytes = packets[offer.packet].packet.frame_bytes;
        while !self.buffer.fits(backlog, newcomer_bytes) {
            let fattest = self.fattest();
            let FlowQueue { fifo, control, .. } = &mut self.queues[fattest as usize];
            let kept_bytes = fifo.bytes() - fifo.bytes() / 2;
            for _ in 0..DROP_BATCH {
                let packet = fifo.pop(packets).expect("more bytes than are kept");
                control.count_pushed_out();
                if packet == offer.packet {
                    return Admission::Dropped(Reason::Share);
                }
                backlog.bytes -= packets[packet].packet.frame_bytes;
                backlog.packets -= 1;
                packets.drop_queued(packet, Reason::PushedOut);
                if fifo.bytes() <= kept_bytes {
                    break;
                }
            }
        }
        Admission::Accepted
    }
}

impl PacketScheduler for FqCoDel {
    fn enqueue(&mut self, offer: &Offer<'_>, packets: &mut WaitingPackets) -> Admission {
        let PacketView {
            frame_bytes, flow, ..
        } = packets[offer.packet].packet;
        if let Some(passed) = self.passed.take() {
            self.begin_anew(passed);
        }
        let index = self.queue_of(flow);
        self.lists.activate(index, &mut self.queues);
        self.queues[index as usize].fifo.push(offer.packet, packets);
        if self.buffer.fits(offer.backlog, frame_bytes) {
            return Admission::Accepted;
        }
        self.make_room(offer, packets)
    }

    #[inline]
    fn pass(&mut self, _: Instant, packet: &PacketView) -> Option<Admission> {
        if !self.buffer.fits(NOTHING, packet.frame_bytes) {
            return Some(Admission::Dropped(Reason::Full));
        }
        self.passed = Some(Passed {
            flow: packet.flow,
            frame_bytes: packet.frame_bytes,
        });
        Some(Admission::Accepted)
    }

    fn dequeue(&mut self, now: Instant, packets: &mut WaitingPackets) -> Option<Handle> {
        let (queues, lists) = (&mut *self.queues, &mut self.lists);
        while let Some(index) = lists.turn(queues) {
            let FlowQueue {
                control,
                fifo,
                credits,
                ..
            } = &mut queues[index as usize];
            if let Some(packet) = control.dequeue(now, fifo, &self.codel, packets) {
                *credits -= i64::from(packets[packet].packet.frame_bytes);
                return Some(packet);
            }
            lists.retire(index, queues);
        }
        self.passed = None;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{TestPort, packet};
    use super::*;

    fn port(limit_packets: u32) -> TestPort<FqCoDel> {
        port_with(DropTail::packets(limit_packets))
    }

    fn port_with(buffer: DropTail) -> TestPort<FqCoDel> {
        let codel = Parameters {
            target: Duration::from_ms(5),
            interval: Duration::from_ms(100),
            ecn: true,
            max_packet_bytes: 1518,
        };
        TestPort::new(FqCoDel::new(buffer, 1024, 1518, codel, 1))
    }

    fn next(port: &mut TestPort<FqCoDel>) -> Option<u32> {
        port.send().map(|sent| sent.packet.flow)
    }

    #[test]
    fn a_flow_that_begins_goes_before_those_that_are_backlogged() {
        let mut port = port(1000);
        (0..10).for_each(|n| {
            port.enter(packet(n % 2, 1518));
        });
        let first: Vec<_> = (0..4).filter_map(|_| next(&mut port)).collect();
        assert_eq!(first, [0, 1, 0, 1]);
        port.enter(packet(7, 1518));
        assert_eq!(next(&mut port), Some(7));
        assert_eq!(next(&mut port), Some(0));
    }

    #[test]
    fn a_flow_of_one_packet_at_a_time_does_not_starve_the_others() {
        let mut port = port(1000);
        (0..20).for_each(|_| {
            port.enter(packet(0, 1518));
        });
        let mut sent = [0, 0];
        for _ in 0..20 {
            port.enter(packet(1, 1518)); // it is back as soon as its packet has left
            sent[next(&mut port).unwrap() as usize] += 1;
        }
        assert!(sent[0] >= 9, "{sent:?}");
    }

    #[test]
    fn a_packet_that_finds_the_line_free_finds_no_queue_on_the_lists() {
        let mut port = port(1000);
        (0..2).for_each(|_| {
            port.enter(packet(0, 1518));
        });
        (0..2).for_each(|_| assert_eq!(next(&mut port), Some(0)));
        port.scheduler.pass(port.now, &packet(1, 1518));
        port.enter(packet(0, 1518));
        port.enter(packet(1, 1518));
        // Flow 1 has used up its turn. If flow 0 were still among the old queues, it would come last.
        assert_eq!(port.flows_sent(), [0, 1]);
    }

    #[test]
    fn beyond_the_limit_the_fattest_queue_loses_half_from_its_head() {
        let mut port = port(100);
        (0..100).for_each(|n| {
            port.enter(packet(u32::from(n >= 80), 1518));
        });
        assert_eq!(port.enter(packet(1, 1518)), Admission::Accepted);
        assert_eq!(port.dropped(), vec![(0, Reason::PushedOut); 40]);
    }

    /// `fq_codel_drop` stops at half of the bytes, not of the packets, and after 64 packets.
    #[test]
    fn half_is_half_of_the_bytes_and_at_most_a_batch() {
        let mut port = port(20);
        (0..20).for_each(|n| {
            port.enter(packet(0, if n < 10 { 100 } else { 1000 }));
        });
        // of 11,000 bytes the first 5,500 are 10 short packets and 5 long ones
        assert_eq!(port.enter(packet(1, 100)), Admission::Accepted);
        assert_eq!(port.dropped().len(), 15);

        let mut port = self::port(1000);
        (0..1000).for_each(|_| {
            port.enter(packet(0, 100));
        });
        assert_eq!(port.enter(packet(1, 100)), Admission::Accepted);
        assert_eq!(port.dropped().len(), 64);
    }

    /// `fq_codel_enqueue` puts the newcomer into its queue before it looks for the fattest.
    #[test]
    fn the_newcomer_counts_in_its_queue_and_may_be_what_is_dropped() {
        let mut port = port(4);
        for flow in [0, 0, 1, 1] {
            port.enter(packet(flow, 1000));
        }
        // with this one flow 1 has most, 3000 bytes; one packet less is not yet half
        assert_eq!(port.enter(packet(1, 1000)), Admission::Accepted);
        assert_eq!(port.dropped(), vec![(1, Reason::PushedOut); 2]);

        let mut port = self::port(2);
        (0..2).for_each(|_| {
            port.enter(packet(0, 100));
        });
        let refused = Admission::Dropped(Reason::Share);
        assert_eq!(port.enter(packet(1, 1000)), refused);
        assert_eq!(port.dropped(), []);
        assert_eq!(port.flows_sent(), [0, 0]);
    }

    /// "Tell codel to increase its signal strength also" (`fq_codel_drop`).
    #[test]
    fn packets_that_were_pushed_out_count_in_the_rate_of_drops() {
        let mut port = port(100);
        let enter = |port: &mut TestPort<FqCoDel>, n| {
            (0..n).for_each(|_| assert!(port.enter(packet(0, 1518)).is_accepted()));
        };
        let drops_at = |port: &mut TestPort<FqCoDel>, ms| {
            port.now = Instant::from_ms(ms);
            port.send();
            port.dropped()
        };
        enter(&mut port, 100);
        assert_eq!(drops_at(&mut port, 10), []);
        assert_eq!(drops_at(&mut port, 110), [(0, Reason::Early)]);
        enter(&mut port, 4);
        assert_eq!(port.dropped(), vec![(0, Reason::PushedOut); 51]);
        assert_eq!(drops_at(&mut port, 210), [(0, Reason::Early)]);
        // the next drop comes after 100 ms / sqrt(53); without the others it would be after 100 ms / sqrt(2)
        assert_eq!(drops_at(&mut port, 223), []);
        assert_eq!(drops_at(&mut port, 224), [(0, Reason::Early)]);
    }

    #[test]
    fn as_many_queues_lose_packets_as_it_takes_to_make_room() {
        let mut port = port_with(DropTail::bytes(800));
        (0..8).for_each(|n| {
            port.enter(packet(n % 2, 100));
        });
        // half of one queue is 200 bytes
        assert_eq!(port.enter(packet(2, 390)), Admission::Accepted);
        let lost: Vec<u32> = port.dropped().into_iter().map(|(flow, _)| flow).collect();
        assert_eq!(lost, [0, 0, 1, 1]);
    }

    #[test]
    fn of_two_queues_alike_fat_the_first_loses() {
        let mut port = port(100);
        (0..100).for_each(|n| {
            port.enter(packet(n % 2, 1518));
        });
        assert_eq!(port.enter(packet(2, 1518)), Admission::Accepted);
        assert_eq!(port.dropped(), vec![(0, Reason::PushedOut); 25]);
    }
}

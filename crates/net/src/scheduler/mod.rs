//! Queue disciplines that decide when a packet leaves: which of those that wait goes next, and
//! whether one that waited is dropped or marked after all.
//!
//! A port with one of these keeps its packets here until it sends them (`network/scheduled.rs`). A discipline is one file, one variant of [`Scheduler`] and its arms.

mod codel;
mod drr;
mod fifo;
#[cfg(test)]
mod fixtures;
mod fq_codel;
mod hash;
mod linux_sfq;
mod sfq;
mod shared_buffer;
mod strict_priority;
mod waiting;

use fairport_units::Time;

use crate::discipline::{Backlog, PacketView, Verdict};
use crate::pool::Handle;
pub use codel::{CoDel, CoDelConfig};
pub use drr::Drr;
pub use fq_codel::{FqCoDel, FqCoDelConfig};
pub use linux_sfq::{LinuxSfq, LinuxSfqConfig};
pub use sfq::Sfq;
pub use shared_buffer::{SharedBuffer, SwitchMemory};
pub use strict_priority::StrictPriority;
pub(crate) use waiting::{Waiting, WaitingPackets};

/// Between which hosts a packet goes, by their numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Addresses {
    /// at which its route begins
    pub(crate) source: u32,
    /// at which its route ends
    pub(crate) destination: u32,
}

/// A port's queue discipline. An enum, not a trait object, as
/// [`Discipline`](crate::discipline::Discipline) is.
#[derive(Clone, Debug)]
pub enum Scheduler {
    /// stochastic fair queueing as in ns-2
    Sfq(Sfq),
    /// stochastic fair queueing as in Linux
    LinuxSfq(LinuxSfq),
    /// deficit round robin over flows
    Drr(Drr),
    /// drops at the head by the time in the queue
    CoDel(CoDel),
    /// fair queueing with `CoDel`
    FqCoDel(FqCoDel),
    /// packets of short flows first
    StrictPriority(StrictPriority),
    /// one memory for the ports of a switch
    SharedBuffer(SharedBuffer),
}

impl Scheduler {
    /// Whether what waits at other ports of its switch counts, too.
    #[inline]
    pub(crate) fn shares_memory(&self) -> bool {
        matches!(self, Self::SharedBuffer(_))
    }

    /// Queues an arriving packet, which has its record in the `room`, or refuses it. `backlog` is
    /// what waits at the port without it; packets that have to go so that it can come are lost in
    /// the room. `addresses` takes a while to find out.
    #[inline]
    pub(crate) fn enqueue(
        &mut self,
        backlog: Backlog,
        addresses: impl FnOnce() -> Addresses,
        packet: Handle,
        room: &mut WaitingPackets,
    ) -> Verdict {
        match self {
            Self::Sfq(sfq) => sfq.enqueue(backlog, addresses(), packet, room),
            Self::LinuxSfq(sfq) => sfq.enqueue(backlog, packet, room),
            Self::Drr(drr) => drr.enqueue(backlog, packet, room),
            Self::CoDel(codel) => codel.enqueue(backlog, packet, room),
            Self::FqCoDel(fq_codel) => fq_codel.enqueue(backlog, packet, room),
            Self::StrictPriority(pair) => pair.enqueue(packet, room),
            Self::SharedBuffer(shared) => shared.enqueue(packet, room),
        }
    }

    /// The verdict on a packet that is sent as it arrives, if it is let in, because the line is free
    /// and nobody waits: what a packet does that is queued and taken out again, without its queue.
    #[inline]
    pub(crate) fn pass(&mut self, now: Time, packet: &PacketView) -> Verdict {
        match self {
            Self::Sfq(sfq) => sfq.pass(),
            Self::LinuxSfq(sfq) => sfq.pass(now),
            Self::Drr(drr) => drr.pass(packet),
            Self::CoDel(codel) => codel.pass(packet),
            Self::FqCoDel(fq_codel) => fq_codel.pass(packet),
            Self::StrictPriority(pair) => pair.pass(packet),
            Self::SharedBuffer(shared) => shared.pass(packet),
        }
    }

    /// The packet to be sent at `now`; none when nothing is left. Packets that are dropped instead
    /// of being sent are lost in the `room`.
    #[inline]
    pub(crate) fn dequeue(&mut self, now: Time, room: &mut WaitingPackets) -> Option<Handle> {
        match self {
            Self::Sfq(sfq) => sfq.dequeue(room),
            Self::LinuxSfq(sfq) => sfq.dequeue(now, room),
            Self::Drr(drr) => drr.dequeue(room),
            Self::CoDel(codel) => codel.dequeue(now, room),
            Self::FqCoDel(fq_codel) => fq_codel.dequeue(now, room),
            Self::StrictPriority(pair) => pair.dequeue(room),
            Self::SharedBuffer(shared) => shared.dequeue(room),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fixtures::{TestPort, packet};
    use super::*;
    use crate::discipline::DropTail;
    use crate::stream::Stream;

    fn schedulers() -> Vec<Scheduler> {
        let limit = DropTail::packets(12);
        let codel = CoDelConfig {
            target: Time::from_us(20),
            interval: Time::from_us(100),
            ecn: false,
            max_packet_bytes: 1518,
        };
        let fq_codel = FqCoDelConfig {
            limit: limit.clone(),
            queues: 4,
            quantum_bytes: 1000,
            codel,
        };
        let linux_sfq = LinuxSfqConfig {
            limit_packets: 12,
            depth_packets: 12,
            divisor: 4,
            flows: 4,
            quantum_bytes: 1000,
            perturb: Time::from_us(500),
        };
        vec![
            Scheduler::Sfq(Sfq::new(12, 4, 1, Vec::new())),
            Scheduler::LinuxSfq(LinuxSfq::new(linux_sfq, Stream::new(1, "queue", 0))),
            Scheduler::Drr(Drr::new(limit.clone(), 500)),
            Scheduler::CoDel(CoDel::new(limit.clone(), codel)),
            Scheduler::FqCoDel(FqCoDel::new(fq_codel, 1)),
            Scheduler::StrictPriority(StrictPriority::new(limit)),
            Scheduler::SharedBuffer(SharedBuffer::new(SwitchMemory::new(20_000), 2.0)),
        ]
    }

    /// What becomes of packets that come in bursts, of which one leaves in 12 us until none is
    /// left: verdicts, the order in which they go, and how many are lost afterwards. The first of
    /// each burst passes, or is queued and taken out again.
    fn outcome(scheduler: Scheduler, passes: bool) -> (Vec<Verdict>, Vec<u32>, usize) {
        let mut stream = Stream::new(1, "test", 0);
        let (mut verdicts, mut sent) = (Vec::new(), Vec::new());
        let mut port = TestPort::new(scheduler);
        for _ in 0..4000 {
            for place in 0..=stream.up_to(15) * stream.up_to(1) {
                let flow = stream.up_to(5) as u32;
                let packet = packet(flow, 64 + stream.up_to(1454) as u32);
                if place == 0 && passes {
                    verdicts.push(port.scheduler.pass(port.now, &packet));
                    sent.push(packet.frame_bytes);
                    continue;
                }
                verdicts.push(port.enter(packet));
                if place == 0 {
                    let first = port.send().expect("it has just come");
                    sent.push(first.packet.frame_bytes);
                }
            }
            port.now += Time::from_us(12);
            while let Some(next) = port.send() {
                sent.push(next.packet.frame_bytes);
                port.now += Time::from_us(12);
            }
        }
        (verdicts, sent, port.lost().len())
    }

    #[test]
    fn a_packet_that_passes_leaves_what_one_leaves_that_is_queued_and_taken_out() {
        for scheduler in schedulers() {
            let passed = outcome(scheduler.clone(), true);
            assert!(passed == outcome(scheduler.clone(), false), "{scheduler:?}");
        }
    }
}

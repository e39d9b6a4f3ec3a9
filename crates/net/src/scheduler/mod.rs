//! Queue disciplines that decide when a packet leaves: which of those that wait goes next, and
//! whether one that waited is dropped or marked after all.
//!
//! A port with one of these has a departure event and keeps its packets here until it sends them
//! (`network/scheduled.rs`). A discipline is one file, one variant of [`Scheduler`] and its arms.

mod codel;
mod drr;
mod fq_codel;
mod hash;
mod lane;
mod linux_sfq;
mod sfq;
mod shared_buffer;
mod strict_priority;

use fairport_units::Time;

use crate::discipline::{Backlog, Reason, Verdict};
use crate::packet::{ECN_BITS, NOT_ECT};
use crate::pool::Handle;
pub use codel::{CoDel, CoDelConfig};
pub use drr::Drr;
pub use fq_codel::{FqCoDel, FqCoDelConfig};
pub use linux_sfq::{LinuxSfq, LinuxSfqConfig};
pub use sfq::Sfq;
pub use shared_buffer::{SharedBuffer, SwitchMemory};
pub use strict_priority::StrictPriority;

/// A packet that waits at a port: what its discipline may look at.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// when it came
    pub arrived: Time,
    /// what it takes in the buffer
    pub frame_bytes: u32,
    /// the flow it belongs to; both directions of a flow have the same number
    pub flow: u32,
    /// traffic class
    pub class: u8,
    /// ECN codepoint of its IP header
    pub ecn: u8,
    /// whether the discipline has marked it
    pub marked: bool,
    pub(crate) handle: Handle,
}

impl Waiting {
    /// Whether it may be marked: its codepoint is ECT(0), ECT(1) or already CE (RFC 3168 5).
    pub fn is_ecn_capable(&self) -> bool {
        self.ecn & ECN_BITS != NOT_ECT
    }
}

/// Between which hosts a packet goes, by their numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Addresses {
    /// at which its route begins
    pub(crate) source: u32,
    /// at which its route ends
    pub(crate) destination: u32,
}

/// Packets that were accepted and are dropped all the same, and why.
pub(crate) type Lost = Vec<(Waiting, Reason)>;

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
    /// Queues an arriving packet or refuses it. `backlog` is what waits at the port without it;
    /// packets that have to go so that it can come are added to `lost`. `addresses` are filled for
    /// SFQ alone.
    pub(crate) fn enqueue(
        &mut self,
        backlog: Backlog,
        addresses: Addresses,
        packet: Waiting,
        lost: &mut Lost,
    ) -> Verdict {
        match self {
            Self::Sfq(sfq) => sfq.enqueue(backlog, addresses, packet),
            Self::LinuxSfq(sfq) => sfq.enqueue(backlog, packet, lost),
            Self::Drr(drr) => drr.enqueue(backlog, packet, lost),
            Self::CoDel(codel) => codel.enqueue(backlog, packet),
            Self::FqCoDel(fq_codel) => fq_codel.enqueue(backlog, packet, lost),
            Self::StrictPriority(pair) => pair.enqueue(packet),
            Self::SharedBuffer(shared) => shared.enqueue(packet),
        }
    }

    /// The verdict on a packet that is sent as it arrives, if it is let in, because the line is free
    /// and nobody waits: what a packet does that is queued and taken out again, without its queue.
    pub(crate) fn pass(&mut self, packet: &Waiting) -> Verdict {
        match self {
            Self::Sfq(sfq) => sfq.pass(),
            Self::LinuxSfq(sfq) => sfq.pass(packet),
            Self::Drr(drr) => drr.pass(packet),
            Self::CoDel(codel) => codel.pass(packet),
            Self::FqCoDel(fq_codel) => fq_codel.pass(packet),
            Self::StrictPriority(pair) => pair.pass(packet),
            Self::SharedBuffer(shared) => shared.pass(packet),
        }
    }

    /// The packet to be sent at `now`; none when nothing is left. Packets that are dropped instead
    /// of being sent are added to `lost`.
    pub(crate) fn dequeue(&mut self, now: Time, lost: &mut Lost) -> Option<Waiting> {
        match self {
            Self::Sfq(sfq) => sfq.dequeue(),
            Self::LinuxSfq(sfq) => sfq.dequeue(now),
            Self::Drr(drr) => drr.dequeue(),
            Self::CoDel(codel) => codel.dequeue(now, lost),
            Self::FqCoDel(fq_codel) => fq_codel.dequeue(now, lost),
            Self::StrictPriority(pair) => pair.dequeue(),
            Self::SharedBuffer(shared) => shared.dequeue(),
        }
    }
}

#[cfg(test)]
impl Waiting {
    /// A packet of a flow, for tests: its class is the flow's number.
    pub(crate) fn of(flow: u32, frame_bytes: u32) -> Self {
        Self {
            arrived: Time::ZERO,
            frame_bytes,
            flow,
            class: flow as u8,
            ecn: NOT_ECT,
            marked: false,
            handle: Handle::at(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::{DropTail, NOTHING};
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
    fn outcome(mut scheduler: Scheduler, passes: bool) -> (Vec<Verdict>, Vec<u32>, usize) {
        let mut stream = Stream::new(1, "test", 0);
        let (mut verdicts, mut sent, mut lost) = (Vec::new(), Vec::new(), Lost::new());
        let mut now = Time::ZERO;
        for _ in 0..4000 {
            let mut backlog = NOTHING;
            for place in 0..=stream.up_to(15) * stream.up_to(1) {
                let packet = Waiting {
                    arrived: now,
                    ..Waiting::of(stream.up_to(5) as u32, 64 + stream.up_to(1454) as u32)
                };
                let addresses = Addresses {
                    source: packet.flow,
                    destination: 0,
                };
                if place == 0 && passes {
                    verdicts.push(scheduler.pass(&packet));
                    sent.push(packet.frame_bytes);
                    continue;
                }
                let verdict = scheduler.enqueue(backlog, addresses, packet, &mut lost);
                verdicts.push(verdict);
                if place == 0 {
                    let first = scheduler.dequeue(now, &mut lost);
                    sent.push(first.expect("it has just come").frame_bytes);
                } else if verdict.lets_in() {
                    backlog.packets += 1;
                    backlog.bytes += packet.frame_bytes;
                }
            }
            now += Time::from_us(12);
            while let Some(next) = scheduler.dequeue(now, &mut lost) {
                sent.push(next.frame_bytes);
                now += Time::from_us(12);
            }
        }
        (verdicts, sent, lost.len())
    }

    #[test]
    fn a_packet_that_passes_leaves_what_one_leaves_that_is_queued_and_taken_out() {
        for scheduler in schedulers() {
            let passed = outcome(scheduler.clone(), true);
            assert!(passed == outcome(scheduler.clone(), false), "{scheduler:?}");
        }
    }
}

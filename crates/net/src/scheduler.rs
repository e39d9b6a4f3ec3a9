//! Queue disciplines that decide when a packet leaves: which waiting packet is sent next, and whether a waiting packet
//! is dropped or marked after all.
//!
//! A port with such a discipline keeps its packets until it sends them (`network/scheduled.rs`). A discipline is one
//! file here, which implements [`PacketScheduler`], and one line in [`queue`](crate::queue).

pub mod codel;
pub mod drr;
mod fifo;
#[cfg(test)]
mod fixtures;
pub mod fq_codel;
mod hash;
pub mod linux_sfq;
pub mod port_fair;
mod push_out;
pub mod sfq;
pub mod shared_buffer;
pub mod strict_priority;
mod waiting;

use std::fmt;

use fairport_units::Instant;

use crate::discipline::{Admission, Backlog, PacketView};
use crate::packet::Addresses;
pub use crate::pool::Handle;
pub use codel::CoDel;
pub use drr::Drr;
pub use fifo::PacketFifo;
pub use fq_codel::FqCoDel;
pub use linux_sfq::LinuxSfq;
pub use port_fair::PortFair;
pub use sfq::Sfq;
pub use shared_buffer::{SharedBuffer, SwitchMemory};
pub use strict_priority::StrictPriority;
pub use waiting::{Waiting, WaitingPackets};

/// An arriving packet that a scheduler may queue.
pub struct Offer<'a> {
    /// the packet, which has a record in the [`WaitingPackets`]
    pub packet: Handle,
    /// what waits at the port, without the packet
    pub backlog: Backlog,
    addresses: &'a dyn Fn() -> Addresses,
}

impl<'a> Offer<'a> {
    /// Offers a packet; `addresses` finds its addresses when they are needed.
    pub fn new(packet: Handle, backlog: Backlog, addresses: &'a dyn Fn() -> Addresses) -> Self {
        Self {
            packet,
            backlog,
            addresses,
        }
    }

    /// The hosts between which the packet travels. This reads the packet's route.
    pub fn addresses(&self) -> Addresses {
        (self.addresses)()
    }
}

/// A discipline that decides when a packet leaves.
///
/// It holds the handles of accepted packets, in queues such as [`PacketFifo`], and may drop any of them later with
/// [`WaitingPackets::drop_queued`]. Each accepted packet must be returned by [`PacketScheduler::dequeue`] or dropped,
/// exactly once; otherwise the run panics.
pub trait PacketScheduler: fmt::Debug + Send + Sync {
    /// Queues an arriving packet, or refuses it. It may drop packets that it holds to make room.
    fn enqueue(&mut self, offer: &Offer<'_>, packets: &mut WaitingPackets) -> Admission;

    /// Removes the packet to be sent at `now`. None if nothing is left. Packets may be dropped before it.
    fn dequeue(&mut self, now: Instant, packets: &mut WaitingPackets) -> Option<Handle>;

    /// A short cut for a packet that finds the line free and no packet waiting, and is sent as it arrives. It returns
    /// the admission, and changes the state exactly as if the packet had been queued and removed again. If it returns
    /// none, that is what happens.
    ///
    /// Most packets at most ports take this path. If every port of a fat-tree has DRR, SFQ, `CoDel` or FQ-CoDel, a
    /// whole run takes 16 to 30 % more instructions without it (k = 4 and k = 8, TCP included).
    #[inline]
    fn pass(&mut self, now: Instant, packet: &PacketView) -> Option<Admission> {
        let _ = (now, packet);
        None
    }

    /// Whether what waits at other ports of the switch matters as well.
    #[inline]
    fn shares_memory(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use fairport_units::Duration;

    use super::fixtures::{TestPort, packet};
    use super::*;
    use crate::discipline::DropTail;
    use crate::queue::Scheduler;
    use crate::stream::Stream;

    fn schedulers() -> Vec<Scheduler> {
        let buffer = || DropTail::packets(12);
        let codel = codel::Parameters {
            target: Duration::from_us(20),
            interval: Duration::from_us(100),
            ecn: false,
            max_packet_bytes: 1518,
        };
        let linux_sfq = linux_sfq::Config {
            limit_packets: 12,
            depth_packets: 12,
            divisor: 4,
            flows: 4,
            quantum_bytes: None,
            perturb_ps: Duration::from_us(500),
        };
        let stream = Stream::new(1, "queue", 0);
        vec![
            Scheduler::Sfq(Sfq::new(12, 4, 1, Vec::new())),
            Scheduler::LinuxSfq(LinuxSfq::new(linux_sfq, 1000, stream)),
            Scheduler::Drr(Drr::new(buffer(), 500)),
            Scheduler::PortFair(PortFair::new(buffer())),
            Scheduler::Codel(CoDel::new(buffer(), codel)),
            Scheduler::FqCodel(FqCoDel::new(buffer(), 4, 1000, codel, 1)),
            Scheduler::StrictPriority(StrictPriority::new(buffer())),
            Scheduler::SharedBuffer(SharedBuffer::new(SwitchMemory::new(20_000), 2.0)),
        ]
    }

    /// What happens to packets that arrive in bursts while one is sent every 12 us until none is left: the admissions,
    /// the order in which they are sent, and how many are dropped after being accepted. The first packet of each burst
    /// passes, or is queued and removed again.
    fn outcome(scheduler: Scheduler, passes: bool) -> (Vec<Admission>, Vec<u32>, usize) {
        let mut stream = Stream::new(1, "test", 0);
        let (mut admissions, mut sent) = (Vec::new(), Vec::new());
        let mut port = TestPort::new(scheduler);
        for _ in 0..4000 {
            for place in 0..=stream.up_to(15) * stream.up_to(1) {
                let flow = stream.up_to(5) as u32;
                let packet = packet(flow, 64 + stream.up_to(1454) as u32);
                if place == 0 && passes {
                    let admission = port.scheduler.pass(port.now, &packet);
                    admissions.push(admission.expect("the scheduler has the short cut"));
                    sent.push(packet.frame_bytes);
                    continue;
                }
                admissions.push(port.enter(packet));
                if place == 0 {
                    let first = port.send().expect("the packet has just arrived");
                    sent.push(first.packet.frame_bytes);
                }
            }
            port.now += Duration::from_us(12);
            while let Some(next) = port.send() {
                sent.push(next.packet.frame_bytes);
                port.now += Duration::from_us(12);
            }
        }
        (admissions, sent, port.dropped().len())
    }

    #[test]
    fn a_packet_that_passes_leaves_what_one_leaves_that_is_queued_and_taken_out() {
        for (one, other) in schedulers().into_iter().zip(schedulers()) {
            let name = format!("{one:?}");
            assert!(outcome(one, true) == outcome(other, false), "{name}");
        }
    }
}

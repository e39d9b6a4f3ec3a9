//! The shared buffer of a switch with dynamic thresholds: no queue may be longer than alpha times the free memory
//! (Choudhury & Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM Transactions on
//! Networking 6(2), 1998). A port may mark above a threshold of its own queue, as the switches of the DCTCP paper do
//! (Alizadeh et al., SIGCOMM 2010).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use fairport_units::Instant;
use serde::{Deserialize, Serialize};

use super::{Handle, Offer, PacketFifo, PacketScheduler, WaitingPackets};
use crate::BuildError;
use crate::context::PortContext;
use crate::discipline::{Admission, PacketView, Reason};
use crate::limit::Limit;

/// A shared buffer, in the plan of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// memory of each switch, in bytes
    pub memory_bytes: u32,
    /// a queue's threshold divided by the free memory
    pub alpha: f64,
    /// the threshold K of a port's queue, from which on packets are marked; none marks nothing
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark_above: Option<Limit>,
}

impl Config {
    pub(crate) fn build(&self, port: &PortContext<'_>) -> Result<SharedBuffer, BuildError> {
        if self.alpha.is_nan() || self.alpha <= 0.0 {
            let (problem, remedy) = ("admits no packet", "give a number above 0, such as 1.0");
            return Err(BuildError::new("queue.alpha", self.alpha, problem, remedy));
        }
        let memory = port.shared(|| SwitchMemory::new(self.memory_bytes));
        Ok(SharedBuffer {
            mark_above: self.mark_above,
            ..SharedBuffer::new(memory, self.alpha)
        })
    }
}

/// The memory that the ports of one switch share. A clone refers to the same memory.
///
/// The counter is atomic because a run may move from thread to thread. No two threads use it at the same time.
#[derive(Clone, Debug)]
pub struct SwitchMemory {
    size_bytes: u32,
    used_bytes: Arc<AtomicU32>,
}

impl SwitchMemory {
    /// An empty memory of `size_bytes`.
    pub fn new(size_bytes: u32) -> Self {
        Self {
            size_bytes,
            used_bytes: Arc::default(),
        }
    }

    fn free_bytes(&self) -> u32 {
        self.size_bytes - self.used_bytes.load(Relaxed)
    }

    fn take(&self, bytes: u32) {
        self.used_bytes.fetch_add(bytes, Relaxed);
    }

    fn give_back(&self, bytes: u32) {
        self.used_bytes.fetch_sub(bytes, Relaxed);
    }
}

/// One port's first-in-first-out queue in a shared memory.
///
/// A packet is accepted while the port's queue is shorter than alpha times the free memory. With n full ports, each
/// holds alpha / (1 + alpha n) of the memory, and some of it stays free for a port that was idle.
#[derive(Clone, Debug)]
pub struct SharedBuffer {
    memory: SwitchMemory,
    alpha: f64,
    mark_above: Option<Limit>,
    fifo: PacketFifo,
}

impl SharedBuffer {
    /// A port's empty queue in `memory`, which marks nothing. `alpha` is above 0; in real switches it is a power of two from 1/128 to 8.
    pub fn new(memory: SwitchMemory, alpha: f64) -> Self {
        assert!(alpha > 0.0);
        Self {
            memory,
            alpha,
            mark_above: None,
            fifo: PacketFifo::default(),
        }
    }

    fn admission(&self, packet: &PacketView) -> Admission {
        let free = self.memory.free_bytes();
        if packet.frame_bytes > free {
            return Admission::Dropped(Reason::Full);
        }
        // a single product of two IEEE 754 numbers, which is the same on every machine
        if f64::from(self.fifo.bytes()) >= self.alpha * f64::from(free) {
            return Admission::Dropped(Reason::Share);
        }
        Admission::Accepted
    }
}

impl PacketScheduler for SharedBuffer {
    /// What waits at the other ports of the switch matters as well.
    #[inline]
    fn shares_memory(&self) -> bool {
        true
    }

    fn enqueue(&mut self, offer: &Offer<'_>, packets: &mut WaitingPackets) -> Admission {
        let view = packets[offer.packet].packet;
        let admission = self.admission(&view);
        if admission == Admission::Accepted {
            let is_above = |threshold: Limit| threshold.is_reached(offer.backlog);
            packets[offer.packet].marked =
                view.is_ecn_capable() && self.mark_above.is_some_and(is_above);
            self.memory.take(view.frame_bytes);
            self.fifo.push(offer.packet, packets);
        }
        admission
    }

    /// A packet that is sent at once takes no memory, and finds no queue above a threshold.
    fn pass(&mut self, _: Instant, packet: &PacketView) -> Option<Admission> {
        Some(self.admission(packet))
    }

    fn dequeue(&mut self, _: Instant, packets: &mut WaitingPackets) -> Option<Handle> {
        let packet = self.fifo.pop(packets)?;
        self.memory.give_back(packets[packet].packet.frame_bytes);
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{TestPort, packet};
    use super::*;
    use crate::packet::CE;

    /// Fills the ports in turn until none accepts any more. Returns what each holds.
    fn filled(ports: &mut [TestPort<SharedBuffer>]) -> Vec<u32> {
        let enter = |port: &mut TestPort<SharedBuffer>| port.enter(packet(0, 100));
        loop {
            let admissions: Vec<Admission> = ports.iter_mut().map(enter).collect();
            if admissions
                .iter()
                .all(|admission| *admission != Admission::Accepted)
            {
                break;
            }
        }
        ports.iter().map(|port| port.backlog.bytes).collect()
    }

    fn ports(n: usize, alpha: f64) -> Vec<TestPort<SharedBuffer>> {
        let memory = SwitchMemory::new(1_200_000);
        let port = || SharedBuffer::new(memory.clone(), alpha);
        (0..n).map(|_| TestPort::new(port())).collect()
    }

    #[test]
    fn n_full_ports_hold_alpha_over_1_plus_alpha_n_each() {
        for (n, alpha, share) in [(1, 1.0, 1.0 / 2.0), (2, 1.0, 1.0 / 3.0), (3, 0.5, 0.2)] {
            for held in filled(&mut ports(n, alpha)) {
                let expected = share * 1_200_000.0;
                assert!(
                    (f64::from(held) - expected).abs() <= 100.0,
                    "{n}, {alpha}: {held}"
                );
            }
        }
    }

    #[test]
    fn a_threshold_of_nothing_is_refused() {
        let topology = crate::topology::star(2).expect("two hosts");
        let network = crate::context::NetworkContext::new(&topology, 1, 1518);
        let rate = fairport_units::Rate::from_bps(1);
        let port = network.port(crate::PortId(1), rate);
        let is_built = |alpha| {
            let config = Config {
                memory_bytes: 10_000,
                alpha,
                mark_above: None,
            };
            config.build(&port).is_ok()
        };
        let built = [0.01, 1.0, 0.0, -1.0, f64::NAN].map(is_built);
        assert_eq!(built, [true, true, false, false, false]);
    }

    #[test]
    fn what_does_not_fit_into_the_memory_is_dropped_below_the_threshold_too() {
        let mut port = TestPort::new(SharedBuffer::new(SwitchMemory::new(1000), 16.0));
        let admissions = [300, 300, 300, 300, 100].map(|bytes| port.enter(packet(0, bytes)));
        let (taken, full) = (Admission::Accepted, Admission::Dropped(Reason::Full));
        assert_eq!(admissions, [taken, taken, taken, full, taken]);
    }

    #[test]
    fn a_queue_as_long_as_its_threshold_takes_no_more() {
        let memory = SwitchMemory::new(400);
        let mut port = TestPort::new(SharedBuffer::new(memory, 1.0));
        assert_eq!(port.enter(packet(0, 100)), Admission::Accepted);
        assert_eq!(port.enter(packet(0, 100)), Admission::Accepted);
        // 200 B are queued and 200 B are free, so the threshold is 200 B
        let third = port.enter(packet(0, 100));
        assert_eq!(third, Admission::Dropped(Reason::Share));
    }

    #[test]
    fn a_port_that_was_idle_finds_room_beside_a_full_one() {
        let mut both = ports(2, 8.0);
        let alone = filled(&mut both[..1])[0];
        assert!(alone.abs_diff(1_200_000 * 8 / 9) <= 100, "{alone}");
        assert_eq!(both[1].enter(packet(0, 100)), Admission::Accepted);
    }

    #[test]
    fn with_k_2_the_third_packet_of_a_port_is_the_first_to_be_marked() {
        let memory = SwitchMemory::new(10_000);
        let marking = |threshold| SharedBuffer {
            mark_above: Some(threshold),
            ..SharedBuffer::new(memory.clone(), 1.0)
        };
        let capable = PacketView {
            ecn: CE, // already marked elsewhere: as capable as before
            ..packet(0, 100)
        };
        for threshold in [Limit::Packets(2), Limit::Bytes(200)] {
            let [mut port, mut other] = [0; 2].map(|_| TestPort::new(marking(threshold)));
            // what waits at another port counts for the memory only
            other.enter(capable);
            other.enter(capable);
            let entering = [capable, capable, packet(0, 100), capable];
            let admissions = entering.map(|packet| port.enter(packet));
            assert_eq!(admissions, [Admission::Accepted; 4]);
            let marked = entering.map(|_| port.send().expect("four wait").marked);
            assert_eq!(marked, [false, false, false, true]);
            while other.send().is_some() {}
        }
    }

    #[test]
    fn what_is_sent_is_free_again_for_all() {
        let mut both = ports(2, 1.0);
        filled(&mut both);
        while both[0].send().is_some() {}
        let held = filled(&mut both[1..])[0];
        assert!(held.abs_diff(600_000) <= 100, "{held}");
    }
}

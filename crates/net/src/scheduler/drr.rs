//! Deficit round robin: one queue per flow; in turn, each sends the same number of bytes (Shreedhar & Varghese,
//! "Efficient Fair Queueing Using Deficit Round Robin", SIGCOMM 1995).

use std::collections::{HashMap, VecDeque};

use fairport_units::Instant;
use serde::{Deserialize, Serialize};

use super::push_out::{Leaving, PushOut};
use super::{Handle, Offer, PacketFifo, PacketScheduler, WaitingPackets, hash::BuildFlowHasher};
use crate::BuildError;
use crate::context::PortContext;
use crate::discipline::{Admission, DropTail, NOTHING, PacketView, Reason};
use crate::limit::Limit;

/// A DRR queue, in the plan of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// the limit of the buffer that all flows share
    pub limit: Limit,
    /// bytes per turn of a flow; without it, the size of one packet of the MTU
    pub quantum_bytes: Option<u32>,
}

impl Config {
    pub(crate) fn build(&self, port: &PortContext<'_>) -> Result<Drr, BuildError> {
        let buffer = port.buffer(self.limit)?;
        Ok(Drr::new(buffer, port.quantum(self.quantum_bytes)?))
    }
}

#[derive(Clone, Debug, Default)]
struct FlowQueue {
    flow: u32,
    fifo: PacketFifo,
    /// bytes that the flow may still send in this turn
    deficit: u32,
    /// whether the quantum of this turn was added to `deficit`
    has_turn: bool,
}

/// DRR with one queue per flow and one shared buffer. It uses memory for the flows that have packets here at the same
/// time, not for all flows of the run.
///
/// When the buffer is full, the longest queue loses its last packet. (The paper takes this "buffer stealing" from
/// `McKenney` and does not say which packet; ns-2 drops the first.) If the newcomer's queue is the longest, the
/// newcomer is refused.
#[derive(Clone, Debug)]
pub struct Drr {
    buffer: DropTail,
    quantum_bytes: u32,
    queues: Vec<FlowQueue>,
    /// queues that no flow uses
    free: Vec<u32>,
    /// the queue of each flow with packets here
    queue_of: HashMap<u32, u32, BuildFlowHasher>,
    /// queues with packets, in the order of their turns
    round: VecDeque<u32>,
    leaving: Leaving,
}

impl Drr {
    /// DRR without queues yet. Each flow's turn is `quantum_bytes` bytes, which is more than 0.
    pub fn new(buffer: DropTail, quantum_bytes: u32) -> Self {
        assert!(quantum_bytes > 0);
        Self {
            buffer,
            quantum_bytes,
            queues: Vec::new(),
            free: Vec::new(),
            queue_of: HashMap::default(),
            round: VecDeque::new(),
            leaving: Leaving::default(),
        }
    }

    /// Pushes out packets of longer queues than the newcomer's. Returns whether there is room now.
    fn make_room(&mut self, offer: &Offer<'_>, packets: &mut WaitingPackets) -> bool {
        let newcomer = packets[offer.packet].packet;
        let length = self.bytes_of(newcomer.flow) + newcomer.frame_bytes;
        let mut leaving = std::mem::take(&mut self.leaving);
        let loser = leaving.make_room(length, offer, self, packets);
        self.leaving = leaving;
        let Some(loser) = loser else {
            return false;
        };
        // Only the queue that lost a packet last may be empty: the packet was longer than the newcomer, which now fits.
        if self.queues[loser as usize].fifo.is_empty() {
            self.round.retain(|queue| *queue != loser);
            self.give_back(loser);
        }
        true
    }

    fn bytes_of(&self, flow: u32) -> u32 {
        let index = self.queue_of.get(&flow);
        index.map_or(0, |index| self.queues[*index as usize].fifo.bytes())
    }

    /// The flow's queue. A new queue goes to the end of the round.
    fn queue_for(&mut self, flow: u32) -> u32 {
        if let Some(known) = self.queue_of.get(&flow) {
            return *known;
        }
        let index = self.free.pop().unwrap_or_else(|| {
            self.queues.push(FlowQueue::default());
            self.queues.len() as u32 - 1
        });
        self.queues[index as usize].flow = flow;
        self.queue_of.insert(flow, index);
        self.round.push_back(index);
        index
    }

    /// Gives the queue back if it is empty, so that a flow without packets keeps no deficit.
    fn give_back(&mut self, index: u32) {
        let queue = &mut self.queues[index as usize];
        queue.deficit = 0;
        queue.has_turn = false;
        self.queue_of.remove(&queue.flow);
        self.free.push(index);
    }
}

impl PushOut for Drr {
    fn buffer(&self) -> &DropTail {
        &self.buffer
    }

    /// In bytes, from the queue that is served first.
    fn lengths(&self) -> impl Iterator<Item = (u32, u32)> {
        let bytes = |index: &u32| self.queues[*index as usize].fifo.bytes();
        self.round.iter().map(move |index| (*index, bytes(index)))
    }

    fn queue(&mut self, number: u32) -> &mut PacketFifo {
        &mut self.queues[number as usize].fifo
    }
}

impl PacketScheduler for Drr {
    fn enqueue(&mut self, offer: &Offer<'_>, packets: &mut WaitingPackets) -> Admission {
        let newcomer = packets[offer.packet].packet;
        if !self.buffer.fits(offer.backlog, newcomer.frame_bytes) && !self.make_room(offer, packets)
        {
            return Admission::Dropped(Reason::Share);
        }
        let index = self.queue_for(newcomer.flow);
        self.queues[index as usize].fifo.push(offer.packet, packets);
        Admission::Accepted
    }

    /// Nothing else waits, so the packet leaves at once and its flow needs no queue.
    fn pass(&mut self, _: Instant, packet: &PacketView) -> Option<Admission> {
        let buffer = &self.buffer;
        Some(buffer.admission_or(Reason::Share, NOTHING, packet.frame_bytes))
    }

    fn dequeue(&mut self, _: Instant, packets: &mut WaitingPackets) -> Option<Handle> {
        loop {
            let index = *self.round.front()?;
            let queue = &mut self.queues[index as usize];
            if !queue.has_turn {
                queue.has_turn = true;
                queue.deficit = queue.deficit.saturating_add(self.quantum_bytes);
            }
            let first = queue
                .fifo
                .first()
                .expect("a queue in the round holds a packet");
            let frame_bytes = packets[first].packet.frame_bytes;
            if frame_bytes <= queue.deficit {
                queue.deficit -= frame_bytes;
                let packet = queue.fifo.pop(packets);
                if queue.fifo.is_empty() {
                    self.round.pop_front();
                    self.give_back(index);
                }
                return packet;
            }
            queue.has_turn = false;
            self.round.rotate_left(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{TestPort, packet};
    use super::*;

    fn port(limit_packets: u32, quantum_bytes: u32) -> TestPort<Drr> {
        let buffer = DropTail::packets(limit_packets);
        TestPort::new(Drr::new(buffer, quantum_bytes))
    }

    #[test]
    fn the_papers_figure_2_and_3() {
        // with a quantum of 500, the first queue holds 20, 750 and 200 bytes: the first round sends 20 and leaves a
        // deficit of 480, with which the second round sends 750 and 200
        let mut port = port(100, 500);
        for (flow, size) in [(0, 20), (0, 750), (0, 200), (1, 500), (1, 500)] {
            port.enter(packet(flow, size));
        }
        let sent: Vec<(u32, u32)> = std::iter::from_fn(|| port.send())
            .map(|waiting| (waiting.packet.flow, waiting.packet.frame_bytes))
            .collect();
        assert_eq!(sent, [(0, 20), (1, 500), (0, 750), (0, 200), (1, 500)]);
    }

    #[test]
    fn flows_of_any_packet_size_get_equal_bytes() {
        let mut port = port(10_000, 1500);
        for (flow, size) in [(0, 64), (1, 1500), (2, 700)] {
            for _ in 0..3000 {
                port.enter(packet(flow, size));
            }
        }
        let mut bytes = [0_u32; 3];
        while bytes.iter().sum::<u32>() < 300_000 {
            let sent = port.send().unwrap().packet;
            bytes[sent.flow as usize] += sent.frame_bytes;
        }
        assert!(
            bytes.iter().all(|b| b.abs_diff(100_000) <= 1500),
            "{bytes:?}"
        );
    }

    #[test]
    fn memory_grows_with_the_flows_that_wait_not_with_their_numbers() {
        let mut port = port(10, 1500);
        for flow in 0..100_000 {
            port.enter(packet(flow * 40_000, 1500));
            if flow % 5 == 4 {
                assert_eq!(port.flows_sent().len(), 5);
            }
        }
        assert_eq!(port.scheduler.queues.len(), 5);
        assert!(port.scheduler.queue_of.capacity() <= 16);
    }

    #[test]
    fn the_longest_queue_makes_room() {
        let mut port = port(10, 1500);
        for n in 0..10 {
            port.enter(packet(u32::from(n >= 7), 1500));
        }
        assert_eq!(port.enter(packet(1, 1500)), Admission::Accepted); // queues of 7 and 3
        assert_eq!(port.dropped(), [(0, Reason::PushedOut)]);
        let refused = Admission::Dropped(Reason::Share);
        assert_eq!(port.enter(packet(0, 1500)), refused); // queues of 6, with this one 7, and 4
    }

    #[test]
    fn a_queue_that_loses_its_only_packet_loses_its_turn() {
        let mut port = TestPort::new(Drr::new(DropTail::bytes(1600), 1500));
        port.enter(packet(0, 1500));
        assert_eq!(port.enter(packet(1, 200)), Admission::Accepted);
        assert_eq!(port.dropped(), [(0, Reason::PushedOut)]);
        assert_eq!(port.flows_sent(), [1]);
    }

    #[test]
    fn nothing_is_pushed_out_for_a_newcomer_that_is_refused_after_all() {
        let mut port = TestPort::new(Drr::new(DropTail::bytes(1600), 1500));
        // once flow 1 has lost one of its packets, it has no more than the newcomer's 1518 bytes
        for _ in 0..16 {
            port.enter(packet(1, 100));
        }
        let refused = Admission::Dropped(Reason::Share);
        assert_eq!(port.enter(packet(0, 1518)), refused);
        assert_eq!(port.dropped(), []);
        assert_eq!(port.flows_sent(), [1; 16]);
    }
}

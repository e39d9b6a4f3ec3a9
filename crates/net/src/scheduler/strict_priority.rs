//! Strict priority: two queues, of which the second is served only while the first is empty.

use super::WaitingPackets;
use super::fifo::PacketFifo;
use crate::classifier::SHORT;
use crate::discipline::{DropTail, NOTHING, PacketView, Verdict};
use crate::pool::Handle;

/// A pair of first-in-first-out queues, each with a buffer of its own: the first for packets of
/// the class [`SHORT`], the second for all others. A packet in service is not interrupted.
///
/// Linux' `prio` with two bands is the same.
#[derive(Clone, Debug)]
pub struct StrictPriority {
    /// what each of the two holds
    limit: DropTail,
    fifos: [PacketFifo; 2],
}

impl StrictPriority {
    /// Two empty queues, each with room for `limit`.
    pub fn new(limit: DropTail) -> Self {
        Self {
            limit,
            fifos: Default::default(),
        }
    }

    pub(super) fn enqueue(&mut self, packet: Handle, room: &mut WaitingPackets) -> Verdict {
        let view = room[packet].packet;
        let fifo = &mut self.fifos[usize::from(view.class != SHORT)];
        let verdict = self.limit.admit(fifo.backlog(), view.frame_bytes);
        if verdict == Verdict::Accepted {
            fifo.push(packet, room);
        }
        verdict
    }

    pub(super) fn pass(&self, packet: &PacketView) -> Verdict {
        self.limit.admit(NOTHING, packet.frame_bytes)
    }

    pub(super) fn dequeue(&mut self, room: &WaitingPackets) -> Option<Handle> {
        let [first, second] = &mut self.fifos;
        first.pop(room).or_else(|| second.pop(room))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Scheduler;
    use super::super::fixtures::{TestPort, packet};
    use super::*;
    use crate::discipline::Reason;

    fn port(limit_packets: u32) -> TestPort {
        let pair = StrictPriority::new(DropTail::packets(limit_packets));
        TestPort::new(Scheduler::StrictPriority(pair))
    }

    #[test]
    fn packets_of_short_flows_go_first_whenever_they_came() {
        let mut port = port(10);
        for class in [0, 0, 1, 2, 1] {
            assert_eq!(port.enter(packet(class, 1518)), Verdict::Accepted);
        }
        assert_eq!(port.flows_sent(), [1, 1, 0, 0, 2]);
    }

    #[test]
    fn a_full_second_queue_takes_nothing_from_the_first() {
        let mut port = port(2);
        port.enter(packet(0, 1518));
        port.enter(packet(0, 1518));
        let refused = Verdict::Dropped(Reason::Full);
        assert_eq!(port.enter(packet(0, 1518)), refused);
        assert_eq!(port.enter(packet(SHORT.into(), 1518)), Verdict::Accepted);
    }
}

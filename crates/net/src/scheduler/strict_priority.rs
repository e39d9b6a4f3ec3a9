//! Strict priority: two queues, the second of which is served only while the first is empty.

use fairport_units::Instant;
use serde::{Deserialize, Serialize};

use super::{Handle, Offer, PacketFifo, PacketScheduler, WaitingPackets};
use crate::BuildError;
use crate::classifier::SHORT;
use crate::context::PortContext;
use crate::discipline::{Admission, DropTail, NOTHING, PacketView};
use crate::limit::Limit;

/// A pair of queues in strict priority, in the plan of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// the limit of each of the two queues
    pub limit: Limit,
}

impl Config {
    pub(crate) fn build(&self, port: &PortContext<'_>) -> Result<StrictPriority, BuildError> {
        Ok(StrictPriority::new(port.buffer(self.limit)?))
    }
}

/// A pair of first-in-first-out queues, each with its own buffer: the first for packets of the class [`SHORT`], the
/// second for all others. A packet in service is not interrupted.
///
/// It is the same as Linux's `prio` with two bands.
#[derive(Clone, Debug)]
pub struct StrictPriority {
    /// the limit of each of the two queues
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
}

impl PacketScheduler for StrictPriority {
    fn enqueue(&mut self, offer: &Offer<'_>, packets: &mut WaitingPackets) -> Admission {
        let view = packets[offer.packet].packet;
        let fifo = &mut self.fifos[usize::from(view.class != SHORT)];
        let admission = self.limit.admission(fifo.backlog(), view.frame_bytes);
        if admission == Admission::Accepted {
            fifo.push(offer.packet, packets);
        }
        admission
    }

    fn pass(&mut self, _: Instant, packet: &PacketView) -> Option<Admission> {
        Some(self.limit.admission(NOTHING, packet.frame_bytes))
    }

    fn dequeue(&mut self, _: Instant, packets: &mut WaitingPackets) -> Option<Handle> {
        let [first, second] = &mut self.fifos;
        first.pop(packets).or_else(|| second.pop(packets))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{TestPort, packet};
    use super::*;
    use crate::discipline::Reason;

    fn port(limit_packets: u32) -> TestPort<StrictPriority> {
        TestPort::new(StrictPriority::new(DropTail::packets(limit_packets)))
    }

    #[test]
    fn packets_of_short_flows_go_first_whenever_they_came() {
        let mut port = port(10);
        for class in [0, 0, 1, 2, 1] {
            assert_eq!(port.enter(packet(class, 1518)), Admission::Accepted);
        }
        assert_eq!(port.flows_sent(), [1, 1, 0, 0, 2]);
    }

    #[test]
    fn a_full_second_queue_takes_nothing_from_the_first() {
        let mut port = port(2);
        port.enter(packet(0, 1518));
        port.enter(packet(0, 1518));
        let refused = Admission::Dropped(Reason::Full);
        assert_eq!(port.enter(packet(0, 1518)), refused);
        assert_eq!(port.enter(packet(SHORT.into(), 1518)), Admission::Accepted);
    }
}

//! A scheduler: the ingress ports take turns, packet by packet, and the longest queue is cut.

use std::collections::VecDeque;

use fairport_net::discipline::{Admission, DropTail, Reason};
use fairport_net::queue::{CustomQueue, PortContext};
use fairport_net::scheduler::{Handle, Offer, PacketFifo, PacketScheduler, WaitingPackets};
use fairport_net::{BuildError, Limit};
use fairport_units::Instant;
use serde::Deserialize;
use serde_json::Value;

/// Makes the queue of one port.
pub(crate) fn build(parameters: &Value, port: &PortContext<'_>) -> Result<CustomQueue, BuildError> {
    let limit = parameters.get("limit").unwrap_or(&Value::Null);
    let limit = Limit::deserialize(limit).map_err(|error| {
        BuildError::new(
            "queue.limit",
            limit,
            error.to_string(),
            "give a limit, such as \"16KiB\"",
        )
    })?;
    Ok(CustomQueue::Scheduler(Box::new(RoundRobin {
        buffer: port.buffer(limit)?,
        turns: VecDeque::new(),
    })))
}

#[derive(Debug)]
struct RoundRobin {
    /// For all queues together.
    buffer: DropTail,
    /// The queues by ingress port, in the order of their turns; those that were sent empty are gone.
    turns: VecDeque<(u16, PacketFifo)>,
}

impl PacketScheduler for RoundRobin {
    fn enqueue(&mut self, offer: &Offer<'_>, packets: &mut WaitingPackets) -> Admission {
        let view = packets[offer.packet].packet;
        let ingress = view.ingress_number;
        let mut backlog = offer.backlog;
        while !self.buffer.fits(backlog, view.frame_bytes) {
            let longest = self.turns.iter_mut().max_by_key(|(_, fifo)| fifo.bytes());
            let Some((_, fifo)) = longest.filter(|(longest, _)| *longest != ingress) else {
                return Admission::Dropped(Reason::Full);
            };
            if let Some(last) = fifo.pop_last(packets) {
                backlog.bytes -= packets[last].packet.frame_bytes;
                backlog.packets -= 1;
                packets.drop_queued(last, Reason::PushedOut);
            }
        }
        let place = self.turns.iter().position(|(of, _)| *of == ingress);
        let place = place.unwrap_or_else(|| {
            self.turns.push_back((ingress, PacketFifo::default()));
            self.turns.len() - 1
        });
        self.turns[place].1.push(offer.packet, packets);
        Admission::Accepted
    }

    fn dequeue(&mut self, _: Instant, packets: &mut WaitingPackets) -> Option<Handle> {
        while let Some((ingress, mut fifo)) = self.turns.pop_front() {
            let next = fifo.pop(packets);
            if !fifo.is_empty() {
                self.turns.push_back((ingress, fifo));
            }
            if next.is_some() {
                return next;
            }
        }
        None
    }
}

//! Pushing out: a packet that does not fit takes the place of packets of the longest queues in the same buffer.

use super::{Handle, Offer, PacketFifo, WaitingPackets};
use crate::discipline::{DropTail, Reason};

/// Queues in one buffer.
pub(super) trait PushOut {
    /// The buffer of all queues.
    fn buffer(&self) -> &DropTail;

    /// The number of each queue and its length. Among queues of equal length, the first loses packets.
    fn lengths(&self) -> impl Iterator<Item = (u32, u32)>;

    fn queue(&mut self, number: u32) -> &mut PacketFifo;
}

/// Packets that leave to make room for a newcomer, with their queues; empty between calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Leaving(Vec<(u32, Handle)>);

impl Leaving {
    /// Drops last packets of the longest queues until the newcomer fits, and returns the queue that lost a packet last.
    /// `length` is the length of the newcomer's queue with the newcomer in it: only longer queues lose packets. If that
    /// is not enough, drops nothing and returns none.
    #[cold]
    pub(super) fn make_room(
        &mut self,
        length: u32,
        offer: &Offer<'_>,
        queues: &mut impl PushOut,
        packets: &mut WaitingPackets,
    ) -> Option<u32> {
        let newcomer_bytes = packets[offer.packet].packet.frame_bytes;
        let mut backlog = offer.backlog;
        while !queues.buffer().fits(backlog, newcomer_bytes) {
            let Some(longest) = longest(queues, length) else {
                while let Some((queue, packet)) = self.0.pop() {
                    queues.queue(queue).push(packet, packets);
                }
                return None;
            };
            let last = queues.queue(longest).pop_last(packets);
            let last = last.expect("a queue that is longer than the newcomer's has a packet");
            backlog.bytes -= packets[last].packet.frame_bytes;
            backlog.packets -= 1;
            self.0.push((longest, last));
        }
        let last_queue = self.0.last().map(|(queue, _)| *queue);
        for (_, packet) in self.0.drain(..) {
            packets.drop_queued(packet, Reason::PushedOut);
        }
        last_queue
    }
}

/// The longest queue, if it is longer than `length`.
fn longest(queues: &impl PushOut, length: u32) -> Option<u32> {
    let none = (None, length);
    let longer = |most: (Option<u32>, u32), (number, length)| {
        if length > most.1 {
            (Some(number), length)
        } else {
            most
        }
    };
    queues.lengths().fold(none, longer).0
}

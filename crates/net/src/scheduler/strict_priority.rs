//! Strict priority: two queues, of which the second is served only while the first is empty.

use super::Waiting;
use super::lane::Lane;
use crate::discipline::{DropTail, Verdict};

/// A pair of first-in-first-out queues, each with a buffer of its own: one for class 0, one for
/// all other classes. A packet in service is not interrupted.
///
/// Linux' `prio` with two bands is the same: band 0 is served first.
#[derive(Clone, Debug)]
pub struct StrictPriority {
    /// what each of the two holds
    limit: DropTail,
    lanes: [Lane; 2],
}

impl StrictPriority {
    /// Two empty queues, each with room for `limit`.
    pub fn new(limit: DropTail) -> Self {
        Self {
            limit,
            lanes: Default::default(),
        }
    }

    pub(super) fn enqueue(&mut self, packet: Waiting) -> Verdict {
        let lane = &mut self.lanes[usize::from(packet.class > 0)];
        let verdict = self.limit.judge(lane.backlog(), packet.frame_bytes);
        if verdict == Verdict::Accepted {
            lane.push(packet);
        }
        verdict
    }

    pub(super) fn dequeue(&mut self) -> Option<Waiting> {
        let [first, second] = &mut self.lanes;
        first.pop().or_else(|| second.pop())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::Reason;

    #[test]
    fn class_0_goes_first_whenever_it_came() {
        let mut queues = StrictPriority::new(DropTail::packets(10));
        for class in [1, 1, 0, 2, 0] {
            assert_eq!(queues.enqueue(Waiting::of(class, 1518)), Verdict::Accepted);
        }
        let mut sent = Vec::new();
        while let Some(packet) = queues.dequeue() {
            sent.push(packet.class);
        }
        assert_eq!(sent, [0, 0, 1, 1, 2]);
    }

    #[test]
    fn a_full_second_queue_takes_nothing_from_the_first() {
        let mut queues = StrictPriority::new(DropTail::packets(2));
        queues.enqueue(Waiting::of(1, 1518));
        queues.enqueue(Waiting::of(1, 1518));
        let refused = Verdict::Dropped(Reason::Full);
        assert_eq!(queues.enqueue(Waiting::of(1, 1518)), refused);
        assert_eq!(queues.enqueue(Waiting::of(0, 1518)), Verdict::Accepted);
    }
}

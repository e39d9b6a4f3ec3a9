//! Strict priority: two queues, of which the second is served only while the first is empty.

use super::Waiting;
use super::lane::Lane;
use crate::classifier::SHORT;
use crate::discipline::{DropTail, NOTHING, Verdict};

/// A pair of first-in-first-out queues, each with a buffer of its own: the first for packets of
/// the class [`SHORT`], the second for all others. A packet in service is not interrupted.
///
/// Linux' `prio` with two bands is the same.
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
        let lane = &mut self.lanes[usize::from(packet.class != SHORT)];
        let verdict = self.limit.judge(lane.backlog(), packet.frame_bytes);
        if verdict == Verdict::Accepted {
            lane.push(packet);
        }
        verdict
    }

    pub(super) fn pass(&self, packet: &Waiting) -> Verdict {
        self.limit.judge(NOTHING, packet.frame_bytes)
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
    fn packets_of_short_flows_go_first_whenever_they_came() {
        let mut queues = StrictPriority::new(DropTail::packets(10));
        for class in [0, 0, 1, 2, 1] {
            assert_eq!(queues.enqueue(Waiting::of(class, 1518)), Verdict::Accepted);
        }
        let mut sent = Vec::new();
        while let Some(packet) = queues.dequeue() {
            sent.push(packet.class);
        }
        assert_eq!(sent, [1, 1, 0, 0, 2]);
    }

    #[test]
    fn a_full_second_queue_takes_nothing_from_the_first() {
        let mut queues = StrictPriority::new(DropTail::packets(2));
        queues.enqueue(Waiting::of(0, 1518));
        queues.enqueue(Waiting::of(0, 1518));
        let refused = Verdict::Dropped(Reason::Full);
        assert_eq!(queues.enqueue(Waiting::of(0, 1518)), refused);
        assert_eq!(
            queues.enqueue(Waiting::of(SHORT.into(), 1518)),
            Verdict::Accepted
        );
    }
}

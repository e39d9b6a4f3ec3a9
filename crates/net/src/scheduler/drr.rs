//! Deficit round robin: a queue a flow, equal octets in turn (Shreedhar & Varghese, "Efficient Fair
//! Queueing Using Deficit Round Robin", SIGCOMM 1995).

use std::collections::VecDeque;

use super::lane::Lane;
use super::{Lost, Waiting};
use crate::discipline::{Backlog, DropTail, NOTHING, Reason, Verdict};

#[derive(Clone, Debug, Default)]
struct Queue {
    flow: u32,
    lane: Lane,
    /// octets that it may send in this turn
    deficit: u32,
    /// whether this turn's quantum has been added
    has_turn: bool,
}

/// DRR with one queue a flow, and one buffer for all.
///
/// When the buffer is full, the longest queue gives up its last packet (the paper takes this
/// "buffer stealing" from `McKenney` and does not say which packet). If the newcomer's is the
/// longest, the newcomer is refused.
#[derive(Clone, Debug)]
pub struct Drr {
    limit: DropTail,
    quantum_bytes: u32,
    queues: Vec<Queue>,
    /// queues that no flow has
    free: Vec<u32>,
    /// the queue that a flow has, by flow number; [`NONE`] for none
    queue_of: Vec<u32>,
    /// the queues that hold packets, the one whose turn it is first
    round: VecDeque<u32>,
}

const NONE: u32 = u32::MAX;

impl Drr {
    /// No queues yet; each flow's turn is `quantum_bytes` octets, more than 0.
    pub fn new(limit: DropTail, quantum_bytes: u32) -> Self {
        assert!(quantum_bytes > 0);
        Self {
            limit,
            quantum_bytes,
            queues: Vec::new(),
            free: Vec::new(),
            queue_of: Vec::new(),
            round: VecDeque::new(),
        }
    }

    pub(super) fn enqueue(
        &mut self,
        mut backlog: Backlog,
        packet: Waiting,
        lost: &mut Lost,
    ) -> Verdict {
        while self.limit.judge(backlog, packet.frame_bytes) != Verdict::Accepted {
            let Some(longest) = self.longest_but(&packet) else {
                return Verdict::Dropped(Reason::Share);
            };
            let lane = &mut self.queues[longest as usize].lane;
            let victim = lane.pop_last().expect("it is in the round");
            backlog.bytes -= victim.frame_bytes;
            backlog.packets -= 1;
            lost.push((victim, Reason::PushedOut));
            if lane.is_empty() {
                self.round.retain(|queue| *queue != longest);
                self.give_back(longest);
            }
        }
        let index = self.queue_for(packet.flow);
        self.queues[index as usize].lane.push(packet);
        Verdict::Accepted
    }

    /// A packet that is alone leaves nothing behind: its flow gives its queue back.
    pub(super) fn pass(&self, packet: &Waiting) -> Verdict {
        match self.limit.judge(NOTHING, packet.frame_bytes) {
            Verdict::Accepted => Verdict::Accepted,
            _ => Verdict::Dropped(Reason::Share),
        }
    }

    pub(super) fn dequeue(&mut self) -> Option<Waiting> {
        loop {
            let index = *self.round.front()?;
            let queue = &mut self.queues[index as usize];
            if !queue.has_turn {
                queue.has_turn = true;
                queue.deficit += self.quantum_bytes;
            }
            let first = queue.lane.first().expect("it is in the round");
            if first.frame_bytes <= queue.deficit {
                queue.deficit -= first.frame_bytes;
                let packet = queue.lane.pop();
                if queue.lane.is_empty() {
                    self.round.pop_front();
                    self.give_back(index);
                }
                return packet;
            }
            queue.has_turn = false;
            self.round.rotate_left(1);
        }
    }

    /// The queue with most octets, unless it would be the newcomer's own once that is in; of
    /// several the one that is served first.
    fn longest_but(&self, newcomer: &Waiting) -> Option<u32> {
        let mut longest = (None, self.bytes_of(newcomer.flow) + newcomer.frame_bytes);
        for index in &self.round {
            let queue = &self.queues[*index as usize];
            if queue.flow != newcomer.flow && queue.lane.bytes() > longest.1 {
                longest = (Some(*index), queue.lane.bytes());
            }
        }
        longest.0
    }

    fn bytes_of(&self, flow: u32) -> u32 {
        let index = self.queue_of.get(flow as usize).copied();
        let queue = index.and_then(|index| self.queues.get(index as usize));
        queue.map_or(0, |queue| queue.lane.bytes())
    }

    /// The flow's queue; a new one goes to the end of the round.
    fn queue_for(&mut self, flow: u32) -> u32 {
        if self.queue_of.len() <= flow as usize {
            self.queue_of.resize(flow as usize + 1, NONE);
        }
        let known = self.queue_of[flow as usize];
        if known != NONE {
            return known;
        }
        let index = self.free.pop().unwrap_or_else(|| {
            self.queues.push(Queue::default());
            self.queues.len() as u32 - 1
        });
        self.queues[index as usize].flow = flow;
        self.queue_of[flow as usize] = index;
        self.round.push_back(index);
        index
    }

    /// An empty queue has no deficit: who has nothing to send saves nothing up.
    fn give_back(&mut self, index: u32) {
        let queue = &mut self.queues[index as usize];
        queue.deficit = 0;
        queue.has_turn = false;
        self.queue_of[queue.flow as usize] = NONE;
        self.free.push(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backlog(packets: u32) -> Backlog {
        Backlog {
            bytes: packets * 1500,
            packets,
        }
    }

    #[test]
    fn the_papers_figure_2_and_3() {
        // quantum 500; the first queue holds 20, 750, 200 octets: the first round sends 20 and
        // leaves a deficit of 480, with which the second round sends 750 and 200
        let mut queue = Drr::new(DropTail::packets(100), 500);
        let mut sizes = vec![(0, 20), (0, 750), (0, 200)];
        sizes.extend([(1, 500), (1, 500)]);
        for (n, (flow, size)) in sizes.into_iter().enumerate() {
            queue.enqueue(backlog(n as u32), Waiting::of(flow, size), &mut Lost::new());
        }
        let sent: Vec<(u32, u32)> = std::iter::from_fn(|| queue.dequeue())
            .map(|packet| (packet.flow, packet.frame_bytes))
            .collect();
        assert_eq!(sent, [(0, 20), (1, 500), (0, 750), (0, 200), (1, 500)]);
    }

    #[test]
    fn flows_of_any_packet_size_get_equal_octets() {
        let mut queue = Drr::new(DropTail::packets(10_000), 1500);
        let mut waiting = 0;
        for (flow, size) in [(0, 64), (1, 1500), (2, 700)] {
            for _ in 0..3000 {
                queue.enqueue(backlog(waiting), Waiting::of(flow, size), &mut Lost::new());
                waiting += 1;
            }
        }
        let mut bytes = [0_u32; 3];
        while bytes.iter().sum::<u32>() < 300_000 {
            let packet = queue.dequeue().unwrap();
            bytes[packet.flow as usize] += packet.frame_bytes;
        }
        assert!(
            bytes.iter().all(|b| b.abs_diff(100_000) <= 1500),
            "{bytes:?}"
        );
    }

    #[test]
    fn the_longest_queue_makes_room() {
        let mut queue = Drr::new(DropTail::packets(10), 1500);
        for n in 0..10 {
            queue.enqueue(
                backlog(n),
                Waiting::of(u32::from(n >= 7), 1500),
                &mut Lost::new(),
            );
        }
        let mut lost = Lost::new();
        let verdict = queue.enqueue(backlog(10), Waiting::of(1, 1500), &mut lost);
        assert_eq!((verdict, lost[0].0.flow), (Verdict::Accepted, 0)); // 7 against 3
        let verdict = queue.enqueue(backlog(10), Waiting::of(0, 1500), &mut Lost::new());
        assert_eq!(verdict, Verdict::Dropped(Reason::Share)); // 6 and itself against 4
    }
}

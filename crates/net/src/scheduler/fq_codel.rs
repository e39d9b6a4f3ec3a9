//! FQ-CoDel (RFC 8290): flows hashed to queues, served by deficit round robin, those that are not
//! backlogged first, each under `CoDel`.

use std::collections::VecDeque;

use fairport_units::Time;

use super::codel::{CoDelConfig, Control};
use super::lane::Lane;
use super::{Lost, Waiting, hash};
use crate::discipline::{Backlog, DropTail, NOTHING, Reason, Verdict};

/// What an administrator sets.
#[derive(Clone, Debug)]
pub struct FqCoDelConfig {
    /// the room for all queues together
    pub limit: DropTail,
    /// queues that flows are hashed to (RFC 8290: 1024)
    pub queues: u32,
    /// octets of a queue's turn, more than 0
    pub quantum_bytes: u32,
    /// of each queue
    pub codel: CoDelConfig,
}

/// Which list a queue is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    None,
    New,
    Old,
}

#[derive(Clone, Debug)]
#[repr(C)] // what a packet needs that does not wait comes first
struct Queue {
    /// octets that are left of its turn
    credits: i64,
    control: Control,
    list: List,
    lane: Lane,
}

/// FQ-CoDel.
#[derive(Clone, Debug)]
pub struct FqCoDel {
    config: FqCoDelConfig,
    seed: u64,
    queues: Vec<Queue>,
    /// queues that have just become active: served first, for one quantum
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

/// At most so many packets are dropped at once where the limit is exceeded (RFC 8290 4.1.1).
const DROP_BATCH: u32 = 64;

impl FqCoDel {
    /// Empty queues; the seed is that of the hash.
    pub fn new(config: FqCoDelConfig, seed: u64) -> Self {
        assert!(config.queues > 0 && config.quantum_bytes > 0);
        let empty = Queue {
            lane: Lane::default(),
            control: Control::new(),
            credits: 0,
            list: List::None,
        };
        Self {
            seed,
            queues: vec![empty; config.queues as usize],
            new: VecDeque::new(),
            old: VecDeque::new(),
            config,
        }
    }

    pub(super) fn enqueue(
        &mut self,
        mut backlog: Backlog,
        packet: Waiting,
        lost: &mut Lost,
    ) -> Verdict {
        while self.config.limit.judge(backlog, packet.frame_bytes) != Verdict::Accepted {
            if backlog.packets == 0 {
                return Verdict::Dropped(Reason::Full);
            }
            self.drop_from_fattest(&mut backlog, lost);
        }
        let index = self.activate(packet.flow);
        self.queues[index as usize].lane.push(packet);
        Verdict::Accepted
    }

    /// The queue of a flow, in a list from now on.
    fn activate(&mut self, flow: u32) -> u32 {
        let index = hash::queue_of(u64::from(flow), self.seed, self.config.queues);
        let queue = &mut self.queues[index as usize];
        if queue.list == List::None {
            queue.list = List::New;
            queue.credits = i64::from(self.config.quantum_bytes);
            self.new.push_back(index);
        }
        index
    }

    /// The lists turn as if the packet's queue held it, and the others nothing.
    pub(super) fn pass(&mut self, packet: &Waiting) -> Verdict {
        if self.config.limit.judge(NOTHING, packet.frame_bytes) != Verdict::Accepted {
            return Verdict::Dropped(Reason::Full);
        }
        let own = self.activate(packet.flow);
        while let Some(index) = self.turn() {
            let queue = &mut self.queues[index as usize];
            if index == own {
                queue.control.rest();
                queue.credits -= i64::from(packet.frame_bytes);
                break;
            }
            queue.control.found_empty();
            self.retire(index);
        }
        Verdict::Accepted
    }

    pub(super) fn dequeue(&mut self, now: Time, lost: &mut Lost) -> Option<Waiting> {
        while let Some(index) = self.turn() {
            let queue = &mut self.queues[index as usize];
            let packet = queue
                .control
                .dequeue(now, &mut queue.lane, &self.config.codel, lost);
            if let Some(packet) = packet {
                queue.credits -= i64::from(packet.frame_bytes);
                return Some(packet);
            }
            self.retire(index);
        }
        None
    }

    /// The queue whose turn it is: the first that has credits left; none when the lists are empty.
    fn turn(&mut self) -> Option<u32> {
        loop {
            let index = *self.new.front().or(self.old.front())?;
            let queue = &mut self.queues[index as usize];
            if queue.credits > 0 {
                return Some(index);
            }
            queue.credits += i64::from(self.config.quantum_bytes);
            self.move_on(index, List::Old);
        }
    }

    /// An empty new queue first waits its turn among the old ones, or a flow of one packet at a
    /// time would always be new.
    fn retire(&mut self, index: u32) {
        let goes_to = match self.queues[index as usize].list {
            List::New => List::Old,
            _ => List::None,
        };
        self.move_on(index, goes_to);
    }

    /// Takes a queue off the front of its list.
    fn move_on(&mut self, index: u32, to: List) {
        let queue = &mut self.queues[index as usize];
        match queue.list {
            List::New => self.new.pop_front(),
            _ => self.old.pop_front(),
        };
        queue.list = to;
        if to == List::Old {
            self.old.push_back(index);
        }
    }

    /// Drops from the head of the queue with most octets: half of its packets, at most a batch.
    fn drop_from_fattest(&mut self, backlog: &mut Backlog, lost: &mut Lost) {
        let active = self.new.iter().chain(&self.old);
        let bytes = |index: &&u32| self.queues[**index as usize].lane.bytes();
        // of several the first in the lists
        let fattest = active.rev().max_by_key(bytes).copied();
        let Some(fattest) = fattest else { return };
        let lane = &mut self.queues[fattest as usize].lane;
        for _ in 0..(lane.packets() / 2).clamp(1, DROP_BATCH) {
            let Some(packet) = lane.pop() else { return };
            backlog.bytes -= packet.frame_bytes;
            backlog.packets -= 1;
            lost.push((packet, Reason::PushedOut));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(limit_packets: u32) -> FqCoDel {
        let config = FqCoDelConfig {
            limit: DropTail::packets(limit_packets),
            queues: 1024,
            quantum_bytes: 1518,
            codel: CoDelConfig {
                target: Time::from_ms(5),
                interval: Time::from_ms(100),
                ecn: true,
                max_packet_bytes: 1518,
            },
        };
        FqCoDel::new(config, 1)
    }

    fn enter(queue: &mut FqCoDel, flow: u32, waiting: u32) -> Lost {
        let backlog = Backlog {
            bytes: waiting * 1518,
            packets: waiting,
        };
        let mut lost = Lost::new();
        let verdict = queue.enqueue(backlog, Waiting::of(flow, 1518), &mut lost);
        assert_eq!(verdict, Verdict::Accepted);
        lost
    }

    fn next(queue: &mut FqCoDel) -> Option<u32> {
        let sent = queue.dequeue(Time::from_us(1), &mut Lost::new());
        sent.map(|packet| packet.flow)
    }

    #[test]
    fn a_flow_that_begins_goes_before_those_that_are_backlogged() {
        let mut queue = queue(1000);
        (0..10).for_each(|n| {
            enter(&mut queue, n % 2, n);
        });
        let first: Vec<_> = (0..4).filter_map(|_| next(&mut queue)).collect();
        assert_eq!(first, [0, 1, 0, 1]);
        enter(&mut queue, 7, 6);
        assert_eq!(next(&mut queue), Some(7));
        assert_eq!(next(&mut queue), Some(0));
    }

    #[test]
    fn a_flow_of_one_packet_at_a_time_does_not_starve_the_others() {
        let mut queue = queue(1000);
        (0..20).for_each(|n| {
            enter(&mut queue, 0, n);
        });
        let mut sent = [0, 0];
        for _ in 0..20 {
            enter(&mut queue, 1, 20); // it is back as soon as its packet has gone
            let flow = next(&mut queue).unwrap();
            sent[flow as usize] += 1;
        }
        assert!(sent[0] >= 9, "{sent:?}");
    }

    #[test]
    fn beyond_the_limit_the_fattest_queue_loses_half_from_its_head() {
        let mut queue = queue(100);
        (0..80).for_each(|n| {
            enter(&mut queue, 0, n);
        });
        (80..100).for_each(|n| {
            enter(&mut queue, 1, n);
        });
        let lost = enter(&mut queue, 1, 100);
        assert_eq!(lost.len(), 40);
        assert!(
            lost.iter()
                .all(|(packet, why)| packet.flow == 0 && *why == Reason::PushedOut)
        );
    }
}

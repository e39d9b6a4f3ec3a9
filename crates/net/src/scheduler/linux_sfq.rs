//! Stochastic fair queueing as Linux has it (`sch_sfq`): a hash over flows, deficit round robin by
//! octets, and the tail of the longest queue dropped where all are too long. After `McKenney`,
//! "Stochastic Fairness Queueing", INFOCOM 1990.

use std::collections::VecDeque;

use fairport_units::Time;

use super::lane::Lane;
use super::{Lost, Waiting, hash};
use crate::discipline::{Backlog, Reason, Verdict};
use crate::stream::Stream;

/// What `tc qdisc add .. sfq` sets.
#[derive(Clone, Debug)]
pub struct LinuxSfqConfig {
    /// packets in all
    pub limit_packets: u32,
    /// packets of one queue
    pub depth_packets: u32,
    /// hash buckets, each with a queue of its own
    pub divisor: u32,
    /// queues that may hold packets at the same time
    pub flows: u32,
    /// octets of a queue's turn, more than 0
    pub quantum_bytes: u32,
    /// how often flows are hashed anew; [`Time::ZERO`] for never
    pub perturb: Time,
}

#[derive(Clone, Debug, Default)]
struct Bucket {
    lane: Lane,
    /// octets that are left of its turn
    allot: i64,
}

/// SFQ as in Linux.
#[derive(Clone, Debug)]
pub struct LinuxSfq {
    config: LinuxSfqConfig,
    buckets: Vec<Bucket>,
    /// the buckets that hold packets, the next to be served first
    round: VecDeque<u32>,
    seed: u64,
    stream: Stream,
    perturb_at: Time,
}

impl LinuxSfq {
    /// Empty queues; `stream` gives the hash its seeds.
    pub fn new(config: LinuxSfqConfig, mut stream: Stream) -> Self {
        assert!(config.divisor > 0 && config.quantum_bytes > 0);
        Self {
            buckets: vec![Bucket::default(); config.divisor as usize],
            round: VecDeque::new(),
            seed: stream.up_to(u64::MAX),
            stream,
            perturb_at: match config.perturb {
                Time::ZERO => Time::NEVER,
                perturb => perturb,
            },
            config,
        }
    }

    pub(super) fn enqueue(
        &mut self,
        backlog: Backlog,
        packet: Waiting,
        lost: &mut Lost,
    ) -> Verdict {
        self.perturb(packet.arrived);
        let own = self.bucket_of(packet.flow);
        let bucket = &self.buckets[own as usize];
        let is_new = bucket.lane.is_empty();
        if bucket.lane.packets() >= self.config.depth_packets
            || (is_new && self.round.len() as u32 >= self.config.flows)
        {
            return Verdict::Dropped(Reason::Share);
        }
        if backlog.packets >= self.config.limit_packets {
            // With the newcomer there is one too many: the last of the longest goes.
            let longest = self.longest(own);
            if longest == own {
                return Verdict::Dropped(Reason::Share);
            }
            let victim = &mut self.buckets[longest as usize].lane;
            lost.extend(victim.pop_last().map(|last| (last, Reason::PushedOut)));
            if victim.is_empty() {
                self.round.retain(|bucket| *bucket != longest);
            }
        }
        self.push(own, packet);
        Verdict::Accepted
    }

    /// A packet that is alone leaves nothing behind: its queue begins anew with the next.
    pub(super) fn pass(&mut self, packet: &Waiting) -> Verdict {
        self.perturb(packet.arrived);
        let config = &self.config;
        if config.depth_packets == 0 || config.flows == 0 || config.limit_packets == 0 {
            return Verdict::Dropped(Reason::Share);
        }
        Verdict::Accepted
    }

    pub(super) fn dequeue(&mut self, now: Time) -> Option<Waiting> {
        self.perturb(now);
        loop {
            let next = self.round.pop_front()?;
            let bucket = &mut self.buckets[next as usize];
            if bucket.allot <= 0 {
                bucket.allot += i64::from(self.config.quantum_bytes);
                self.round.push_back(next);
                continue;
            }
            let packet = bucket.lane.pop().expect("it is in the round");
            if !bucket.lane.is_empty() {
                bucket.allot -= i64::from(packet.frame_bytes);
                self.round.push_front(next); // until its turn is used up
            }
            return Some(packet);
        }
    }

    /// A new queue goes to the end of the round, with a whole turn.
    fn push(&mut self, index: u32, packet: Waiting) {
        let bucket = &mut self.buckets[index as usize];
        if bucket.lane.is_empty() {
            bucket.allot = i64::from(self.config.quantum_bytes);
            self.round.push_back(index);
        }
        bucket.lane.push(packet);
    }

    /// The bucket with most packets once `newcomer` has one more; of several the newcomer's, then
    /// the one that is served first.
    fn longest(&self, newcomer: u32) -> u32 {
        let length = |index: u32| self.buckets[index as usize].lane.packets();
        let mut longest = (newcomer, length(newcomer) + 1);
        for index in &self.round {
            if *index != newcomer && length(*index) > longest.1 {
                longest = (*index, length(*index));
            }
        }
        longest.0
    }

    fn bucket_of(&self, flow: u32) -> u32 {
        hash::queue_of(u64::from(flow), self.seed, self.config.divisor)
    }

    /// Draws a new hash when it is time, and moves what waits; each flow keeps its order.
    fn perturb(&mut self, now: Time) {
        if now < self.perturb_at {
            return;
        }
        while self.perturb_at <= now {
            self.perturb_at += self.config.perturb;
        }
        self.seed = self.stream.up_to(u64::MAX);
        let mut waiting = Vec::new();
        for index in std::mem::take(&mut self.round) {
            let lane = &mut self.buckets[index as usize].lane;
            waiting.extend(std::iter::from_fn(|| lane.pop()));
        }
        for packet in waiting {
            self.push(self.bucket_of(packet.flow), packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(limit_packets: u32, quantum_bytes: u32, perturb: Time) -> LinuxSfq {
        let config = LinuxSfqConfig {
            limit_packets,
            depth_packets: 127,
            divisor: 1024,
            flows: 128,
            quantum_bytes,
            perturb,
        };
        LinuxSfq::new(config, Stream::new(1, "test", 0))
    }

    fn backlog(packets: u32) -> Backlog {
        Backlog { bytes: 0, packets }
    }

    fn flows_sent(queue: &mut LinuxSfq) -> Vec<u32> {
        std::iter::from_fn(|| queue.dequeue(Time::ZERO))
            .map(|packet| packet.flow)
            .collect()
    }

    #[test]
    fn a_turn_is_counted_in_octets() {
        // flow 0 has packets of 500 octets, flow 1 of 1500: three of the one for one of the other
        let mut queue = queue(127, 1500, Time::ZERO);
        let mut waiting = 0;
        for _ in 0..6 {
            queue.enqueue(backlog(waiting), Waiting::of(0, 500), &mut Lost::new());
            waiting += 1;
        }
        for _ in 0..2 {
            queue.enqueue(backlog(waiting), Waiting::of(1, 1500), &mut Lost::new());
            waiting += 1;
        }
        assert_eq!(flows_sent(&mut queue), [0, 0, 0, 1, 0, 0, 0, 1]);
    }

    #[test]
    fn where_all_is_full_the_longest_queue_loses_its_last_packet() {
        let mut queue = queue(10, 1518, Time::ZERO);
        for waiting in 0..10 {
            queue.enqueue(backlog(waiting), Waiting::of(0, 1518), &mut Lost::new());
        }
        // one more of the longest is refused, one of another flow pushes the longest's last out
        let mut lost = Lost::new();
        let verdict = queue.enqueue(backlog(10), Waiting::of(0, 1518), &mut lost);
        assert_eq!(verdict, Verdict::Dropped(Reason::Share));
        let verdict = queue.enqueue(backlog(10), Waiting::of(1, 1518), &mut lost);
        assert_eq!(verdict, Verdict::Accepted);
        let lost: Vec<_> = lost
            .iter()
            .map(|(packet, why)| (packet.flow, *why))
            .collect();
        assert_eq!(lost, [(0, Reason::PushedOut)]);
        let sent = flows_sent(&mut queue);
        assert_eq!(sent.iter().filter(|flow| **flow == 0).count(), 9);
        assert_eq!(sent.len(), 10);
    }

    #[test]
    fn no_flow_gets_more_than_its_depth() {
        let mut queue = queue(1000, 1518, Time::ZERO);
        let accepted = (0..200)
            .map(|waiting| queue.enqueue(backlog(waiting), Waiting::of(0, 64), &mut Lost::new()))
            .filter(|verdict| *verdict == Verdict::Accepted);
        assert_eq!(accepted.count(), 127);
    }

    #[test]
    fn a_new_hash_loses_nothing_and_keeps_each_flow_in_order() {
        let mut queue = queue(127, 1518, Time::from_secs(10));
        for n in 0..100 {
            let packet = Waiting {
                arrived: Time::from_ns(u64::from(n)),
                ..Waiting::of(n % 7, 1518)
            };
            queue.enqueue(backlog(n), packet, &mut Lost::new());
        }
        let before = queue.seed;
        let sent: Vec<Waiting> =
            std::iter::from_fn(|| queue.dequeue(Time::from_secs(10))).collect();
        assert_ne!(queue.seed, before);
        assert_eq!(sent.len(), 100);
        for flow in 0..7 {
            let times: Vec<Time> = sent
                .iter()
                .filter(|p| p.flow == flow)
                .map(|p| p.arrived)
                .collect();
            assert!(times.is_sorted(), "flow {flow}");
        }
    }
}

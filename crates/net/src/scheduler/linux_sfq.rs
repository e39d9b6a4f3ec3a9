//! Stochastic fair queueing as in Linux (`sch_sfq`): flows are hashed to queues, which are served by deficit round
//! robin in bytes. If the queues are too long, the longest one loses its last packet. After `McKenney`, "Stochastic
//! Fairness Queueing", INFOCOM 1990.

use std::collections::VecDeque;

use fairport_units::{Duration, Instant};
use serde::{Deserialize, Serialize};

use super::{Handle, Offer, PacketFifo, PacketScheduler, WaitingPackets, hash};
use crate::BuildError;
use crate::context::{PortContext, number_of_queues, positive};
use crate::discipline::{Admission, PacketView, Reason};
use crate::stream::Stream;

/// A queue with Linux's SFQ, in the plan of a run: what `tc qdisc add .. sfq` sets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// most packets in all queues together
    pub limit_packets: u32,
    /// most packets in one queue
    pub depth_packets: u32,
    /// number of hash buckets, each with a queue
    pub divisor: u32,
    /// number of queues that may hold packets at the same time; at most `limit_packets`
    pub flows: u32,
    /// bytes per turn of a queue; without it, the size of one packet of the MTU
    pub quantum_bytes: Option<u32>,
    /// time between two changes of the hash; 0: it never changes
    pub perturb_ps: Duration,
}

impl Config {
    pub(crate) fn build(&self, port: &PortContext<'_>) -> Result<LinuxSfq, BuildError> {
        port.limit_in_packets(self.limit_packets)?;
        positive("depth", self.depth_packets)?;
        number_of_queues("divisor", self.divisor)?;
        positive("flows", self.flows)?;
        let quantum_bytes = port.quantum(self.quantum_bytes)?;
        Ok(LinuxSfq::new(self.clone(), quantum_bytes, port.stream()))
    }

    /// Memory of the empty queues of one port, in bytes.
    pub(crate) fn state_bytes(&self) -> u64 {
        u64::from(self.divisor) * size_of::<Bucket>() as u64
    }
}

#[derive(Clone, Debug, Default)]
struct Bucket {
    fifo: PacketFifo,
    /// bytes left in the queue's turn
    allot: i64,
    /// number of the last change of its length, among those of all queues
    changed: u64,
}

/// SFQ as in Linux.
#[derive(Clone, Debug)]
pub struct LinuxSfq {
    config: Config,
    quantum_bytes: u32,
    buckets: Vec<Bucket>,
    /// buckets with packets, in the order of their turns
    round: VecDeque<u32>,
    /// changes of the lengths of queues
    changes: u64,
    seed: u64,
    stream: Stream,
    perturb_at: Instant,
}

impl LinuxSfq {
    /// Empty queues with turns of `quantum_bytes`. `stream` gives the hash its seeds. No limit in `config` is 0.
    pub fn new(mut config: Config, quantum_bytes: u32, mut stream: Stream) -> Self {
        assert!(config.divisor > 0 && quantum_bytes > 0);
        config.flows = config.flows.min(config.limit_packets); // as in `sfq_change`
        Self {
            quantum_bytes,
            buckets: vec![Bucket::default(); config.divisor as usize],
            round: VecDeque::new(),
            changes: 0,
            seed: stream.up_to(u64::MAX),
            stream,
            perturb_at: match config.perturb_ps {
                Duration::ZERO => Instant::NEVER,
                perturb => Instant::ZERO + perturb,
            },
            config,
        }
    }

    /// Whether a queue may take another packet: it holds less than `depth`, and if it is empty, less than `flows` of the
    /// others are not.
    fn has_room(&self, index: u32) -> bool {
        let fifo = &self.buckets[index as usize].fifo;
        let may_begin = !fifo.is_empty() || (self.round.len() as u32) < self.config.flows;
        may_begin && fifo.packets() < self.config.depth_packets
    }

    /// Adds a packet to its queue. A queue that was empty goes to the end of the round, with a full turn.
    fn push(&mut self, index: u32, packet: Handle, packets: &mut WaitingPackets) {
        let bucket = &mut self.buckets[index as usize];
        if bucket.fifo.is_empty() {
            bucket.allot = i64::from(self.quantum_bytes);
            self.round.push_back(index);
        }
        bucket.fifo.push(packet, packets);
        self.note_change(index);
    }

    /// Records that a queue has become longer or shorter.
    #[inline]
    fn note_change(&mut self, index: u32) {
        self.changes += 1;
        self.buckets[index as usize].changed = self.changes;
    }

    /// Removes a packet, because there is one too many: the last of the longest queue. Among equals, that is the queue
    /// that became so long last. It has two packets or more, because there are at most as many queues as places.
    fn remove_one(&mut self, packets: &WaitingPackets) -> Handle {
        let length = |index: &u32| {
            let bucket = &self.buckets[*index as usize];
            (bucket.fifo.packets(), bucket.changed)
        };
        let longest = self.round.iter().copied().max_by_key(length);
        let index = longest.expect("packets wait");
        self.note_change(index);
        let last = self.buckets[index as usize].fifo.pop_last(packets);
        last.expect("a bucket in the round holds a packet")
    }

    fn bucket_of(&self, flow: u32) -> u32 {
        hash::queue_of(u64::from(flow), self.seed, self.config.divisor)
    }

    /// Draws a new hash if it is time. Returns whether it did: waiting packets must then move.
    #[inline]
    fn perturb(&mut self, now: Instant) -> bool {
        let is_time = now >= self.perturb_at;
        if is_time {
            self.draw_hash(now);
        }
        is_time
    }

    #[cold]
    fn draw_hash(&mut self, now: Instant) {
        self.perturb_at = self.perturb_at.next_after(now, self.config.perturb_ps);
        self.seed = self.stream.up_to(u64::MAX);
    }

    /// Moves waiting packets to their new queues. Each flow keeps its order. A packet for which its new queue has no
    /// room is dropped, as in `sfq_rehash`. Returns how many are.
    #[cold]
    fn move_all(&mut self, packets: &mut WaitingPackets) -> u32 {
        let mut waiting = Vec::new();
        for index in std::mem::take(&mut self.round) {
            let fifo = &mut self.buckets[index as usize].fifo;
            waiting.extend(std::iter::from_fn(|| fifo.pop(packets)));
        }
        let mut dropped = 0;
        for packet in waiting {
            let index = self.bucket_of(packets[packet].packet.flow);
            if self.has_room(index) {
                self.push(index, packet, packets);
            } else {
                packets.drop_queued(packet, Reason::Share);
                dropped += 1;
            }
        }
        dropped
    }
}

impl PacketScheduler for LinuxSfq {
    fn enqueue(&mut self, offer: &Offer<'_>, packets: &mut WaitingPackets) -> Admission {
        let packet = offer.packet;
        let mut waiting = offer.backlog.packets;
        if self.perturb(packets[packet].arrived) {
            waiting -= self.move_all(packets);
        }
        let own = self.bucket_of(packets[packet].packet.flow);
        if !self.has_room(own) {
            return Admission::Dropped(Reason::Share);
        }
        self.push(own, packet, packets);
        if waiting >= self.config.limit_packets {
            let last = self.remove_one(packets);
            if last == packet {
                return Admission::Dropped(Reason::Share);
            }
            packets.drop_queued(last, Reason::PushedOut);
        }
        Admission::Accepted
    }

    /// Nothing else waits, so the packet leaves at once, and its queue starts a new turn with the next packet.
    fn pass(&mut self, now: Instant, _: &PacketView) -> Option<Admission> {
        self.perturb(now);
        Some(Admission::Accepted)
    }

    fn dequeue(&mut self, now: Instant, packets: &mut WaitingPackets) -> Option<Handle> {
        if self.perturb(now) {
            self.move_all(packets);
        }
        loop {
            let next = self.round.pop_front()?;
            let bucket = &mut self.buckets[next as usize];
            if bucket.allot <= 0 {
                bucket.allot += i64::from(self.quantum_bytes);
                self.round.push_back(next);
                continue;
            }
            let packet = bucket
                .fifo
                .pop(packets)
                .expect("a bucket in the round holds a packet");
            if !bucket.fifo.is_empty() {
                bucket.allot -= i64::from(packets[packet].packet.frame_bytes);
                self.round.push_front(next); // its turn is not used up yet
                self.note_change(next);
            }
            return Some(packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{TestPort, packet};
    use super::*;

    fn port(limit_packets: u32, quantum_bytes: u32, perturb: Duration) -> TestPort<LinuxSfq> {
        let config = config(limit_packets, perturb);
        let stream = Stream::new(1, "test", 0);
        TestPort::new(LinuxSfq::new(config, quantum_bytes, stream))
    }

    fn config(limit_packets: u32, perturb_ps: Duration) -> Config {
        Config {
            limit_packets,
            depth_packets: 127,
            divisor: 1024,
            flows: 128,
            quantum_bytes: None,
            perturb_ps,
        }
    }

    #[test]
    fn a_turn_is_counted_in_bytes() {
        // flow 0 has packets of 500 bytes, flow 1 of 1500: three of flow 0 are sent for each of flow 1
        let mut port = port(127, 1500, Duration::ZERO);
        for _ in 0..6 {
            port.enter(packet(0, 500));
        }
        for _ in 0..2 {
            port.enter(packet(1, 1500));
        }
        assert_eq!(port.flows_sent(), [0, 0, 0, 1, 0, 0, 0, 1]);
    }

    #[test]
    fn where_all_is_full_the_longest_queue_loses_its_last_packet() {
        let mut port = port(10, 1518, Duration::ZERO);
        for _ in 0..10 {
            port.enter(packet(0, 1518));
        }
        // another packet of the longest queue is refused; one of another flow pushes its last packet out
        let refused = Admission::Dropped(Reason::Share);
        assert_eq!(port.enter(packet(0, 1518)), refused);
        assert_eq!(port.enter(packet(1, 1518)), Admission::Accepted);
        assert_eq!(port.dropped(), [(0, Reason::PushedOut)]);
        let sent = port.flows_sent();
        assert_eq!(sent.iter().filter(|flow| **flow == 0).count(), 9);
        assert_eq!(sent.len(), 10);
    }

    #[test]
    fn no_flow_gets_more_than_its_depth() {
        let mut port = port(1000, 1518, Duration::ZERO);
        (0..200).for_each(|_| {
            port.enter(packet(0, 64));
        });
        assert_eq!(port.backlog.packets, 127);
    }

    #[test]
    fn a_new_hash_loses_nothing_and_keeps_each_flow_in_order() {
        let mut port = port(127, 1518, Duration::from_secs(10));
        for n in 0..100 {
            port.now = Instant::from_ns(u64::from(n));
            port.enter(packet(n % 7, 1518));
        }
        let before = port.scheduler.seed;
        port.now = Instant::from_secs(10);
        let sent: Vec<_> = std::iter::from_fn(|| port.send()).collect();
        assert_ne!(port.scheduler.seed, before);
        assert_eq!(sent.len(), 100);
        for flow in 0..7 {
            let of_flow = sent.iter().filter(|waiting| waiting.packet.flow == flow);
            assert!(
                of_flow.map(|waiting| waiting.arrived).is_sorted(),
                "flow {flow}"
            );
        }
    }

    /// `sfq_rehash` drops a packet for which its new queue has no room, or for which it may begin no queue.
    #[test]
    fn after_a_new_hash_queues_keep_to_their_depth_and_number() {
        for (depth_packets, flows) in [(5, 128), (127, 3)] {
            let config = Config {
                depth_packets,
                flows,
                divisor: 4,
                ..config(1000, Duration::from_secs(10))
            };
            let scheduler = LinuxSfq::new(config, 1518, Stream::new(1, "test", 0));
            let mut port = TestPort::new(scheduler);
            for flow in 0..40 {
                port.enter(packet(flow, 1518));
            }
            assert!(port.dropped().is_empty());
            let waited = port.backlog.packets;
            port.now = Instant::from_secs(10);
            port.send();
            let dropped = port.dropped();
            assert!(dropped.iter().all(|(_, reason)| *reason == Reason::Share));
            assert_eq!(port.backlog.packets, waited - 1 - dropped.len() as u32);
            assert!(!dropped.is_empty());
            let LinuxSfq { buckets, round, .. } = &port.scheduler;
            let is_deeper = |bucket: &Bucket| bucket.fifo.packets() > depth_packets;
            assert!(!buckets.iter().any(is_deeper));
            assert!(round.len() as u32 <= flows);
        }
    }

    /// `sfq_enqueue` compares the limit with what is left after `sfq_rehash` has dropped packets.
    #[test]
    fn where_a_new_hash_drops_packets_the_newcomer_pushes_none_out() {
        let config = Config {
            depth_packets: 10,
            divisor: 4,
            ..config(40, Duration::from_secs(10))
        };
        let after_a_new_hash = |newcomer: u32| {
            let stream = Stream::new(1, "test", 0);
            let mut port = TestPort::new(LinuxSfq::new(config.clone(), 1518, stream));
            for flow in 0..400 {
                port.enter(packet(flow, 1518)); // each of the four queues is full in the end
            }
            port.now = Instant::from_secs(10);
            (port.enter(packet(newcomer, 1518)), port.dropped())
        };
        let mut tried = (0..100).map(after_a_new_hash);
        let accepted = tried.find(|(admission, _)| admission.is_accepted());
        let (_, dropped) = accepted.expect("a queue has room, as packets were dropped");
        assert!(!dropped.is_empty() && dropped.iter().all(|it| it.1 == Reason::Share));
    }

    /// `sfq_drop` takes the longest queue with the newcomer in it; among equals, the queue that became so long last.
    #[test]
    fn of_queues_alike_long_the_one_that_became_so_last_loses() {
        let mut port = port(11, 1518, Duration::ZERO);
        for n in 0..11 {
            port.enter(packet(n % 2, 1518)); // 6 of flow 0, 5 of flow 1
        }
        let refused = Admission::Dropped(Reason::Share);
        assert_eq!(port.enter(packet(1, 1518)), refused);
        assert!(port.dropped().is_empty());

        let mut port = self::port(12, 1518, Duration::ZERO);
        for n in 0..12 {
            port.enter(packet(n % 2, 1518));
        }
        // flow 1 came to 6 packets last, and then flow 0 to 5
        for loser in [1, 0, 0, 1] {
            assert_eq!(port.enter(packet(2, 1518)), Admission::Accepted);
            assert_eq!(port.dropped(), [(loser, Reason::PushedOut)]);
        }
    }

    /// `sfq_change` reduces `flows` to the limit. So a packet of one flow more than there are places is refused, and
    /// takes no place from another.
    #[test]
    fn there_are_no_more_queues_than_places() {
        let mut port = port(3, 1518, Duration::ZERO);
        for flow in 0..3 {
            assert_eq!(port.enter(packet(flow, 1518)), Admission::Accepted);
        }
        let refused = Admission::Dropped(Reason::Share);
        assert_eq!(port.enter(packet(3, 1518)), refused);
        assert!(port.dropped().is_empty());
        assert_eq!(port.flows_sent(), [0, 1, 2]);
    }
}

//! Stochastic fair queueing as in ns-2 (`sfq.cc`): a few buckets, which send one packet each in turn, and a rule of
//! shares by which arrivals are refused. `McKenney`'s paper (INFOCOM 1990) and Linux drop from the longest bucket
//! instead; see [`super::LinuxSfq`].

use std::collections::VecDeque;

use fairport_units::Instant;
use serde::{Deserialize, Serialize};

use super::{Addresses, Handle, Offer, PacketFifo, PacketScheduler, WaitingPackets, hash};
use crate::BuildError;
use crate::context::{PortContext, number_of_queues};
use crate::discipline::{Admission, Backlog, NOTHING, PacketView, Reason};

/// An SFQ queue, in the plan of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// most packets in all buckets together
    pub limit_packets: u32,
    /// number of buckets
    pub buckets: u32,
    /// seed of the hash; without it, the seed of the run
    pub seed: Option<u64>,
    /// names of hosts: packets sent by the hosts of the n-th list go into the n-th bucket
    pub placed: Vec<Vec<String>>,
}

impl Config {
    pub(crate) fn build(&self, port: &PortContext<'_>) -> Result<Sfq, BuildError> {
        let limit_packets = port.limit_in_packets(self.limit_packets)?;
        if limit_packets == 1 {
            let problem =
                "admits no packet: a bucket may hold half of the free places, rounded down";
            let remedy = "give at least \"2 packets\"";
            return Err(BuildError::new("queue.limit", 1, problem, remedy));
        }
        Ok(Sfq::new(
            limit_packets,
            number_of_queues("buckets", self.buckets)?,
            self.seed.unwrap_or(port.seed()),
            self.bucket_of_hosts(port)?,
        ))
    }

    /// The bucket of each host that is placed in one, by host number.
    fn bucket_of_hosts(&self, port: &PortContext<'_>) -> Result<Vec<Option<u32>>, BuildError> {
        if self.placed.is_empty() {
            return Ok(Vec::new());
        }
        let mut bucket_of = vec![None; port.hosts()];
        for (bucket, names) in self.placed.iter().enumerate() {
            for (i, name) in names.iter().enumerate() {
                let refuse = |problem: &str, remedy: String| {
                    let field = format!("queue.placed.{bucket}.{i}");
                    BuildError::new(field, name, problem, remedy)
                };
                let number = port.host_number(name).ok_or_else(|| {
                    let remedy = format!("name one of the {} hosts", port.hosts());
                    refuse("is not a host of the topology", remedy)
                })?;
                let place = &mut bucket_of[number as usize];
                if place.is_some() {
                    let remedy = "place each host once".to_string();
                    return Err(refuse("is placed already", remedy));
                }
                if bucket as u32 >= self.buckets {
                    let remedy = "give no more lists than there are buckets".to_string();
                    return Err(refuse("is placed in a bucket that does not exist", remedy));
                }
                *place = Some(bucket as u32);
            }
        }
        Ok(bucket_of)
    }

    /// Memory of the empty queues of one port, in bytes.
    pub(crate) fn state_bytes(&self, hosts: u64) -> u64 {
        let placed = if self.placed.is_empty() { 0 } else { hosts };
        u64::from(self.buckets) * size_of::<PacketFifo>() as u64
            + placed * size_of::<Option<u32>>() as u64
    }
}

/// SFQ as in ns-2.
///
/// The bucket depends only on the addresses of source and destination, so all flows between a pair of hosts share a
/// bucket. With few buckets, the result depends on which flows share one: `placed` decides that, otherwise the seed
/// does.
#[derive(Clone, Debug)]
pub struct Sfq {
    limit_packets: u32,
    seed: u64,
    /// by number of the source: the bucket in which it is placed
    placed: Vec<Option<u32>>,
    buckets: Vec<PacketFifo>,
    /// buckets with packets, in the order of their turns
    round: VecDeque<u32>,
}

impl Sfq {
    /// Empty buckets for `limit_packets` packets in all. Packets from host number n go into bucket `placed[n]`. If that
    /// is `None` or missing, a hash of the addresses and the seed chooses the bucket.
    pub fn new(limit_packets: u32, buckets: u32, seed: u64, placed: Vec<Option<u32>>) -> Self {
        assert!(buckets > 0 && placed.iter().flatten().all(|bucket| *bucket < buckets));
        Self {
            limit_packets,
            seed,
            placed,
            buckets: vec![PacketFifo::default(); buckets as usize],
            round: VecDeque::new(),
        }
    }

    fn bucket_of(&self, addresses: Addresses) -> u32 {
        let placed = self
            .placed
            .get(addresses.source as usize)
            .copied()
            .flatten();
        placed.unwrap_or_else(|| {
            let key = u64::from(addresses.source) << 32 | u64::from(addresses.destination);
            hash::queue_of(key, self.seed, self.buckets.len() as u32)
        })
    }

    /// The rule of shares, for a packet whose bucket holds `queued` packets.
    fn admission(&self, backlog: Backlog, queued: u32) -> Admission {
        let buckets = self.buckets.len() as u32;
        let free = self.limit_packets.saturating_sub(backlog.packets);
        if free == 0 {
            return Admission::Dropped(Reason::Full);
        }
        if queued >= free / 2 || (free < buckets && queued > self.limit_packets / buckets) {
            return Admission::Dropped(Reason::Share);
        }
        Admission::Accepted
    }
}

impl PacketScheduler for Sfq {
    fn enqueue(&mut self, offer: &Offer<'_>, packets: &mut WaitingPackets) -> Admission {
        let bucket = self.bucket_of(offer.addresses());
        let queued = self.buckets[bucket as usize].packets();
        let admission = self.admission(offer.backlog, queued);
        if admission == Admission::Accepted {
            if queued == 0 {
                self.round.push_back(bucket);
            }
            self.buckets[bucket as usize].push(offer.packet, packets);
        }
        admission
    }

    /// Nothing else waits, so the packet leaves at once and changes no state.
    fn pass(&mut self, _: Instant, _: &PacketView) -> Option<Admission> {
        Some(self.admission(NOTHING, 0))
    }

    fn dequeue(&mut self, _: Instant, packets: &mut WaitingPackets) -> Option<Handle> {
        let bucket = self.round.pop_front()?;
        let fifo = &mut self.buckets[bucket as usize];
        let packet = fifo.pop(packets);
        if !fifo.is_empty() {
            self.round.push_back(bucket);
        }
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{TestPort, packet};
    use super::*;
    use crate::PortId;
    use crate::context::NetworkContext;
    use crate::topology::star;
    use fairport_units::Rate;

    #[test]
    fn flows_of_one_source_to_several_receivers_are_hashed_apart() {
        let sfq = Sfq::new(40, 4, 1, Vec::new());
        let mut filled = [0; 4];
        for destination in 0..400 {
            let bucket = sfq.bucket_of(Addresses {
                source: 7,
                destination,
            });
            filled[bucket as usize] += 1;
        }
        // 100 each, with four standard deviations
        assert!(filled.iter().all(|n| (65..136).contains(n)), "{filled:?}");
    }

    #[test]
    fn in_a_buffer_that_is_nearly_full_a_bucket_has_its_part_and_no_more() {
        let sfq = Sfq::new(40, 16, 1, Vec::new());
        let waiting = |packets| Backlog {
            bytes: 1518 * packets,
            packets,
        };
        let share = Admission::Dropped(Reason::Share);
        // ten places are free, fewer than buckets: each bucket may hold 40 / 16 packets
        assert_eq!(sfq.admission(waiting(30), 2), Admission::Accepted);
        assert_eq!(sfq.admission(waiting(30), 3), share);
        // sixteen places are free: a bucket may hold half of them
        assert_eq!(sfq.admission(waiting(24), 7), Admission::Accepted);
        assert_eq!(sfq.admission(waiting(24), 8), share);
        let full = Admission::Dropped(Reason::Full);
        assert_eq!(sfq.admission(waiting(40), 0), full);
    }

    /// As in ns-2, half of one free place is none.
    #[test]
    fn a_buffer_of_one_place_would_admit_nothing_and_is_refused() {
        let topology = star(2).expect("two hosts");
        let network = NetworkContext::new(&topology, 1, 1518);
        let port = network.port(PortId(0), Rate::from_bps(1_000_000_000));
        for limit_packets in [1, 2] {
            let config = Config {
                limit_packets,
                buckets: 1,
                seed: None,
                placed: Vec::new(),
            };
            let mut queue = TestPort::new(Sfq::new(limit_packets, 1, 1, Vec::new()));
            let admits = queue.enter(packet(0, 1518)).is_accepted();
            assert_eq!(config.build(&port).is_ok(), admits, "{limit_packets}");
            assert_eq!(admits, limit_packets == 2);
        }
    }

    #[test]
    fn the_hosts_of_each_list_are_in_its_bucket_and_no_others_are_placed() {
        let topology = star(4).expect("four hosts");
        let network = NetworkContext::new(&topology, 1, 1518);
        let config = Config {
            limit_packets: 40,
            buckets: 4,
            seed: None,
            placed: vec![vec!["h3".into()], vec!["h1".into(), "h0".into()]],
        };
        let port = network.port(PortId(0), Rate::from_bps(1_000_000_000));
        let placed = config.bucket_of_hosts(&port).expect("they are hosts");
        assert_eq!(placed, [Some(1), Some(1), None, Some(0)]);
    }

    /// Four buckets for 40 packets (Prakash 2012, as in the paper's ns-2 run). Host n is placed in bucket n and sends
    /// flow n.
    fn four_buckets() -> TestPort<Sfq> {
        TestPort::new(Sfq::new(40, 4, 0, (0..4).map(Some).collect()))
    }

    /// Sends packets of a flow until one is refused.
    fn fill(port: &mut TestPort<Sfq>, flow: u32) -> Admission {
        loop {
            let admission = port.enter(packet(flow, 1000));
            if admission != Admission::Accepted {
                return admission;
            }
        }
    }

    #[test]
    fn a_lone_bucket_gets_13_of_40_places() {
        // the 14th packet finds 13 before it and 27 places free: 13 >= 27 / 2
        let mut port = four_buckets();
        assert_eq!(fill(&mut port, 0), Admission::Dropped(Reason::Share));
        assert_eq!(port.backlog.packets, 13);
    }

    #[test]
    fn four_greedy_buckets_one_after_the_other_get_13_9_6_and_4() {
        // a bucket of n packets, with w packets in others, is full when n >= (40 - w - n) / 2
        let mut port = four_buckets();
        let mut held = Vec::new();
        for flow in 0..4 {
            let before = port.backlog.packets;
            fill(&mut port, flow);
            held.push(port.backlog.packets - before);
        }
        assert_eq!(held, [13, 9, 6, 4]);
    }

    #[test]
    fn buckets_take_turns_packet_by_packet() {
        let mut port = four_buckets();
        for flow in [0, 0, 0, 1, 1, 2] {
            port.enter(packet(flow, 1000));
        }
        assert_eq!(port.flows_sent(), [0, 1, 2, 0, 1, 0]);
    }

    #[test]
    fn who_is_not_placed_is_hashed_by_both_addresses() {
        let queue = Sfq::new(40, 4, 7, Vec::new());
        let bucket = |source, destination| {
            queue.bucket_of(Addresses {
                source,
                destination,
            })
        };
        assert_eq!(bucket(1, 2), bucket(1, 2));
        let of_pairs: Vec<u32> = (0..32).map(|n| bucket(n, 99)).collect();
        assert!(
            (0..4).all(|wanted| of_pairs.contains(&wanted)),
            "{of_pairs:?}"
        );
        assert!((0..32).any(|n| bucket(n, 99) != bucket(99, n)));
    }
}

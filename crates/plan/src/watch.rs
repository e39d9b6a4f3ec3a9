//! Selects the ports to watch: those through which most flows pass.
//!
//! The flows that the job lists are counted one by one, unless their paths have more than [`LISTED_HOPS`] hops: packets
//! that are sprayed in a large fat-tree have thousands of paths per flow. A workload may start flows between many pairs
//! of hosts. Up to [`EXACT_PAIRS`] pairs are all counted. Above these numbers only an evenly spread sample is counted,
//! so that the selection takes the same time for networks of any size. It still finds ports that clearly carry more
//! flows than others. Which of many equally busy ports are watched then depends on the sample.

use std::cmp::Reverse;

use fairport_net::routing::Protocol;
use fairport_net::{PortId, Topology};
use serde::Serialize;

use crate::flow::ListedFlow;
use crate::job::Job;
use crate::router::{Router, ports_of};
use crate::workload::Ends;

/// Listed flows are sampled if their paths have more hops than this in total.
const LISTED_HOPS: usize = 1 << 24;

/// The number of listed flows from which the hops of all are estimated.
const MEASURED_FLOWS: usize = 100;

/// A workload with more pairs of hosts than this is sampled.
const EXACT_PAIRS: u64 = 1 << 17;

/// A sample ends when the paths of its pairs have this many hops in total.
const SAMPLED_HOPS: usize = 1 << 17;

/// The ports to watch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Watch {
    /// ports of forwarding nodes where data of two or more flows may queue (if there are none: of any flow), in order of
    /// their numbers; their queues are recorded
    pub queues: Vec<PortId>,
    /// the port through which the data of most flows passes; its packets are traced
    pub traced: PortId,
}

impl Watch {
    /// Chooses the ports for a job with these flows and workloads.
    pub(crate) fn new(
        job: &Job,
        topology: &Topology,
        router: &mut Router,
        flows: &[ListedFlow],
        workloads: &[Ends],
    ) -> Self {
        let mut counter = Counter {
            topology,
            router,
            flows: vec![0; topology.ports().len()],
            next_number: 0,
        };
        counter.count_listed(flows, LISTED_HOPS);
        for ends in workloads {
            counter.count_workload(ends);
        }
        let flows = counter.flows;
        Self {
            queues: shared_ports(topology, &flows, job.probes.watched_ports),
            traced: busiest_port(topology, &flows),
        }
    }
}

/// Counts flows at ports.
struct Counter<'a> {
    topology: &'a Topology,
    router: &'a mut Router,
    /// by port: flows that may pass it
    flows: Vec<u64>,
    /// number of the next flow; flows need numbers because policies hash them
    next_number: u32,
}

impl Counter<'_> {
    /// Counts a flow between two hosts. Returns the number of hops on its paths.
    fn count(&mut self, pair: [u32; 2], protocol: Protocol) -> usize {
        let number = self.next_number;
        let paths = self.router.forward(self.topology, number, pair, protocol);
        self.next_number += 1;
        for port in ports_of(&paths) {
            self.flows[port.0 as usize] += 1;
        }
        paths.iter().map(Vec::len).sum()
    }

    /// Counts the flows that the job lists, or as many of them as have about `most` hops on their paths.
    fn count_listed(&mut self, flows: &[ListedFlow], most: usize) {
        let step = self.hops(flows).div_ceil(most).max(1);
        for (number, flow) in (0..).zip(flows).step_by(step) {
            self.next_number = number;
            self.count(flow.spec.hosts(), flow.spec.protocol());
        }
        for count in &mut self.flows {
            *count *= step as u64;
        }
        self.next_number = flows.len() as u32;
    }

    /// About how many hops the paths of these flows have in total; 0 for few flows.
    fn hops(&mut self, flows: &[ListedFlow]) -> usize {
        if flows.len() <= MEASURED_FLOWS {
            return 0;
        }
        let measured = flows.iter().step_by(flows.len().div_ceil(MEASURED_FLOWS));
        let counted = measured.len();
        let hops = measured.map(|flow| {
            let (pair, protocol) = (flow.spec.hosts(), flow.spec.protocol());
            let paths = self.router.forward(self.topology, 0, pair, protocol);
            paths.iter().map(Vec::len).sum::<usize>()
        });
        hops.sum::<usize>() * flows.len() / counted
    }

    fn count_workload(&mut self, ends: &Ends) {
        let pairs = ends.most_pairs();
        if pairs <= EXACT_PAIRS {
            for [src, dst] in ends.pairs() {
                self.count([src.host, dst.host], Protocol::Tcp);
            }
            return;
        }
        let before = std::mem::replace(&mut self.flows, vec![0; self.topology.ports().len()]);
        let (mut hops, mut sampled) = (0, 0);
        for pair in (0..pairs).map(|i| sampled_pair(ends, i)) {
            if pair[0] == pair[1] {
                continue;
            }
            hops += self.count(pair, Protocol::Tcp);
            sampled += 1;
            if hops >= SAMPLED_HOPS {
                break;
            }
        }
        for (flows, before) in self.flows.iter_mut().zip(before) {
            *flows = before + *flows * pairs / sampled;
        }
    }
}

/// The hosts of the `i`-th pair in a sequence that covers all pairs evenly at any length: Roberts's R2, the multiples
/// of 1/g and 1/g² modulo 1, where g³ = g + 1 ("The unreasonable effectiveness of quasirandom sequences", 2018).
fn sampled_pair(ends: &Ends, i: u64) -> [u32; 2] {
    /// 2^64 / g
    const FIRST: u64 = 0xc13f_a9a9_02a6_328f;
    /// 2^64 / g², rounded to an odd number
    const SECOND: u64 = 0x91e1_0da5_c79e_7b1d;
    let index = |step: u64, count: usize| {
        let share = u128::from(step.wrapping_mul(i));
        ((share * count as u128) >> 64) as usize
    };
    let pair = match &ends.of_trace {
        Some(flows) => flows[index(FIRST, flows.len())].map(|end| end as usize),
        None => [
            index(FIRST, ends.senders.len()),
            index(SECOND, ends.receivers.len()),
        ],
    };
    ends.pair(pair).map(|end| end.host)
}

/// The port that the data of most flows passes. Among equals, the one with the highest number. No port by which a host
/// reaches itself: there is no link behind it, and nothing waits there.
fn busiest_port(topology: &Topology, flows: &[u64]) -> PortId {
    let ports = (0..flows.len() as u32).map(PortId);
    let links = ports.filter(|port| topology.leads_on(*port));
    let busiest = links.max_by_key(|port| flows[port.0 as usize]);
    busiest.unwrap_or(PortId(0))
}

/// The ports of forwarding nodes that the data of two or more flows may pass, in order. If there are none, those that the
/// data of any flow may pass: a lone flow has a queue, too. If there are more than `most`, those with the most flows.
fn shared_ports(topology: &Topology, flows: &[u64], most: u32) -> Vec<PortId> {
    let flows = |port: &PortId| flows[port.0 as usize];
    let forwards = |port: &PortId| topology.node(topology.port(*port).node).forwards;
    let used = |port: &PortId| flows(port) > 0 && forwards(port) && topology.leads_on(*port);
    let mut ports: Vec<PortId> = topology.port_ids().filter(used).collect();
    if ports.iter().any(|port| flows(port) > 1) {
        ports.retain(|port| flows(port) > 1);
    }
    ports.sort_by_key(|port| Reverse(flows(port)));
    ports.truncate(most as usize);
    ports.sort_unstable();
    ports
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::*;
    use crate::ends::{HostNumbers, listed_flows};
    use crate::flow::End;

    fn ends(senders: u32, receivers: u32) -> Ends {
        let side = |hosts: u32| (0..hosts).map(|host| End { host, stack: 0 }).collect();
        Ends {
            senders: side(senders),
            receivers: side(receivers),
            senders_bps: 0,
            receivers_bps: 0,
            of_trace: None,
        }
    }

    fn job(topology: &Value, routing: &str, flows: &[Value]) -> Job {
        let job = json!({
            "seed": 1, "duration_ps": 1, "topology": topology, "routing": routing,
            "link": {
                "rate_bps": 1, "delay_ps": 0, "delay_spread_ps": 0, "mtu_bytes": 1500, "framing": "ethernet",
                "clock_error_ppb": 0,
            },
            "switch": {"processing_delay_ps": 0, "arbitration": "round-robin", "departure_first": true},
            "queue": {"kind": "drop-tail", "limit": {"bytes": 16_384}, "count_in_service": true},
            "host": {
                "delay_ps": 0, "delay_spread_ps": 0, "queue_packets": 1,
                "processing": {"kind": "constant", "value_ps": 0},
            },
            "stacks": [{"preset": "linux-6", "overrides": {"mss_bytes": 1460}}],
            "flows": flows,
            "probes": {
                "series_interval_ps": 1, "queue_interval_ps": 1, "measure_from_ps": null, "measure_to_ps": null,
            },
        });
        serde_json::from_value(job).expect("a job")
    }

    #[test]
    fn a_sample_takes_every_host_about_equally_often() {
        let ends = ends(1000, 300);
        let mut sent = vec![0_u32; 1000];
        let mut received = vec![0_u32; 300];
        let mut pairs = BTreeSet::new();
        for i in 0..30_000 {
            let [src, dst] = sampled_pair(&ends, i);
            sent[src as usize] += 1;
            received[dst as usize] += 1;
            pairs.insert([src, dst]);
        }
        assert!(sent.iter().all(|n| (27..=33).contains(n)), "30 expected");
        assert!(received.iter().all(|n| (95..=105).contains(n)), "100");
        assert!(pairs.len() > 28_000, "few pairs come twice");
    }

    #[test]
    fn a_sample_of_pairs_counts_for_all_pairs() {
        let job = job(&json!({"kind": "star", "hosts": 500}), "ecmp", &[]);
        let topology = job.topology.build().expect("a star");
        let mut router = Router::new(&job, &topology).expect("few paths");
        let mut counter = Counter {
            topology: &topology,
            router: &mut router,
            flows: vec![0; topology.ports().len()],
            next_number: 0,
        };
        // 250 000 pairs, of which about 65 536 are sampled: each host is in 499 pairs, once as a sender
        counter.count_workload(&ends(500, 500));
        let near = |flows: &u64| (460..540).contains(flows);
        assert!(counter.flows.iter().all(near), "{:?}", counter.flows);
    }

    #[test]
    fn a_part_of_many_sprayed_flows_stands_for_all() {
        let flow = |src: u32| {
            json!({
                "src": format!("h{src}"), "dst": "h0", "start_ps": 0, "start_jitter_ps": 0, "size_bytes": null,
                "sender_stack": 0, "receiver_stack": 0,
            })
        };
        // from all but the first pod of 16 hosts, ten each: one port leads to the receiver, and 16 paths lead there
        let flows: Vec<_> = (0..10).flat_map(|_| (16..128).map(flow)).collect();
        let topology = json!({"kind": "fat-tree", "k": 8});
        let job = job(&topology, "spray", &flows);
        let topology = job.topology.build().expect("a fat-tree");
        let mut router = Router::new(&job, &topology).expect("few paths");
        let flows = listed_flows(&job, &HostNumbers::new(&topology)).expect("hosts");
        let mut counted = |most: usize| {
            let mut counter = Counter {
                topology: &topology,
                router: &mut router,
                flows: vec![0; topology.ports().len()],
                next_number: 0,
            };
            counter.count_listed(&flows, most);
            assert_eq!(counter.next_number, 1120, "the numbers of later flows");
            let cores = topology.port_ids().filter(|port| {
                let node = topology.node(topology.port(*port).node);
                node.name.starts_with("core")
            });
            let at_cores: Vec<u64> = cores.map(|port| counter.flows[port.0 as usize]).collect();
            (counter.flows.into_iter().max(), at_cores)
        };
        let (all, at_cores) = counted(usize::MAX);
        assert_eq!(all, Some(1120));
        // 16 paths of 6 hops: a tenth of the flows has a tenth of them
        assert_eq!(counted(1120 * 16 * 6 / 10), (all, at_cores));
    }
}

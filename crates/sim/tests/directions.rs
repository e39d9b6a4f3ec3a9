//! The direction that a packet carries, from which captures take its addresses; and the paths that packets draw.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::watched::{Sight, run_seen};
use crate::common::{column, flow, outcast, seconds, single_flow};
use fairport_net::topology::fat_tree;
use fairport_net::{Arrival, Packet, PortId};
use fairport_record::Numbered;
use fairport_tcp::Flags;
use fairport_units::Instant;
use serde_json::{Value, json};

/// The flow and the content of each packet, in the order of sending.
type Packets = Vec<(u32, Numbered)>;
/// The ports that each packet passed, by its flow, whether it goes backward, and its number.
type Ways = BTreeMap<(u32, bool, u16), Vec<PortId>>;

/// The packets that hosts send, and the ports that each packet passes.
#[derive(Default)]
struct Kept {
    packets: Packets,
    ways: Ways,
}

impl Sight for Kept {
    fn sent(&mut self, packet: &Packet<Numbered>) {
        self.packets.push((packet.header.flow, packet.content));
    }

    fn arrived(&mut self, arrival: &Arrival<'_, Numbered>) -> bool {
        let content = arrival.content;
        let key = (arrival.header.flow, content.is_backward, content.number);
        self.ways.entry(key).or_default().push(arrival.port);
        true
    }
}

/// Runs a job to its end; returns its packets and the ports that they passed.
fn run_kept(job: &Value) -> (Packets, Ways) {
    let mut kept = Kept::default();
    run_seen(job, &mut kept);
    (kept.packets, kept.ways)
}

#[test]
fn data_goes_forward_and_acknowledgements_go_backward_each_way_with_its_own_numbers() {
    let mut job = single_flow();
    job["duration_ps"] = json!(seconds(0.05));
    job["flows"] = json!([flow("a", "b"), flow("b", "a")]);
    let packets = run_kept(&job).0;
    for of in [0, 1] {
        for is_backward in [false, true] {
            let some: Vec<Numbered> = packets
                .iter()
                .filter(|(flow, content)| *flow == of && content.is_backward == is_backward)
                .map(|(_, content)| *content)
                .collect();
            assert!(some.len() > 50, "{} of flow {of}", some.len());
            // forward, every packet but the SYN carries data; backward, none does
            assert!(
                some.iter()
                    .all(|one| (one.segment.payload > 0) == (!is_backward && one.number > 1))
            );
            let numbers: BTreeSet<u16> = some.iter().map(|one| one.number).collect();
            assert_eq!(numbers.first(), Some(&1));
            assert_eq!(
                numbers.last().map(|last| usize::from(*last)),
                Some(numbers.len())
            );
        }
    }
}

#[test]
fn each_direction_of_each_flow_draws_its_ways_apart() {
    let mut job = outcast();
    job["routing"] = json!({"equal-length": {"core": null, "per": "packet"}});
    job["queue"]["limit"]["bytes"] = json!(10_000_000);
    job["duration_ps"] = json!(seconds(0.2));
    let datagrams = |src: &str, dst: &str| {
        let mut flow = flow(src, dst);
        flow["udp"] = json!({
            "payload_bytes": 1000, "rate_bps": 100_000_000, "pattern": {"kind": "constant"},
        });
        flow
    };
    let tcp = || flow("h12", "h0");
    job["flows"] = json!([datagrams("h12", "h0"), tcp(), datagrams("h12", "h0"), tcp()]);
    let ways = run_kept(&job).1;
    // the fourth port is that of a core switch; there are 4 equally likely paths to another pod
    let tree = fat_tree(4).unwrap();
    let core = |direction: (u32, bool), number| {
        let way = ways.get(&(direction.0, direction.1, number))?;
        Some(tree.port(*way.get(3)?).node)
    };
    let both = [false, true].map(|is_backward| [1, 3].map(|flow| (flow, is_backward)));
    let mut directions = [[(0, false), (2, false)], both[0], both[1]].concat();
    while let Some(one) = directions.pop() {
        for other in &directions {
            let pairs =
                (1..=1000).filter_map(|number| Some((core(one, number)?, core(*other, number)?)));
            let same: Vec<bool> = pairs.map(|(one, other)| one == other).collect();
            assert!(same.len() > 600, "{}", same.len());
            let share = same.iter().filter(|same| **same).count() as f64 / same.len() as f64;
            assert!(
                (0.18..0.32).contains(&share),
                "{share} of {one:?} and {other:?}"
            );
        }
    }
}

/// The end of the run whose drops are compared.
const END: Instant = Instant::from_ms(500);

/// By port and number of arrival: whether the packet goes backward, and whether it is a pure ACK.
#[derive(Default)]
struct Kinds(BTreeMap<(u32, u64), [bool; 2]>);

impl Sight for Kinds {
    fn arrived(&mut self, arrival: &Arrival<'_, Numbered>) -> bool {
        let content = arrival.content;
        let is_pure_ack = content.segment.payload == 0 && content.segment.flags == Flags::ACK;
        let place = (arrival.port.0, arrival.port_arrival);
        // a NIC's packets are known in advance, also those that it sends after the run
        if arrival.time <= END {
            self.0.insert(place, [content.is_backward, is_pure_ack]);
        }
        true
    }
}

#[test]
fn a_drop_row_says_which_way_its_packet_went_and_whether_it_was_a_pure_ack() {
    // Large requests and their responses pass the full port to h0 in the two directions of their flows, and so do their
    // ACKs. DRR may drop a packet after it was accepted.
    let sizes = |bytes: u64| json!({"points": [[bytes, 1_000_000_000]], "unit_bytes": 1});
    let between = |server: &str, client: &str| {
        json!({
            "traffic": 0, "start_ps": 0,
            "senders": [{"host": server, "stack": 0}], "receivers": [{"host": client, "stack": 0}],
            "pattern": {
                "kind": "request-response", "connections": 4, "requests": null,
                "request": sizes(200_000), "response": sizes(200_000),
                "think": {"kind": "constant", "value_ps": 0}, "jitter_ps": 0,
            },
        })
    };
    let mut job = outcast();
    job["duration_ps"] = json!(END.as_ps());
    job["workloads"] = json!([between("h0", "h1"), between("h1", "h0")]);
    let of_drr = json!({"kind": "drr", "limit": {"bytes": 16_384}, "quantum_bytes": null});
    let fifo = job["queue"].clone();
    // DRR drops from the longest queue, which is never one of ACKs
    for (queue, kinds_dropped) in [(fifo, 4), (of_drr, 2)] {
        job["queue"] = queue;
        let mut kinds = Kinds::default();
        let results = run_seen(&job, &mut kinds);
        let kinds = kinds.0;
        let drops = |name| column(&results, "drops", name);
        let (ports, arrivals) = (drops("port"), drops("port_arrival"));
        let (ways, acks) = (drops("is_backward"), drops("is_pure_ack"));
        let mut seen = BTreeSet::new();
        for row in 0..ports.len() {
            let kind = kinds[&(ports[row] as u32, arrivals[row] as u64)];
            assert_eq!([ways[row], acks[row]].map(|it| it > 0.0), kind, "row {row}");
            seen.insert(kind);
        }
        assert_eq!(seen.len(), kinds_dropped, "{seen:?}");
        let of_ports = column(&results, "ports", "arrivals");
        for (port, arrivals) in (0..).zip(of_ports) {
            let last = kinds.range((port, 0)..(port + 1, 0)).next_back();
            assert_eq!(last.map_or(0, |((_, number), _)| *number), arrivals as u64);
        }
    }
}

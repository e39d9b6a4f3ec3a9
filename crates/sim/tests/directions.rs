//! The direction that a packet carries, from which captures take its addresses; and the paths that packets draw.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::watched::{Sight, run_seen};
use crate::common::{flow, outcast, seconds, single_flow};
use fairport_net::topology::fat_tree;
use fairport_net::{Arrival, Packet, PortId};
use fairport_record::Numbered;
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

impl Sight<Numbered> for Kept {
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
    let mut simulation = run_seen(job, Kept::default());
    let kept = std::mem::take(&mut simulation.observer_mut().sight);
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

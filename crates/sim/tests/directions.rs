//! The direction that a packet carries, from which captures take its addresses; and the paths that packets draw.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{flow, outcast, seconds, single_flow};
use fairport_net::discipline::Admission;
use fairport_net::topology::fat_tree;
use fairport_net::{Arrival, Header, Observer, Packet, PortId};
use fairport_plan::{Job, Plan};
use fairport_record::{Numbered, PortFingerprint, Recorder, Watcher};
use fairport_sim::Simulation;
use fairport_units::Instant;
use serde_json::{Value, json};

/// The flow and the content of each packet, in the order of sending.
type Packets = Vec<(u32, Numbered)>;
/// The ports that each packet passed, by its flow, whether it goes backward, and its number.
type Ways = BTreeMap<(u32, bool, u16), Vec<PortId>>;

/// A recorder that also keeps the packets that hosts send, and the ports that each packet passes.
struct Kept {
    recorder: Recorder,
    packets: Packets,
    ways: Ways,
}

impl Watcher for Kept {
    fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    fn recorder_mut(&mut self) -> &mut Recorder {
        &mut self.recorder
    }

    fn into_recorder(self) -> Recorder {
        self.recorder
    }
}

impl Observer<Numbered> for Kept {
    type PortState = PortFingerprint;

    fn sent(&mut self, port: PortId, state: &mut PortFingerprint, packet: &Packet<Numbered>) {
        self.recorder.sent(port, state, packet);
        self.packets.push((packet.header.flow, packet.content));
    }

    fn admission(
        &mut self,
        port: PortId,
        state: &mut PortFingerprint,
        time: Instant,
        header: &Header,
        admission: Admission,
    ) {
        Observer::<Numbered>::admission(&mut self.recorder, port, state, time, header, admission);
    }

    fn watches(&self, _: PortId) -> bool {
        true
    }

    fn detail(&mut self, arrival: &Arrival<'_, Numbered>) {
        let content = arrival.content;
        let key = (arrival.header.flow, content.is_backward, content.number);
        self.ways.entry(key).or_default().push(arrival.port);
        self.recorder.detail(arrival);
    }

    fn revised(&mut self, arrival: &Arrival<'_, Numbered>) {
        self.recorder.revised(arrival);
    }

    fn departs(&mut self, port: PortId, packet: &Packet<Numbered>, arrival: u64, depart: Instant) {
        self.recorder.departs(port, packet, arrival, depart);
    }
}

/// Runs a job to its end; returns its packets and the ports that they passed.
fn run_kept(job: Value) -> (Packets, Ways) {
    let job: Job = serde_json::from_value(job).expect("a job");
    let plan = Plan::new(job).expect("a possible job");
    let mut simulation = Simulation::with_observer(plan, |_, recorder| Kept {
        recorder,
        packets: Vec::new(),
        ways: BTreeMap::new(),
    });
    while !simulation.advance(100_000) {}
    let kept = simulation.observer_mut();
    (
        std::mem::take(&mut kept.packets),
        std::mem::take(&mut kept.ways),
    )
}

#[test]
fn data_goes_forward_and_acknowledgements_go_backward_each_way_with_its_own_numbers() {
    let mut job = single_flow();
    job["duration_ps"] = json!(seconds(0.05));
    job["flows"] = json!([flow("a", "b"), flow("b", "a")]);
    let packets = run_kept(job).0;
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
    let ways = run_kept(job).1;
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

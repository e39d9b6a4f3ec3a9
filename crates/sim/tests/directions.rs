//! What a packet says of its direction, which is what captures take its addresses from.

mod common;

use std::collections::BTreeSet;

use common::{flow, seconds, single_flow};
use fairport_net::discipline::Admission;
use fairport_net::{Arrival, Header, Observer, Packet, PortId};
use fairport_plan::{Job, Plan};
use fairport_record::{Numbered, PortFingerprint, Recorder, Watcher};
use fairport_sim::Simulation;
use fairport_units::Instant;
use serde_json::json;

/// A recorder that keeps the packets that have left a port: flow and content.
struct Kept {
    recorder: Recorder,
    packets: Vec<(u32, Numbered)>,
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
        self.recorder.detail(arrival);
    }

    fn revised(&mut self, arrival: &Arrival<'_, Numbered>) {
        self.recorder.revised(arrival);
    }

    fn departs(&mut self, port: PortId, packet: &Packet<Numbered>, arrival: u64, depart: Instant) {
        self.recorder.departs(port, packet, arrival, depart);
    }
}

#[test]
fn data_goes_forward_and_acknowledgements_go_backward_each_way_with_its_own_numbers() {
    let mut job = single_flow();
    job["duration_ps"] = json!(seconds(0.05));
    job["flows"] = json!([flow("a", "b"), flow("b", "a")]);
    let job: Job = serde_json::from_value(job).expect("a job");
    let plan = Plan::new(job).expect("a possible job");
    let mut simulation = Simulation::with_observer(plan, |_, recorder| Kept {
        recorder,
        packets: Vec::new(),
    });
    while !simulation.advance(100_000) {}
    let packets = std::mem::take(&mut simulation.observer_mut().packets);
    for of in [0, 1] {
        for is_backward in [false, true] {
            let some: Vec<Numbered> = packets
                .iter()
                .filter(|(flow, content)| *flow == of && content.is_backward == is_backward)
                .map(|(_, content)| *content)
                .collect();
            assert!(some.len() > 50, "{} of flow {of}", some.len());
            // all but the SYN carry data one way, nothing does the other way
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

//! A run in which every port is watched, so that no packet is forwarded ahead.

use fairport_net::discipline::Admission;
use fairport_net::{Arrival, Header, Observer, Packet, PortId};
use fairport_plan::{Job, Plan};
use fairport_record::{PortFingerprint, Recorder, Watcher};
use fairport_sim::{Recorded, Simulation};
use fairport_tcp::Segment;
use fairport_units::Instant;
use serde_json::Value;

/// A recorder that watches every port; it can be made to miss the drops.
struct EveryPort {
    recorder: Recorder,
    hides_drops: bool,
}

impl Watcher for EveryPort {
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

impl Observer<Segment> for EveryPort {
    type PortState = PortFingerprint;

    fn sent(&mut self, port: PortId, state: &mut PortFingerprint, packet: &Packet<Segment>) {
        self.recorder.sent(port, state, packet);
    }

    fn admission(
        &mut self,
        port: PortId,
        state: &mut PortFingerprint,
        time: Instant,
        header: &Header,
        admission: Admission,
    ) {
        Observer::<Segment>::admission(&mut self.recorder, port, state, time, header, admission);
    }

    fn watches(&self, _: PortId) -> bool {
        true
    }

    fn detail(&mut self, arrival: &Arrival<'_, Segment>) {
        let is_drop = matches!(arrival.admission, Admission::Dropped(_));
        if !(is_drop && self.hides_drops) {
            self.recorder.detail(arrival);
        }
    }

    fn revised(&mut self, arrival: &Arrival<'_, Segment>) {
        self.recorder.revised(arrival);
    }

    fn departs(&mut self, port: PortId, packet: &Packet<Segment>, arrival: u64, depart: Instant) {
        self.recorder.departs(port, packet, arrival, depart);
    }
}

/// Runs a job to its end with every port watched, so that each packet has an event at each port.
pub(crate) fn run_watched(job: &Value) -> Recorded {
    run_observed(job, false)
}

/// Runs a job to its end with every port watched and a recorder that misses the drops.
pub(crate) fn run_hiding_drops(job: &Value) -> Recorded {
    run_observed(job, true)
}

fn run_observed(job: &Value, hides_drops: bool) -> Recorded {
    let job: Job = serde_json::from_value(job.clone()).expect("a job");
    let plan = Plan::new(job).expect("a possible job");
    let mut simulation = Simulation::with_observer(plan, |_, recorder| EveryPort {
        recorder,
        hides_drops,
    });
    while !simulation.advance(100_000) {}
    simulation.into_recorded()
}

//! A run in which every port is watched, so that each packet has an event at each of them.

use fairport_net::discipline::Admission;
use fairport_net::{Arrival, Header, Observer, Packet, PortId};
use fairport_plan::{Job, Plan};
use fairport_record::{PortFingerprint, Recorder, Watcher};
use fairport_sim::{Recorded, Simulation};
use fairport_tcp::Segment;
use fairport_units::Instant;
use serde_json::Value;

/// A recorder that looks at every port.
struct EveryPort(Recorder);

impl Watcher for EveryPort {
    fn recorder(&self) -> &Recorder {
        &self.0
    }

    fn recorder_mut(&mut self) -> &mut Recorder {
        &mut self.0
    }

    fn into_recorder(self) -> Recorder {
        self.0
    }
}

impl Observer<Segment> for EveryPort {
    type PortState = PortFingerprint;

    fn sent(&mut self, port: PortId, state: &mut PortFingerprint, packet: &Packet<Segment>) {
        self.0.sent(port, state, packet);
    }

    fn admission(
        &mut self,
        port: PortId,
        state: &mut PortFingerprint,
        time: Instant,
        header: &Header,
        admission: Admission,
    ) {
        Observer::<Segment>::admission(&mut self.0, port, state, time, header, admission);
    }

    fn watches(&self, _: PortId) -> bool {
        true
    }

    fn detail(&mut self, arrival: &Arrival<'_, Segment>) {
        self.0.detail(arrival);
    }

    fn revised(&mut self, arrival: &Arrival<'_, Segment>) {
        self.0.revised(arrival);
    }

    fn departs(&mut self, port: PortId, packet: &Packet<Segment>, arrival: u64, depart: Instant) {
        self.0.departs(port, packet, arrival, depart);
    }
}

/// Runs a job to its end from event to event.
pub(crate) fn run_watched(job: &Value) -> Recorded {
    let job: Job = serde_json::from_value(job.clone()).expect("a job");
    let plan = Plan::new(job).expect("a possible job");
    let mut simulation = Simulation::with_observer(plan, |_, recorder| EveryPort(recorder));
    while !simulation.advance(100_000) {}
    simulation.into_recorded()
}

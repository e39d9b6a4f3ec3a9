//! Runs in which every port is watched, so that no packet is forwarded ahead.

use fairport_net::discipline::Admission;
use fairport_net::{Arrival, Header, Observer, Packet, PortId};
use fairport_record::{Numbered, PortFingerprint, Recorder, Watcher};
use fairport_sim::{Recorded, Simulation};
use fairport_units::Instant;
use serde_json::Value;

use super::plan;

/// What a test sees of the packets of a run, besides the recorder.
pub(crate) trait Sight: Send {
    /// A host sent a packet.
    fn sent(&mut self, packet: &Packet<Numbered>) {
        let _ = packet;
    }

    /// A packet arrived at a port. Returns whether the recorder learns of it.
    fn arrived(&mut self, arrival: &Arrival<'_, Numbered>) -> bool;
}

/// A recorder that watches every port. It is one type for every sight, because the engine is compiled for each type.
struct EveryPort<'a> {
    recorder: Recorder,
    sight: &'a mut dyn Sight,
}

impl Watcher for EveryPort<'_> {
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

impl Observer<Numbered> for EveryPort<'_> {
    type PortState = PortFingerprint;

    fn sent(&mut self, port: PortId, state: &mut PortFingerprint, packet: &Packet<Numbered>) {
        self.recorder.sent(port, state, packet);
        self.sight.sent(packet);
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
        if self.sight.arrived(arrival) {
            self.recorder.detail(arrival);
        }
    }

    fn revised(&mut self, arrival: &Arrival<'_, Numbered>) {
        self.recorder.revised(arrival);
    }

    fn departs(&mut self, port: PortId, packet: &Packet<Numbered>, arrival: u64, depart: Instant) {
        self.recorder.departs(port, packet, arrival, depart);
    }
}

/// All packets, or all but the drops.
struct Packets {
    has_drops: bool,
}

impl Sight for Packets {
    fn arrived(&mut self, arrival: &Arrival<'_, Numbered>) -> bool {
        self.has_drops || arrival.admission.is_accepted()
    }
}

/// Runs a job to its end with every port watched, so that each packet has an event at each port.
pub(crate) fn run_watched(job: &Value) -> Recorded {
    run_seen(job, &mut Packets { has_drops: true })
}

/// Runs a job to its end with every port watched and a recorder that misses the drops.
pub(crate) fn run_hiding_drops(job: &Value) -> Recorded {
    run_seen(job, &mut Packets { has_drops: false })
}

/// Runs a job to its end with every port watched.
pub(crate) fn run_seen(job: &Value, sight: &mut dyn Sight) -> Recorded {
    let mut simulation =
        Simulation::with_observer(plan(job), |_, recorder| EveryPort { recorder, sight });
    while !simulation.advance(100_000) {}
    simulation.into_recorded()
}

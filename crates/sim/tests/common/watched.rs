//! Runs in which every port is watched, so that no packet is forwarded ahead.

use fairport_net::discipline::Admission;
use fairport_net::{Arrival, Header, Observer, Packet, PortId};
use fairport_record::{Content, PortFingerprint, Recorder, Simulated, Watcher};
use fairport_sim::{Recorded, Simulation};
use fairport_tcp::Segment;
use fairport_units::Instant;
use serde_json::Value;

use super::plan;

/// What a test sees of the packets of a run, besides the recorder.
pub(crate) trait Sight<P: Content> {
    /// A host sent a packet.
    fn sent(&mut self, packet: &Packet<P>) {
        let _ = packet;
    }

    /// A packet arrived at a port. Returns whether the recorder learns of it.
    fn arrived(&mut self, arrival: &Arrival<'_, P>) -> bool;
}

/// A recorder that watches every port.
pub(crate) struct EveryPort<S> {
    recorder: Recorder,
    pub(crate) sight: S,
}

impl<S> Watcher for EveryPort<S> {
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

impl<P: Content, S: Sight<P>> Observer<P> for EveryPort<S> {
    type PortState = PortFingerprint;

    fn sent(&mut self, port: PortId, state: &mut PortFingerprint, packet: &Packet<P>) {
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
        Observer::<P>::admission(&mut self.recorder, port, state, time, header, admission);
    }

    fn watches(&self, _: PortId) -> bool {
        true
    }

    fn detail(&mut self, arrival: &Arrival<'_, P>) {
        if self.sight.arrived(arrival) {
            self.recorder.detail(arrival);
        }
    }

    fn revised(&mut self, arrival: &Arrival<'_, P>) {
        self.recorder.revised(arrival);
    }

    fn departs(&mut self, port: PortId, packet: &Packet<P>, arrival: u64, depart: Instant) {
        self.recorder.departs(port, packet, arrival, depart);
    }
}

/// All packets, or all but the drops.
struct Packets {
    has_drops: bool,
}

impl Sight<Segment> for Packets {
    fn arrived(&mut self, arrival: &Arrival<'_, Segment>) -> bool {
        self.has_drops || arrival.admission.is_accepted()
    }
}

/// Runs a job to its end with every port watched, so that each packet has an event at each port.
pub(crate) fn run_watched(job: &Value) -> Recorded {
    run_seen(job, Packets { has_drops: true }).into_recorded()
}

/// Runs a job to its end with every port watched and a recorder that misses the drops.
pub(crate) fn run_hiding_drops(job: &Value) -> Recorded {
    run_seen(job, Packets { has_drops: false }).into_recorded()
}

/// Runs a job to its end with every port watched.
pub(crate) fn run_seen<P: Simulated + Send, S: Sight<P> + Send>(
    job: &Value,
    sight: S,
) -> Simulation<P, EveryPort<S>> {
    let mut simulation =
        Simulation::with_observer(plan(job), |_, recorder| EveryPort { recorder, sight });
    while !simulation.advance(100_000) {}
    simulation
}

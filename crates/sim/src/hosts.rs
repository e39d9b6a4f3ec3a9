//! The hosts: every flow's two TCP endpoints, their timers, and the time that a host takes to
//! send a segment.

use fairport_net::classifier::{Classifier, LONG};
use fairport_net::processing::Server;
use fairport_net::{Hosts, Network, NodeId, Packet};
use fairport_tcp::{Connection, Ecn, Segment};
use fairport_units::Time;

use crate::measurement::Measurement;
use crate::probes::Probes;
use crate::timers::Timers;

/// One end of a flow's connection. Flow f has the endpoints 2f (sender) and 2f + 1 (receiver).
pub(crate) struct Endpoint {
    pub(crate) connection: Connection,
    /// where it stands, as an index into the senders' servers
    pub(crate) host: u32,
    /// what its packets carry at the start
    pub(crate) route: u32,
    /// packets
    pub(crate) sent: u64,
    /// packets
    pub(crate) received: u64,
}

/// A host's way out: segments are processed one after another and reach the NIC a constant
/// latency later. What comes in is delayed by the network's port that leads to the host.
pub(crate) struct Output {
    pub(crate) server: Server,
    pub(crate) latency: Time,
    /// the switch where its packets enter the network, by node
    pub(crate) edge: u32,
}

/// All hosts.
pub(crate) struct Endpoints {
    pub(crate) ends: Vec<Endpoint>,
    /// by host number
    pub(crate) outputs: Vec<Output>,
    /// the receiving host, by flow
    pub(crate) receivers: Vec<NodeId>,
    /// what tells short flows from long ones
    pub(crate) classifier: Option<Classifier>,
    pub(crate) timers: Timers,
    pub(crate) timers_fired: u64,
    pub(crate) measurement: Measurement,
}

impl Endpoints {
    /// Wakes the endpoint whose timer is the earliest.
    pub(crate) fn fire(&mut self, network: &mut Network<Segment, Probes>) {
        let Some((now, index)) = self.timers.fire() else {
            return;
        };
        self.timers_fired += 1;
        let endpoint = &mut self.ends[index as usize];
        let mut events = self.measurement.events(index, now);
        endpoint.connection.on_timer(now, &mut events);
        self.transmit(network, now, index);
    }

    /// Sends what the endpoint may send now, and arms its timer.
    #[inline]
    fn transmit(&mut self, network: &mut Network<Segment, Probes>, now: Time, index: u32) {
        let endpoint = &mut self.ends[index as usize];
        let output = &mut self.outputs[endpoint.host as usize];
        while let Some(segment) = endpoint.connection.poll_transmit(now) {
            let at = output.server.serve(now) + output.latency;
            let packet = Packet {
                flow: index / 2,
                route: endpoint.route,
                ingress: fairport_net::PortId(0), // the network knows the NIC
                size_bytes: segment.wire_bytes() as u16,
                ecn: endpoint.connection.codepoint().bits(),
                class: match &mut self.classifier {
                    // as it reaches the NIC: the wire to the edge delays all packets alike
                    Some(classifier) => classifier.classify(at, output.edge, index),
                    None => LONG,
                },
                content: segment,
            };
            endpoint.sent += 1;
            network.inject(at, packet);
        }
        if let Some(deadline) = endpoint.connection.poll_timer() {
            self.timers.arm(index, deadline.max(now));
        }
    }
}

impl Hosts<Segment, Probes> for Endpoints {
    #[inline]
    fn horizon(&self) -> Time {
        self.timers.next_time().min(self.measurement.begin_at)
    }

    #[inline]
    fn receive(
        &mut self,
        network: &mut Network<Segment, Probes>,
        host: NodeId,
        packet: &Packet<Segment>,
    ) {
        let now = network.now();
        let at_receiver = self.receivers[packet.flow as usize] == host;
        let index = 2 * packet.flow + u32::from(at_receiver);
        let endpoint = &mut self.ends[index as usize];
        endpoint.received += 1;
        let mut events = self.measurement.events(index, now);
        let ecn = Ecn::from_bits(packet.ecn);
        endpoint
            .connection
            .on_packet(now, &packet.content, ecn, &mut events);
        if at_receiver {
            let delivered = endpoint.connection.delivered_bytes();
            self.measurement.delivered(packet.flow, delivered, now);
        }
        self.transmit(network, now, index);
    }
}

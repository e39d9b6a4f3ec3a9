//! Running counts by port, ingress port and flow for a backend without a forwarding core. Drop runs and blackouts are
//! computed from them.

use std::collections::HashMap;

use fairport_net::{Counts, PortId};

/// Counts packets as they arrive at output ports.
///
/// The forwarding core keeps the same counts beside its ports and routes. A backend that only sees packets, such as
/// captures of a switch's ports, counts them here.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    /// packets arrived and accepted, by port
    ports: HashMap<PortId, [u64; 2]>,
    /// packets arrived, by port and ingress port
    ingress: HashMap<(PortId, PortId), u64>,
    /// packets arrived, by port and flow
    flows: HashMap<(PortId, u64), u64>,
}

impl Counter {
    /// Counts a packet that arrives at a port. Returns the counts, including this packet. `flow` must distinguish the
    /// two directions of a connection.
    pub fn arrive(&mut self, port: PortId, ingress: PortId, flow: u64) -> Counts {
        let [arrived, accepted] = self.ports.entry(port).or_default();
        let ingress_arrival = self.ingress.entry((port, ingress)).or_default();
        let flow_arrival = self.flows.entry((port, flow)).or_default();
        for count in [&mut *arrived, &mut *ingress_arrival, &mut *flow_arrival] {
            *count += 1;
        }
        Counts {
            port_arrival: *arrived,
            ingress_arrival: *ingress_arrival,
            flow_arrival: *flow_arrival,
            port_accepted: *accepted,
        }
    }

    /// Records that the packet that arrived last at this port was accepted.
    pub fn accept(&mut self, port: PortId) {
        self.ports.entry(port).or_default()[1] += 1;
    }
}

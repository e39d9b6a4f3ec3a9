//! Identifies frames: addresses and ports give the flow, its direction, and the route of its packets.

use std::collections::HashMap;
use std::net::IpAddr;
use std::ops::RangeInclusive;

use fairport_wire::{FlowKey, udp};

/// One direction of a flow, as the network sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Direction {
    /// The flow's number.
    pub(crate) flow: u32,
    /// The route of its packets, which they carry at the start.
    pub(crate) route: u32,
    /// Whether its packets travel in the direction of ACKs.
    pub(crate) is_backward: bool,
}

impl Direction {
    /// A number that is unique for each direction of each flow.
    #[inline]
    pub(crate) fn number(self) -> u32 {
        2 * self.flow + u32::from(self.is_backward)
    }
}

/// The known flows, and the hosts between which others may start.
pub(crate) struct FlowTable {
    directions: HashMap<FlowKey, Direction>,
    /// by flow: the key of its data
    keys: Vec<FlowKey>,
    hosts: HashMap<IpAddr, u32>,
    /// ports to which connections are requests
    request_ports: RangeInclusive<u16>,
}

impl FlowTable {
    /// A table without flows yet, for hosts with these addresses. Connections to a port between these two are requests.
    pub(crate) fn new(
        hosts: impl IntoIterator<Item = (IpAddr, u32)>,
        request_ports: [u16; 2],
    ) -> Self {
        let [first, last] = request_ports;
        Self {
            directions: HashMap::new(),
            keys: Vec::new(),
            hosts: hosts.into_iter().collect(),
            request_ports: first..=last,
        }
    }

    /// The direction to which a frame belongs, if it is known.
    #[inline]
    pub(crate) fn direction(&self, key: &FlowKey) -> Option<Direction> {
        self.directions.get(key).copied()
    }

    /// The numbers of the hosts between which an unknown flow runs, if both are hosts of the network.
    pub(crate) fn hosts_of(&self, key: &FlowKey) -> Option<[u32; 2]> {
        let host = |address: &IpAddr| self.hosts.get(address).copied();
        Some([host(&key.source)?, host(&key.destination)?])
    }

    /// The key of the data of a flow that begins with this frame: the same, unless the frame begins with a request.
    pub(crate) fn key_of_data(&self, first: FlowKey) -> FlowKey {
        if self.request_ports.contains(&first.destination_port) {
            first.reversed()
        } else {
            first
        }
    }

    /// Whether the receiver of a flow's data sends requests for it.
    pub(crate) fn is_requested(&self, key: &FlowKey) -> bool {
        self.request_ports.contains(&key.source_port)
    }

    /// The number of flows, which is the number that the next one will have.
    pub(crate) fn count(&self) -> u32 {
        self.keys.len() as u32
    }

    /// Adds both directions of a flow, and returns that of its data. `key` is the key of its data.
    pub(crate) fn add(&mut self, key: FlowKey, routes: [u32; 2]) -> Direction {
        let flow = self.count();
        let [forward, backward] = routes;
        let direction = |route, is_backward| Direction {
            flow,
            route,
            is_backward,
        };
        self.keys.push(key);
        self.directions
            .insert(key.reversed(), direction(backward, true));
        let data = direction(forward, false);
        self.directions.insert(key, data);
        data
    }

    /// Whether a flow's data travels in datagrams.
    #[inline]
    pub(crate) fn is_udp(&self, flow: u32) -> bool {
        self.keys[flow as usize].protocol == udp::PROTOCOL
    }

    /// The key of each flow's data, by number of the flow.
    pub(crate) fn into_keys(self) -> Vec<FlowKey> {
        self.keys
    }
}

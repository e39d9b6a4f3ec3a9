//! How hosts are attached to the switch, and the limits that the switch must know.

use std::net::IpAddr;

use fairport_units::Duration;

/// A host, and the interface through which it is reached.
#[derive(Clone, Copy, Debug)]
pub struct Attachment {
    /// Number of the interface in the switch's network namespace.
    pub interface: u32,
    /// Number of the host in the plan.
    pub host: u32,
    /// The host's address.
    pub address: IpAddr,
    /// Minimum silence of one of its senders before a timeout. It must be shorter than the host's minimum RTO.
    pub silence: Duration,
}

/// Limits that the switch must know.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// A frame that is later than this is part of a stall.
    pub tolerated: Duration,
    /// First and last port to which connections are requests: the data of such a flow comes back from that port.
    pub request_ports: [u16; 2],
}

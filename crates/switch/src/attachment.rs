//! What the switch is given about its hosts: where they are, and what is late for them.

use std::net::IpAddr;

use fairport_units::Duration;

/// The interface behind which a host is.
#[derive(Clone, Copy, Debug)]
pub struct Attachment {
    /// Number of the interface in the switch's network namespace.
    pub interface: u32,
    /// Number of the host in the plan.
    pub host: u32,
    /// The host's address.
    pub address: IpAddr,
    /// A silence of at least this length of one of its senders ends in a timeout: less than the host's
    /// minimum RTO.
    pub silence: Duration,
}

/// What the switch has to know of its hosts.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// A frame later than this is part of a stall.
    pub tolerated: Duration,
    /// Connections to these ports are requests: the data of their flows comes back from there.
    pub request_ports: [u16; 2],
}

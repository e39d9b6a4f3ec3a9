//! The ends of a flow on the wire: Ethernet and IP addresses, and ports.
//!
//! They are the same as those of the Linux backend's hosts: flow n goes from port 20000 + n of its sender to port 5001
//! of its receiver. If a run has more flows than ports, the next flows go to port 5002.

use std::net::Ipv4Addr;

use fairport_net::Topology;
use fairport_wire::MacAddress;

const FIRST_PORT: u32 = 20_000;
const SERVER_PORT: u32 = 5001;
const PORTS: u32 = 65_536 - FIRST_PORT;

/// An Ethernet address and an IP address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) ethernet: MacAddress,
    pub(crate) ip: Ipv4Addr,
}

/// The addresses of the hosts, by number.
pub(crate) fn of_hosts(topology: &Topology) -> Vec<Address> {
    let address = |(number, host): (usize, &fairport_net::NodeId)| {
        let [a, b, c, d] = (number as u32).to_be_bytes();
        Address {
            ethernet: MacAddress([0x02, 0xfa, a, b, c, d]),
            ip: topology.node(*host).address,
        }
    };
    topology.hosts().iter().enumerate().map(address).collect()
}

/// The ports of a flow: that of its sender and that of its receiver.
pub(crate) fn ports(flow: u32) -> [u16; 2] {
    let (server, client) = (flow / PORTS, flow % PORTS);
    [
        (FIRST_PORT + client) as u16,
        (SERVER_PORT + server % FIRST_PORT) as u16,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_beyond_the_last_port_have_another_server_port() {
        assert_eq!(ports(0), [20_000, 5001]);
        assert_eq!(ports(45_535), [65_535, 5001]);
        assert_eq!(ports(45_536), [20_000, 5002]);
    }
}

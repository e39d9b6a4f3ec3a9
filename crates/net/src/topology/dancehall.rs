//! The dumbbell-and-dancehall of web traffic studies (Guo & Matta 2001): on one side, servers behind routers of their
//! own; on the other, clients with many different delays.
//!
//! ```text
//!   servers - router0 \                                / client
//!   servers - router1 - left ---- middle ---- right --- client
//!   ..                /              |                 \ ..
//!                                 more clients
//! ```
//!
//! R server routers with S servers each, C clients on the right, M in the middle: R S + C + M hosts, R + 3 switches, R
//! S + R + 2 + C + M links. This project has the paper's text without its figure. The shape and the scenario's defaults
//! are those of the ns-2 example `varybell`, on which the authors' script builds (40 servers behind 4 routers, 420
//! clients).

use fairport_units::{Duration, Rate};
use serde::{Deserialize, Serialize};

use super::{LinkOptions, NodeId, Topology, size};
use crate::error::BuildError;

/// The parts of a dancehall. Where two rates or delays are given, clients' values increase or decrease evenly from the
/// first client's to the last one's.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Dancehall {
    /// the link of each server router to `left`
    pub server_routers: Vec<LinkOptions>,
    /// servers at each server router
    pub servers_per_router: u32,
    /// the link from `left` to `middle`
    pub left: LinkOptions,
    /// the link from `middle` to `right`
    pub right: LinkOptions,
    /// clients at `right`
    pub clients: u32,
    /// clients at `middle`
    pub middle_clients: u32,
    /// rate of the clients' links
    #[serde(rename = "client_rate_bps")]
    pub client_rate: [Rate; 2],
    /// propagation delay of the clients' links
    #[serde(rename = "client_delay_ps")]
    pub client_delay: [Duration; 2],
}

/// Hosts are ordered: servers by router, clients at `right`, clients at `middle`. Port 0 of `left` leads to `middle`,
/// the others to the routers. Port 0 of `middle` leads to `left`, 1 to `right`, the others to its clients. Port 0 of
/// `right` leads to `middle`, the others to its clients. Port 0 of `router`i leads to `left`, the others to its
/// servers.
///
/// # Errors
/// If there is no server router, no server or no client, more than 4096 of one kind, or too many hosts in all.
pub fn dancehall(shape: &Dancehall) -> Result<Topology, BuildError> {
    let routers = shape.server_routers.len() as u32;
    size::check("topology.server_routers", routers, 1, 4096, 4)?;
    let servers = shape.servers_per_router;
    size::check("topology.servers_per_router", servers, 1, 4096, 10)?;
    size::check("topology.clients", shape.clients, 1, 4096, 420)?;
    let far = shape.middle_clients;
    size::check("topology.middle_clients", far, 0, 4096, 0)?;
    size::check_hosts(u64::from(routers) * u64::from(servers) + u64::from(shape.clients + far))?;
    let mut network = Topology::default();
    let [left, middle, right] = ["left", "middle", "right"].map(|name| network.add_switch(name));
    network.connect(left, middle, shape.left);
    network.connect(middle, right, shape.right);
    for (i, link) in shape.server_routers.iter().enumerate() {
        let router = network.add_switch(format!("router{i}"));
        network.connect(router, left, *link);
        network.add_hosts(servers, router);
    }
    add_clients(&mut network, right, shape.clients, shape);
    add_clients(&mut network, middle, far, shape);
    Ok(network)
}

fn add_clients(network: &mut Topology, router: NodeId, clients: u32, shape: &Dancehall) {
    let steps = u64::from(clients.max(2) - 1);
    for i in 0..u64::from(clients) {
        // weighted from both ends, because the values may also decrease
        let between = |ends: [u64; 2]| {
            let sum =
                u128::from(ends[0]) * u128::from(steps - i) + u128::from(ends[1]) * u128::from(i);
            (sum / u128::from(steps)) as u64
        };
        let options = LinkOptions {
            rate: Some(Rate::from_bps(between(shape.client_rate.map(Rate::as_bps)))),
            delay: Some(Duration::from_ps(between(
                shape.client_delay.map(Duration::as_ps),
            ))),
            limit_bytes: None,
        };
        network.add_host_at(router, options);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(clients: u32, middle_clients: u32) -> Dancehall {
        Dancehall {
            server_routers: vec![LinkOptions::default(); 4],
            servers_per_router: 10,
            left: LinkOptions::default(),
            right: LinkOptions::default(),
            clients,
            middle_clients,
            client_rate: [22, 32].map(|m| Rate::from_bps(m * 1_000_000)),
            client_delay: [10, 100].map(|ms| Duration::from_ps(ms * 1_000_000_000)),
        }
    }

    #[test]
    fn the_counts_are_those_of_the_formulas() {
        for (c, m) in [(420, 0), (1, 1), (7, 3)] {
            let network = dancehall(&shape(c as u32, m as u32)).unwrap();
            assert_eq!(network.hosts().len(), 40 + c + m);
            assert_eq!(network.switches(), 4 + 3);
            assert_eq!(network.links(), 40 + 4 + 2 + c + m);
        }
    }

    #[test]
    fn clients_links_go_evenly_from_one_end_of_the_range_to_the_other() {
        let network = dancehall(&shape(4, 0)).unwrap();
        let delays: Vec<_> = network.hosts()[40..]
            .iter()
            .map(|host| network.port(network.node(*host).ports[0]).options.delay)
            .map(|delay| delay.unwrap().as_ps() / 1_000_000_000)
            .collect();
        assert_eq!(delays, [10, 40, 70, 100]);
    }

    #[test]
    fn there_are_no_more_hosts_than_in_the_largest_fat_tree() {
        let hosts = |servers_per_router| {
            let shape = Dancehall {
                servers_per_router,
                server_routers: vec![LinkOptions::default(); 16],
                ..shape(8, 8)
            };
            dancehall(&shape).map(|network| network.hosts().len())
        };
        assert_eq!(hosts(4095).ok(), Some(65_536));
        assert_eq!(hosts(4096).unwrap_err().field, "topology");
    }
}

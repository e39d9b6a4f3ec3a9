//! The forwarding core: moves packets from port to port along their routes.
//!
//! A [`Network`] consists of a `Fabric`, which does not change while packets move, and a `Region`, which holds
//! everything that changes. Its methods are here and in the modules whose subject they are: what a port's totals are
//! ([`accounts`]), forwarding ahead ([`ahead`]), and packets that cross into other regions ([`crossings`]).

mod accounts;
mod ahead;
mod crossings;
mod entrance;
mod fabric;
mod fifo;
mod passages;
mod region;
mod scheduled;
mod ties;

use fairport_units::Instant;

use crate::arbitration::Arbiter;
use crate::framing::Framing;
use crate::observer::Observer;
use crate::packet::{Header, Packet};
use crate::port::PortConfig;
use crate::routing::{Path, Routes};
use crate::stream::Stream;
use crate::topology::{NodeId, PortId, Topology};
pub use accounts::Balance;
pub use ahead::Feeders;
pub use crossings::Crossing;
pub use entrance::Access;
use fabric::Fabric;
use region::Region;

/// The hosts at the network's edge, as the driver of the network implements them.
pub trait Hosts<P: Copy, O: Observer<P>> {
    /// The instant beyond which the network does not advance, such as the hosts' next timer.
    fn horizon(&self) -> Instant;

    /// A packet with this header may be the next to arrive, at this host: a hint to prefetch what the
    /// host will need.
    fn expect(&self, host: NodeId, header: &Header) {
        let _ = (host, header);
    }

    /// A packet has reached the end of its route. The host may inject packets in response.
    fn receive(&mut self, network: Access<'_, P, O>, host: NodeId, packet: &Packet<P>);
}

/// Ports, links, routes and the packets on them; `O` observes.
pub struct Network<P: Copy, O: Observer<P>> {
    fabric: Fabric,
    region: Region<P, O>,
}

impl<P: Copy, O: Observer<P>> Network<P, O> {
    /// A network without packets. `ports` are in the topology's order.
    pub fn new(
        topology: &Topology,
        ports: Vec<PortConfig>,
        routes: Routes,
        framing: Framing,
        arbiter: Arbiter,
        observer: O,
    ) -> Self {
        assert_eq!(
            ports.len(),
            topology.ports().len(),
            "one configuration per port"
        );
        let fabric = Fabric::new(topology, routes, framing);
        let region = Region::new(topology, &fabric.routes, ports, arbiter, observer);
        Self { fabric, region }
    }

    /// Lets packets arrive, in order of time, until the next arrival is later than `until` or
    /// than the hosts' horizon, or `hops` packets have arrived.
    pub fn advance(&mut self, until: Instant, hops: u64, hosts: &mut impl Hosts<P, O>) {
        self.region.advance(&self.fabric, until, hops, hosts);
    }

    /// The part of the network that hosts can reach.
    #[inline]
    pub fn access(&mut self) -> Access<'_, P, O> {
        Access::new(&self.fabric, &mut self.region)
    }

    /// A host sends a packet: see [`Access::inject`].
    #[inline]
    pub fn inject(&mut self, at: Instant, packet: Packet<P>) -> Instant {
        self.access().inject(at, packet)
    }

    /// Adds the paths of one direction of a flow. If there are several, each packet draws one from
    /// `stream`. Returns the route that the packets carry when they are injected.
    pub fn add_route(&mut self, paths: &[Path], stream: Stream) -> u32 {
        let start = self.fabric.add_route(paths);
        self.region.passages.add(&self.fabric.routes, start, stream);
        start
    }

    /// Releases a route, so that another may take its place. No packet may be on it.
    pub fn release_route(&mut self, start: u32) {
        self.fabric.routes.release(start);
    }

    /// The time of the last arrival.
    pub fn now(&self) -> Instant {
        self.region.now
    }

    /// When the next packet arrives at a node; [`Instant::NEVER`] if none is in flight.
    pub fn next_time(&self) -> Instant {
        self.region.events.next_time()
    }

    /// Packets whose last bit arrived at a next node: the unit in which speed is measured.
    pub fn packet_hops(&self) -> u64 {
        self.region.balance.arrived
    }

    /// The observer.
    pub fn observer(&self) -> &O {
        &self.region.observer
    }

    /// The observer, mutable.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.region.observer
    }

    /// The observer, with what it has seen.
    pub fn into_observer(self) -> O {
        self.region.observer
    }

    /// The observer's state of a port.
    pub fn port_state(&self, port: PortId) -> &O::PortState {
        &self.region.ports[port.0 as usize].observed
    }
}

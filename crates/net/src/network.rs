//! The forwarding core: moves packets from port to port along their routes.
//!
//! A [`Network`] consists of a [`Fabric`], which does not change while packets move, and a [`Region`], which
//! holds everything that changes. So several regions may read one fabric.

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

use fairport_units::{Duration, Instant};

use crate::arbitration::Arbiter;
use crate::discipline::Backlog;
use crate::framing::Framing;
use crate::observer::Observer;
use crate::packet::{Header, Packet};
use crate::partition::Partition;
use crate::port::{PortConfig, PortTotals};
use crate::routing::{Path, Routes};
use crate::stream::Stream;
use crate::topology::{NodeId, PortId, Topology};
pub use accounts::Balance;
pub use ahead::Feeders;
pub use crossings::Crossing;
pub use entrance::Access;
pub use fabric::Fabric;
pub(crate) use fabric::PortLocation;
pub use region::Region;

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
        let region = Region::new(&fabric, ports, arbiter, observer);
        Self { fabric, region }
    }

    /// Lets packets arrive, in order of time, until the next arrival is later than `until` or
    /// than the hosts' horizon, or `hops` packets have arrived.
    pub fn advance(&mut self, until: Instant, hops: u64, hosts: &mut impl Hosts<P, O>) {
        self.region.advance(&self.fabric, until, hops, hosts);
    }

    /// From now on, forwards packets ahead where no other packet can come between them: they pass several
    /// ports without an event at each. This does not change the results. The caller guarantees that
    /// `feeders` knows every route that will be added, that the backlog is read at `sampled` ports only, and
    /// that no port's totals are read before `until`.
    ///
    /// # Panics
    /// If a packet has arrived.
    pub fn forward_ahead(&mut self, feeders: &Feeders, sampled: &[PortId], until: Instant) {
        self.fabric.fed_ahead_by = self.region.forward_ahead(feeders, sampled, until);
    }

    /// Confines this network to one region of the partition, in a run until `end`: packets move through that region's
    /// ports only. Every region has a network of its own, with the same ports and routes. The owner of the networks
    /// moves the packets that cross from one into another. This comes before [`Network::forward_ahead`].
    ///
    /// # Panics
    /// If a packet has been injected, or packets are forwarded ahead.
    pub fn confine(
        &mut self,
        topology: &Topology,
        partition: &Partition,
        region: u16,
        end: Instant,
    ) {
        assert!(
            self.fabric.fed_ahead_by.is_empty(),
            "a network is confined before it forwards packets ahead"
        );
        self.region.confine(topology, partition, region, end);
    }

    /// Lets the schedulers of cut ports choose the packets that they send until `until`, inclusive. Everything
    /// else that happens in this region until then has happened.
    pub fn catch_up_crossings(&mut self, until: Instant) {
        self.region.catch_up_crossings(&self.fabric, until);
    }

    /// The earliest arrival of a packet that has crossed and was not moved yet; [`Instant::NEVER`] if there is none.
    pub fn first_due(&self) -> Instant {
        self.region.first_due()
    }

    /// When the scheduler of a cut port next chooses a packet; [`Instant::NEVER`] if no packet waits at one.
    pub fn next_choice(&self) -> Instant {
        self.region.next_choice()
    }

    /// Appends the packets that have crossed into `region` to `batch`. This resets [`Network::first_due`], so the
    /// caller must do it for all regions.
    pub fn drain_outbox(&mut self, region: u16, batch: &mut Vec<Crossing<P>>) {
        self.region.drain_outbox(region, batch);
    }

    /// Takes packets that have crossed from another region. This network has not advanced to the arrival of any
    /// of them.
    pub fn receive_crossings(&mut self, batch: &mut Vec<Crossing<P>>) {
        self.region.receive_crossings(batch);
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

    /// A packet from outside enters the network through the port `ingress` of a switch. At `at` it has been
    /// received and processed by the switch. Its route begins with an output port of this switch, or at a
    /// host; in that case the packet continues after the link that leads to `ingress`. Returns when its
    /// last bit leaves the output port; [`Instant::NEVER`] if it is dropped, or if that is not known yet.
    ///
    /// This is the entrance for a switch between real hosts, whose adapters are not simulated. The
    /// network must have advanced to `at`: no packet in it may arrive before. Packets that enter at
    /// the same instant are served in the order of the calls, not by the arbitration rule. The observer
    /// sees an arrival, but no packet [`sent`](Observer::sent).
    ///
    /// # Panics
    /// If the network has not advanced to `at`, or is past it; if the route does not pass `ingress`
    /// or its switch, or ends there.
    pub fn arrive(&mut self, at: Instant, ingress: PortId, packet: Packet<P>) -> Instant {
        self.access().arrive(at, ingress, packet)
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
        self.region.packet_hops
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

    /// The observer's state of every port, in the topology's order.
    pub fn port_states(&self) -> impl Iterator<Item = &O::PortState> {
        self.region.ports.iter().map(|port| &port.observed)
    }

    /// Brings every port up to date at `now`. Call this before totals or packets in flight are read.
    pub fn settle(&mut self, now: Instant) {
        self.region.settle(&self.fabric, now);
    }

    /// The totals of a port, as of the last [`Network::settle`].
    pub fn totals(&self, port: PortId) -> &PortTotals {
        self.region.totals(port)
    }

    /// Packets that a port dropped on arrival or later, as of the last
    /// [`Network::settle`].
    pub fn drops(&self, port: PortId) -> u64 {
        self.region.drops(port)
    }

    /// How long a port was busy until `now`, as of the last [`Network::settle`]: how long it sent,
    /// gaps included, or a packet waited for its shaper's tokens. `now` is not before the network's
    /// own time.
    pub fn busy(&self, port: PortId, now: Instant) -> Duration {
        self.region.busy(&self.fabric, port, now)
    }

    /// The backlog of a port, integrated over time until `now`, in bytes · ps, as of the last
    /// [`Network::settle`]. `now` is not before the network's own time.
    pub fn backlog_integral(&self, port: PortId, now: Instant) -> u128 {
        self.region.backlog_integral(port, now)
    }

    /// The backlog of a port at `now`, which is not before the network's own time.
    pub fn backlog(&mut self, port: PortId, now: Instant) -> Backlog {
        self.region.backlog(&self.fabric, port, now)
    }

    /// The headers of the packets that are in a buffer or on a link.
    pub fn in_flight(&self) -> impl Iterator<Item = &Header> {
        self.region.in_flight()
    }

    /// The packet counts of this region. The sum over all regions must be
    /// [conserved](Balance::assert_conservation).
    pub fn balance(&self) -> Balance {
        self.region.balance()
    }

    /// Asserts that every packet is accounted for, both those injected and those that ports accepted. The
    /// network must not be confined to a region.
    ///
    /// # Panics
    /// If a packet was lost without being dropped or appeared from nowhere.
    pub fn assert_conservation(&self) {
        self.balance().assert_conservation();
    }
}

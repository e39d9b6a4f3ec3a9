//! The forwarding core: takes packets from port to port along their routes.
//!
//! A [`Network`] is a [`Fabric`], which stands still, and a [`Region`], in which packets move. Nothing
//! that a region changes lies in the fabric, so that several regions may read one fabric.

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
    /// The network stops before anything that happens later than this: the hosts' next timer.
    fn horizon(&self) -> Instant;

    /// The next to arrive is perhaps a packet with this header, at this host: a hint of what to have
    /// at hand.
    fn expect(&self, host: NodeId, header: &Header) {
        let _ = (host, header);
    }

    /// A packet has reached the end of its route. The host may inject in answer.
    fn receive(&mut self, network: Access<'_, P, O>, host: NodeId, packet: &Packet<P>);
}

/// Ports, links, routes and the packets on them; `O` observes.
pub struct Network<P: Copy, O: Observer<P>> {
    fabric: Fabric,
    region: Region<P, O>,
}

impl<P: Copy, O: Observer<P>> Network<P, O> {
    /// A network at rest. `ports` are in the order of the topology's.
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

    /// Forwards packets ahead from now on where nothing can come between, so that they pass several
    /// ports without an event at each. All routes that will ever be added are among those that
    /// `feeders` knows; nobody asks for the backlog of a port that is not `sampled`, or for any port's
    /// totals before `until`. No number changes by it.
    ///
    /// # Panics
    /// If a packet has arrived.
    pub fn forward_ahead(&mut self, feeders: &Feeders, sampled: &[PortId], until: Instant) {
        self.fabric.fed_ahead_by = self.region.forward_ahead(feeders, sampled, until);
    }

    /// Confines this network to a region of the partition, in a run until `end`: packets move through its ports alone.
    /// Every region of the partition has a network of its own, with the same ports and routes, and what
    /// crosses from one into another is carried by their owner.
    ///
    /// # Panics
    /// If a packet has arrived, or packets are forwarded ahead already.
    pub fn confine(
        &mut self,
        topology: &Topology,
        partition: &Partition,
        region: u16,
        end: Instant,
    ) {
        self.region.confine(topology, partition, region, end);
    }

    /// All that happens until the instant `until`, inclusive, has happened in this region: what is chosen
    /// until then to cross into another region crosses.
    pub fn catch_up_crossings(&mut self, until: Instant) {
        self.region.catch_up_crossings(&self.fabric, until);
    }

    /// When the first of the packets arrives that have crossed and were not moved yet; [`Instant::NEVER`] if there are none.
    pub fn first_due(&self) -> Instant {
        self.region.first_due()
    }

    /// When a port chooses next which packet is to cross; [`Instant::NEVER`] when none is known to.
    pub fn next_choice(&self) -> Instant {
        self.region.next_choice()
    }

    /// Moves the packets that have crossed into that region behind those in `batch`. A caller that does so
    /// for one region does so for all.
    pub fn drain_outbox(&mut self, region: u16, batch: &mut Vec<Crossing<P>>) {
        self.region.drain_outbox(region, batch);
    }

    /// Takes packets that have come from another region. Its network has not advanced to when any of them
    /// arrives.
    pub fn receive_crossings(&mut self, batch: &mut Vec<Crossing<P>>) {
        self.region.receive_crossings(batch);
    }

    /// What hosts reach of it.
    #[inline]
    pub fn access(&mut self) -> Access<'_, P, O> {
        Access::new(&self.fabric, &mut self.region)
    }

    /// A host sends a packet: see [`Access::inject`].
    #[inline]
    pub fn inject(&mut self, at: Instant, packet: Packet<P>) -> Instant {
        self.access().inject(at, packet)
    }

    /// A packet from outside enters the network at a switch: its last bit is in, and its processing
    /// done, at `at`, and it came in through the port `ingress` of the switch. Its route begins with
    /// an output port of this switch, or at a host: then it goes on behind the link that leads to
    /// `ingress`. Returns when its last bit leaves the output port; [`Instant::NEVER`] if it is
    /// dropped, or if that is not known yet.
    ///
    /// This is the entrance for a switch between real hosts, whose adapters are not simulated. The
    /// network must have advanced to `at`: no packet in it may arrive before. Packets that enter at
    /// the same instant go in the order of the calls, not of the arbitration rule. The observer sees
    /// an arrival, but nothing [`sent`](Observer::sent).
    ///
    /// # Panics
    /// If the network has not advanced to `at`, or is past it; if the route does not pass `ingress`
    /// or its switch, or ends there.
    pub fn arrive(&mut self, at: Instant, ingress: PortId, packet: Packet<P>) -> Instant {
        self.access().arrive(at, ingress, packet)
    }

    /// Adds the paths of one direction of a flow, of several of which each packet draws one from
    /// `stream`; returns what its packets carry at the start.
    pub fn add_route(&mut self, paths: &[Path], stream: Stream) -> u32 {
        let start = self.fabric.add_route(paths);
        self.region.passages.add(&self.fabric.routes, start, stream);
        start
    }

    /// Gives a route back, for others to take its place. No packet may be on it.
    pub fn release_route(&mut self, start: u32) {
        self.fabric.routes.release(start);
    }

    /// The time of the last arrival.
    pub fn now(&self) -> Instant {
        self.region.now
    }

    /// When the next packet arrives somewhere; [`Instant::NEVER`] when none is under way.
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

    /// What the observer keeps of every port, in the order of the topology's.
    pub fn port_states(&self) -> impl Iterator<Item = &O::PortState> {
        self.region.ports.iter().map(|port| &port.observed)
    }

    /// Has every port sent what it has begun to send by `now`, before totals and packets under way
    /// are looked at.
    pub fn settle(&mut self, now: Instant) {
        self.region.settle(&self.fabric, now);
    }

    /// What has happened at a port, as of the last [`Network::settle`].
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

    /// What waits in a port's buffer at `now`, which is not before the network's own time.
    pub fn backlog(&mut self, port: PortId, now: Instant) -> Backlog {
        self.region.backlog(&self.fabric, port, now)
    }

    /// The headers of the packets that are in a buffer or on a link.
    pub fn in_flight(&self) -> impl Iterator<Item = &Header> {
        self.region.in_flight()
    }

    /// What has become of the packets of this region: the sum over all regions must be
    /// [conserved](Balance::assert_conservation).
    pub fn balance(&self) -> Balance {
        self.region.balance()
    }

    /// Asserts that every packet is accounted for: what was injected, and what ports accepted. The network
    /// is not confined to a region.
    ///
    /// # Panics
    /// If a packet was lost without being dropped or appeared from nowhere.
    pub fn assert_conservation(&self) {
        self.balance().assert_conservation();
    }
}

//! All domains of a run. They advance in one of two ways, with the same results: in turns on one thread
//! ([`sequential`]), or in stretches, each domain on its own thread ([`parallel`]).

mod barrier;
pub(crate) mod parallel;
mod published;
mod sequential;
mod sync;

use std::ops::Add;

use fairport_net::{Balance, Crossing, Network, NodeId, Observer, Partition, PortId};
use fairport_record::{Simulated, Watcher};
use fairport_units::{Duration, Instant};

use crate::domain::Domain;
use crate::hosts::reports::Reports;

/// The domains by number, which is the number of their region.
pub(crate) struct Domains<P: Copy, O: Observer<P>> {
    partition: Partition,
    /// boxed, because each domain moves to its thread and back in every stretch
    pub(crate) list: Vec<Box<Domain<P, O>>>,
    /// scratch space for packets that cross between domains; empty between uses
    batch: Vec<Crossing<P>>,
}

impl<P: Simulated, O: Observer<P> + Watcher> Domains<P, O> {
    /// One domain for each region of the partition.
    pub(crate) fn new(partition: Partition, list: Vec<Box<Domain<P, O>>>) -> Self {
        Self {
            partition,
            list,
            batch: Vec::new(),
        }
    }

    /// The number of the domain that has this node.
    pub(crate) fn number_of(&self, node: NodeId) -> usize {
        usize::from(self.partition.region(node))
    }

    /// The network to which a port belongs.
    pub(crate) fn network_of(&self, port: PortId) -> &Network<P, O> {
        let region = self.partition.port_region(port);
        &self.list[usize::from(region)].network
    }

    /// The network to which a port belongs.
    pub(crate) fn network_of_mut(&mut self, port: PortId) -> &mut Network<P, O> {
        let region = self.partition.port_region(port);
        &mut self.list[usize::from(region)].network
    }

    /// How far the furthest domain has come.
    pub(crate) fn now(&self) -> Instant {
        let now = self.list.iter().map(|domain| domain.network.now());
        now.max().unwrap_or(Instant::ZERO)
    }

    /// Packet-hops so far.
    pub(crate) fn packet_hops(&self) -> u64 {
        self.list
            .iter()
            .map(|domain| domain.network.packet_hops())
            .sum()
    }

    /// The earliest [`Domain::next_effect`].
    pub(crate) fn next_effect(&self) -> Instant {
        let next = self.list.iter().map(|domain| domain.next_effect());
        next.min().unwrap_or(Instant::NEVER)
    }

    /// Whether an event is pending anywhere that must be handled before anything later happens.
    pub(crate) fn is_urgent(&self) -> bool {
        self.list
            .iter()
            .map(|it| &it.hosts.reports)
            .any(Reports::is_urgent)
    }

    /// Asserts that no packet was lost or doubled by the forwarding core.
    pub(crate) fn assert_conservation(&self) {
        let balances = self.list.iter().map(|domain| domain.network.balance());
        balances
            .fold(Balance::default(), Balance::add)
            .assert_conservation();
    }

    /// The least time between an event in one domain and its first effect in another.
    fn lookahead(&self) -> Duration {
        self.partition.lookahead()
    }
}

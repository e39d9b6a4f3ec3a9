//! A domain: a region of the network, with the ends of flows that are at its hosts. In the terms of
//! parallel simulation it is a logical process.
//!
//! Domains share no state. A flow between hosts of two domains is in both, and each domain drives the
//! end at its own host.

use fairport_net::{Network, Observer};
use fairport_record::{Simulated, Watcher};
use fairport_units::{Duration, Instant};

use crate::hosts::DomainHosts;

/// A region of the network, and the hosts in it. It is aligned to a pair of cache lines, so that threads that work on
/// different domains do not slow each other down.
#[repr(align(128))]
pub(crate) struct Domain<P: Copy, O: Observer<P>> {
    pub(crate) network: Network<P, O>,
    pub(crate) hosts: DomainHosts,
}

/// How much one call of [`Domain::advance`] may do.
#[derive(Clone, Copy)]
pub(crate) struct Budget {
    pub(crate) packet_hops: u64,
    /// Timers are limited too, because a timer need not move a packet: a datagram may be dropped in its host.
    pub(crate) timers: u64,
}

impl<P: Simulated, O: Observer<P> + Watcher> Domain<P, O> {
    /// When the next packet arrives or the next timer fires.
    pub(crate) fn next_time(&self) -> Instant {
        self.network.next_time().min(self.hosts.timers.next_time())
    }

    /// When the next event happens in this domain. That may also be the moment at which the scheduler of a cut
    /// port chooses its next packet.
    pub(crate) fn next_event(&self) -> Instant {
        self.next_time().min(self.network.next_choice())
    }

    /// The next event in this domain, or the arrival of the first packet that still waits to be moved to another
    /// domain, whichever is earlier.
    pub(crate) fn next_effect(&self) -> Instant {
        self.next_event().min(self.network.first_due())
    }

    /// Processes packet arrivals and timers until `until`, inclusive. Stops early if an urgent event is pending
    /// or the budget is spent. Packets come before timers of the same instant.
    pub(crate) fn advance(&mut self, until: Instant, budget: Budget) {
        let enough = self
            .network
            .packet_hops()
            .saturating_add(budget.packet_hops);
        for _ in 0..budget.timers {
            let left = enough.saturating_sub(self.network.packet_hops());
            self.network.advance(until, left, &mut self.hosts);
            let timer = self.hosts.timers.next_time();
            let packets_come_first = self.network.next_time() <= until.min(timer);
            if packets_come_first || self.hosts.reports.is_urgent() || timer > until {
                break;
            }
            self.hosts.fire(&mut self.network.access());
        }
        let reached = self.next_time().earlier_by(Duration::from_ps(1));
        self.network.catch_up_crossings(until.min(reached));
    }
}

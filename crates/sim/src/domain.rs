//! A domain: a region of the network, with the ends of flows that are at its hosts.
//!
//! Domains share nothing. A flow between two of them is in both, and each moves the end that is at a host
//! of its own.

use fairport_net::{Network, Observer};
use fairport_record::{Simulated, Watcher};
use fairport_units::{Duration, Instant};

use crate::hosts::Endpoints;

/// A region of the network, and the hosts in it. Whoever works with one does not slow down who works with another, so
/// it has cache lines of its own.
#[repr(align(128))]
pub(crate) struct Domain<P: Copy, O: Observer<P>> {
    pub(crate) network: Network<P, O>,
    pub(crate) hosts: Endpoints,
}

/// How much is done before others have their turn.
#[derive(Clone, Copy)]
pub(crate) struct Budget {
    pub(crate) packet_hops: u64,
    /// timers that fire count too: a datagram may be dropped in its host, so that no packet moves
    pub(crate) timers: u64,
}

impl<P: Simulated, O: Observer<P> + Watcher> Domain<P, O> {
    /// When something happens next.
    pub(crate) fn next_time(&self) -> Instant {
        self.network.next_time().min(self.hosts.timers.next_time())
    }

    /// When something happens next here, at the ports from which packets cross too.
    pub(crate) fn next_event(&self) -> Instant {
        self.next_time().min(self.network.next_choice())
    }

    /// The same, or when what has crossed and was not moved yet arrives elsewhere.
    pub(crate) fn next_effect(&self) -> Instant {
        self.next_event().min(self.network.first_due())
    }

    /// Lets packets arrive and timers fire until `until`, inclusive, or until something is pending that must
    /// not wait, or the budget is spent. Of one instant packets come before timers.
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

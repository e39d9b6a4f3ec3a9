//! Giving up flows that are over.
//!
//! A packet may outlive its flow: a late retransmission, or a duplicate ACK. A flow is therefore given up
//! only when nothing can happen to it any more: both ends have finished, none of its packets is in flight,
//! and none of its timers will act. Giving it up later makes no difference to the results.

use fairport_net::Observer;
use fairport_plan::flow::Side;
use fairport_record::{Simulated, Watcher};
use fairport_units::Instant;

use super::Flows;
use super::entry::Done;

/// Flows that are over may keep their connections and routes while there are fewer than this.
const FEW_DRAINING: usize = 16;

/// Flows that are over but not given up yet, because packets of theirs may still be in flight.
#[derive(Default)]
pub(super) struct Draining {
    flows: Vec<u32>,
    /// the number of flows at which they are checked
    check_at: usize,
}

impl Draining {
    /// Keeps the flows for which `is_kept` holds. Does nothing until there are more than twice as many as the last check
    /// left, so that each flow is checked a few times at most.
    fn retain_if_many(&mut self, is_kept: impl FnMut(&u32) -> bool) {
        if self.flows.len() >= self.check_at {
            self.flows.retain(is_kept);
            self.check_at = FEW_DRAINING + 2 * self.flows.len();
        }
    }
}

impl<P: Simulated, O: Observer<P> + Watcher> Flows<P, O> {
    /// One end of a flow has closed, and everything that it has sent is acknowledged.
    pub(crate) fn finish_end(&mut self, now: Instant, flow: u32) {
        if self.entries[flow as usize].finish_end(now) {
            self.draining.flows.push(flow);
            self.release_drained();
        }
    }

    /// Gives up the flows that are over and to which nothing can happen any more.
    pub(super) fn release_drained(&mut self) {
        let mut draining = std::mem::take(&mut self.draining);
        draining.retain_if_many(|flow| {
            let is_drained = self.is_drained(*flow);
            if is_drained {
                self.give_up(*flow);
            }
            !is_drained
        });
        self.draining = draining;
    }

    fn is_drained(&self, flow: u32) -> bool {
        let (sent, received) = self.packets(flow);
        let losses = self.losses(flow);
        let may_wake = |side| {
            self.live(flow, side)
                .is_some_and(|live| live.may_wake(side))
        };
        let mut sides = [Side::Sender, Side::Receiver].into_iter();
        sent == received + losses.drops && !sides.any(may_wake)
    }

    /// Saves a flow's totals, frees its connection and releases its routes.
    fn give_up(&mut self, flow: u32) {
        let live = self
            .live(flow, Side::Sender)
            .expect("a flow is given up once");
        let (counters, routes) = (live.counters(), live.routes());
        self.entries[flow as usize].done = Done {
            packets: self.packets(flow),
            progress: self.progress(flow),
            counters,
        };
        for domain in &mut self.domains.list {
            domain.hosts.live[flow as usize] = None;
            for end in [2 * flow, 2 * flow + 1] {
                domain.hosts.timers.disarm(end);
            }
            for route in routes.iter().flatten() {
                domain.network.release_route(*route);
            }
        }
    }
}

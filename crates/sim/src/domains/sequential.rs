//! Domains that take turns on one thread. The domain with the earliest event advances until just before the
//! next event of any other, and by no more than the lookahead. So no domain runs ahead of another.

use fairport_net::Observer;
use fairport_record::{Simulated, Watcher};
use fairport_units::{Duration, Instant};

use super::Domains;
use crate::domain::Budget;

impl<P: Simulated, O: Observer<P> + Watcher> Domains<P, O> {
    /// Advances the domain with the earliest event, until `until` at most, inclusive. Returns the time of the next
    /// event.
    pub(crate) fn advance_in_turn(&mut self, until: Instant, budget: Budget) -> Instant {
        if let [domain] = &mut self.list[..] {
            domain.advance(until, budget);
            return domain.next_time();
        }
        self.exchange_all(); // packets of the last turn, and of flows that have started since
        let (number, until) = self.next_turn(until);
        self.list[number].advance(until, budget);
        self.next_effect()
    }

    /// The domain with the earliest event, and the instant up to which it may advance before it is another's turn.
    fn next_turn(&self, until: Instant) -> (usize, Instant) {
        let times = self.list.iter().map(|domain| domain.next_effect());
        let mut times: Vec<(Instant, usize)> = times.zip(0..).collect();
        times.sort_unstable();
        let (first, second) = (times[0], times[1].0);
        let just_before = |time: Instant| time.earlier_by(Duration::from_ps(1));
        let others = just_before(second.min(first.0 + self.lookahead()));
        (first.1, until.min(others.max(first.0)))
    }

    /// Moves all packets that have crossed into the regions they go to.
    pub(crate) fn exchange_all(&mut self) {
        if self.list.len() == 1 {
            return;
        }
        for from in 0..self.list.len() {
            for to in 0..self.partition.regions() {
                self.list[from].network.drain_outbox(to, &mut self.batch);
                let network = &mut self.list[usize::from(to)].network;
                network.receive_crossings(&mut self.batch);
            }
        }
    }
}

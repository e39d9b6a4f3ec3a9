//! Conservative parallel simulation: domains advance in parallel, each on its own core, or in short turns
//! on one core.
//!
//! An event in one domain affects another no sooner than the partition's lookahead later. Each domain publishes
//! its clock: nothing more will happen in it before that time. A domain may therefore advance to the earliest of
//! the others' clocks plus the lookahead. It first reads these clocks and then takes the packets that were sent to
//! it (Chandy and Misra 1979; the clocks are their null messages). Domains wait for nothing else; there is no
//! barrier per lookahead, so uneven work from one microsecond to the next costs little. A packet need not be sent
//! before the other domains can reach its arrival. Most packets are sent later, in batches, because they wait in
//! their port's queue or take long to transmit.
//!
//! A stretch ends at the next event that concerns all domains, such as the start of a flow or a sample. One
//! thread handles that event while the others wait at a barrier.

use std::sync::PoisonError;
use std::thread;

use fairport_net::{Crossing, Observer};
use fairport_record::{Simulated, Watcher};
use fairport_units::{Duration, Instant};

use super::Domains;
use super::barrier::Barrier;
use super::published::Published;
use super::sync::{AtomicBool, AtomicU64, Mutex, MutexGuard, Ordering, spin_loop};
use crate::domain::{Budget, Domain};

/// No limit, because a turn is short.
const WITHOUT_END: Budget = Budget {
    packet_hops: u64::MAX,
    timers: u64::MAX,
};
/// How many times per lookahead a domain publishes its clock, so that the others can advance meanwhile.
const PARTS: u64 = 3;
/// The longest stretch, in lookaheads. After each stretch it is checked whether the slice is over. While nothing
/// happens, clocks advance by one lookahead at a time, but a stretch always begins with an event.
const STRETCH: u64 = 1_000;
/// How many times a thread polls the others' clocks before it yields its core to other programs.
const LOOKS: u32 = 2_000;

/// The place through which a domain moves to its thread and back.
type Slot<P, O> = Option<Box<Domain<P, O>>>;

/// What the threads of a run share.
pub(crate) struct Parallel<P: Copy, O: Observer<P>> {
    barrier: Barrier,
    lookahead: Duration,
    /// by domain
    published: Vec<Published<Crossing<P>>>,
    /// by domain: the slot through which it moves to its thread and back
    domains: Vec<Mutex<Slot<P, O>>>,
    /// the end of the stretch, inclusive, in ps
    until: AtomicU64,
    is_over: AtomicBool,
}

impl<P: Simulated, O: Observer<P> + Watcher> Parallel<P, O> {
    /// For threads that advance these domains. With `at_once` each of them has a thread, otherwise one thread advances all.
    pub(crate) fn new(domains: &Domains<P, O>, at_once: bool) -> Self {
        let numbers = 0..domains.list.len();
        let threads = if at_once { domains.list.len() } else { 1 };
        Self {
            barrier: Barrier::new(threads as u32),
            lookahead: domains.lookahead(),
            published: numbers
                .clone()
                .map(|_| Published::new(domains.list.len()))
                .collect(),
            domains: numbers.map(|_| Mutex::new(None)).collect(),
            until: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        }
    }

    /// Advances all domains for a stretch, until `until` at most, inclusive. Returns the time of the next event.
    pub(crate) fn advance(
        &self,
        domains: &mut Domains<P, O>,
        until: Instant,
        budget: Budget,
    ) -> Instant {
        domains.exchange_all(); // packets of a flow's start, and those not sent in the last stretch
        let begin = domains.next_effect();
        if begin > until {
            return domains.advance_in_turn(until, budget);
        }
        let until = until.min(begin + self.lookahead * STRETCH);
        self.lead(&mut domains.list, begin, until);
        domains.next_effect()
    }

    /// The loop of one thread, which takes its domain through one stretch after another.
    fn work(&self, number: usize) {
        let _guard = self.barrier.guard();
        loop {
            self.barrier.wait();
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            let mut domain = self.lock(number).take().expect("a domain for each thread");
            self.run(number, std::slice::from_mut(&mut domain));
            *self.lock(number) = Some(domain);
            self.barrier.wait();
        }
    }

    fn lock(&self, number: usize) -> MutexGuard<'_, Slot<P, O>> {
        let lock = self.domains[number].lock();
        lock.unwrap_or_else(PoisonError::into_inner)
    }

    /// Advances all domains for a stretch from `begin` until `until`, inclusive. This thread takes the first
    /// domain, or all of them if it is the only thread.
    fn lead(&self, domains: &mut Vec<Box<Domain<P, O>>>, begin: Instant, until: Instant) {
        self.until.store(until.as_ps(), Ordering::Relaxed);
        for one in &self.published {
            one.set_clock(begin);
        }
        if self.barrier.threads() == 1 {
            self.run(0, domains);
        } else {
            self.run_at_once(domains);
        }
        // packets that were sent to a domain after it had reached the end of the stretch
        let mut batch = Vec::new();
        for (number, domain) in domains.iter_mut().enumerate() {
            self.collect(number, domain, &mut batch);
        }
    }

    /// Runs one stretch with each domain on its own thread.
    fn run_at_once(&self, domains: &mut Vec<Box<Domain<P, O>>>) {
        for (number, domain) in domains.drain(1..).enumerate() {
            *self.lock(number + 1) = Some(domain);
        }
        self.barrier.wait();
        self.run(0, domains);
        self.barrier.wait();
        let others = 1..self.domains.len();
        domains.extend(others.map(|number| self.lock(number).take().expect("each comes back")));
    }

    /// Runs one stretch with `domains`, which are numbered from `first`.
    fn run(&self, first: usize, domains: &mut [Box<Domain<P, O>>]) {
        let until = Instant::from_ps(self.until.load(Ordering::Relaxed));
        let mut batch = Vec::new();
        let mut looks = 0;
        loop {
            let mut is_over = true;
            let mut goes_on = false;
            for (number, domain) in (first..).zip(&mut *domains) {
                // reads the others' clocks before their mail, which then holds all that was sent before these clocks
                let safe = self.safe_until(number);
                let mut clock = self.published[number].clock();
                // Otherwise it has done all that it may. It then writes nothing, so that the clock stays in
                // the caches of the threads that poll it.
                if clock < safe && clock <= until {
                    clock = self.take_turn(number, domain, &mut batch, until, safe);
                    goes_on = true;
                }
                is_over &= clock > until;
            }
            if is_over {
                return;
            }
            looks = if goes_on { 0 } else { looks + 1 };
            if looks > LOOKS {
                self.barrier.check();
                thread::yield_now();
            } else if looks > 0 {
                spin_loop();
            }
        }
    }

    /// Domains other than this one.
    fn others(&self, number: usize) -> impl Iterator<Item = usize> {
        (0..self.published.len()).filter(move |other| *other != number)
    }

    /// No packet that another domain has yet to send can arrive before this instant.
    fn safe_until(&self, number: usize) -> Instant {
        let clocks = self
            .others(number)
            .map(|other| self.published[other].clock());
        clocks.min().unwrap_or(Instant::NEVER) + self.lookahead
    }

    /// Gives a domain the packets that have crossed into it. `batch` is empty before and afterwards.
    fn collect(&self, number: usize, domain: &mut Domain<P, O>, batch: &mut Vec<Crossing<P>>) {
        for other in self.others(number) {
            self.published[other].take_mail(number, batch);
            domain.network.receive_crossings(batch);
        }
    }

    /// Advances a domain until just before `safe`, or to the end of the stretch, and publishes its clock several times
    /// on the way. Returns its clock.
    fn take_turn(
        &self,
        number: usize,
        domain: &mut Domain<P, O>,
        batch: &mut Vec<Crossing<P>>,
        until: Instant,
        safe: Instant,
    ) -> Instant {
        self.collect(number, domain, batch);
        let last = until.min(safe.earlier_by(Duration::from_ps(1)));
        loop {
            let next = domain.next_event();
            let clock = next.min(safe);
            // the others cannot advance beyond `clock` plus lookahead: packets due later are sent later, in a batch
            if domain.network.first_due() < clock + self.lookahead {
                for to in self.others(number) {
                    domain.network.drain_outbox(to as u16, batch);
                    self.published[number].send(to, batch);
                }
            }
            self.published[number].set_clock(clock);
            if next > last {
                return clock;
            }
            domain.advance(last.min(next + self.lookahead / PARTS), WITHOUT_END);
        }
    }
}

impl<P: Simulated + Send, O: Observer<P> + Watcher + Send> Parallel<P, O> {
    /// Calls `lead` while the other threads run the stretches that it begins, and then ends them.
    pub(crate) fn with_threads(&self, lead: impl FnOnce(&Self)) {
        thread::scope(|scope| {
            for number in 1..self.barrier.threads() {
                scope.spawn(move || self.work(number as usize));
            }
            let _guard = self.barrier.guard();
            lead(self);
            self.is_over.store(true, Ordering::Relaxed);
            self.barrier.wait();
        });
    }
}

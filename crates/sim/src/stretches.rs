//! Domains that go on at once, each on a core of its own, or in small turns on one.
//!
//! What happens in a domain reaches another no sooner than the partition's lookahead later. Each domain
//! shows the others its clock: nothing more will happen in it before. So it may go on until the earliest
//! of their clocks and the lookahead, and takes what they have sent before it looks how far that is (Chandy and
//! Misra 1979; the clocks are their null messages). Nobody waits for more than that, so that a domain with
//! much to do in one microsecond and little in the next keeps no other waiting. What arrives only later than
//! they may go on is sent later: most packets wait for others at their port, or are long.
//!
//! A stretch ends where something happens that concerns all domains: a flow that starts, a sample. That is
//! done by one thread while the others wait at a barrier.

use std::sync::PoisonError;
use std::thread;
use std::time::Instant as WallTime;

use fairport_net::{Crossing, Observer};
use fairport_record::{Simulated, Watcher};
use fairport_units::{Duration, Instant};

use crate::barrier::Barrier;
use crate::domain::{Budget, Domain};
use crate::notice::Notice;
use crate::pace::{Pace, TRY_PART};
use crate::shared::{AtomicBool, AtomicU64, Mutex, MutexGuard, Ordering, spin_loop};
use crate::simulation::Simulation;

/// A turn is short.
const WITHOUT_END: Budget = Budget {
    packet_hops: u64::MAX,
    timers: u64::MAX,
};
/// A domain says so many times in each lookahead how far it is: the others still have the rest to do.
const PARTS: u64 = 3;
/// A stretch is so many lookaheads long at most, and then it is seen whether the slice is over. Where nothing
/// happens, clocks move by one lookahead at a time, but a stretch begins with something that does.
const STRETCH: u64 = 1_000;
/// How often a thread looks at the others' clocks before it lets other programs have its core.
const LOOKS: u32 = 2_000;

/// Where a domain is on its way to its thread and back.
type Slot<P, O> = Option<Box<Domain<P, O>>>;

/// What the threads of a run share.
struct Board<P: Copy, O: Observer<P>> {
    barrier: Barrier,
    lookahead: Duration,
    /// by domain
    notices: Vec<Notice<Crossing<P>>>,
    /// by domain: it itself, on its way to its thread and back
    domains: Vec<Mutex<Slot<P, O>>>,
    /// the stretch goes on until this instant, inclusive
    until: AtomicU64,
    is_over: AtomicBool,
}

impl<P: Simulated, O: Observer<P> + Watcher> Board<P, O> {
    /// For so many domains, each on a thread of its own or all on one.
    fn new(domains: usize, threads: usize, lookahead: Duration) -> Self {
        Self {
            barrier: Barrier::new(threads as u32),
            lookahead,
            notices: (0..domains).map(|_| Notice::new(domains)).collect(),
            domains: (0..domains).map(|_| Mutex::new(None)).collect(),
            until: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        }
    }

    /// The work of one thread: one stretch with its domain after another.
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

    /// Has all domains go on for a stretch from `begin` until `until`, inclusive: this thread with the first, or
    /// with all if it is the only one.
    fn lead(&self, domains: &mut Vec<Box<Domain<P, O>>>, begin: Instant, until: Instant) {
        self.until.store(until.as_ps(), Ordering::Relaxed);
        for notice in &self.notices {
            notice.set_clock(begin);
        }
        if self.barrier.threads() == 1 {
            self.run(0, domains);
        } else {
            self.run_at_once(domains);
        }
        // what was sent to a domain that was at the end already
        let mut batch = Vec::new();
        for (number, domain) in domains.iter_mut().enumerate() {
            self.collect(number, domain, &mut batch);
        }
    }

    /// One stretch, with each domain on its thread.
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

    /// One stretch with these domains, from this number on.
    fn run(&self, first: usize, domains: &mut [Box<Domain<P, O>>]) {
        let until = Instant::from_ps(self.until.load(Ordering::Relaxed));
        let mut batch = Vec::new();
        let mut looks = 0;
        loop {
            let mut is_over = true;
            let mut goes_on = false;
            for (number, domain) in (first..).zip(&mut *domains) {
                // the others' clocks before their mail: what was sent before a clock was set is there
                let safe = self.safe_until(number);
                let mut clock = self.notices[number].clock();
                // Otherwise it has done what it may. It writes nothing then, so that the others keep
                // what they read in their caches.
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
        (0..self.notices.len()).filter(move |other| *other != number)
    }

    /// Nothing comes from the others before this instant.
    fn safe_until(&self, number: usize) -> Instant {
        let clocks = self.others(number).map(|other| self.notices[other].clock());
        clocks.min().unwrap_or(Instant::NEVER) + self.lookahead
    }

    /// Takes what has crossed into a domain. `batch` is empty, before and afterwards.
    fn collect(&self, number: usize, domain: &mut Domain<P, O>, batch: &mut Vec<Crossing<P>>) {
        for other in self.others(number) {
            self.notices[other].take_mail(number, batch);
            domain.network.receive_crossings(batch);
        }
    }

    /// A domain goes on to what is `safe` or to the end of the stretch, and shows now and then how far it is. Returns
    /// its clock.
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
            // the others go on until then: what is due later is sent later, with more
            if domain.network.first_due() < clock + self.lookahead {
                for to in self.others(number) {
                    domain.network.drain_outbox(to as u16, batch);
                    self.notices[number].send(to, batch);
                }
            }
            self.notices[number].set_clock(clock);
            if next > last {
                return clock;
            }
            domain.advance(last.min(next + self.lookahead / PARTS), WITHOUT_END);
        }
    }
}

impl<P: Simulated + Send, O: Observer<P> + Watcher + Send> Simulation<P, O> {
    /// Chooses for all of the run whether domains go on at once, or on one thread.
    #[must_use]
    pub fn at_once(mut self, at_once: bool) -> Self {
        self.pace = Pace::fixed(at_once);
        self
    }

    /// Goes on until `goal` packet-hops, in `steps` at most, the way that is faster.
    pub(crate) fn advance_at_pace(&mut self, goal: u64, steps: u64) {
        let before = self.packet_hops();
        let (at_once, is_try) = self.pace.next();
        let part = if is_try { TRY_PART } else { 1 };
        let begin = WallTime::now();
        self.advance_by_stretches(before + (goal - before) / part, steps, at_once);
        let hops = self.packet_hops() - before;
        if hops > 0 {
            let s_per_hop = begin.elapsed().as_secs_f64() / hops as f64;
            self.pace.note(at_once, is_try, s_per_hop);
        }
    }

    /// Goes on until `goal` packet-hops, in `steps` at most: all domains at once, or on this thread alone.
    fn advance_by_stretches(&mut self, goal: u64, steps: u64, at_once: bool) {
        let threads = if at_once { self.domains.len() } else { 1 };
        let board = Board::new(self.domains.len(), threads, self.partition.lookahead());
        thread::scope(|scope| {
            for number in 1..threads {
                let board = &board;
                scope.spawn(move || board.work(number));
            }
            let _guard = board.barrier.guard();
            for _ in 0..steps {
                if self.finished || self.packet_hops() >= goal {
                    break;
                }
                self.step_with(goal, |simulation, until, budget| {
                    simulation.exchange_all(); // what a flow's start has sent, and what the last stretch left to be sent later
                    let begin = simulation.next_effect();
                    // a workload that waits for all flows to be established hears of each at once
                    if simulation.unestablished > 0 || begin > until {
                        return simulation.advance_in_turn(until, budget);
                    }
                    let until = until.min(begin + board.lookahead * STRETCH);
                    board.lead(&mut simulation.domains, begin, until);
                    simulation.next_effect()
                });
            }
            board.is_over.store(true, Ordering::Relaxed);
            board.barrier.wait();
        });
    }
}

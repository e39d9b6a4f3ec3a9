//! A barrier for threads that wait for each other again and again: it spins briefly, and then sleeps.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// How often a thread looks before it sleeps: for some 20 us, shorter than what is lost if another program
/// needs the core.
const LOOKS: u32 = 2_000;

/// Where so many threads wait for each other.
pub(crate) struct Barrier {
    threads: u32,
    arrived: AtomicU32,
    /// how often all have been here
    round: AtomicU32,
    /// a thread panicked: the others must not wait for it
    is_broken: AtomicBool,
    asleep: AtomicU32,
    lock: Mutex<()>,
    awake: Condvar,
}

impl Barrier {
    pub(crate) fn new(threads: u32) -> Self {
        Self {
            threads,
            arrived: AtomicU32::new(0),
            round: AtomicU32::new(0),
            is_broken: AtomicBool::new(false),
            asleep: AtomicU32::new(0),
            lock: Mutex::new(()),
            awake: Condvar::new(),
        }
    }

    /// How many threads wait for each other.
    pub(crate) fn threads(&self) -> u32 {
        self.threads
    }

    /// Returns when all threads are here. What each has written before, all see afterwards.
    ///
    /// # Panics
    /// If a thread has panicked instead of coming.
    pub(crate) fn wait(&self) {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            // in one order with the sleepers' count: either they see the new round, or are seen
            self.round.store(round.wrapping_add(1), Ordering::SeqCst);
            if self.asleep.load(Ordering::SeqCst) > 0 {
                self.wake();
            }
            return;
        }
        let waits = || self.round.load(Ordering::SeqCst) == round && !self.has_broken();
        let mut looks = 0;
        while waits() && looks < LOOKS {
            looks += 1;
            spin_loop();
        }
        if waits() {
            let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
            self.asleep.fetch_add(1, Ordering::SeqCst);
            while waits() {
                lock = self
                    .awake
                    .wait(lock)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            self.asleep.fetch_sub(1, Ordering::SeqCst);
        }
        self.check();
    }

    /// Whoever waits for another thread in a way of its own asks this now and then.
    ///
    /// # Panics
    /// If a thread has panicked.
    pub(crate) fn check(&self) {
        assert!(!self.has_broken(), "another thread of this run panicked");
    }

    fn has_broken(&self) -> bool {
        self.is_broken.load(Ordering::SeqCst)
    }

    fn wake(&self) {
        drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
        self.awake.notify_all();
    }

    /// Breaks the barrier when it is dropped by a panic.
    pub(crate) fn guard(&self) -> Guard<'_> {
        Guard(self)
    }
}

/// See [`Barrier::guard`].
pub(crate) struct Guard<'a>(&'a Barrier);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.is_broken.store(true, Ordering::SeqCst);
            self.0.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn nobody_passes_before_all_are_there() {
        let barrier = Barrier::new(3);
        let rounds = [const { AtomicU64::new(0) }; 3];
        thread::scope(|scope| {
            for own in 0..3 {
                let (barrier, rounds) = (&barrier, &rounds);
                scope.spawn(move || {
                    for round in 1..=2_000 {
                        rounds[own].store(round, Ordering::Relaxed);
                        if round % 500 == own as u64 {
                            thread::sleep(Duration::from_millis(1)); // the others fall asleep
                        }
                        barrier.wait();
                        let all = rounds.iter().map(|it| it.load(Ordering::Relaxed));
                        assert!(all.min() >= Some(round));
                        barrier.wait();
                    }
                });
            }
        });
    }

    #[test]
    fn a_thread_that_panics_leaves_nobody_waiting() {
        let barrier = Barrier::new(2);
        let waiter = thread::scope(|scope| {
            let waiter = scope.spawn(|| barrier.wait());
            let other = scope.spawn(|| {
                let _guard = barrier.guard();
                panic!("as the test wants");
            });
            assert!(other.join().is_err());
            waiter.join()
        });
        assert!(waiter.is_err());
    }
}

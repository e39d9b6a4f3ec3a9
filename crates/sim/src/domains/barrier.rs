//! A reusable barrier for threads. A waiting thread spins briefly and then sleeps.

use std::sync::PoisonError;

use super::sync::{AtomicBool, AtomicU32, Condvar, Mutex, Ordering, spin_loop};

/// How many times a thread polls before it sleeps. This takes about 20 us, less than what is lost if another program
/// needs the core. The model checker tries every interleaving, so one poll is enough for it.
const LOOKS: u32 = if cfg!(loom) { 1 } else { 2_000 };

/// A barrier for a fixed number of threads.
pub(crate) struct Barrier {
    threads: u32,
    arrived: AtomicU32,
    /// how many times all threads have arrived
    round: AtomicU32,
    /// a thread panicked: the others must not wait for it
    is_broken: AtomicBool,
    asleep: Mutex<u32>,
    awake: Condvar,
}

impl Barrier {
    pub(crate) fn new(threads: u32) -> Self {
        Self {
            threads,
            arrived: AtomicU32::new(0),
            round: AtomicU32::new(0),
            is_broken: AtomicBool::new(false),
            asleep: Mutex::new(0),
            awake: Condvar::new(),
        }
    }

    /// How many threads wait for each other.
    pub(crate) fn threads(&self) -> u32 {
        self.threads
    }

    /// Returns when all threads have arrived. All of them then see what each wrote before it arrived.
    ///
    /// # Panics
    /// If a thread has panicked instead of arriving.
    pub(crate) fn wait(&self) {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.round.store(round.wrapping_add(1), Ordering::Release);
            self.wake();
            return;
        }
        let waits = || self.round.load(Ordering::Acquire) == round && !self.has_broken();
        let mut looks = 0;
        while waits() && looks < LOOKS {
            looks += 1;
            spin_loop();
        }
        if waits() {
            let mut asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
            *asleep += 1;
            while waits() {
                asleep = self
                    .awake
                    .wait(asleep)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            *asleep -= 1;
        }
        self.check();
    }

    /// Checks that no thread has panicked. Code that waits for a thread in another way calls this now and then.
    ///
    /// # Panics
    /// If a thread has panicked.
    pub(crate) fn check(&self) {
        assert!(!self.has_broken(), "another thread of this run panicked");
    }

    fn has_broken(&self) -> bool {
        self.is_broken.load(Ordering::Acquire)
    }

    /// Breaks the barrier: threads that wait at it, now or later, panic.
    fn break_it(&self) {
        self.is_broken.store(true, Ordering::Release);
        self.wake();
    }

    /// Wakes the sleeping threads. The caller has already made their condition true, so a thread that takes the lock
    /// later sees that and does not sleep.
    fn wake(&self) {
        let asleep = *self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
        if asleep > 0 {
            self.awake.notify_all();
        }
    }

    /// Returns a guard that breaks the barrier if a panic drops it.
    pub(crate) fn guard(&self) -> Guard<'_> {
        Guard(self)
    }
}

/// See [`Barrier::guard`].
pub(crate) struct Guard<'a>(&'a Barrier);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.break_it();
        }
    }
}

#[cfg(all(test, not(loom)))]
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

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    /// All threads read after the barrier what each wrote before it. Loom tries every interleaving and every value
    /// that a relaxed load may return, and fails if a sleeping thread is never woken.
    #[test]
    fn what_is_written_before_is_seen_afterwards() {
        loom::model(|| {
            let shared = Arc::new((Barrier::new(2), [AtomicU32::new(0), AtomicU32::new(0)]));
            let rounds = |own: usize, (barrier, written): &(Barrier, [AtomicU32; 2])| {
                written[own].store(1, Ordering::Relaxed);
                barrier.wait();
                assert!(written.iter().all(|it| it.load(Ordering::Relaxed) == 1));
                barrier.wait();
            };
            let other = Arc::clone(&shared);
            let thread = thread::spawn(move || rounds(1, &other));
            rounds(0, &shared);
            thread.join().unwrap();
        });
    }

    #[test]
    fn a_sleeper_wakes_when_the_other_thread_panics() {
        loom::model(|| {
            let barrier = Arc::new(Barrier::new(2));
            let other = Arc::clone(&barrier);
            let thread = thread::spawn(move || other.break_it());
            let waits = std::panic::AssertUnwindSafe(|| barrier.wait());
            assert!(std::panic::catch_unwind(waits).is_err());
            thread.join().unwrap();
        });
    }
}

//! What a domain publishes to the others: its clock, and the packets that it has sent to them.

use std::sync::PoisonError;

use fairport_units::Instant;

use super::sync::{AtomicU64, Mutex, MutexGuard, Ordering};

/// A domain's clock, and a mailbox for each domain.
///
/// A domain puts a packet into the mailbox before it moves its clock. So a reader that loads the clock first, and takes
/// the mail afterwards, has every packet that was sent before the clock was set.
pub(crate) struct Published<T> {
    /// nothing more happens in the domain before this instant, in ps
    clock: Apart<AtomicU64>,
    /// by domain: what was sent to it and not taken yet
    mail: Vec<Apart<Mutex<Vec<T>>>>,
}

/// A value on two cache lines of its own, because processors fetch lines in pairs. A thread that polls one value then
/// does not slow down a thread that writes another.
#[repr(align(128))]
struct Apart<T>(T);

impl<T> Published<T> {
    /// A clock at zero, with an empty mailbox for each of `domains`.
    pub(crate) fn new(domains: usize) -> Self {
        Self {
            clock: Apart(AtomicU64::new(0)),
            mail: (0..domains)
                .map(|_| Apart(Mutex::new(Vec::new())))
                .collect(),
        }
    }

    /// Nothing more happens in the domain before this instant.
    pub(crate) fn clock(&self) -> Instant {
        Instant::from_ps(self.clock.0.load(Ordering::Acquire))
    }

    /// Sets the clock. A reader that sees it also sees everything that was sent before.
    pub(crate) fn set_clock(&self, clock: Instant) {
        self.clock.0.store(clock.as_ps(), Ordering::Release);
    }

    /// Sends the contents of `batch` to the domain `to`, and leaves `batch` empty.
    pub(crate) fn send(&self, to: usize, batch: &mut Vec<T>) {
        if batch.is_empty() {
            return;
        }
        let mut mail = self.mail(to);
        if mail.is_empty() {
            std::mem::swap(&mut *mail, batch);
        } else {
            mail.append(batch);
        }
    }

    /// Takes what this domain has sent to the domain `to` into `batch`, which is empty. The two lists are swapped, so
    /// that no thread waits while another copies.
    pub(crate) fn take_mail(&self, to: usize, batch: &mut Vec<T>) {
        std::mem::swap(&mut *self.mail(to), batch);
    }

    fn mail(&self, to: usize) -> MutexGuard<'_, Vec<T>> {
        let mail = self.mail[to].0.lock();
        mail.unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    /// A domain sends at 10 and at 20 and sets its clock each time. A reader of the clock has all mail from before it.
    #[test]
    fn who_reads_the_clock_has_the_mail() {
        loom::model(|| {
            let published = Arc::new(Published::new(1));
            let near = Arc::clone(&published);
            let sender = thread::spawn(move || {
                for due in [10, 20] {
                    near.send(0, &mut vec![due]);
                    near.set_clock(Instant::from_ps(due + 1));
                }
            });
            let mut got = Vec::new();
            for _ in 0..2 {
                let clock = published.clock().as_ps();
                let mut batch = Vec::new();
                published.take_mail(0, &mut batch);
                got.append(&mut batch);
                let sent = [10, 20].into_iter().filter(|due| *due < clock).count();
                assert!(got.len() >= sent, "{got:?} at {clock}");
            }
            sender.join().unwrap();
        });
    }
}

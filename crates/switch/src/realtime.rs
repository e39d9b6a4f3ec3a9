//! Makes the kernel run this thread when something is due: a real-time class, a processor of its own, and memory that
//! is not paged out.
//!
//! The class is `SCHED_DEADLINE` with a runtime equal to its period, which is all of a processor. A `SCHED_FIFO` thread
//! that has used 95 % of a second is stopped for the rest of that second (`kernel.sched_rt_runtime_us`, if the kernel
//! schedules real-time groups), even if no other program waits. On such a machine a thread that never sleeps had three
//! gaps of 50 ms in 4 s with `SCHED_FIFO`, and no gap above 0.2 ms with `SCHED_DEADLINE`. The kernel admits
//! `SCHED_DEADLINE` if there is a second processor and the thread may run on all of them; otherwise the class is
//! `SCHED_FIFO`.
//!
//! A `SCHED_DEADLINE` thread cannot be bound to a processor, and the kernel sometimes moves it. A [`Neighbour`] must
//! then move, too: of the thread's new processor it would get only what the thread leaves.
#![expect(unsafe_code, reason = "libc's calls are unsafe")]

use std::io;
use std::mem::{size_of, zeroed};

use crate::ring::check;

/// Runtime, deadline and period of the thread, in ns.
const PERIOD_NS: u64 = 1_000_000;
/// `SCHED_FLAG_RESET_ON_FORK`: without it the thread cannot start others.
const RESET_ON_FORK: u64 = 1;

/// What the kernel permitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// The scheduling class of the thread.
    pub class: Class,
    /// The thread runs on one processor only.
    pub pinned: bool,
    /// The memory is never paged out.
    pub locked: bool,
}

/// How the kernel schedules the thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// `SCHED_DEADLINE`: runs for as long as it wants to.
    Deadline,
    /// `SCHED_FIFO`: runs before other programs, but not all of the time.
    Fifo,
    /// Scheduled like every other program.
    #[default]
    Other,
}

impl Class {
    /// The kernel's name of the class.
    pub fn name(self) -> &'static str {
        match self {
            Class::Deadline => "SCHED_DEADLINE",
            Class::Fifo => "SCHED_FIFO",
            Class::Other => "SCHED_OTHER",
        }
    }
}

/// Asks for real-time treatment of the present thread. Whatever is not permitted is left out.
pub fn prepare(processor: Option<usize>, priority: i32) -> Granted {
    let (class, pinned) = schedule(processor, priority);
    Granted {
        class,
        pinned,
        locked: in_memory().is_ok(),
    }
}

/// The class that a new thread would get.
pub fn available_class() -> Class {
    let asking = std::thread::spawn(|| schedule(None, 1).0);
    asking.join().unwrap_or_default()
}

/// Sets the class of the present thread. Returns the class, and whether the thread is bound to the processor.
fn schedule(processor: Option<usize>, priority: i32) -> (Class, bool) {
    let bind = || processor.is_some_and(|one| on_processors(0, &only(one)).is_ok());
    // a deadline thread may not be bound to a processor, but it begins on this one
    let allowed = processors(0);
    let is_free = !bind() || allowed.is_ok_and(|allowed| on_processors(0, &allowed).is_ok());
    if is_free && with_deadline().is_ok() {
        return (Class::Deadline, false);
    }
    let is_first = with_priority(priority).is_ok();
    (if is_first { Class::Fifo } else { Class::Other }, bind())
}

fn with_deadline() -> io::Result<()> {
    let wanted = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: libc::SCHED_DEADLINE as u32,
        sched_flags: RESET_ON_FORK,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: PERIOD_NS,
        sched_deadline: PERIOD_NS,
        sched_period: PERIOD_NS,
    };
    // SAFETY: a plain structure that says its size, alive during the call.
    let done = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const wanted, 0) };
    check(done as i32).map(drop)
}

fn with_priority(priority: i32) -> io::Result<()> {
    // SAFETY: a plain structure, alive during the call.
    check(unsafe {
        let mut wanted: libc::sched_param = zeroed();
        wanted.sched_priority = priority;
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const wanted)
    })
    .map(drop)
}

fn only(processor: usize) -> libc::cpu_set_t {
    // SAFETY: an all-zero value of this plain structure is valid; `CPU_SET` ignores numbers that are
    // too large.
    unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        libc::CPU_SET(processor, &mut set);
        set
    }
}

/// The processors on which a process may run; 0 is the present thread.
fn processors(process: libc::pid_t) -> io::Result<libc::cpu_set_t> {
    // SAFETY: a plain structure, alive during the call.
    unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        check(libc::sched_getaffinity(
            process,
            size_of::<libc::cpu_set_t>(),
            &raw mut set,
        ))?;
        Ok(set)
    }
}

/// Lets a process run on these processors only; 0 is the present thread.
fn on_processors(process: libc::pid_t, set: &libc::cpu_set_t) -> io::Result<()> {
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: a plain structure, alive during the call.
    check(unsafe { libc::sched_setaffinity(process, size, std::ptr::from_ref(set)) }).map(drop)
}

/// A process that never runs on the processor of the present thread, even if the kernel moves this thread.
pub struct Neighbour {
    process: libc::pid_t,
    /// where both may run
    allowed: libc::cpu_set_t,
    /// where this thread was when the process last moved
    beside: Option<usize>,
}

impl Neighbour {
    /// A process that may run where the present thread may run now.
    ///
    /// # Errors
    /// If the kernel does not say where that is.
    pub fn new(process: i32) -> io::Result<Self> {
        Ok(Self {
            process,
            allowed: processors(0)?,
            beside: None,
        })
    }

    /// Moves the process if this thread has moved. If there is no other processor, it stays.
    pub(crate) fn keep_away(&mut self) {
        // SAFETY: a call without arguments; without a system call it takes some nanoseconds
        let here = usize::try_from(unsafe { libc::sched_getcpu() }).ok();
        if here == self.beside {
            return;
        }
        self.beside = here;
        if let Some(here) = here {
            let mut others = self.allowed;
            // SAFETY: a plain structure; `CPU_CLR` ignores numbers that are too large
            unsafe { libc::CPU_CLR(here, &mut others) };
            // the process may have ended
            let _ = on_processors(self.process, &others);
        }
    }
}

/// Locks the memory. Memory that is mapped later is locked page by page when it is first used. If it were filled at
/// once, a table that doubles would stop the switch for milliseconds.
fn in_memory() -> io::Result<()> {
    let flags = libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT;
    // SAFETY: a call without pointers.
    check(unsafe { libc::mlockall(flags) }).map(drop)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_neighbour_leaves_the_processor_to_which_the_thread_moves() {
        let allowed = processors(0).unwrap();
        // SAFETY: a plain structure
        let may = |set: &libc::cpu_set_t, one| unsafe { libc::CPU_ISSET(one, set) };
        let all: Vec<usize> = (0..64).filter(|one| may(&allowed, *one)).collect();
        let [first, second, ..] = all[..] else {
            return; // on a machine of one processor it stays
        };
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let process = child.id().cast_signed();
        let mut neighbour = Neighbour::new(process).unwrap();
        for (here, other) in [(first, second), (second, first)] {
            on_processors(0, &only(here)).unwrap();
            neighbour.keep_away();
            let left = processors(process).unwrap();
            assert!(!may(&left, here) && may(&left, other));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

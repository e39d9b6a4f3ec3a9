//! What makes the kernel run this thread when something is due: a real-time priority, a processor of
//! its own, memory that stays.
#![expect(unsafe_code, reason = "libc's calls are unsafe")]

use std::io;
use std::mem::{size_of, zeroed};

use crate::ring::check;

/// What was permitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// The thread has a priority of `SCHED_FIFO`.
    pub real_time: bool,
    /// It runs on one processor.
    pub pinned: bool,
    /// Its memory is never paged out.
    pub locked: bool,
}

/// Asks for all of it for the present thread; what is not permitted is left out.
pub fn prepare(processor: Option<usize>, priority: i32) -> Granted {
    Granted {
        real_time: with_priority(priority).is_ok(),
        pinned: processor.is_some_and(|processor| on_processor(processor).is_ok()),
        locked: in_memory().is_ok(),
    }
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

fn on_processor(processor: usize) -> io::Result<()> {
    // SAFETY: a plain structure, alive during the call; `CPU_SET` ignores numbers that are too large.
    check(unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        libc::CPU_SET(processor, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    })
    .map(drop)
}

fn in_memory() -> io::Result<()> {
    // SAFETY: a call without pointers.
    check(unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) }).map(drop)
}

//! Makes the kernel run this thread when something is due: a real-time class, a processor of its own, and memory that
//! is not paged out.
//!
//! The class is `SCHED_DEADLINE` with a runtime equal to its period, which is all of a processor. A `SCHED_FIFO` thread
//! that has used 95 % of a second is stopped for the rest of that second (`kernel.sched_rt_runtime_us`, if the kernel
//! schedules real-time groups), even if no other program waits. On such a machine a thread that never sleeps had three
//! gaps of 50 ms in 4 s with `SCHED_FIFO`, and no gap above 0.2 ms with `SCHED_DEADLINE`. The kernel admits
//! `SCHED_DEADLINE` if there is a second processor and the thread may run on all of them; otherwise the class is
//! `SCHED_FIFO`.
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
    let bind = || processor.is_some_and(|one| on_processors(&only(one)).is_ok());
    // a deadline thread may not be bound to a processor, but it stays where it is
    let allowed = processors();
    let is_free = !bind() || allowed.is_ok_and(|allowed| on_processors(&allowed).is_ok());
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

fn processors() -> io::Result<libc::cpu_set_t> {
    // SAFETY: a plain structure, alive during the call.
    unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        check(libc::sched_getaffinity(
            0,
            size_of::<libc::cpu_set_t>(),
            &raw mut set,
        ))?;
        Ok(set)
    }
}

fn on_processors(set: &libc::cpu_set_t) -> io::Result<()> {
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: a plain structure, alive during the call.
    check(unsafe { libc::sched_setaffinity(0, size, std::ptr::from_ref(set)) }).map(drop)
}

/// Locks the memory. Memory that is mapped later is locked page by page when it is first used. If it were filled at
/// once, a table that doubles would stop the switch for milliseconds.
fn in_memory() -> io::Result<()> {
    let flags = libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT;
    // SAFETY: a call without pointers.
    check(unsafe { libc::mlockall(flags) }).map(drop)
}

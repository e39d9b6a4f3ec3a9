//! Synchronization primitives: those of the standard library, or with `--cfg loom` those of a model checker, which
//! tries every interleaving of the threads (`make validate CASE=threads`).

#[cfg(not(loom))]
pub(crate) use std::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    sync::{Condvar, Mutex, MutexGuard},
};

#[cfg(loom)]
pub(crate) use loom::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    sync::{Condvar, Mutex, MutexGuard},
};

//! A hint to the processor: memory that will be needed soon.
//!
//! In a large network a packet waits for tens of microseconds, in which a thousand others pass, and
//! what was known of it is no longer in the cache next to the core when it arrives. But it is known
//! well before which packets come next.

/// Has the first cache lines of `value` fetched, and does not wait for them.
#[inline(always)]
#[expect(clippy::inline_always, reason = "a few instructions in hot loops")]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    for offset in (0..size_of::<T>().min(MOST_BYTES)).step_by(LINE_BYTES) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let line = std::ptr::from_ref(value).cast::<i8>().wrapping_add(offset);
        #[expect(
            unsafe_code,
            reason = "std has no safe one yet (`hint_prefetch`); it reads nothing and cannot fault"
        )]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(line);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

#[cfg(target_arch = "x86_64")]
const LINE_BYTES: usize = 64;

/// A core has buffers for some 16 lines that are on their way. A large value would fill them all, and the next access would
/// wait.
#[cfg(target_arch = "x86_64")]
const MOST_BYTES: usize = 8 * LINE_BYTES;

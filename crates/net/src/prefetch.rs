//! A hint to the processor that memory will be needed soon.
//!
//! In a large network a packet waits for tens of microseconds, while a thousand others pass, and its data has left the
//! first-level cache when it arrives. But it is known well in advance which packets come next.

/// Starts to fetch the first cache lines of `value` without waiting for them.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    prefetch_at(std::ptr::from_ref(value));
}

/// [`prefetch`] of the value at this address. There need not be one.
#[inline(always)]
pub(crate) fn prefetch_at<T>(value: *const T) {
    #[cfg(target_arch = "x86_64")]
    for offset in (0..size_of::<T>().min(MOST_BYTES)).step_by(LINE_BYTES) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let line = value.cast::<i8>().wrapping_add(offset);
        #[expect(
            unsafe_code,
            reason = "std has no safe prefetch yet (`hint_prefetch`); it reads nothing and cannot fault"
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

/// These are the lines of a TCP endpoint that a data segment needs. A core can fetch about 16 lines at a time. A large
/// value would use all of these buffers, and the next access would have to wait.
#[cfg(target_arch = "x86_64")]
const MOST_BYTES: usize = 11 * LINE_BYTES;

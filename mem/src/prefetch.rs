//! Asking for memory before it is needed.

use crate::limits::LINE_BYTES;

/// Tells the processor that a value is going to be used soon. Changes nothing but the time that takes.
#[inline]
pub fn prefetch<T: ?Sized>(value: &T) {
    let base = std::ptr::from_ref(value).cast::<u8>();
    for offset in (0..size_of_val(value)).step_by(LINE_BYTES) {
        prefetch_line(base.wrapping_add(offset));
    }
}

/// The same of `len` bytes at an address, which may be any.
#[inline]
pub(crate) fn prefetch_bytes(base: *const u8, len: usize) {
    let skip = base.addr() % LINE_BYTES;
    for offset in (0..skip + len).step_by(LINE_BYTES) {
        prefetch_line(base.wrapping_sub(skip).wrapping_add(offset));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn prefetch_line(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch reads nothing that the program could see, and cannot fault.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn prefetch_line(_: *const u8) {}

//! What the processor is told about lines that pass between cores. Hints only: without them all is the same, but later.
//!
//! Lines that were asked for before take half the time to write (docs/performance/constants.md).

/// This line will be written here: asks for it now, so that the write does not wait for the core that has read it.
#[inline(always)]
pub(crate) fn will_write<T>(line: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch never faults and changes no memory; processors without it take it for nothing.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags, readonly));
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("prfm pstl1keep, [{}]", in(reg) line, options(nostack, preserves_flags, readonly));
    }
    let _ = line;
}

/// This line will be read here.
#[inline(always)]
pub(crate) fn will_read<T>(line: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch never faults and changes no memory.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line.cast());
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) line, options(nostack, preserves_flags, readonly));
    }
    let _ = line;
}

/// This line was written here, and another core will read it next: moves it to the cache that both share.
#[inline(always)]
pub(crate) fn is_for_another<T>(line: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: `cldemote` never faults and changes no memory; processors without it take it for a no-operation.
    unsafe {
        std::arch::asm!("cldemote [{}]", in(reg) line, options(nostack, preserves_flags, readonly));
    }
    let _ = line;
}

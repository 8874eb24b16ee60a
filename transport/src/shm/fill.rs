//! How a cell is filled: by stores to the cache as usual, or by stores past it.
//!
//! Where both cores share a cache, the usual stores are faster. Where they do not, each line has to be fetched from the core that
//! read the cell last, and from here again when it is read next: on two cores of a Zen 3 that share none 64 KiB take 17 µs, and
//! 6 by stores past the cache. Which of the two it is changes when the scheduler or a hypervisor moves a rank, so it
//! is measured (`choice.rs`).

use tern_mem::copy_long;

use super::choice::Sampled;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::limits::LINE_BYTES;

/// How cells are filled for one peer. Zeros are one of which nothing is known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fill(Sampled);

impl Fill {
    /// Fills a cell.
    ///
    /// # Safety
    /// `n` bytes must be readable at `from` and writable at `to`, where a line begins.
    pub(crate) unsafe fn copy(&mut self, to: *mut u8, from: *const u8, n: usize) {
        let fill = self.0.begin(false);
        // SAFETY: the caller's promise.
        unsafe { copy(fill.second, to, from, n) };
        self.0.end(fill, n);
    }
}

/// # Safety
/// As [`Fill::copy`].
unsafe fn copy(past_cache: bool, to: *mut u8, from: *const u8, n: usize) {
    // SAFETY: the caller's promise. Copies of a program's buffer may overlap anything that the program passes.
    unsafe {
        if past_cache {
            copy_past_cache(to, from, n);
        } else {
            copy_long(to, from, n);
        }
    }
}

/// # Safety
/// As [`Fill::copy`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
unsafe fn copy_past_cache(to: *mut u8, from: *const u8, n: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    debug_assert!(to.addr().is_multiple_of(LINE_BYTES));
    let lines = n / LINE_BYTES * LINE_BYTES;
    // SAFETY: all offsets are below `n`, and `to` is aligned. The fence makes what was stored past the cache visible before
    // whatever says that it is there.
    unsafe {
        for at in (0..lines).step_by(LINE_BYTES) {
            let (to, from) = (to.add(at).cast::<__m128i>(), from.add(at).cast::<__m128i>());
            let line = [0, 1, 2, 3].map(|word| _mm_loadu_si128(from.add(word)));
            line.into_iter().enumerate().for_each(|(word, value)| _mm_stream_si128(to.add(word), value));
        }
        from.add(lines).copy_to(to.add(lines), n - lines);
        _mm_sfence();
    }
}

/// There are no such stores here, and both ways are one.
///
/// # Safety
/// As [`Fill::copy`].
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
unsafe fn copy_past_cache(to: *mut u8, from: *const u8, n: usize) {
    // SAFETY: the caller's promise.
    unsafe { from.copy_to(to, n) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(64))]
    struct Cell([u8; 4096]);

    #[test]
    fn both_ways_copy_the_same() {
        let from: Vec<u8> = (0..4096).map(|at| at as u8 ^ (at >> 8) as u8).collect();
        for n in [0, 1, 63, 64, 65, 127, 1000, 4095] {
            for past_cache in [false, true] {
                let mut cell = Cell([0xaa; 4096]);
                // SAFETY: both have 4,096 bytes, and one more than `n`.
                unsafe { copy(past_cache, cell.0.as_mut_ptr(), from[1..].as_ptr(), n) };
                assert_eq!(cell.0[..n], from[1..n + 1]);
                assert!(cell.0[n..].iter().all(|byte| *byte == 0xaa));
            }
        }
    }

    #[test]
    fn all_fills_are_right_while_it_is_measured() {
        let (mut fill, mut cell) = (Fill::default(), Cell([0; 4096]));
        for round in 0..1000 {
            let from = [round as u8; 4000];
            // SAFETY: both are as long.
            unsafe { fill.copy(cell.0.as_mut_ptr(), from.as_ptr(), from.len()) };
            assert_eq!(cell.0[..4000], from);
        }
        assert!(fill.0.is_known());
    }
}

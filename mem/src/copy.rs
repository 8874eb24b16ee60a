//! Copy kernels: short copies in line, and blocks at a fixed distance.
//!
//! All kernels tolerate overlap of source and destination (each load happens before the store of the same
//! bytes): a program that passes overlapping buffers gets odd data, never undefined behavior in the library.

use crate::limits::{INLINE_COPY_BYTES_MAX, LINE_BYTES, PAGE_BYTES, PAST_CACHE_BYTES_MIN, STEP_BYTES};
use crate::{cache, steps};

/// Copies `n` bytes. Up to [`INLINE_COPY_BYTES_MAX`] bytes this is a few loads and stores, no call.
///
/// # Safety
/// `n` bytes must be readable at `src` and writable at `dst`.
#[inline(always)]
pub(crate) unsafe fn copy(dst: *mut u8, src: *const u8, n: usize) {
    // SAFETY: the caller's promise; every branch stays within `n` bytes of both.
    unsafe {
        if n == 8 {
            put::<8>(dst, src);
        } else if n <= INLINE_COPY_BYTES_MAX {
            copy_short(dst, src, n);
        } else if n <= STEP_BYTES {
            std::ptr::copy(src, dst, n);
        } else {
            copy_long(dst, src, n);
        }
    }
}

/// Copies `n` bytes. `memmove` may leave more than [`STEP_BYTES`] to one instruction (`rep movsb`). Some processors are slow at that
/// where the target lies 1 to 31 bytes farther in its page than the source in its own, and fast by vectors; others the other way round
/// (docs/performance/constants.md). Large blocks from `malloc` begin 16 bytes into a page and cells of shared memory with one, so
/// that is a usual case: the processor is asked (`steps.rs`).
///
/// Source and target that do not fit into the last-level cache together go past it: stores to the cache would fetch each line of the
/// target from memory first, and drive out what has just been read (docs/decisions/0045-copies-that-exceed-the-cache.md).
///
/// # Safety
/// As [`copy`].
#[inline(never)]
pub unsafe fn copy_long(dst: *mut u8, src: *const u8, n: usize) {
    let ahead = dst.addr().wrapping_sub(src.addr());
    // What overlaps is left to `memmove`.
    let apart = ahead >= n && ahead.wrapping_neg() >= n;
    let suspect = (1..32).contains(&(ahead % PAGE_BYTES));
    // SAFETY: handed on unchanged.
    unsafe {
        if apart && exceeds_cache(n) {
            copy_past_cache(dst, src, n);
        } else if apart && suspect && steps::are_faster() {
            copy_plainly(dst, src, n);
        } else {
            std::ptr::copy(src, dst, n);
        }
    }
}

/// Whether source and target of so many bytes do not fit into the last-level cache together.
#[inline]
pub fn exceeds_cache(n: usize) -> bool {
    exceeds(n, cache::last_level_bytes)
}

/// Whether they do not fit together into what one hardware thread has of it while all use it.
#[inline]
pub fn exceeds_cache_share(n: usize) -> bool {
    exceeds(n, cache::last_level_share_bytes)
}

/// Whether source and target of so many bytes exceed a cache, whose size is asked only if they are many.
#[inline]
fn exceeds(n: usize, cache_bytes: impl FnOnce() -> Option<u64>) -> bool {
    n >= PAST_CACHE_BYTES_MIN && cache_bytes().is_some_and(|bytes| 2 * n as u64 >= bytes)
}

/// Copies `n` bytes from or to memory that another core has used last, by plain loads and stores. What `memmove` does with long copies,
/// one instruction (`rep movsb`), takes longer there (docs/performance/constants.md).
///
/// # Safety
/// As [`copy`].
#[inline]
pub unsafe fn copy_between_cores(dst: *mut u8, src: *const u8, n: usize) {
    // SAFETY: handed on unchanged.
    unsafe { copy_plainly(dst, src, n) }
}

/// Copies `n` bytes past the cache. They are there for others when this returns.
///
/// # Safety
/// As [`copy`].
pub unsafe fn copy_past_cache(dst: *mut u8, src: *const u8, n: usize) {
    // SAFETY: handed on unchanged.
    unsafe { begin_copy_past_cache(dst, src, n) };
    end_copies_past_cache();
}

/// What was copied past the cache until now is there for others before whatever says so.
#[inline]
pub(crate) fn end_copies_past_cache() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every such processor has the instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// As [`copy_past_cache`], but they are there for others after [`end_copies_past_cache`] only.
///
/// # Safety
/// As [`copy`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(crate) unsafe fn begin_copy_past_cache(dst: *mut u8, src: *const u8, n: usize) {
    let head = n.min(dst.addr().wrapping_neg() % LINE_BYTES);
    let lines = (n - head) / LINE_BYTES;
    let end = head + lines * LINE_BYTES;
    // SAFETY: all offsets are up to `n`, and a line begins at `head`.
    unsafe {
        std::ptr::copy(src, dst, head);
        match is_x86_feature_detected!("avx") {
            true => stream_by_vectors(dst.add(head), src.add(head), lines),
            false => stream(dst.add(head), src.add(head), lines),
        }
        std::ptr::copy(src.add(end), dst.add(end), n - end);
    }
}

/// Copies lines past the cache.
///
/// # Safety
/// As [`copy`] for so many lines, of which one begins at `dst`.
#[cfg(all(target_arch = "x86_64", not(miri)))]
unsafe fn stream(dst: *mut u8, src: *const u8, lines: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    for line in 0..lines {
        // SAFETY: the caller's promise for each line.
        unsafe {
            let at = line * LINE_BYTES;
            let (to, from) = (dst.add(at).cast::<__m128i>(), src.add(at).cast::<__m128i>());
            let words = [0, 1, 2, 3].map(|word| _mm_loadu_si128(from.add(word)));
            words.into_iter().enumerate().for_each(|(word, value)| _mm_stream_si128(to.add(word), value));
        }
    }
}

/// The same by longer vectors. Each line is read before the one before it is stored: a load whose place in its page is that of a store
/// under way would wait for it, and `malloc`'s large blocks lie 16 bytes ahead of cells and windows
/// (docs/decisions/0045-copies-that-exceed-the-cache.md).
///
/// # Safety
/// As [`stream`], on a processor that has AVX.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx")]
unsafe fn stream_by_vectors(dst: *mut u8, src: *const u8, lines: usize) {
    use std::arch::x86_64::{__m256i, _mm256_loadu_si256, _mm256_stream_si256};
    // SAFETY: the caller's promise for lines below `lines`.
    let load = |line: usize| unsafe {
        let from = src.add(line * LINE_BYTES).cast::<__m256i>();
        [_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1))]
    };
    // SAFETY: likewise.
    let store = |line: usize, halves: [__m256i; 2]| unsafe {
        let to = dst.add(line * LINE_BYTES).cast::<__m256i>();
        _mm256_stream_si256(to, halves[0]);
        _mm256_stream_si256(to.add(1), halves[1]);
    };
    let Some(last) = lines.checked_sub(1) else { return };
    let mut line = load(0);
    for at in 0..last {
        let next = load(at + 1);
        store(at, line);
        line = next;
    }
    store(last, line);
}

/// The same, where there are no such stores.
///
/// # Safety
/// As [`copy`].
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(crate) unsafe fn begin_copy_past_cache(dst: *mut u8, src: *const u8, n: usize) {
    // SAFETY: handed on unchanged.
    unsafe { std::ptr::copy(src, dst, n) }
}

/// Copies `n` bytes by loads and stores of vectors.
///
/// # Safety
/// As [`copy`].
#[inline]
unsafe fn copy_plainly(dst: *mut u8, src: *const u8, n: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if is_x86_feature_detected!("avx") {
        // SAFETY: handed on unchanged, and the processor has the instructions.
        return unsafe { copy_by_vectors(dst, src, n) };
    }
    // SAFETY: handed on unchanged.
    unsafe { copy_in_steps(dst, src, n, STEP_BYTES) }
}

/// Each store but the first and the last ones is of one cache line, wherever the bytes begin.
///
/// # Safety
/// As [`copy`], on a processor that has AVX.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx")]
unsafe fn copy_by_vectors(dst: *mut u8, src: *const u8, n: usize) {
    use std::arch::x86_64::{__m256i, _mm256_loadu_si256, _mm256_storeu_si256};
    const VECTOR_BYTES: usize = size_of::<__m256i>();
    const ROUND_BYTES: usize = 4 * VECTOR_BYTES;
    let head = if n < ROUND_BYTES { 0 } else { dst.addr().wrapping_neg() % VECTOR_BYTES };
    let whole = head + (n - head) / ROUND_BYTES * ROUND_BYTES;
    // SAFETY: all offsets are below `n`.
    unsafe {
        if head > 0 {
            put::<VECTOR_BYTES>(dst, src);
        }
        for at in (head..whole).step_by(ROUND_BYTES) {
            let (to, from) = (dst.add(at).cast::<__m256i>(), src.add(at).cast::<__m256i>());
            let first = (_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1)));
            let second = (_mm256_loadu_si256(from.add(2)), _mm256_loadu_si256(from.add(3)));
            _mm256_storeu_si256(to, first.0);
            _mm256_storeu_si256(to.add(1), first.1);
            _mm256_storeu_si256(to.add(2), second.0);
            _mm256_storeu_si256(to.add(3), second.1);
        }
        std::ptr::copy(src.add(whole), dst.add(whole), n - whole);
    }
}

/// Copies `n` bytes, so many at a time.
///
/// # Safety
/// As [`copy`].
#[inline]
pub(crate) unsafe fn copy_in_steps(dst: *mut u8, src: *const u8, n: usize, step: usize) {
    for at in (0..n).step_by(step.max(1)) {
        // SAFETY: the caller's promise for these of the `n` bytes.
        unsafe { std::ptr::copy(src.add(at), dst.add(at), step.min(n - at)) };
    }
}

/// At most 64 bytes: two copies of the next smaller power of two, overlapping in the middle.
///
/// # Safety
/// As [`copy`], and `n <= 64`.
#[inline(always)]
unsafe fn copy_short(dst: *mut u8, src: *const u8, n: usize) {
    // SAFETY: each pair of `N` bytes covers [0, n) exactly, as N <= n <= 2N.
    unsafe {
        match n {
            33.. => ends::<32>(dst, src, n),
            16.. => ends::<16>(dst, src, n),
            8.. => ends::<8>(dst, src, n),
            4.. => ends::<4>(dst, src, n),
            2.. => ends::<2>(dst, src, n),
            1 => put::<1>(dst, src),
            0 => {}
        }
    }
}

/// Copies the first and the last `N` of `n` bytes, both loaded before either is stored.
///
/// # Safety
/// As [`copy`], and `N <= n`.
#[inline(always)]
unsafe fn ends<const N: usize>(dst: *mut u8, src: *const u8, n: usize) {
    // SAFETY: offsets 0 and n - N with length N lie within n bytes; arrays of bytes need no alignment.
    unsafe {
        let head = src.cast::<[u8; N]>().read_unaligned();
        let tail = src.add(n - N).cast::<[u8; N]>().read_unaligned();
        dst.cast::<[u8; N]>().write_unaligned(head);
        dst.add(n - N).cast::<[u8; N]>().write_unaligned(tail);
    }
}

/// Copies exactly `N` bytes.
///
/// # Safety
/// As [`copy`] with `n = N`.
#[inline(always)]
unsafe fn put<const N: usize>(dst: *mut u8, src: *const u8) {
    // SAFETY: the caller's promise; arrays of bytes need no alignment.
    unsafe { dst.cast::<[u8; N]>().write_unaligned(src.cast::<[u8; N]>().read_unaligned()) }
}

/// Equal blocks: `count` blocks of `block` bytes, read at a distance of `src_step` and written at a distance
/// of `dst_step`. Packing has `dst_step = block`, unpacking `src_step = block`.
#[derive(Clone, Copy)]
pub(crate) struct StridedBlocks {
    pub count: usize,
    pub block: usize,
    pub src_step: isize,
    pub dst_step: isize,
}

/// Copies equal blocks, with a loop of its own for the block sizes that basic types have.
///
/// # Safety
/// Every block must be readable at its source and writable at its destination.
#[inline]
pub(crate) unsafe fn copy_blocks(dst: *mut u8, src: *const u8, shape: StridedBlocks) {
    // SAFETY: handed on unchanged.
    unsafe {
        match shape.block {
            4 => fixed::<4>(dst, src, shape),
            8 => fixed::<8>(dst, src, shape),
            16 => fixed::<16>(dst, src, shape),
            _ => any(dst, src, shape),
        }
    }
}

/// Blocks of exactly `N` bytes.
///
/// # Safety
/// As [`copy_blocks`].
#[inline]
unsafe fn fixed<const N: usize>(mut dst: *mut u8, mut src: *const u8, shape: StridedBlocks) {
    for _ in 0..shape.count {
        // SAFETY: the caller's promise for this block.
        unsafe { put::<N>(dst, src) };
        src = src.wrapping_offset(shape.src_step);
        dst = dst.wrapping_offset(shape.dst_step);
    }
}

/// Blocks of any length.
///
/// # Safety
/// As [`copy_blocks`].
#[inline]
unsafe fn any(mut dst: *mut u8, mut src: *const u8, shape: StridedBlocks) {
    for _ in 0..shape.count {
        // SAFETY: the caller's promise for this block.
        unsafe { copy(dst, src, shape.block) };
        src = src.wrapping_offset(shape.src_step);
        dst = dst.wrapping_offset(shape.dst_step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_copies_exactly_its_bytes() {
        let source: Vec<u8> = (0..200u8).collect();
        for n in 0..=150 {
            let mut target = vec![0xff; 200];
            // SAFETY: both vectors hold 200 bytes.
            unsafe { copy(target.as_mut_ptr(), source.as_ptr(), n) };
            assert_eq!(target[..n], source[..n]);
            assert!(target[n..].iter().all(|&b| b == 0xff), "wrote past {n} bytes");
        }
    }

    #[test]
    fn past_the_cache_goes_exactly_what_is_meant() {
        let source: Vec<u8> = (0..=255).chain(0..=255).collect();
        for n in [0, 1, 63, 64, 65, 128, 200, 300] {
            for (from, to) in [(0, 0), (1, 0), (0, 1), (16, 48), (63, 63), (7, 64)] {
                let mut target = vec![0xaa; 512];
                // SAFETY: both have 512 bytes.
                unsafe { copy_past_cache(target[to..].as_mut_ptr(), source[from..].as_ptr(), n) };
                assert_eq!(target[to..to + n], source[from..from + n]);
                assert!(target[..to].iter().chain(&target[to + n..]).all(|&byte| byte == 0xaa), "{n}, {to}");
            }
        }
    }

    #[test]
    fn long_copies_are_right_wherever_they_lie_and_overlap() {
        let source: Vec<u8> = (0..5 * PAGE_BYTES).map(|at| (at % 251) as u8).collect();
        let long = |n: usize, from: usize, to: usize| {
            let mut target = source.clone();
            let base = target.as_mut_ptr();
            // SAFETY: both places and `n` bytes behind them are within the block.
            unsafe { copy_long(base.add(to), base.add(from), n) };
            assert_eq!(target[to..to + n], source[from..from + n]);
            assert_eq!((&target[..to], &target[to + n..]), (&source[..to], &source[to + n..]));
        };
        for n in [0, 1, STEP_BYTES - 1, STEP_BYTES, STEP_BYTES + 1, PAGE_BYTES, PAGE_BYTES + 17] {
            for ahead in [0, 1, 16, 31, 32, 64, PAGE_BYTES - 16] {
                long(n, 0, ahead);
                long(n, ahead, 0);
                long(n, 0, 2 * PAGE_BYTES + ahead);
                long(n, 2 * PAGE_BYTES + ahead, 0);
            }
        }
    }

    #[test]
    fn vectors_copy_exactly_their_bytes_wherever_these_begin() {
        let source: Vec<u8> = (0..600).map(|at| (at % 251) as u8).collect();
        for n in (0..=140).chain([255, 256, 257, 400]) {
            for at in [0, 1, 16, 31, 32, 33, 63] {
                let mut target = vec![0xff; 600];
                // SAFETY: both have as many bytes behind `at`.
                unsafe {
                    copy_between_cores(
                        target.as_mut_ptr().wrapping_add(at),
                        source.as_ptr().wrapping_add(7),
                        n,
                    )
                };
                assert_eq!(target[at..at + n], source[7..7 + n], "{n} bytes at {at}");
                assert!(
                    target[..at].iter().chain(&target[at + n..]).all(|&byte| byte == 0xff),
                    "{n} bytes at {at}"
                );
            }
        }
    }

    #[test]
    fn blocks_are_gathered_and_scattered() {
        let source: Vec<u8> = (0..120u8).collect();
        for block in 1..=20usize {
            let count = 120 / 24;
            let mut packed = vec![0; count * block];
            let gather = StridedBlocks { count, block, src_step: 24, dst_step: block as isize };
            // SAFETY: 5 blocks at distance 24 lie within 120 bytes; `packed` holds them all.
            unsafe { copy_blocks(packed.as_mut_ptr(), source.as_ptr(), gather) };
            for (i, chunk) in packed.chunks(block).enumerate() {
                assert_eq!(chunk, &source[i * 24..i * 24 + block]);
            }
        }
    }
}

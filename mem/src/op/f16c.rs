//! Reductions of binary16 where the processor converts it (F16C): what is computed in binary32 anyway, sixteen numbers at a time.
//!
//! The instructions round as [`Half::round`](super::half::Half::round) does, whatever the rounding mode.

use super::combine::{Combine, Quick};
use super::kernel::{Kernel, again};
use std::arch::{asm, x86_64::*};
use std::mem::transmute_copy;

/// Binary16 numbers that are converted in one go: they fill a register, and two when they are wide.
const NUMBERS: usize = 16;
const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT;

/// The kernel for elements `T` of one or two binary16 numbers that are computed as `W`, of as many binary32 ones; `PIECE` elements are
/// [`NUMBERS`] numbers. For machines with AVX2 and F16C.
pub(super) fn widened<T, W, F, const PIECE: usize>() -> Kernel
where
    T: Copy,
    W: Copy,
    F: Combine<T> + Quick<W>,
{
    const {
        assert!(PIECE * size_of::<T>() == 2 * NUMBERS);
        assert!(PIECE * size_of::<W>() == 4 * NUMBERS);
    }
    each_widened::<T, W, F, PIECE>
}

/// The loop of [`widened`], and what is left in the end.
///
/// # Safety
/// See [`Kernel`]; any bytes must be a valid `T` and a valid `W`, and the machine must have AVX2 and F16C.
#[target_feature(enable = "avx2,f16c")]
unsafe extern "C" fn each_widened<T, W, F, const PIECE: usize>(
    a: *const u8,
    b: *const u8,
    out: *mut u8,
    count: usize,
) where
    T: Copy,
    W: Copy,
    F: Combine<T> + Quick<W>,
{
    let whole = count / PIECE;
    for at in (0..whole).map(|i| i * 2 * NUMBERS) {
        // SAFETY: the caller promises `whole` pieces and more at each pointer.
        unsafe { piece::<T, W, F, PIECE>(a.add(at), b.add(at), out.add(at)) }
    }
    for i in whole * PIECE..count {
        // SAFETY: i < count.
        unsafe {
            let (left, right) =
                (a.cast::<T>().add(i).read_unaligned(), b.cast::<T>().add(i).read_unaligned());
            out.cast::<T>().add(i).write_unaligned(one::<T, W, F>(left, right));
        }
    }
}

/// # Safety
/// A `T` is one or two binary16 numbers, a `W` as many binary32 ones.
#[inline]
#[target_feature(enable = "avx2,f16c")]
unsafe fn one<T, W, F>(a: T, b: T) -> T
where
    T: Copy,
    F: Combine<T> + Quick<W>,
{
    // SAFETY: the caller's promise.
    let quick = unsafe { F::quick(widen_one(a), widen_one(b)) };
    if F::MAY_BE_WRONG && F::is_wrong(&quick) {
        return F::combine(a, b);
    }
    // SAFETY: as above.
    unsafe {
        let mut wide = [0.0_f32; 4];
        wide.as_mut_ptr().cast::<W>().write_unaligned(quick);
        transmute_copy(&_mm_cvtps_ph::<NEAREST>(transmute_copy(&wide)))
    }
}

/// # Safety
/// See [`one`].
#[inline]
#[target_feature(enable = "avx2,f16c")]
unsafe fn widen_one<T: Copy, W>(number: T) -> W {
    let mut bits = 0_i32;
    // SAFETY: the caller's promise.
    unsafe {
        (&raw mut bits).cast::<T>().write_unaligned(number);
        let mut narrow = _mm_cvtsi32_si128(bits);
        // Else the compiler would leave what was in the rest of the register there, and each conversion would wait for the last.
        asm!("/* {0} */", inout(xmm_reg) narrow, options(pure, nomem, nostack, preserves_flags));
        transmute_copy(&_mm_cvtph_ps(narrow))
    }
}

/// # Safety
/// See [`each_widened`]; there are `PIECE` elements.
#[inline]
#[target_feature(enable = "avx2,f16c")]
unsafe fn piece<T, W, F, const PIECE: usize>(a: *const u8, b: *const u8, out: *mut u8)
where
    T: Copy,
    W: Copy,
    F: Combine<T> + Quick<W>,
{
    // SAFETY: the caller's promise; both are of one size, and any bytes are a `W`.
    let (left, mut results) = unsafe {
        let (left, right) = (widen(a), widen(b));
        (transmute_copy::<_, [W; PIECE]>(&left), transmute_copy::<_, [W; PIECE]>(&right))
    };
    for (left, result) in left.iter().zip(&mut results) {
        *result = F::quick(*left, *result);
    }
    // SAFETY: as above.
    let results = as_it_is(unsafe { transmute_copy(&results) });
    if F::MAY_BE_WRONG && has_nan(results) {
        // SAFETY: the caller's promise; nothing has been written yet.
        unsafe { again::<T, F>(a, b, out, PIECE) }
    } else {
        // SAFETY: as above.
        unsafe { round(results, out) }
    }
}

/// Sixteen numbers in binary32.
///
/// # Safety
/// They must be readable.
#[inline]
#[target_feature(enable = "avx2,f16c")]
unsafe fn widen(from: *const u8) -> [__m256; 2] {
    // SAFETY: the caller's promise.
    let (low, high) =
        unsafe { (_mm_loadu_si128(from.cast()), _mm_loadu_si128(from.cast::<__m128i>().add(1))) };
    as_it_is([_mm256_cvtph_ps(low), _mm256_cvtph_ps(high)])
}

/// The same, of which the compiler knows nothing. It would convert again what is chosen among converted numbers, and look for NaNs
/// in real and imaginary parts by themselves.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn as_it_is([mut low, mut high]: [__m256; 2]) -> [__m256; 2] {
    // SAFETY: it does nothing.
    unsafe {
        asm!("/* {0} {1} */", inout(ymm_reg) low, inout(ymm_reg) high, options(pure, nomem, nostack, preserves_flags))
    }
    [low, high]
}

#[inline]
#[target_feature(enable = "avx2,f16c")]
fn has_nan([low, high]: [__m256; 2]) -> bool {
    _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_UNORD_Q>(low, high)) != 0
}

/// Stores sixteen numbers in binary16.
///
/// # Safety
/// There must be room for them.
#[inline]
#[target_feature(enable = "avx2,f16c")]
unsafe fn round([low, high]: [__m256; 2], to: *mut u8) {
    let (low, high) = (_mm256_cvtps_ph::<NEAREST>(low), _mm256_cvtps_ph::<NEAREST>(high));
    let to = to.cast::<__m128i>();
    // SAFETY: the caller's promise.
    unsafe {
        _mm_storeu_si128(to, low);
        _mm_storeu_si128(to.add(1), high);
    }
}

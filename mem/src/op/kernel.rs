//! The loop of every reduction: read two elements, combine them, write one.
//!
//! The loop is generic and plain, so that the compiler vectorises it for each type and operation. The
//! result often takes the place of the second operand; that case has its own loop, because with two
//! pointers the compiler must assume an overlap of any kind and falls back to one element at a time.

use super::combine::{Combine, Quick};

/// `out[i] = a[i] op b[i]` for `count` elements of the type that the kernel was made for.
///
/// The pointers need no alignment. `a` and `b` must be readable, `out` writable, for `count` elements;
/// `out` may equal `a` or `b` and must not overlap them otherwise. The calling convention is C's because
/// some kernels are C functions.
pub(super) type Kernel = unsafe extern "C" fn(a: *const u8, b: *const u8, out: *mut u8, count: usize);

/// A kernel with the instructions that every machine of the target has.
///
/// # Safety
/// See [`Kernel`]; any bytes must be a valid `T`.
#[inline(always)]
pub(super) unsafe extern "C" fn each<T: Copy, F: Combine<T>>(
    a: *const u8,
    b: *const u8,
    out: *mut u8,
    count: usize,
) {
    let (a, b, out) = (a.cast::<T>(), b.cast::<T>(), out.cast::<T>());
    if std::ptr::eq(b, out) {
        for i in 0..count {
            // SAFETY: i < count, and the caller promises `count` elements at each pointer.
            unsafe {
                let result = F::combine(a.add(i).read_unaligned(), out.add(i).read_unaligned());
                out.add(i).write_unaligned(result);
            }
        }
    } else {
        for i in 0..count {
            // SAFETY: as above.
            unsafe {
                let result = F::combine(a.add(i).read_unaligned(), b.add(i).read_unaligned());
                out.add(i).write_unaligned(result);
            }
        }
    }
}

/// The registers that a kernel is compiled for. A machine that has some has those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Registers {
    /// Those that every machine of the target has.
    Common,
    /// 256 bits (AVX2), and what has always come with them (F16C).
    Wide,
    /// 512 bits (AVX-512 F and DQ).
    Widest,
}

impl Registers {
    /// All, in their order.
    pub const ALL: [Registers; 3] = [Registers::Common, Registers::Wide, Registers::Widest];

    /// The widest of this machine.
    pub fn here() -> Registers {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("f16c") {
            let is_widest = std::arch::is_x86_feature_detected!("avx512f")
                && std::arch::is_x86_feature_detected!("avx512dq");
            return if is_widest { Registers::Widest } else { Registers::Wide };
        }
        Registers::Common
    }
}

/// The kernel of [`each`] for these registers.
pub(super) fn wide<T: Copy, F: Combine<T>>(on: Registers) -> Kernel {
    #[cfg(target_arch = "x86_64")]
    if on >= Registers::Wide {
        return each_avx2::<T, F>;
    }
    let _ = on;
    each::<T, F>
}

/// [`each`] compiled for 256-bit registers.
///
/// # Safety
/// See [`each`]; the machine must have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe extern "C" fn each_avx2<T: Copy, F: Combine<T>>(
    a: *const u8,
    b: *const u8,
    out: *mut u8,
    count: usize,
) {
    // SAFETY: the caller's promise.
    unsafe { each::<T, F>(a, b, out, count) }
}

/// The kernel that combines `PIECE` elements at a time, all of which are loaded before any is stored. It is for two kinds of
/// operations.
///
/// Some choose one of their operands. Where the result takes the place of an operand, the compiler sees in a plain loop that
/// what is chosen may be there already, and stores the others under a mask, which some processors do four times slower. Here
/// it does not know whether the pointers are equal. Others are quick for nearly all elements: only a piece with one that
/// is not is combined again.
pub(super) fn pieces<T: Copy, F: Quick<T>, const PIECE: usize>(on: Registers) -> Kernel {
    #[cfg(target_arch = "x86_64")]
    if on >= Registers::Wide {
        return pieces_avx2::<T, F, PIECE>;
    }
    let _ = on;
    each_piece::<T, F, PIECE>
}

/// [`each_piece`] compiled for 256-bit registers.
///
/// # Safety
/// See [`each_piece`]; the machine must have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe extern "C" fn pieces_avx2<T: Copy, F: Quick<T>, const PIECE: usize>(
    a: *const u8,
    b: *const u8,
    out: *mut u8,
    count: usize,
) {
    // SAFETY: the caller's promise.
    unsafe { each_piece::<T, F, PIECE>(a, b, out, count) }
}

/// The loop of [`pieces`], and what is left in the end.
///
/// # Safety
/// See [`Kernel`]; any bytes must be a valid `T`.
#[inline(always)]
unsafe extern "C" fn each_piece<T: Copy, F: Quick<T>, const PIECE: usize>(
    a: *const u8,
    b: *const u8,
    out: *mut u8,
    count: usize,
) {
    let (whole, bytes) = (count / PIECE, PIECE * size_of::<T>());
    for i in 0..whole {
        // SAFETY: the caller promises `whole * PIECE` elements and more at each pointer.
        unsafe { piece::<T, F, PIECE>(a.add(i * bytes), b.add(i * bytes), out.add(i * bytes)) }
    }
    let done = whole * bytes;
    // SAFETY: so many bytes are not beyond the last element, and as many elements are left.
    unsafe { each::<T, F>(a.add(done), b.add(done), out.add(done), count % PIECE) }
}

/// Combines `PIECE` elements.
///
/// # Safety
/// See [`Kernel`]; any bytes must be a valid `T`.
#[inline(always)]
unsafe fn piece<T: Copy, F: Quick<T>, const PIECE: usize>(a: *const u8, b: *const u8, out: *mut u8) {
    // SAFETY: the caller's promise.
    let (left, mut results) =
        unsafe { (a.cast::<[T; PIECE]>().read_unaligned(), b.cast::<[T; PIECE]>().read_unaligned()) };
    let mut wrong = false;
    for (a, result) in left.iter().zip(&mut results) {
        *result = F::quick(*a, *result);
        wrong |= F::MAY_BE_WRONG && F::is_wrong(result);
    }
    if wrong {
        // SAFETY: the caller's promise; nothing has been written yet.
        unsafe { again::<T, F>(a, b, out, PIECE) }
    } else {
        // SAFETY: as above.
        unsafe { out.cast::<[T; PIECE]>().write_unaligned(results) }
    }
}

/// The slow way. It takes the operands from where they are: arrays that it were given would lie in memory for all pieces.
///
/// # Safety
/// See [`each`].
#[cold]
#[inline(never)]
pub(super) unsafe fn again<T: Copy, F: Combine<T>>(a: *const u8, b: *const u8, out: *mut u8, count: usize) {
    // SAFETY: the caller's promise.
    unsafe { each::<T, F>(a, b, out, count) }
}

/// The kernel for elements of two independent parts of type `T`, such as the sum of complex numbers.
pub(super) fn each_part<T: Copy, F: Combine<T>>(on: Registers) -> Kernel {
    #[cfg(target_arch = "x86_64")]
    if on >= Registers::Wide {
        return parts_avx2::<T, F>;
    }
    let _ = on;
    parts::<T, F>
}

/// [`parts`] compiled for 256-bit registers.
///
/// # Safety
/// See [`parts`]; the machine must have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe extern "C" fn parts_avx2<T: Copy, F: Combine<T>>(
    a: *const u8,
    b: *const u8,
    out: *mut u8,
    count: usize,
) {
    // SAFETY: the caller's promise.
    unsafe { parts::<T, F>(a, b, out, count) }
}

/// The loop of [`each_part`].
///
/// # Safety
/// See [`Kernel`], with `2 * count` parts; any bytes must be a valid `T`.
#[inline(always)]
unsafe extern "C" fn parts<T: Copy, F: Combine<T>>(a: *const u8, b: *const u8, out: *mut u8, count: usize) {
    // SAFETY: the caller's promise.
    unsafe { each::<T, F>(a, b, out, 2 * count) }
}

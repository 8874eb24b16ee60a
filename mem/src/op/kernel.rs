//! The loop of every reduction: read two elements, combine them, write one.
//!
//! The loop is generic and plain, so that the compiler vectorises it for each type and operation. The
//! result often takes the place of the second operand; that case has its own loop, because with two
//! pointers the compiler must assume an overlap of any kind and falls back to one element at a time.

use super::combine::Combine;

/// `out[i] = a[i] op b[i]` for `count` elements of the type that the kernel was made for.
///
/// The pointers need no alignment. `a` and `b` must be readable, `out` writable, for `count` elements;
/// `out` may equal `a` or `b` and must not overlap them otherwise. The calling convention is C's because
/// some kernels are C functions.
pub type Kernel = unsafe extern "C" fn(a: *const u8, b: *const u8, out: *mut u8, count: usize);

/// A kernel with the instructions that every machine of the target has.
///
/// # Safety
/// See [`Kernel`]; any bytes must be a valid `T`.
#[inline(always)]
pub unsafe extern "C" fn each<T: Copy, F: Combine<T>>(
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

/// A kernel that uses wider registers where the machine has them: for the types that programs reduce most.
///
/// # Safety
/// See [`Kernel`]; any bytes must be a valid `T`.
pub unsafe extern "C" fn wide<T: Copy, F: Combine<T>>(
    a: *const u8,
    b: *const u8,
    out: *mut u8,
    count: usize,
) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the instructions exist, as was just asked; the rest is the caller's promise.
        return unsafe { each_avx2::<T, F>(a, b, out, count) };
    }
    // SAFETY: the caller's promise.
    unsafe { each::<T, F>(a, b, out, count) }
}

/// [`each`] compiled for 256-bit registers.
///
/// # Safety
/// See [`each`]; the machine must have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn each_avx2<T: Copy, F: Combine<T>>(a: *const u8, b: *const u8, out: *mut u8, count: usize) {
    // SAFETY: the caller's promise.
    unsafe { each::<T, F>(a, b, out, count) }
}

/// A kernel for elements of two independent parts of type `T`, such as the sum of complex numbers.
///
/// # Safety
/// See [`Kernel`], with `2 * count` parts; any bytes must be a valid `T`.
pub unsafe extern "C" fn each_part<T: Copy, F: Combine<T>>(
    a: *const u8,
    b: *const u8,
    out: *mut u8,
    count: usize,
) {
    // SAFETY: the caller's promise.
    unsafe { wide::<T, F>(a, b, out, 2 * count) }
}

//! A value and where it was found, for `MPI_MINLOC` and `MPI_MAXLOC` (MPI 5.0, section 6.9.4).

use super::combine::Combine;
use super::kernel::{Kernel, Registers};
use std::cmp::Ordering;
use std::ffi::{c_int, c_long};
use std::mem::{MaybeUninit, offset_of};

/// C's struct of the two; Fortran's pairs of equal types lie in the same way.
///
/// Where the two are not of one length, the shorter stands for itself and the padding after it ([`LowInt`],
/// [`LowShort`]): then a pair is two words of one length, and the loop over an array becomes vector instructions. The
/// padding is the program's, so its bytes stay as they are ([`Padded`]).
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub(super) struct Located<V, I> {
    /// What is compared.
    pub value: V,
    /// Where it was found.
    pub index: I,
}

/// The least value; of equal ones, that with the least index.
pub(super) struct Minloc;
/// The greatest value; of equal ones, that with the least index.
pub(super) struct Maxloc;

// Both parts are chosen by a truth value that is computed without a branch.
impl<V: Copy + PartialOrd, I: Copy + PartialOrd> Combine<Located<V, I>> for Minloc {
    #[inline(always)]
    fn combine(a: Located<V, I>, b: Located<V, I>) -> Located<V, I> {
        choose((a.value < b.value) | ((a.value == b.value) & (a.index < b.index)), a, b)
    }
}

impl<V: Copy + PartialOrd, I: Copy + PartialOrd> Combine<Located<V, I>> for Maxloc {
    #[inline(always)]
    fn combine(a: Located<V, I>, b: Located<V, I>) -> Located<V, I> {
        choose((a.value > b.value) | ((a.value == b.value) & (a.index < b.index)), a, b)
    }
}

#[inline(always)]
fn choose<V, I>(first: bool, a: Located<V, I>, b: Located<V, I>) -> Located<V, I> {
    Located { value: if first { a.value } else { b.value }, index: if first { a.index } else { b.index } }
}

/// A word of which only a part is data.
pub(super) trait Padded: Copy {
    /// Bytes of data, from the first on.
    const DATA_BYTES: usize = size_of::<Self>();

    /// The data of this word, with the padding of another.
    #[inline(always)]
    fn with_padding_of(self, _other: Self) -> Self {
        self
    }
}

impl Padded for f64 {}
impl Padded for c_long {}
impl Padded for c_int {}

impl<V: Padded, I: Padded> Located<V, I> {
    #[inline(always)]
    fn with_padding_of(self, other: Self) -> Self {
        Located {
            value: self.value.with_padding_of(other.value),
            index: self.index.with_padding_of(other.index),
        }
    }
}

/// [`wide`](super::kernel::wide) for pairs with padding.
pub(super) fn padded<V: Padded, I: Padded, F: Combine<Located<V, I>>>(on: Registers) -> Kernel {
    #[cfg(target_arch = "x86_64")]
    if on >= Registers::Wide {
        return each_padded_avx2::<V, I, F>;
    }
    let _ = on;
    each_padded::<V, I, F>
}

/// [`each_padded`] compiled for 256-bit registers.
///
/// # Safety
/// See [`each_padded`]; the machine must have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe extern "C" fn each_padded_avx2<V: Padded, I: Padded, F: Combine<Located<V, I>>>(
    a: *const u8,
    b: *const u8,
    out: *mut u8,
    count: usize,
) {
    // SAFETY: the caller's promise.
    unsafe { each_padded::<V, I, F>(a, b, out, count) }
}

/// The loop for pairs with padding. Behind the data of the last pair there may be no memory.
///
/// # Safety
/// See [`Kernel`]; any bytes must be a valid pair.
#[inline(always)]
unsafe extern "C" fn each_padded<V: Padded, I: Padded, F: Combine<Located<V, I>>>(
    a: *const u8,
    b: *const u8,
    out: *mut u8,
    count: usize,
) {
    let Some(last) = count.checked_sub(1) else { return };
    let (a, b, out) = (a.cast::<Located<V, I>>(), b.cast::<Located<V, I>>(), out.cast::<Located<V, I>>());
    // Two loops, as in `each`.
    if std::ptr::eq(b, out) {
        for i in 0..last {
            // SAFETY: i < count, and the caller promises `count` elements at each pointer.
            unsafe {
                let old = out.add(i).read_unaligned();
                let result = F::combine(a.add(i).read_unaligned(), old);
                out.add(i).write_unaligned(result.with_padding_of(old));
            }
        }
    } else {
        for i in 0..last {
            // SAFETY: as above.
            unsafe {
                let old = out.add(i).read_unaligned();
                let result = F::combine(a.add(i).read_unaligned(), b.add(i).read_unaligned());
                out.add(i).write_unaligned(result.with_padding_of(old));
            }
        }
    }
    // SAFETY: as above, and these touch the data alone.
    unsafe {
        let result = F::combine(read_data(a.add(last)), read_data(b.add(last)));
        write_data(result, out.add(last));
    }
}

/// Reads a pair without the padding at its end.
///
/// # Safety
/// Its data must be readable; any bytes must be a valid pair.
unsafe fn read_data<V: Padded, I: Padded>(pair: *const Located<V, I>) -> Located<V, I> {
    let mut read = MaybeUninit::<Located<V, I>>::zeroed();
    let bytes = offset_of!(Located<V, I>, index) + I::DATA_BYTES;
    // SAFETY: the caller's promise; what is not read is zero, which is valid as any bytes are.
    unsafe {
        read.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(pair.cast(), bytes);
        read.assume_init()
    }
}

/// Writes a pair without its padding.
///
/// # Safety
/// Its data must be writable.
unsafe fn write_data<V: Padded, I: Padded>(pair: Located<V, I>, to: *mut Located<V, I>) {
    let (from, to, index) = (&raw const pair, to.cast::<u8>(), offset_of!(Located<V, I>, index));
    // SAFETY: the caller's promise; both parts lie in the pair.
    unsafe {
        to.copy_from_nonoverlapping(from.cast(), V::DATA_BYTES);
        to.add(index).copy_from_nonoverlapping(from.cast::<u8>().add(index), I::DATA_BYTES);
    }
}

macro_rules! low {
    ($($(#[$doc:meta])* $name:ident: $low:ty, $word:ty, $signed:ty;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        #[repr(transparent)]
        pub(crate) struct $name($word);

        impl $name {
            /// The number at the top of a word, with zeros below it: these compare as the numbers do.
            #[inline(always)]
            fn aligned(self) -> $signed {
                let padding = <$word>::BITS - <$low>::BITS;
                if cfg!(target_endian = "little") {
                    (self.0 << padding) as $signed
                } else {
                    (self.0 >> padding << padding) as $signed
                }
            }
        }

        impl Padded for $name {
            const DATA_BYTES: usize = size_of::<$low>();

            #[inline(always)]
            fn with_padding_of(self, other: Self) -> Self {
                let padding = <$word>::BITS - <$low>::BITS;
                let data = if cfg!(target_endian = "little") {
                    <$word>::MAX >> padding
                } else {
                    <$word>::MAX << padding
                };
                $name(self.0 & data | other.0 & !data)
            }
        }

        impl PartialEq for $name {
            #[inline(always)]
            fn eq(&self, other: &Self) -> bool {
                self.aligned() == other.aligned()
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                self.aligned().partial_cmp(&other.aligned())
            }

            #[inline(always)]
            fn lt(&self, other: &Self) -> bool {
                self.aligned() < other.aligned()
            }

            #[inline(always)]
            fn gt(&self, other: &Self) -> bool {
                self.aligned() > other.aligned()
            }
        }
    )*};
}

low! {
    /// A C `int` and four bytes of padding.
    LowInt: i32, u64, i64;
    /// A C `short` and two bytes of padding.
    LowShort: i16, u32, i32;
}

const _: () = assert!(size_of::<c_long>() == size_of::<LowInt>());
const _: () = assert!(size_of::<c_int>() == size_of::<LowShort>());

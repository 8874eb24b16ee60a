//! A value and where it was found, for `MPI_MINLOC` and `MPI_MAXLOC` (MPI 5.0, section 6.9.4).

use super::combine::Combine;
use std::cmp::Ordering;

/// C's struct of the two; Fortran's pairs of equal types lie in the same way.
///
/// Where the two are not of one length, the shorter stands for itself and the padding after it ([`LowInt`],
/// [`LowShort`]): then a pair is two words of one length, and the loop over an array becomes vector instructions.
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

const _: () = assert!(size_of::<std::ffi::c_long>() == size_of::<LowInt>());
const _: () = assert!(size_of::<std::ffi::c_int>() == size_of::<LowShort>());

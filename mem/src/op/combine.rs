//! What each operation does to two elements, for every type that can say plus, times, and so on.

use std::ops;

/// An operation on two elements of type `T`.
pub(super) trait Combine<T> {
    /// `a op b`.
    fn combine(a: T, b: T) -> T;
}

/// An operation with a quick way that is right for nearly all elements.
pub(super) trait Quick<T>: Combine<T> {
    /// Whether there are elements for which it is wrong; the result has a NaN then.
    const MAY_BE_WRONG: bool = false;
    /// `a op b`, unless [`Quick::is_wrong`] says of the result that it may be wrong. Without a branch.
    fn quick(a: T, b: T) -> T;
    /// Whether a quick result may be wrong.
    #[inline(always)]
    fn is_wrong(_result: &T) -> bool {
        false
    }
}

/// Numbers with a sum and a product. Integers wrap, as two's complement does in every MPI library.
pub(super) trait Arithmetic: Copy {
    /// The sum.
    fn plus(self, other: Self) -> Self;
    /// The product.
    fn times(self, other: Self) -> Self;
}

/// Types that hold a truth value, in the way of C: zero is false, anything else is true.
pub(super) trait Truth: Copy {
    /// The truth value that is held.
    fn truth(self) -> bool;
    /// 1 or 0.
    fn of(truth: bool) -> Self;
}

/// The sum.
pub(super) struct Sum;
/// The product.
pub(super) struct Prod;
/// The lesser, by the comparison `a < b`; the second operand where neither is less.
pub(super) struct Min;
/// The greater, by the comparison `a > b`; the second operand where neither is greater.
pub(super) struct Max;
/// And, bit by bit.
pub(super) struct Band;
/// Or, bit by bit.
pub(super) struct Bor;
/// Exclusive or, bit by bit.
pub(super) struct Bxor;
/// And of truth values.
pub(super) struct Land;
/// Or of truth values.
pub(super) struct Lor;
/// Exclusive or of truth values.
pub(super) struct Lxor;

impl<T: Arithmetic> Combine<T> for Sum {
    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        a.plus(b)
    }
}

impl<T: Arithmetic> Combine<T> for Prod {
    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        a.times(b)
    }
}

impl<T: PartialOrd> Combine<T> for Min {
    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        if a < b { a } else { b }
    }
}

impl<T: PartialOrd> Combine<T> for Max {
    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        if a > b { a } else { b }
    }
}

macro_rules! always_quick {
    ($(<$op:ty> where $trait:ident;)*) => {$(
        impl<T: $trait> Quick<T> for $op {
            #[inline(always)]
            fn quick(a: T, b: T) -> T {
                Self::combine(a, b)
            }
        }
    )*};
}

always_quick! {
    <Sum> where Arithmetic;
    <Min> where PartialOrd;
    <Max> where PartialOrd;
}

impl<T: ops::BitAnd<Output = T>> Combine<T> for Band {
    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        a & b
    }
}

impl<T: ops::BitOr<Output = T>> Combine<T> for Bor {
    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        a | b
    }
}

impl<T: ops::BitXor<Output = T>> Combine<T> for Bxor {
    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        a ^ b
    }
}

impl<T: Truth> Combine<T> for Land {
    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        T::of(a.truth() & b.truth())
    }
}

impl<T: Truth> Combine<T> for Lor {
    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        T::of(a.truth() | b.truth())
    }
}

impl<T: Truth> Combine<T> for Lxor {
    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        T::of(a.truth() ^ b.truth())
    }
}

macro_rules! integers {
    ($($int:ty)*) => {$(
        impl Arithmetic for $int {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
        }

        impl Truth for $int {
            #[inline(always)]
            fn truth(self) -> bool {
                self != 0
            }

            #[inline(always)]
            fn of(truth: bool) -> Self {
                truth as $int
            }
        }
    )*};
}

/// A truth value of 128 bits. Its halves are words that instructions compare.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct LongTruth {
    low: u64,
    high: u64,
}

impl Truth for LongTruth {
    #[inline(always)]
    fn truth(self) -> bool {
        (self.low | self.high) != 0
    }

    #[inline(always)]
    fn of(truth: bool) -> Self {
        let one = u64::from(truth);
        let (low, high) = if cfg!(target_endian = "little") { (one, 0) } else { (0, one) };
        LongTruth { low, high }
    }
}

integers! { i8 i16 i32 i64 i128 u8 u16 u32 u64 }

macro_rules! floats {
    ($($float:ty)*) => {$(
        impl Quick<$float> for Prod {
            #[inline(always)]
            fn quick(a: $float, b: $float) -> $float {
                a * b
            }
        }

        impl Arithmetic for $float {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }
        }
    )*};
}

floats! { f32 f64 }

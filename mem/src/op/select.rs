//! Which kernel performs an operation on a type.

use super::PredefinedOp as Op;
use super::combine::*;
use super::complex::Complex;
#[cfg(target_arch = "x86_64")]
use super::f16c::widened;
use super::half::Half;
use super::kernel::{Kernel, Registers, each_part, pieces, wide};
use super::native;
use super::pair::{Located, LowInt, LowShort, Maxloc, Minloc, Padded, padded};
use crate::basic::{Basic, Class, MachineType};
use std::ffi::{c_int, c_long};
use std::sync::LazyLock;

/// The kernels by operation and type, found once for the processor at hand.
static KERNELS: LazyLock<[[Option<Kernel>; Basic::ALL.len()]; Op::ALL.len()]> = LazyLock::new(|| {
    let on = Registers::here();
    Op::ALL.map(|op| Basic::ALL.map(|basic| kernel_for(op, basic, on)))
});

/// The kernel, where [`Op::allows`] says yes; `MPI_REPLACE` and `MPI_NO_OP` are copies and have none.
#[inline]
pub(super) fn kernel(op: Op, basic: Basic) -> Option<Kernel> {
    KERNELS[op as usize][basic as usize]
}

/// The same for a machine with these registers.
pub(super) fn kernel_for(op: Op, basic: Basic, on: Registers) -> Option<Kernel> {
    if !op.allows(basic) {
        return None;
    }
    let special = native::wide(op, basic, on).or_else(|| converted(op, basic.machine(), on));
    special.or_else(|| match basic.class() {
        Class::Pair => pair(op, basic, on),
        Class::Floating => floating(op, basic.machine(), on),
        Class::Complex => complex(op, basic.machine(), on),
        _ => integer(op, basic.machine(), on),
    })
}

/// Binary16 where the processor converts it.
#[cfg(target_arch = "x86_64")]
fn converted(op: Op, machine: MachineType, on: Registers) -> Option<Kernel> {
    match (op, machine) {
        _ if on < Registers::Wide => None,
        (Op::Sum, MachineType::F16) => Some(widened::<Half, f32, Sum, 16>()),
        (Op::Prod, MachineType::F16) => Some(widened::<Half, f32, Prod, 16>()),
        (Op::Min, MachineType::F16) => Some(widened::<Half, f32, Min, 16>()),
        (Op::Max, MachineType::F16) => Some(widened::<Half, f32, Max, 16>()),
        (Op::Sum, MachineType::ComplexF16) => Some(widened::<Complex<Half>, Complex<f32>, Sum, 8>()),
        (Op::Prod, MachineType::ComplexF16) => Some(widened::<Complex<Half>, Complex<f32>, Prod, 8>()),
        _ => None,
    }
}

/// Binary16 where the processor converts it: this one is not asked to.
#[cfg(not(target_arch = "x86_64"))]
fn converted(_: Op, _: MachineType, _: Registers) -> Option<Kernel> {
    None
}

fn integer(op: Op, machine: MachineType, on: Registers) -> Option<Kernel> {
    match machine {
        MachineType::I8 => integers::<i8>(op, on),
        MachineType::I16 => integers::<i16>(op, on),
        MachineType::I32 => integers::<i32>(op, on),
        MachineType::I64 => extremes::<i64, 16>(op, on).or_else(|| integers::<i64>(op, on)),
        MachineType::I128 => parts(op, on).or_else(|| integers::<i128>(op, on)),
        MachineType::U8 => integers::<u8>(op, on),
        MachineType::U16 => integers::<u16>(op, on),
        MachineType::U32 => integers::<u32>(op, on),
        MachineType::U64 => extremes::<u64, 16>(op, on).or_else(|| integers::<u64>(op, on)),
        _ => None,
    }
}

/// What every integer can do.
trait IntegerElement:
    Arithmetic
    + Truth
    + PartialOrd
    + std::ops::BitAnd<Output = Self>
    + std::ops::BitOr<Output = Self>
    + std::ops::BitXor<Output = Self>
{
}

impl<T> IntegerElement for T where
    T: Arithmetic
        + Truth
        + PartialOrd
        + std::ops::BitAnd<Output = T>
        + std::ops::BitOr<Output = T>
        + std::ops::BitXor<Output = T>
{
}

fn integers<T: IntegerElement>(op: Op, on: Registers) -> Option<Kernel> {
    match op {
        Op::Sum => Some(wide::<T, Sum>(on)),
        Op::Prod => Some(wide::<T, Prod>(on)),
        Op::Min => Some(wide::<T, Min>(on)),
        Op::Max => Some(wide::<T, Max>(on)),
        Op::Band => Some(wide::<T, Band>(on)),
        Op::Bor => Some(wide::<T, Bor>(on)),
        Op::Bxor => Some(wide::<T, Bxor>(on)),
        Op::Land => Some(wide::<T, Land>(on)),
        Op::Lor => Some(wide::<T, Lor>(on)),
        Op::Lxor => Some(wide::<T, Lxor>(on)),
        _ => None,
    }
}

/// Bits of 128-bit integers: those of both halves, of which more fit into a register than of elements that fill one.
fn parts(op: Op, on: Registers) -> Option<Kernel> {
    match op {
        Op::Band => Some(each_part::<u64, Band>(on)),
        Op::Bor => Some(each_part::<u64, Bor>(on)),
        Op::Bxor => Some(each_part::<u64, Bxor>(on)),
        Op::Land => Some(wide::<LongTruth, Land>(on)),
        Op::Lor => Some(wide::<LongTruth, Lor>(on)),
        Op::Lxor => Some(wide::<LongTruth, Lxor>(on)),
        _ => None,
    }
}

/// The extremes of types whose elements can be stored under a mask ([`pieces`]).
fn extremes<T: Copy + PartialOrd, const PIECE: usize>(op: Op, on: Registers) -> Option<Kernel> {
    match op {
        Op::Min => Some(pieces::<T, Min, PIECE>(on)),
        Op::Max => Some(pieces::<T, Max, PIECE>(on)),
        _ => None,
    }
}

fn floating(op: Op, machine: MachineType, on: Registers) -> Option<Kernel> {
    match machine {
        MachineType::F16 => real::<Half>(op, on),
        MachineType::F32 => extremes::<f32, 32>(op, on).or_else(|| real::<f32>(op, on)),
        MachineType::F64 => extremes::<f64, 16>(op, on).or_else(|| real::<f64>(op, on)),
        MachineType::LongDouble => native::long_double(op),
        MachineType::F128 => native::quad(op),
        _ => None,
    }
}

fn real<T: Arithmetic + PartialOrd>(op: Op, on: Registers) -> Option<Kernel> {
    match op {
        Op::Sum => Some(wide::<T, Sum>(on)),
        Op::Prod => Some(wide::<T, Prod>(on)),
        Op::Min => Some(wide::<T, Min>(on)),
        Op::Max => Some(wide::<T, Max>(on)),
        _ => None,
    }
}

fn complex(op: Op, machine: MachineType, on: Registers) -> Option<Kernel> {
    match (op, machine) {
        (Op::Sum, MachineType::ComplexF16) => Some(each_part::<Half, Sum>(on)),
        (Op::Sum, MachineType::ComplexF32) => Some(each_part::<f32, Sum>(on)),
        (Op::Sum, MachineType::ComplexF64) => Some(each_part::<f64, Sum>(on)),
        (Op::Prod, MachineType::ComplexF16) => Some(pieces::<Complex<Half>, Prod, 16>(on)),
        (Op::Prod, MachineType::ComplexF32) => Some(pieces::<Complex<f32>, Prod, 8>(on)),
        (Op::Prod, MachineType::ComplexF64) => Some(pieces::<Complex<f64>, Prod, 4>(on)),
        (_, MachineType::ComplexLongDouble) => native::complex_long_double(op),
        (_, MachineType::ComplexF128) => native::complex_quad(op),
        _ => None,
    }
}

fn pair(op: Op, basic: Basic, on: Registers) -> Option<Kernel> {
    match basic {
        Basic::FloatInt => located::<f32, c_int>(op, on),
        Basic::DoubleInt => padded_located::<f64, LowInt>(op, on),
        Basic::LongInt => padded_located::<c_long, LowInt>(op, on),
        Basic::TwoInt => located::<c_int, c_int>(op, on),
        Basic::ShortInt => padded_located::<LowShort, c_int>(op, on),
        Basic::LongDoubleInt => native::long_double_int(op),
        Basic::TwoReal => located::<f32, f32>(op, on),
        Basic::TwoDoublePrecision => located::<f64, f64>(op, on),
        Basic::TwoInteger => located::<i32, i32>(op, on),
        _ => None,
    }
}

fn located<V: Copy + PartialOrd, I: Copy + PartialOrd>(op: Op, on: Registers) -> Option<Kernel> {
    match op {
        Op::Minloc => Some(wide::<Located<V, I>, Minloc>(on)),
        Op::Maxloc => Some(wide::<Located<V, I>, Maxloc>(on)),
        _ => None,
    }
}

fn padded_located<V: Padded + PartialOrd, I: Padded + PartialOrd>(op: Op, on: Registers) -> Option<Kernel> {
    match op {
        Op::Minloc => Some(padded::<V, I, Minloc>(on)),
        Op::Maxloc => Some(padded::<V, I, Maxloc>(on)),
        _ => None,
    }
}

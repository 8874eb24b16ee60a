//! Which kernel performs an operation on a type.

use super::PredefinedOp as Op;
use super::combine::*;
use super::complex::Complex;
use super::half::Half;
use super::kernel::{Kernel, each_part, pieces, wide};
use super::native;
use super::pair::{Located, LowInt, LowShort, Maxloc, Minloc};
use crate::basic::{Basic, Class, Machine};
use std::ffi::{c_int, c_long};
use std::sync::LazyLock;

/// The kernels by operation and type, found once for the processor at hand.
static KERNELS: LazyLock<[[Option<Kernel>; Basic::ALL.len()]; Op::ALL.len()]> =
    LazyLock::new(|| Op::ALL.map(|op| Basic::ALL.map(|basic| find(op, basic))));

/// The kernel, where [`Op::allows`] says yes; `MPI_REPLACE` and `MPI_NO_OP` are copies and have none.
#[inline]
pub fn kernel(op: Op, basic: Basic) -> Option<Kernel> {
    KERNELS[op as usize][basic as usize]
}

fn find(op: Op, basic: Basic) -> Option<Kernel> {
    if !op.allows(basic) {
        return None;
    }
    native::wide(op, basic).or_else(|| match basic.class() {
        Class::Pair => pair(op, basic),
        Class::Floating => floating(op, basic.machine()),
        Class::Complex => complex(op, basic.machine()),
        _ => integer(op, basic.machine()),
    })
}

fn integer(op: Op, machine: Machine) -> Option<Kernel> {
    match machine {
        Machine::I8 => integers::<i8>(op),
        Machine::I16 => integers::<i16>(op),
        Machine::I32 => integers::<i32>(op),
        Machine::I64 => extremes::<i64, 16>(op).or_else(|| integers::<i64>(op)),
        Machine::I128 => integers::<i128>(op),
        Machine::U8 => integers::<u8>(op),
        Machine::U16 => integers::<u16>(op),
        Machine::U32 => integers::<u32>(op),
        Machine::U64 => extremes::<u64, 16>(op).or_else(|| integers::<u64>(op)),
        _ => None,
    }
}

/// What every integer can do.
trait Integer:
    Arithmetic
    + Truth
    + PartialOrd
    + std::ops::BitAnd<Output = Self>
    + std::ops::BitOr<Output = Self>
    + std::ops::BitXor<Output = Self>
{
}

impl<T> Integer for T where
    T: Arithmetic
        + Truth
        + PartialOrd
        + std::ops::BitAnd<Output = T>
        + std::ops::BitOr<Output = T>
        + std::ops::BitXor<Output = T>
{
}

fn integers<T: Integer>(op: Op) -> Option<Kernel> {
    match op {
        Op::Sum => Some(wide::<T, Sum>()),
        Op::Prod => Some(wide::<T, Prod>()),
        Op::Min => Some(wide::<T, Min>()),
        Op::Max => Some(wide::<T, Max>()),
        Op::Band => Some(wide::<T, Band>()),
        Op::Bor => Some(wide::<T, Bor>()),
        Op::Bxor => Some(wide::<T, Bxor>()),
        Op::Land => Some(wide::<T, Land>()),
        Op::Lor => Some(wide::<T, Lor>()),
        Op::Lxor => Some(wide::<T, Lxor>()),
        _ => None,
    }
}

/// The extremes of types whose elements can be stored under a mask ([`pieces`]).
fn extremes<T: Copy + PartialOrd, const PIECE: usize>(op: Op) -> Option<Kernel> {
    match op {
        Op::Min => Some(pieces::<T, Min, PIECE>()),
        Op::Max => Some(pieces::<T, Max, PIECE>()),
        _ => None,
    }
}

fn floating(op: Op, machine: Machine) -> Option<Kernel> {
    match machine {
        Machine::F16 => real::<Half>(op),
        Machine::F32 => extremes::<f32, 32>(op).or_else(|| real::<f32>(op)),
        Machine::F64 => extremes::<f64, 16>(op).or_else(|| real::<f64>(op)),
        Machine::LongDouble => native::long_double(op),
        Machine::F128 => native::quad(op),
        _ => None,
    }
}

fn real<T: Arithmetic + PartialOrd>(op: Op) -> Option<Kernel> {
    match op {
        Op::Sum => Some(wide::<T, Sum>()),
        Op::Prod => Some(wide::<T, Prod>()),
        Op::Min => Some(wide::<T, Min>()),
        Op::Max => Some(wide::<T, Max>()),
        _ => None,
    }
}

fn complex(op: Op, machine: Machine) -> Option<Kernel> {
    match (op, machine) {
        (Op::Sum, Machine::ComplexF16) => Some(each_part::<Half, Sum>()),
        (Op::Sum, Machine::ComplexF32) => Some(each_part::<f32, Sum>()),
        (Op::Sum, Machine::ComplexF64) => Some(each_part::<f64, Sum>()),
        (Op::Prod, Machine::ComplexF16) => Some(pieces::<Complex<Half>, Prod, 16>()),
        (Op::Prod, Machine::ComplexF32) => Some(pieces::<Complex<f32>, Prod, 8>()),
        (Op::Prod, Machine::ComplexF64) => Some(pieces::<Complex<f64>, Prod, 4>()),
        (_, Machine::ComplexLongDouble) => native::complex_long_double(op),
        (_, Machine::ComplexF128) => native::complex_quad(op),
        _ => None,
    }
}

fn pair(op: Op, basic: Basic) -> Option<Kernel> {
    match basic {
        Basic::FloatInt => located::<f32, c_int>(op),
        Basic::DoubleInt => located::<f64, LowInt>(op),
        Basic::LongInt => located::<c_long, LowInt>(op),
        Basic::TwoInt => located::<c_int, c_int>(op),
        Basic::ShortInt => located::<LowShort, c_int>(op),
        Basic::LongDoubleInt => native::long_double_int(op),
        Basic::TwoReal => located::<f32, f32>(op),
        Basic::TwoDoublePrecision => located::<f64, f64>(op),
        Basic::TwoInteger => located::<i32, i32>(op),
        _ => None,
    }
}

fn located<V: Copy + PartialOrd, I: Copy + PartialOrd>(op: Op) -> Option<Kernel> {
    match op {
        Op::Minloc => Some(wide::<Located<V, I>, Minloc>()),
        Op::Maxloc => Some(wide::<Located<V, I>, Maxloc>()),
        _ => None,
    }
}

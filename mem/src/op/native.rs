//! What is computed in C: the floating-point types that Rust has no name for (`native/longdouble.c`), and what gains by registers of
//! 512 bits (`native/wide.c`).

use super::PredefinedOp as Op;
use super::kernel::{Kernel, Registers};
use crate::basic::Basic;
#[cfg(target_arch = "x86_64")]
use crate::basic::MachineType;

macro_rules! native_kernels {
    ($($name:ident)*) => {
        unsafe extern "C" {
            $(fn $name(a: *const u8, b: *const u8, out: *mut u8, count: usize);)*
        }
    };
}

native_kernels! {
    tern_long_double_sum tern_long_double_prod tern_long_double_min tern_long_double_max
    tern_quad_sum tern_quad_prod tern_quad_min tern_quad_max
    tern_long_double_complex_sum tern_long_double_complex_prod
    tern_quad_complex_sum tern_quad_complex_prod
    tern_long_double_int_minloc tern_long_double_int_maxloc
}

#[cfg(target_arch = "x86_64")]
native_kernels! { tern_wide_int64_prod tern_wide_double_int_minloc tern_wide_double_int_maxloc }

unsafe extern "C" {
    fn tern_long_double_to_quad(long_double: *const u8, quad: *mut u8);
    fn tern_long_double_from_quad(quad: *const u8, long_double: *mut u8);
}

/// Writes a `long double` as binary128, in the byte order of this machine.
///
/// # Safety
/// 16 bytes must be readable at `long_double` and writable at `quad`; no alignment is needed.
pub(crate) unsafe fn long_double_to_quad(long_double: *const u8, quad: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { tern_long_double_to_quad(long_double, quad) }
}

/// Writes a binary128 number, in the byte order of this machine, as the nearest `long double`.
///
/// # Safety
/// 16 bytes must be readable at `quad` and writable at `long_double`; no alignment is needed.
pub(crate) unsafe fn long_double_from_quad(quad: *const u8, long_double: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { tern_long_double_from_quad(quad, long_double) }
}

pub(super) fn long_double(op: Op) -> Option<Kernel> {
    match op {
        Op::Sum => Some(tern_long_double_sum),
        Op::Prod => Some(tern_long_double_prod),
        Op::Min => Some(tern_long_double_min),
        Op::Max => Some(tern_long_double_max),
        _ => None,
    }
}

pub(super) fn quad(op: Op) -> Option<Kernel> {
    match op {
        Op::Sum => Some(tern_quad_sum),
        Op::Prod => Some(tern_quad_prod),
        Op::Min => Some(tern_quad_min),
        Op::Max => Some(tern_quad_max),
        _ => None,
    }
}

pub(super) fn complex_long_double(op: Op) -> Option<Kernel> {
    match op {
        Op::Sum => Some(tern_long_double_complex_sum),
        Op::Prod => Some(tern_long_double_complex_prod),
        _ => None,
    }
}

pub(super) fn complex_quad(op: Op) -> Option<Kernel> {
    match op {
        Op::Sum => Some(tern_quad_complex_sum),
        Op::Prod => Some(tern_quad_complex_prod),
        _ => None,
    }
}

pub(super) fn long_double_int(op: Op) -> Option<Kernel> {
    match op {
        Op::Minloc => Some(tern_long_double_int_minloc),
        Op::Maxloc => Some(tern_long_double_int_maxloc),
        _ => None,
    }
}

/// The kernel for registers of 512 bits, if it is better than any other and they are there.
#[cfg(target_arch = "x86_64")]
pub(super) fn wide(op: Op, basic: Basic, on: Registers) -> Option<Kernel> {
    match (op, basic, basic.machine()) {
        _ if on < Registers::Widest => None,
        (Op::Minloc, Basic::DoubleInt, _) => Some(tern_wide_double_int_minloc),
        (Op::Maxloc, Basic::DoubleInt, _) => Some(tern_wide_double_int_maxloc),
        (Op::Prod, _, MachineType::I64 | MachineType::U64) => Some(tern_wide_int64_prod),
        _ => None,
    }
}

/// The kernel for registers of 512 bits: there are none here.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn wide(_: Op, _: Basic, _: Registers) -> Option<Kernel> {
    None
}

//! The predefined reduction operations (MPI 5.0, section 6.9.2) on arrays of predefined types.
//!
//! An operation on a type is one [`Kernel`]: a loop over unaligned memory, chosen once per call.
//! [`PredefinedOp::allows`] is the standard's table of what goes with what; a kernel exists exactly
//! where it says yes.

pub mod atomic;
mod combine;
mod complex;
#[cfg(target_arch = "x86_64")]
mod f16c;
mod half;
mod kernel;
mod native;
mod pair;
mod select;
pub mod single;
#[cfg(test)]
mod tests;

pub(crate) use native::{long_double_from_quad, long_double_to_quad};

use crate::basic::{Basic, Class};
use kernel::Kernel;
#[doc(hidden)]
pub use kernel::Registers;

/// A predefined operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "the standard's names")]
pub enum PredefinedOp {
    Sum,
    Min,
    Max,
    Prod,
    Band,
    Bor,
    Bxor,
    Land,
    Lor,
    Lxor,
    Minloc,
    Maxloc,
    /// The first operand; for accumulation into a window only (section 12.3.4).
    Replace,
    /// The second operand; for fetching from a window only (section 12.3.4).
    NoOp,
}

/// The predefined operation handles lie between these values (MPI 5.0, appendix A.1.1).
const HANDLE_FIRST: usize = 0x20;
const HANDLE_END: usize = 0x40;

static BY_HANDLE: [Option<PredefinedOp>; HANDLE_END - HANDLE_FIRST] = {
    let mut table = [None; HANDLE_END - HANDLE_FIRST];
    let mut i = 0;
    while i < IDENTITIES.len() {
        table[IDENTITIES[i].2 as usize - HANDLE_FIRST] = Some(IDENTITIES[i].0);
        i += 1;
    }
    table
};

/// Name and handle value (MPI 5.0, appendix A.1.1) of each operation, in the order of the enum.
const IDENTITIES: [(PredefinedOp, &str, u16); 14] = [
    (PredefinedOp::Sum, "MPI_SUM", 0x21),
    (PredefinedOp::Min, "MPI_MIN", 0x22),
    (PredefinedOp::Max, "MPI_MAX", 0x23),
    (PredefinedOp::Prod, "MPI_PROD", 0x24),
    (PredefinedOp::Band, "MPI_BAND", 0x28),
    (PredefinedOp::Bor, "MPI_BOR", 0x29),
    (PredefinedOp::Bxor, "MPI_BXOR", 0x2a),
    (PredefinedOp::Land, "MPI_LAND", 0x30),
    (PredefinedOp::Lor, "MPI_LOR", 0x31),
    (PredefinedOp::Lxor, "MPI_LXOR", 0x32),
    (PredefinedOp::Minloc, "MPI_MINLOC", 0x38),
    (PredefinedOp::Maxloc, "MPI_MAXLOC", 0x39),
    (PredefinedOp::Replace, "MPI_REPLACE", 0x3c),
    (PredefinedOp::NoOp, "MPI_NO_OP", 0x3d),
];

impl PredefinedOp {
    /// All of them, in the order of their handle values.
    pub const ALL: [PredefinedOp; IDENTITIES.len()] = {
        let mut all = [PredefinedOp::Sum; IDENTITIES.len()];
        let mut i = 0;
        while i < all.len() {
            all[i] = IDENTITIES[i].0;
            i += 1;
        }
        all
    };

    /// The operation whose predefined handle has this value, if there is one.
    #[inline]
    pub const fn from_handle(value: usize) -> Option<PredefinedOp> {
        if value < HANDLE_FIRST || value >= HANDLE_END {
            return None;
        }
        BY_HANDLE[value - HANDLE_FIRST]
    }

    /// The value of the predefined handle in the standard ABI.
    pub const fn handle_value(self) -> u16 {
        IDENTITIES[self as usize].2
    }

    /// The standard's name.
    pub const fn name(self) -> &'static str {
        IDENTITIES[self as usize].1
    }

    /// Whether the operands may change places.
    pub const fn is_commutative(self) -> bool {
        !matches!(self, PredefinedOp::Replace | PredefinedOp::NoOp)
    }

    /// Whether a reduction may use it; the others are for one-sided accumulation only.
    pub const fn reduces(self) -> bool {
        !matches!(self, PredefinedOp::Replace | PredefinedOp::NoOp)
    }

    /// Whether the operation is defined for elements of this type.
    ///
    /// This is the table of section 6.9.2, with what every other library adds and programs rely on:
    /// `MPI_CHAR`, which the standard keeps for text, counts as an integer, and logical operations take
    /// integers of any language.
    pub const fn allows(self, basic: Basic) -> bool {
        use PredefinedOp::*;
        let arithmetic = matches!(self, Sum | Prod);
        let order = matches!(self, Min | Max);
        let bits = matches!(self, Band | Bor | Bxor);
        let logic = matches!(self, Land | Lor | Lxor);
        let locate = matches!(self, Minloc | Maxloc);
        !self.reduces()
            || match basic.class() {
                Class::CInteger | Class::FortranInteger | Class::MultiLanguage => {
                    arithmetic || order || bits || logic
                }
                Class::Floating => arithmetic || order,
                Class::Logical => logic,
                Class::Complex => arithmetic,
                Class::Byte => bits,
                Class::Pair => locate,
                Class::Text => matches!(basic, Basic::Char) && (arithmetic || order || bits || logic),
                Class::Packed => false,
            }
    }
}

impl std::fmt::Display for PredefinedOp {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.name())
    }
}

/// `inout[i] = input[i] op inout[i]` for as many elements as the slices hold.
///
/// # Panics
/// If `op` does not allow `basic`, or the slices are not of one length that is a whole number of elements.
pub fn reduce_slices(op: PredefinedOp, basic: Basic, input: &[u8], inout: &mut [u8]) {
    assert_eq!(input.len(), inout.len(), "{op} on {basic}: operands of different lengths");
    assert_eq!(input.len() % basic.extent(), 0, "{op} on {basic}: a part of an element at the end");
    let count = input.len() / basic.extent();
    // SAFETY: the slices hold `count` elements, and a mutable slice overlaps no other. Every type here is
    // defined for any bytes.
    unsafe { reduce(op, basic, input.as_ptr(), inout.as_mut_ptr(), count) }
}

/// `inoutvec[i] = invec[i] op inoutvec[i]` for `count` elements, the form that `MPI_User_function` has.
///
/// # Panics
/// If `op` does not allow `basic`: callers check that before any message is sent.
///
/// # Safety
/// `invec` must be readable and `inoutvec` readable and writable for `count * basic.extent()` bytes; the
/// two must not overlap, or be the same. No alignment is needed.
pub unsafe fn reduce(op: PredefinedOp, basic: Basic, invec: *const u8, inoutvec: *mut u8, count: usize) {
    // SAFETY: the caller's promise; reduce3 lets its result take the place of an operand.
    unsafe { reduce3(op, basic, invec, inoutvec, inoutvec, count) }
}

/// `out[i] = a[i] op b[i]` for `count` elements.
///
/// # Panics
/// If `op` does not allow `basic`: callers check that before any message is sent.
///
/// # Safety
/// `a` and `b` must be readable, and `out` writable, for `count * basic.extent()` bytes. `out` may be the
/// same address as `a` or `b`, but must not overlap them in any other way. No alignment is needed.
pub unsafe fn reduce3(
    op: PredefinedOp,
    basic: Basic,
    a: *const u8,
    b: *const u8,
    out: *mut u8,
    count: usize,
) {
    let bytes = count * basic.extent();
    match op {
        // SAFETY: the caller's promise; `copy` allows the operand and the result to be the same.
        PredefinedOp::Replace => unsafe { std::ptr::copy(a, out, bytes) },
        // SAFETY: as above.
        PredefinedOp::NoOp => unsafe { std::ptr::copy(b, out, bytes) },
        _ => {
            let kernel = kernel_for(op, basic);
            // SAFETY: the caller's promise is what a kernel asks for.
            unsafe { kernel(a, b, out, count) }
        }
    }
}

/// Where the code of an operation on a type is for a machine with these registers, if there is any: for `examples/kernels.rs`, which
/// looks at its instructions.
#[doc(hidden)]
pub fn code(op: PredefinedOp, basic: Basic, on: Registers) -> Option<*const u8> {
    select::kernel_for(op, basic, on).map(|kernel| kernel as *const u8)
}

fn kernel_for(op: PredefinedOp, basic: Basic) -> Kernel {
    match select::kernel(op, basic) {
        Some(kernel) => kernel,
        None => panic!("{op} is not defined for {basic}; PredefinedOp::allows must be asked first"),
    }
}

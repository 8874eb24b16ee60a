//! The operation of one reduction: which function combines which elements (MPI 5.0 section 6.9).

use crate::coll::op::UserFunction;
use crate::core::boundary::ChoiceBuf;
use crate::core::error::{Result, fail};
use crate::core::given;
use crate::core::process::Process;
use std::ffi::c_int;
use tern_abi::*;
use tern_mem::Basic;
use tern_mem::op::{PredefinedOp, reduce, reduce3};

/// An operation on one datatype, found fit for it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    /// Predefined, on a predefined type.
    Predefined(PredefinedOp, Basic),
    /// A function of the program's, which may be called on any type.
    User {
        /// The function.
        function: UserFunction,
        /// The type as the program named it in the call.
        datatype: MPI_Datatype,
        /// Bytes from one element to the next.
        extent: i64,
        /// Whether the order of operands may be changed.
        commutative: bool,
    },
}

impl Operation {
    /// What the handles of a call mean if both are predefined and fit each other: what needs no other look.
    #[inline]
    pub(crate) fn predefined_by(op: MPI_Op, datatype: MPI_Datatype) -> Option<Operation> {
        let (op, basic) = (PredefinedOp::from_handle(op.0)?, Basic::from_handle(datatype.0)?);
        (op.reduces() && op.allows(basic)).then_some(Operation::Predefined(op, basic))
    }

    /// What the handles of a call mean, if they fit each other.
    pub(crate) fn of(process: &Process, op: MPI_Op, datatype: MPI_Datatype) -> Result<Operation> {
        if let Some(operation) = Operation::predefined_by(op, datatype) {
            return Ok(operation);
        }
        if let Some(predefined) = PredefinedOp::from_handle(op.0) {
            return Operation::predefined(process, predefined, datatype);
        }
        match process.objects.ops.0.get(op.0) {
            Some(user) => {
                let (function, commutative) = (user.function, user.commutative);
                let extent = process.objects.types.get(datatype)?.extent();
                Ok(Operation::User { function, datatype, extent, commutative })
            }
            None if op == MPI_OP_NULL => Err(fail(MPI_ERR_OP, "the operation is MPI_OP_NULL")),
            None => Err(fail(
                MPI_ERR_OP,
                format!("{:#x} is no operation: it was freed or never was one", given::handle(op.0)),
            )),
        }
    }

    fn predefined(process: &Process, op: PredefinedOp, datatype: MPI_Datatype) -> Result<Operation> {
        if !op.reduces() {
            return Err(fail(
                MPI_ERR_OP,
                format!("{op} is for one-sided calls only, no reduction can use it"),
            ));
        }
        match process.objects.types.get(datatype)?.basic() {
            Some(basic) if op.allows(basic) => Ok(Operation::Predefined(op, basic)),
            Some(basic) => Err(fail(MPI_ERR_OP, format!("{op} is not defined for {basic} (section 6.9.2)"))),
            None => Err(fail(
                MPI_ERR_OP,
                format!("{op} is defined for predefined datatypes only: use MPI_Op_create for derived ones"),
            )),
        }
    }

    /// Whether the order of operands may be changed.
    pub(crate) fn commutative(&self) -> bool {
        match self {
            Operation::Predefined(op, _) => op.is_commutative(),
            Operation::User { commutative, .. } => *commutative,
        }
    }

    /// The handle that a function of the program's is called with, which must be valid then.
    pub(crate) fn lent_datatype(&self) -> Option<MPI_Datatype> {
        match *self {
            Operation::Predefined(..) => None,
            Operation::User { datatype, .. } => Some(datatype),
        }
    }

    /// Whether a function of the program's is called, which must happen without the state held.
    pub(crate) fn calls_out(&self) -> bool {
        matches!(self, Operation::User { .. })
    }

    /// `right = left OP right` for `count` elements.
    ///
    /// # Safety
    /// Both hold `count` elements of the type that the operation was found for.
    pub(crate) unsafe fn combine(&self, left: *mut u8, right: *mut u8, count: u64) {
        match *self {
            // SAFETY: by the caller.
            Operation::Predefined(op, basic) => unsafe { reduce(op, basic, left, right, count as usize) },
            // SAFETY: by the caller.
            Operation::User { function, datatype, extent, .. } => unsafe {
                call_user(function, UserOperands { left, right, count }, datatype, extent);
            },
        }
    }
}

impl Operation {
    /// `right = left OP right` for the buffers of a call with `count` elements of the type that the operation was found for.
    pub(crate) fn combine_buffers(&self, left: ChoiceBuf, right: ChoiceBuf, count: u64) {
        // SAFETY: the program vouches for what its call says of its buffers.
        unsafe { self.combine(left.bytes(), right.bytes(), count) }
    }

    /// `out = left OP right` for `count` elements. Only of a predefined operation: a function of the program's changes
    /// `right`, and `out` stays as it is.
    ///
    /// # Safety
    /// All hold `count` elements of the type that the operation was found for. `out` may be one of the operands.
    pub(crate) unsafe fn combine_into(&self, left: *mut u8, right: *mut u8, out: *mut u8, count: u64) {
        match *self {
            // SAFETY: by the caller.
            Operation::Predefined(op, basic) => unsafe {
                reduce3(op, basic, left, right, out, count as usize)
            },
            // SAFETY: by the caller.
            Operation::User { .. } => unsafe { self.combine(left, right, count) },
        }
    }
}

/// What a function of the program's is called with.
#[derive(Clone, Copy)]
struct UserOperands {
    left: *mut u8,
    right: *mut u8,
    count: u64,
}

/// Calls the program's function: more than once if there are more elements than its count can say.
///
/// # Safety
/// The operands hold their elements of `datatype`.
unsafe fn call_user(function: UserFunction, operands: UserOperands, mut datatype: MPI_Datatype, extent: i64) {
    let UserOperands { left, right, count } = operands;
    match function {
        UserFunction::Large(function) => {
            let mut len = count as MPI_Count;
            // SAFETY: by the caller; the program vouches for its function.
            unsafe { function(left.cast(), right.cast(), &mut len, &mut datatype) }
        }
        UserFunction::Small(function) => {
            let mut done = 0;
            while done < count {
                let mut len = c_int::try_from(count - done).unwrap_or(c_int::MAX);
                let at = (done as i64).wrapping_mul(extent) as isize;
                let (left, right) = (left.wrapping_offset(at).cast(), right.wrapping_offset(at).cast());
                done += len as u64;
                // SAFETY: as above, for the elements from `at` on.
                unsafe { function(left, right, &mut len, &mut datatype) }
            }
        }
    }
}

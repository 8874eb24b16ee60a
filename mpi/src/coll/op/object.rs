//! Operations: the object behind a handle.

use crate::core::handle::HandleKind;
use crate::core::table::Table;
use tern_abi::*;

/// A function of the program's that combines elements.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UserFunction {
    /// With an `int` count.
    Small(MPI_User_function),
    /// With an `MPI_Count` count.
    Large(MPI_User_function_c),
}

impl UserFunction {
    /// Where the function is.
    pub(crate) fn address(self) -> usize {
        match self {
            UserFunction::Small(function) => function as usize,
            UserFunction::Large(function) => function as usize,
        }
    }
}

/// An operation of the program's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UserOp {
    /// The function.
    pub function: UserFunction,
    /// Whether the order of operands may be changed.
    pub commutative: bool,
}

/// All operations of the program's.
pub(crate) struct Ops(pub Table<UserOp>);

impl Ops {
    /// None but the predefined.
    pub(crate) const fn new() -> Self {
        Ops(Table::new(HandleKind::Op))
    }
}

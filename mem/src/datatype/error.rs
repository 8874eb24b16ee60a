//! What can be wrong with a datatype.

use std::fmt;
use std::sync::Arc;

use super::Datatype;

/// What comes of building or using a datatype; without a parameter, a datatype.
pub(super) type TypeResult<T = Arc<Datatype>> = Result<T, TypeError>;

/// Why a datatype cannot be built or used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypeError {
    /// A count or length below zero.
    #[error("{arg} is {value}, but must not be negative")]
    Negative {
        /// The argument.
        arg: Arg,
        /// Its value.
        value: i64,
    },
    /// An argument outside of what the others allow.
    #[error("{arg} is {value}, but must be between {min} and {max}")]
    Range {
        /// The argument.
        arg: Arg,
        /// Its value.
        value: i64,
        /// The smallest value allowed.
        min: i64,
        /// The largest value allowed.
        max: i64,
    },
    /// The process grid does not have as many places as there are processes.
    #[error("array_of_psizes describes a grid of {grid} processes, but size is {size}")]
    Grid {
        /// Product of the grid's sizes, as far as it can be told.
        grid: i64,
        /// Processes.
        size: i64,
    },
    /// Blocks that do not cover the dimension (MPI 5.0, section 5.1.4).
    #[error(
        "array_of_dargs[{dim}] is {block}: {processes} processes with one block each cannot hold \
         array_of_gsizes[{dim}] = {global} elements; use a larger block or MPI_DISTRIBUTE_CYCLIC"
    )]
    BlockTooSmall {
        /// The dimension.
        dim: usize,
        /// Elements of a block.
        block: i64,
        /// Processes along the dimension.
        processes: i64,
        /// Elements along the dimension.
        global: i64,
    },
    /// A dimension that is not distributed, over several processes.
    #[error(
        "array_of_distribs[{dim}] is MPI_DISTRIBUTE_NONE, so array_of_psizes[{dim}] must be 1, not {processes}"
    )]
    NotDistributed {
        /// The dimension.
        dim: usize,
        /// Processes along the dimension.
        processes: i64,
    },
    /// A size or displacement beyond 64 bits.
    #[error("the datatype's size or its bounds exceed 2^63 - 1 bytes")]
    TooLarge,
    /// Both parameters of a Fortran 90 type were left open (section 19.1.9).
    #[error("p and r are both MPI_UNDEFINED, but one of them must be given")]
    OpenKind,
    /// No type of the compiler has this precision and range.
    #[error("no {what} of this machine has precision {precision} and decimal exponent range {range}")]
    NoSuchKind {
        /// 'real', 'complex' or 'integer'.
        what: &'static str,
        /// Decimal digits asked for, or 'any'.
        precision: Any,
        /// Exponent range asked for, or 'any'.
        range: Any,
    },
    /// Packing needs more room than is left, or unpacking more bytes than there are.
    #[error("{needed} bytes are needed from position {position}, but the packed buffer has {size}")]
    NoRoom {
        /// Bytes that the data take.
        needed: i64,
        /// Where they should start.
        position: i64,
        /// Bytes of the packed buffer.
        size: i64,
    },
}

/// An argument by the standard's name, an element of an array where there is an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arg(pub &'static str, pub Option<usize>);

impl fmt::Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            None => f.write_str(self.0),
            Some(index) => write!(f, "{}[{index}]", self.0),
        }
    }
}

/// A number that may have been left open (`MPI_UNDEFINED`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Any(pub Option<i32>);

impl fmt::Display for Any {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("any"),
            Some(value) => write!(f, "{value}"),
        }
    }
}

/// `value` unless it is negative.
pub(super) fn not_negative(name: &'static str, value: i64) -> Result<i64, TypeError> {
    if value < 0 { Err(TypeError::Negative { arg: Arg(name, None), value }) } else { Ok(value) }
}

/// Nothing unless one of `values` is negative.
pub(super) fn none_negative(name: &'static str, values: &[i64]) -> Result<(), TypeError> {
    match values.iter().position(|&value| value < 0) {
        Some(at) => Err(TypeError::Negative { arg: Arg(name, Some(at)), value: values[at] }),
        None => Ok(()),
    }
}

/// Nothing unless `value` is outside of `[min, max]`.
pub(super) fn in_range(arg: Arg, value: i64, min: i64, max: i64) -> Result<(), TypeError> {
    if value < min || value > max { Err(TypeError::Range { arg, value, min, max }) } else { Ok(()) }
}

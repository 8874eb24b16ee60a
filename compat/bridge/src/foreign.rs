//! What another ABI looks like.

use std::ffi::{CStr, c_int, c_void};

use tern_abi::*;

use crate::number::ConstantFamily;

/// An address of the program's, of anything.
pub(crate) type Address = *mut c_void;

/// A handle of the other ABI, and the standard's handle for it.
pub trait ForeignHandle: Copy + 'static {
    /// The standard's type.
    type Inner: Copy + PartialEq + 'static;
    /// A value that no object has, by which a place that was not written is known.
    const UNWRITTEN: Self::Inner;
    /// The standard's handle.
    fn inner(self) -> Self::Inner;
    /// The handle of the other ABI.
    fn outer(inner: Self::Inner) -> Self;
    /// The integer that Fortran has for it.
    fn fortran(self) -> c_int;
}

/// A status of the other ABI.
pub trait ForeignStatus: Copy + 'static {
    /// Source, tag, bytes and whether it was cancelled; the error field is that of the empty status.
    fn inner(&self) -> MPI_Status;
    /// Takes over all but the error field.
    fn set(&mut self, inner: &MPI_Status);
    /// The error field.
    fn error(&mut self) -> &mut c_int;
}

/// Another ABI.
pub trait ForeignAbi: Sized + 'static {
    /// Whose it is.
    const NAME: &'static str;
    /// The name of the library.
    const LIBRARY: &'static str;
    /// How the text of `MPI_Get_library_version` begins, so that programs find out whose ABI it is: in the words of the newest release
    /// whose programs were tried.
    const RELEASE: &'static str;
    /// Characters of that text at most, with the null at its end.
    const LIBRARY_VERSION_MAX: usize;

    /// Whether a function for reductions is one of the bindings of another language, which is told by
    /// [`crate::callbacks::tell_operation`] which function of the program's to call.
    fn calls_another(_function: *const c_void) -> bool {
        false
    }

    /// The hardware resource that a type of splits of this ABI's own divides by, as Tern names it.
    fn resource_of_split(_split_type: c_int) -> Option<&'static CStr> {
        None
    }

    /// Communicators.
    type Comm: ForeignHandle<Inner = MPI_Comm>;
    /// Groups.
    type Group: ForeignHandle<Inner = MPI_Group>;
    /// Datatypes.
    type Datatype: ForeignHandle<Inner = MPI_Datatype>;
    /// Operations.
    type Op: ForeignHandle<Inner = MPI_Op>;
    /// Info objects.
    type Info: ForeignHandle<Inner = MPI_Info>;
    /// Error handlers.
    type Errhandler: ForeignHandle<Inner = MPI_Errhandler>;
    /// Requests.
    type Request: ForeignHandle<Inner = MPI_Request>;
    /// Messages.
    type Message: ForeignHandle<Inner = MPI_Message>;
    /// Sessions.
    type Session: ForeignHandle<Inner = MPI_Session>;
    /// Windows.
    type Win: ForeignHandle<Inner = MPI_Win>;
    /// Files.
    type File: ForeignHandle<Inner = MPI_File>;
    /// Statuses.
    type Status: ForeignStatus;

    /// Error codes and classes.
    type ErrorCode: ConstantFamily;
    /// Types of splits.
    type SplitType: ConstantFamily;
    /// Keys of attributes.
    type Keyval: ConstantFamily;
    /// Thread levels.
    type ThreadLevel: ConstantFamily;
    /// How a datatype was made.
    type Combiner: ConstantFamily;
    /// Storage orders of arrays.
    type Order: ConstantFamily;
    /// Distributions of arrays.
    type Distribution: ConstantFamily;
    /// Their arguments.
    type DistributionArgument: ConstantFamily;

    /// Flavors of windows, each with the standard's value.
    const FLAVORS: &'static [(c_int, c_int)];
    /// Memory models of windows, each with the standard's value.
    const MODELS: &'static [(c_int, c_int)];

    /// `MPI_STATUS_IGNORE` and `MPI_STATUSES_IGNORE`.
    const STATUS_IGNORE: usize;
    /// `MPI_IN_PLACE`.
    const IN_PLACE: usize;
    /// `MPI_BUFFER_AUTOMATIC`; no address where there is none.
    const BUFFER_AUTOMATIC: Option<usize>;
    /// `MPI_ANY_SOURCE`.
    const ANY_SOURCE: c_int;
    /// `MPI_PROC_NULL`.
    const PROC_NULL: c_int;
    /// `MPI_ROOT`.
    const ROOT: c_int;
    /// `MPI_ANY_TAG`.
    const ANY_TAG: c_int;

    /// `MPI_UNWEIGHTED`.
    fn unweighted() -> *const c_void;
    /// `MPI_WEIGHTS_EMPTY`.
    fn weights_empty() -> *const c_void;
    /// `MPI_T_PVAR_ALL_HANDLES`.
    fn all_pvars() -> *const c_void;
}

/// A negative number that is none of the standard's, so that Tern refuses it.
const NO_RANK: c_int = -0x7fff_0000;

/// The standard's number of a rank.
#[inline(always)]
pub fn rank_in<F: ForeignAbi>(rank: c_int) -> c_int {
    if rank >= 0 { rank } else { special_rank_in::<F>(rank) }
}

#[inline(always)]
fn special_rank_in<F: ForeignAbi>(rank: c_int) -> c_int {
    if rank == F::ANY_SOURCE {
        MPI_ANY_SOURCE
    } else if rank == F::PROC_NULL {
        MPI_PROC_NULL
    } else if rank == F::ROOT {
        MPI_ROOT
    } else if rank == MPI_UNDEFINED {
        MPI_UNDEFINED
    } else {
        NO_RANK
    }
}

/// The other ABI's number of a rank.
#[inline(always)]
pub fn rank_out<F: ForeignAbi>(rank: c_int) -> c_int {
    match rank {
        MPI_ANY_SOURCE => F::ANY_SOURCE,
        MPI_PROC_NULL => F::PROC_NULL,
        MPI_ROOT => F::ROOT,
        rank => rank,
    }
}

/// The standard's tag.
#[inline(always)]
pub fn tag_in<F: ForeignAbi>(tag: c_int) -> c_int {
    if tag >= 0 {
        tag
    } else if tag == F::ANY_TAG {
        MPI_ANY_TAG
    } else {
        NO_RANK
    }
}

/// The other ABI's tag.
#[inline(always)]
pub fn tag_out<F: ForeignAbi>(tag: c_int) -> c_int {
    if tag == MPI_ANY_TAG { F::ANY_TAG } else { tag }
}

/// What a call returns.
#[inline(always)]
pub fn code_out<F: ForeignAbi>(code: c_int) -> c_int {
    if code == MPI_SUCCESS { MPI_SUCCESS } else { F::ErrorCode::outer(code) }
}

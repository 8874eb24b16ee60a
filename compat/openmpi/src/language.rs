//! Handles and statuses in Fortran and back (sections 19.3.4 and 19.3.5). Predefined handles have the numbers of Open MPI in
//! Fortran, all others Tern's own.

use std::ffi::c_int;

use tern_abi::MPI_ERR_ARG;
use tern_bridge::callbacks::function_of_fortran;
use tern_bridge::foreign::{ForeignHandle, code_out};
use tern_bridge::plain;

use crate::abi::OpenMpi;
use crate::handles::*;
use crate::status::OpenMpiStatus;

/// Conversions of one kind of handle.
macro_rules! conversions {
    ($($handle:ident: $c2f:ident $f2c:ident $toint:ident $fromint:ident;)*) => {
        plain! {$(
            /// The integer of a handle.
            fn $c2f(handle: $handle) -> c_int {
                handle.fortran()
            }

            /// The handle of an integer.
            fn $f2c(integer: c_int) -> $handle {
                $handle::from_fortran(integer)
            }

            /// The integer of a handle.
            fn $toint(handle: $handle) -> c_int {
                handle.fortran()
            }

            /// The handle of an integer.
            fn $fromint(integer: c_int) -> $handle {
                $handle::from_fortran(integer)
            }
        )*}
    };
}
conversions! {
    Comm: MPI_Comm_c2f MPI_Comm_f2c MPI_Comm_toint MPI_Comm_fromint;
    Datatype: MPI_Type_c2f MPI_Type_f2c MPI_Type_toint MPI_Type_fromint;
    Errhandler: MPI_Errhandler_c2f MPI_Errhandler_f2c MPI_Errhandler_toint MPI_Errhandler_fromint;
    File: MPI_File_c2f MPI_File_f2c MPI_File_toint MPI_File_fromint;
    Group: MPI_Group_c2f MPI_Group_f2c MPI_Group_toint MPI_Group_fromint;
    Info: MPI_Info_c2f MPI_Info_f2c MPI_Info_toint MPI_Info_fromint;
    Message: MPI_Message_c2f MPI_Message_f2c MPI_Message_toint MPI_Message_fromint;
    Op: MPI_Op_c2f MPI_Op_f2c MPI_Op_toint MPI_Op_fromint;
    Request: MPI_Request_c2f MPI_Request_f2c MPI_Request_toint MPI_Request_fromint;
    Session: MPI_Session_c2f MPI_Session_f2c MPI_Session_toint MPI_Session_fromint;
    Win: MPI_Win_c2f MPI_Win_f2c MPI_Win_toint MPI_Win_fromint;
}

/// Says whether the function that this thread hands over next is one of a Fortran program. Handles are addresses in C
/// here, and such a function wants the integer.
#[unsafe(no_mangle)]
extern "C" fn tern_function_of_fortran(whether: c_int) {
    function_of_fortran(whether != 0);
}

/// The place of a status that a Fortran program ignores. `libmpi_mpifh.so.40` writes its own there.
#[repr(transparent)]
pub(crate) struct OpenMpiIgnoredStatus(*mut c_int);

// SAFETY: an address that is compared, and written once, before MPI starts.
unsafe impl Sync for OpenMpiIgnoredStatus {}

/// What Fortran programs pass for a status that they ignore.
#[unsafe(no_mangle)]
pub(crate) static mut MPI_F_STATUS_IGNORE: OpenMpiIgnoredStatus = OpenMpiIgnoredStatus(std::ptr::null_mut());
/// The same for statuses.
#[unsafe(no_mangle)]
pub(crate) static mut MPI_F_STATUSES_IGNORE: OpenMpiIgnoredStatus =
    OpenMpiIgnoredStatus(std::ptr::null_mut());
/// What programs with `mpi_f08` pass for a status that they ignore.
#[unsafe(no_mangle)]
pub(crate) static mut MPI_F08_STATUS_IGNORE: OpenMpiIgnoredStatus =
    OpenMpiIgnoredStatus(std::ptr::null_mut());
/// The same for statuses.
#[unsafe(no_mangle)]
pub(crate) static mut MPI_F08_STATUSES_IGNORE: OpenMpiIgnoredStatus =
    OpenMpiIgnoredStatus(std::ptr::null_mut());

/// Copies a status, which is the same in both languages. One that is ignored holds nothing to copy.
unsafe fn copy(from: *const OpenMpiStatus, to: *mut OpenMpiStatus) -> c_int {
    // SAFETY: the variables are written before MPI starts; the program gave the places of statuses.
    unsafe {
        let ignored = [MPI_F_STATUS_IGNORE.0, MPI_F_STATUSES_IGNORE.0, std::ptr::null_mut()];
        if to.is_null() || ignored.contains(&from.cast_mut().cast()) {
            return code_out::<OpenMpi>(MPI_ERR_ARG);
        }
        *to = *from;
    }
    0
}

plain! {
    /// From Fortran to C.
    fn MPI_Status_f2c(from: *const OpenMpiStatus, to: *mut OpenMpiStatus) -> c_int {
        copy(from, to)
    }

    /// From C to Fortran.
    fn MPI_Status_c2f(from: *const OpenMpiStatus, to: *mut OpenMpiStatus) -> c_int {
        copy(from, to)
    }

    /// From `mpi_f08` to C.
    fn MPI_Status_f082c(from: *const OpenMpiStatus, to: *mut OpenMpiStatus) -> c_int {
        copy(from, to)
    }

    /// From C to `mpi_f08`.
    fn MPI_Status_c2f08(from: *const OpenMpiStatus, to: *mut OpenMpiStatus) -> c_int {
        copy(from, to)
    }

    /// From Fortran to `mpi_f08`.
    fn MPI_Status_f2f08(from: *const OpenMpiStatus, to: *mut OpenMpiStatus) -> c_int {
        copy(from, to)
    }

    /// From `mpi_f08` to Fortran.
    fn MPI_Status_f082f(from: *const OpenMpiStatus, to: *mut OpenMpiStatus) -> c_int {
        copy(from, to)
    }
}

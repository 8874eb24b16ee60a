//! Chapter 20: the ABI itself, and handles as integers (section 20.3).

use std::ffi::c_int;

use tern_abi::*;

use crate::arguments::out;
use crate::entry::entry;

entry! {
    /// Version of the standard ABI, before `MPI_Init` and after `MPI_Finalize` too.
    fn MPI_Abi_get_version(abi_major: *mut c_int, abi_minor: *mut c_int) {
        *out("abi_major", abi_major)? = MPI_ABI_VERSION;
        *out("abi_minor", abi_minor)? = MPI_ABI_SUBVERSION;
        Ok(())
    }
}

/// Exports the two conversions of each handle type under `MPI_X` and `PMPI_X`. Tern's handles are 31-bit
/// integers, and the standard's smaller still, so nothing is lost on the way; any value may be converted, and
/// the call that uses the handle looks whether it is one.
macro_rules! conversions {
    ($($handle:ident: $toint:ident, $fromint:ident;)*) => {$(
        const _: () = {
            #[doc = concat!("The integer of a handle, for Fortran: `", stringify!($toint), "`.")]
            #[unsafe(no_mangle)]
            pub extern "C" fn $toint(handle: $handle) -> c_int {
                handle.0 as c_int
            }
            #[unsafe(export_name = concat!("P", stringify!($toint)))]
            extern "C" fn profiled_toint(handle: $handle) -> c_int {
                $toint(handle)
            }
            #[doc = concat!("The handle of an integer: `", stringify!($fromint), "`.")]
            #[unsafe(no_mangle)]
            pub extern "C" fn $fromint(integer: c_int) -> $handle {
                $handle(integer as u32 as usize)
            }
            #[unsafe(export_name = concat!("P", stringify!($fromint)))]
            extern "C" fn profiled_fromint(integer: c_int) -> $handle {
                $fromint(integer)
            }
        };
    )*};
}

conversions! {
    MPI_Comm: MPI_Comm_toint, MPI_Comm_fromint;
    MPI_Errhandler: MPI_Errhandler_toint, MPI_Errhandler_fromint;
    MPI_File: MPI_File_toint, MPI_File_fromint;
    MPI_Group: MPI_Group_toint, MPI_Group_fromint;
    MPI_Info: MPI_Info_toint, MPI_Info_fromint;
    MPI_Message: MPI_Message_toint, MPI_Message_fromint;
    MPI_Op: MPI_Op_toint, MPI_Op_fromint;
    MPI_Request: MPI_Request_toint, MPI_Request_fromint;
    MPI_Session: MPI_Session_toint, MPI_Session_fromint;
    MPI_Datatype: MPI_Type_toint, MPI_Type_fromint;
    MPI_Win: MPI_Win_toint, MPI_Win_fromint;
}

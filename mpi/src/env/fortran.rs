//! What `libmpifort_abi` asks besides the functions of the standard.

use crate::datatype::calls::running;
use std::ffi::c_int;
use tern_abi::MPI_Datatype;

/// Whether MPI runs and messages can have this datatype. No error handler hears of it if not: that is for the call to do
/// which the program made.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn tern_datatype_is_ready(datatype: MPI_Datatype) -> c_int {
    running().is_ok_and(|process| process.objects.types.committed(datatype).is_ok()).into()
}

//! What the C++ bindings of old take from this library beside C functions: operations. A program has calls of these two inside, from
//! the header that it was compiled with. `compat/openmpi/cxx` has the bindings.

use std::ffi::c_void;
use std::sync::OnceLock;

use tern_bridge::callbacks::tell_operation;
use tern_bridge::foreign::ForeignHandle;

use crate::handles::Op;

/// Whether a function for reductions is that of the bindings, which calls one of the program's.
pub(crate) fn is_intercept(function: *const c_void) -> bool {
    static INTERCEPT: OnceLock<usize> = OnceLock::new();
    let find = || {
        // SAFETY: a name that ends in zero; nothing is called.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"ompi_mpi_cxx_op_intercept".as_ptr()) };
        found as usize
    };
    !function.is_null() && *INTERCEPT.get_or_init(find) == function as usize
}

/// Which function of the program's the bindings call for an operation that they have just made.
///
/// # Safety
/// The function has the type that the bindings expect.
#[unsafe(no_mangle)]
unsafe extern "C" fn ompi_op_set_cxx_callback(op: Op, function: *const c_void) {
    tell_operation(op.inner(), function);
}

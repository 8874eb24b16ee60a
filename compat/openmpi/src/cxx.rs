//! What `libmpi_cxx.so.40` takes from the library beside it: the C++ bindings of old, which most programs need that the compiler `mpic++` of
//! Open MPI 4 and older has linked, though they call C functions alone. Their classes are made of C functions; this is the rest.

use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;

use tern_bridge::callbacks::tell_operation;
use tern_bridge::foreign::ForeignHandle;

use crate::handles::Op;

/// A variable of another library's, all zero, of so many words.
#[repr(C, align(32))]
pub(crate) struct ZeroWords<const WORDS: usize>([usize; WORDS]);

/// How many error codes of its own Open MPI has: none, so the list of them is never looked at.
#[unsafe(no_mangle)]
pub(crate) static ompi_errcode_intern_lastused: c_int = 0;
/// The list.
#[unsafe(no_mangle)]
pub(crate) static ompi_errcodes_intern: ZeroWords<64> = ZeroWords([0; 64]);
/// Data representations that the bindings have registered.
#[unsafe(no_mangle)]
pub(crate) static ompi_registered_datareps: ZeroWords<64> = ZeroWords([0; 64]);

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

/// Kinds of objects that have attributes, as Open MPI counts them.
const COMM_ATTRIBUTE: c_int = 1;
const WIN_ATTRIBUTE: c_int = 2;

/// A function that makes a key of attributes.
type CreateKeyval = unsafe extern "C" fn(*const c_void, *const c_void, *mut c_int, *mut c_void) -> c_int;

unsafe extern "C" {
    fn MPI_Comm_create_keyval(
        copy: *const c_void,
        delete: *const c_void,
        key: *mut c_int,
        state: *mut c_void,
    ) -> c_int;
    fn MPI_Win_create_keyval(
        copy: *const c_void,
        delete: *const c_void,
        key: *mut c_int,
        state: *mut c_void,
    ) -> c_int;
    fn MPI_Type_create_keyval(
        copy: *const c_void,
        delete: *const c_void,
        key: *mut c_int,
        state: *mut c_void,
    ) -> c_int;
}

/// Makes a key of attributes.
///
/// # Safety
/// As for `MPI_Comm_create_keyval`.
#[unsafe(no_mangle)]
unsafe extern "C" fn ompi_attr_create_keyval(
    kind: c_int,
    copy: *const c_void,
    delete: *const c_void,
    key: *mut c_int,
    state: *mut c_void,
    _flags: c_int,
    _bindings_state: *mut c_void,
) -> c_int {
    let create: CreateKeyval = match kind {
        COMM_ATTRIBUTE => MPI_Comm_create_keyval,
        WIN_ATTRIBUTE => MPI_Win_create_keyval,
        _ => MPI_Type_create_keyval,
    };
    // SAFETY: the caller's own arguments.
    unsafe { create(copy, delete, key, state) }
}

/// An error handler in C++ would look into structures that are none here.
#[unsafe(no_mangle)]
extern "C" fn ompi_errhandler_create(
    _kind: c_int,
    _function: *const c_void,
    _language: c_int,
) -> *mut c_void {
    refuse("Create_errhandler of Open MPI's C++ bindings")
}

/// The bindings have found an error of their own.
#[unsafe(no_mangle)]
extern "C" fn ompi_errhandler_invoke(
    _handler: *mut c_void,
    _object: *mut c_void,
    _kind: c_int,
    _code: c_int,
    _message: *const c_char,
) -> c_int {
    refuse("an error of Open MPI's C++ bindings")
}

fn refuse(what: &str) -> ! {
    eprintln!(
        "Tern: {what} cannot be served: compile the program again with Tern's mpicxx, and without MPI:: classes"
    );
    std::process::abort()
}

//! How a handle is named in messages: by the value that the program gave. Behind the libraries for programs of other MPIs that
//! is another value than the calls here see.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use tern_abi::MPI_SUCCESS;
use tern_abi::naming::{DATATYPE_HANDLE, FILE_HANDLE, NameHandle, OTHER_HANDLE};
use tern_fellows::StartedLibrary;

/// The function of the library in between, if there is one.
static NAMER: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// MPI has been started.
static HAS_STARTED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether the start of MPI that this thread asks for next comes through such a library.
    static THROUGH: Cell<bool> = const { Cell::new(false) };
}

/// Takes the function by which handles are named from now on. The libraries for programs of other MPIs call it when they are
/// loaded. One that comes when MPI runs already is not that of the program.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn tern_name_handles_by(namer: NameHandle) -> c_int {
    if !HAS_STARTED.load(Ordering::Acquire) {
        NAMER.store(namer as *mut (), Ordering::Release);
    }
    MPI_SUCCESS
}

/// The start of MPI that this thread asks for next comes through a library for programs of another MPI, which has looked for
/// others in the process.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn tern_start_through() -> c_int {
    THROUGH.set(true);
    MPI_SUCCESS
}

/// Why MPI must not start, if another MPI is in the process. Handles are those of the standard ABI from now on, unless the start
/// comes through another library.
pub(crate) fn conflict_at_start() -> Option<String> {
    HAS_STARTED.store(true, Ordering::Release);
    if THROUGH.replace(false) {
        return None;
    }
    NAMER.store(std::ptr::null_mut(), Ordering::Release);
    tern_fellows::conflict(StartedLibrary { abi: "the standard ABI", file: "libmpi_abi.so.1" })
}

/// What the program gave for a handle that is neither a datatype nor a file.
#[cold]
pub(crate) fn handle(handle: usize) -> usize {
    named(handle, OTHER_HANDLE)
}

/// What the program gave for a datatype.
#[cold]
pub(crate) fn datatype(handle: usize) -> usize {
    named(handle, DATATYPE_HANDLE)
}

/// What the program gave for a file.
#[cold]
pub(crate) fn file(handle: usize) -> usize {
    named(handle, FILE_HANDLE)
}

fn named(handle: usize, kind: c_int) -> usize {
    let namer = NAMER.load(Ordering::Acquire);
    if namer.is_null() {
        return handle;
    }
    // SAFETY: it was stored as a function of this type, by a library that stays loaded.
    let name = unsafe { std::mem::transmute::<*mut (), NameHandle>(namer) };
    name(handle, kind)
}

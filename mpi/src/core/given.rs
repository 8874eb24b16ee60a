//! How a handle is named in messages: by the value that the program gave. Behind the libraries for programs of other MPIs that
//! is another value than the calls here see.

use std::ffi::c_int;
use std::sync::atomic::{AtomicPtr, Ordering};
use tern_abi::naming::{DATATYPE_HANDLE, FILE_HANDLE, NameHandle, OTHER_HANDLE};

/// The function of the library in between, if there is one.
static NAMER: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// Takes the function by which handles are named from now on. The libraries for programs of other MPIs call it once.
#[unsafe(no_mangle)]
pub extern "C" fn tern_name_handles_by(namer: NameHandle) {
    NAMER.store(namer as *mut (), Ordering::Release);
}

/// What the program gave for a handle that is neither a datatype nor a file.
#[cold]
pub fn handle(handle: usize) -> usize {
    named(handle, OTHER_HANDLE)
}

/// What the program gave for a datatype.
#[cold]
pub fn datatype(handle: usize) -> usize {
    named(handle, DATATYPE_HANDLE)
}

/// What the program gave for a file.
#[cold]
pub fn file(handle: usize) -> usize {
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

//! How a handle is named in messages: by the value that the program gave. Behind the libraries for programs of other MPIs that
//! is another value than the calls here see.

use std::ffi::c_int;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Turns a handle back into the program's value of it; the second argument is one of [`GivenKind`].
type NameHandle = unsafe extern "C" fn(usize, c_int) -> usize;

/// The function of the library in between, if there is one.
static NAMER: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// Handles whose values another ABI makes in different ways.
#[repr(i32)]
#[derive(Clone, Copy)]
enum GivenKind {
    Other = 0,
    Datatype = 1,
    File = 2,
}

/// Takes the function by which handles are named from now on. The libraries for programs of other MPIs call it once.
#[unsafe(no_mangle)]
pub extern "C" fn tern_name_handles_by(namer: NameHandle) {
    NAMER.store(namer as *mut (), Ordering::Release);
}

/// What the program gave for a handle that is neither a datatype nor a file.
#[cold]
pub fn handle(handle: usize) -> usize {
    named(handle, GivenKind::Other)
}

/// What the program gave for a datatype.
#[cold]
pub fn datatype(handle: usize) -> usize {
    named(handle, GivenKind::Datatype)
}

/// What the program gave for a file.
#[cold]
pub fn file(handle: usize) -> usize {
    named(handle, GivenKind::File)
}

fn named(handle: usize, kind: GivenKind) -> usize {
    let namer = NAMER.load(Ordering::Acquire);
    if namer.is_null() {
        return handle;
    }
    // SAFETY: it was stored as a function of this type, by a library that stays loaded.
    unsafe { std::mem::transmute::<*mut (), NameHandle>(namer)(handle, kind as c_int) }
}

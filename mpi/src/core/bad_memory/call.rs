//! In which call of MPI a thread is, found on its stack: no call leaves its name anywhere, since that would cost a store.

use crate::core::entry::name_of_call;
use std::ffi::{c_int, c_void};

/// What the unwinder says to go on.
const GO_ON: c_int = 0;
const STOP: c_int = 4;

/// The name of the innermost call of MPI that this thread is in.
pub(super) fn name() -> Option<&'static str> {
    let mut found: Option<&'static str> = None;
    // SAFETY: the function has the signature that the unwinder wants, and gets the address of what it fills in.
    unsafe { _Unwind_Backtrace(look, (&raw mut found).cast()) };
    found
}

extern "C" fn look(frame: *mut c_void, found: *mut c_void) -> c_int {
    // SAFETY: the unwinder passes one of its frames.
    let start = unsafe { _Unwind_GetRegionStart(frame) };
    let name = name_of_call(start);
    if name.is_some() {
        // SAFETY: it is what `name` has passed.
        unsafe { *found.cast::<Option<&'static str>>() = name };
        return STOP;
    }
    GO_ON
}

// Of the compiler's own library, which every program with Rust code has.
unsafe extern "C" {
    fn _Unwind_Backtrace(look: extern "C" fn(*mut c_void, *mut c_void) -> c_int, with: *mut c_void) -> c_int;
    fn _Unwind_GetRegionStart(frame: *mut c_void) -> usize;
}

#[cfg(test)]
mod tests {
    #[test]
    fn outside_of_mpi_no_call_is_named() {
        assert_eq!(super::name(), None);
    }
}

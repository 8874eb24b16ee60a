//! Chapter 15: the tool information interface (`MPI_T_`).
//!
//! Its calls work before `MPI_Init` and after `MPI_Finalize`, return their error codes and call no error
//! handler, so they keep their own small state behind their own lock. Tern has control variables (one for
//! each setting of the environment, to read), categories of them and enumerations; it has no performance
//! variables and no events yet, and says so in the way of the standard: their number is zero.

// The standard's signatures are as long as they are.
#![allow(clippy::too_many_arguments)]

mod category;
mod cvar;
mod enumeration;
mod event;
mod pvar;
mod text;
mod variables;

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tern_abi::*;

/// A call's outcome: an error is a class of the tool interface.
type Outcome<T = ()> = Result<T, c_int>;

/// What the interface keeps between calls.
struct Tools {
    /// How many more `MPI_T_init_thread` than `MPI_T_finalize` there were.
    uses: usize,
    /// Control variables bound by handles: which variable.
    cvar_handles: BTreeMap<usize, usize>,
    /// Sessions of performance variables, which have nothing to hold.
    pvar_sessions: BTreeMap<usize, ()>,
    /// The next handle of either kind; never used twice, so a freed handle stays invalid.
    next_handle: usize,
}

impl Tools {
    fn fresh_handle(&mut self) -> usize {
        self.next_handle += 1;
        self.next_handle
    }
}

/// Handles below are the standard's.
const HANDLES_START: usize = 4096;

static TOOLS: Mutex<Tools> = Mutex::new(Tools {
    uses: 0,
    cvar_handles: BTreeMap::new(),
    pvar_sessions: BTreeMap::new(),
    next_handle: HANDLES_START,
});

fn lock() -> MutexGuard<'static, Tools> {
    TOOLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state, if the interface is initialized.
fn enter() -> Outcome<MutexGuard<'static, Tools>> {
    let tools = lock();
    if tools.uses == 0 { Err(MPI_T_ERR_NOT_INITIALIZED) } else { Ok(tools) }
}

/// Writes a result; the standard lets a caller pass null for each that it does not want (section 15.3).
///
/// # Safety
/// `place` must be null or valid for a write.
unsafe fn put<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: not null, so the caller vouches for it.
        unsafe { place.write(value) }
    }
}

/// Writes a result that the call is for.
///
/// # Safety
/// `place` must be null or valid for a write.
unsafe fn give<T>(place: *mut T, value: T) -> Outcome {
    if place.is_null() {
        return Err(MPI_T_ERR_INVALID);
    }
    // SAFETY: not null, so the caller vouches for it.
    unsafe { place.write(value) };
    Ok(())
}

/// An index of a caller into `0..count`.
fn index(given: c_int, count: usize) -> Outcome<usize> {
    usize::try_from(given).ok().filter(|index| *index < count).ok_or(MPI_T_ERR_INVALID_INDEX)
}

/// Exports bodies that yield [`Outcome`] under `MPI_T_X` and `PMPI_T_X`.
macro_rules! tool_entry {
    ($($(#[$meta:meta])* fn $name:ident($($p:ident: $t:ty),* $(,)?) $body:block)*) => {$(
        const _: () = {
            unsafe fn outcome($($p: $t),*) -> $crate::tool::Outcome {
                #[allow(unused_unsafe)]
                // SAFETY: the C caller vouches for its pointers, as the standard demands of it.
                unsafe { $body }
            }
            unsafe extern "C" fn body($($p: $t),*) -> ::std::ffi::c_int {
                // SAFETY: the same contract.
                unsafe { outcome($($p),*) }.err().unwrap_or(::tern_abi::MPI_SUCCESS)
            }
            $crate::core::entry::export!(
                $(#[$meta])* $name, concat!("P", stringify!($name)), body, ($($p: $t),*)
            );
        };
    )*};
}

use tool_entry;

tool_entry! {
    /// Starts using the interface, also before `MPI_Init` (section 15.3.4).
    fn MPI_T_init_thread(required: c_int, provided: *mut c_int) {
        // The state has a lock of its own, so every level is provided whatever is required.
        let _ = required;
        lock().uses += 1;
        put(provided, MPI_THREAD_MULTIPLE);
        Ok(())
    }

    /// Ends a use; the last one frees what was allocated.
    fn MPI_T_finalize() {
        let mut tools = enter()?;
        tools.uses -= 1;
        if tools.uses == 0 {
            tools.cvar_handles.clear();
            tools.pvar_sessions.clear();
        }
        Ok(())
    }
}

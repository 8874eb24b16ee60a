//! Chapter 15: the tool information interface (`MPI_T_`).
//!
//! Its calls work before `MPI_Init` and after `MPI_Finalize`, return their error codes and call no error
//! handler, so they keep their own small state behind their own lock. Tern has control variables (one for
//! each setting of the environment, to read), performance variables, events, categories of them, and enumerations.
//!
//! While a tool is there, messages are counted, and the library's lock is used: a tool may have threads of its own.

// The standard's signatures are as long as they are.
#![allow(clippy::too_many_arguments)]

mod category;
mod cvar;
mod deliver;
mod enumeration;
mod event;
mod happening;
mod numbers;
mod pvar;
mod state;
mod text;
mod variables;

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::core::boundary::Out;
use crate::core::process::{self, LockGuard, Process};
use crate::limits::LOOKS_MAX;
pub(crate) use deliver::{deliver, keep_quiet, may_note};
pub(crate) use happening::{collect, is_heard};
pub(crate) use numbers::lines;
use state::{HANDLES_START, ToolResult, Tools, enter, lock};

use tern_abi::*;

/// Whether a tool has ever been here, or messages are counted for another reason.
static IN_USE: AtomicBool = AtomicBool::new(false);

/// Whether messages are to be counted, and the lock to be used.
pub(crate) fn is_in_use() -> bool {
    IN_USE.load(Ordering::Relaxed)
}

/// From now on messages are counted.
fn watch() {
    IN_USE.store(true, Ordering::Relaxed);
    count(&mut stay());
}

/// Counts messages from now on, if MPI runs.
pub(crate) fn count(process: &mut Process) {
    process.checks.watched = true;
    if let Some(engine) = process.engine_mut() {
        engine.count();
        if is_heard() {
            engine.listen_for_tool(true);
        }
    }
}

/// The state of MPI, once no other thread is there: never with the state of the tools, see [`state::ToolsGuard`].
fn stay() -> LockGuard {
    process::use_lock_in_time();
    process::enter_anyway()
}

/// The state of MPI, for a look that must not wait: not if another thread is in MPI, nor this one, which a signal has interrupted.
fn look() -> Option<LockGuard> {
    (0..LOOKS_MAX).find_map(|_| process::try_look())
}

/// Writes a result; the standard lets a caller pass null for each that it does not want (section 15.3).
fn put<T: Copy>(place: Option<Out<'_, T>>, value: T) {
    if let Some(place) = place {
        place.set(value);
    }
}

/// Writes a result that the call is for.
fn give<T: Copy>(place: Option<Out<'_, T>>, value: T) -> ToolResult {
    place.ok_or(MPI_T_ERR_INVALID)?.set(value);
    Ok(())
}

/// An index of a caller into `0..count`.
fn index(given: c_int, count: usize) -> ToolResult<usize> {
    usize::try_from(given).ok().filter(|index| *index < count).ok_or(MPI_T_ERR_INVALID_INDEX)
}

/// Exports bodies that yield [`ToolResult`] under `MPI_T_X` and `PMPI_T_X`. They are safe code, as those of a `safe fn` of
/// [`entry!`](crate::core::entry) are.
macro_rules! tool_entry {
    ($($(#[$meta:meta])* fn $name:ident($($p:ident: $t:ty),* $(,)?) $body:block)*) => {$(
        const _: () = {
            #[forbid(unsafe_code)]
            fn safe($($p: $t),*) -> $crate::tool::ToolResult $body
            unsafe extern "C" fn body($($p: $crate::core::boundary::C<$t>),*) -> ::std::ffi::c_int {
                #[inline(always)]
                unsafe fn outcome($($p: $crate::core::boundary::C<$t>),*) -> $crate::tool::ToolResult {
                    // SAFETY: the C caller vouches for its pointers, as the standard demands of it.
                    $(let $p = unsafe { <$t as $crate::core::boundary::Argument>::from_c(stringify!($p), $p) }
                        .map_err(|_| ::tern_abi::MPI_T_ERR_INVALID)?;)*
                    safe($($p),*)
                }
                // SAFETY: the same contract.
                unsafe { outcome($($p),*) }.err().unwrap_or(::tern_abi::MPI_SUCCESS)
            }
            $crate::core::entry::export!(
                $(#[$meta])* $name, concat!("P", stringify!($name)), body, ($($p: $crate::core::boundary::C<$t>),*)
            );
        };
    )*};
}

use tool_entry;

tool_entry! {
    /// Starts using the interface, also before `MPI_Init` (section 15.3.4).
    fn MPI_T_init_thread(required: c_int, provided: Option<Out<'_, c_int>>) {
        // The state has a lock of its own, so every level is provided whatever is required.
        let _ = required;
        watch();
        lock().uses += 1;
        put(provided, MPI_THREAD_MULTIPLE);
        Ok(())
    }

    /// Ends a use; the last one frees what was allocated.
    fn MPI_T_finalize() {
        let mut process = stay();
        let mut tools = enter()?;
        tools.uses -= 1;
        if tools.uses == 0 {
            tools.cvar_handles.clear();
            tools.pvar_sessions.clear();
            tools.pvar_handles.clear();
            tools.registrations.clear();
            event::listen(&mut process, tools);
        }
        Ok(())
    }
}

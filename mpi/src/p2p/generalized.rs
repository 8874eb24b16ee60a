//! Generalized requests (MPI 5.0 section 13.2).

use crate::core::error::{Result, callback_failed, fail};
use crate::core::process::{Process, enter};
use crate::p2p::request::{Ended, Object};
use std::ffi::{c_int, c_void};
use tern_abi::*;

/// A generalized request: the program completes it and says how it ended.
#[derive(Clone, Copy, Debug)]
pub struct Generalized {
    query: Option<MPI_Grequest_query_function>,
    free: Option<MPI_Grequest_free_function>,
    cancel: Option<MPI_Grequest_cancel_function>,
    extra: *mut c_void,
    /// `MPI_Grequest_complete` has been called.
    pub complete: bool,
    /// `MPI_Request_free` was called before that.
    freed: bool,
}

// SAFETY: `extra` is the program's own, handed to its own functions.
unsafe impl Send for Generalized {}

use crate::core::entry::entry;
entry! {
    /// Starts a generalized request.
    fn MPI_Grequest_start(query_fn: Option<MPI_Grequest_query_function>, free_fn: Option<MPI_Grequest_free_function>, cancel_fn: Option<MPI_Grequest_cancel_function>, extra_state: *mut c_void, request: *mut MPI_Request) {
        let request = crate::core::arguments::out("request", request)?;
        let generalized = Generalized {
            query: query_fn,
            free: free_fn,
            cancel: cancel_fn,
            extra: extra_state,
            complete: false,
            freed: false,
        };
        *request = enter().new_request(Object::Generalized(generalized))?;
        Ok(())
    }

    /// The program's operation is complete.
    fn MPI_Grequest_complete(request: MPI_Request) {
        match complete(request)? {
            Some(generalized) => free(&generalized),
            None => Ok(()),
        }
    }
}

/// Marks it complete, wakes whoever waits; one that was freed before goes now.
fn complete(request: MPI_Request) -> Result<Option<Generalized>> {
    let mut process = enter();
    let found = match process.requests.0.get_mut(request.0) {
        Some(Object::Generalized(generalized)) => generalized,
        _ => return Err(fail(MPI_ERR_REQUEST, format!("{:#x} is no generalized request", request.0))),
    };
    found.complete = true;
    let gone = found.freed.then_some(*found);
    if gone.is_some() {
        process.requests.0.remove(request.0);
    }
    if let Some(bell) = &process.bell {
        bell.ring();
    }
    Ok(gone)
}

fn get(request: MPI_Request) -> Result<Generalized> {
    match enter().requests.0.get(request.0) {
        Some(Object::Generalized(generalized)) => Ok(*generalized),
        _ => Err(crate::p2p::request::no_request(request)),
    }
}

/// Asks the program for the status of a complete request.
pub fn query(request: MPI_Request) -> Result<MPI_Status> {
    ask(&get(request)?).map(|ended| ended.status)
}

fn ask(generalized: &Generalized) -> Result<Ended> {
    let mut status = MPI_Status::EMPTY;
    let Some(query) = generalized.query else { return Ok(Ended::well(status)) };
    // SAFETY: the program gave the function and its state to be called like this; no lock is held.
    let code = unsafe { query(generalized.extra, &mut status) };
    let error = (code != MPI_SUCCESS).then(|| callback_failed(code, "query_fn"));
    Ok(Ended { status, error })
}

/// Completes a request for a completion call: asks for the status, then frees.
pub fn finish(request: MPI_Request) -> Result<Ended> {
    let generalized = get(request)?;
    let mut ended = ask(&generalized)?;
    enter().requests.0.remove(request.0);
    if let Err(error) = free(&generalized) {
        // The request has ended all the same, and its handle becomes null.
        ended.error.get_or_insert(error);
    }
    Ok(ended)
}

/// Calls the program's free function.
pub fn free(generalized: &Generalized) -> Result {
    let Some(free) = generalized.free else { return Ok(()) };
    // SAFETY: as in `ask`.
    match unsafe { free(generalized.extra) } {
        MPI_SUCCESS => Ok(()),
        code => Err(callback_failed(code, "free_fn")),
    }
}

/// `MPI_Request_free` has taken it out: what to free at once. One that is not complete yet stays until it is.
pub fn freed(process: &mut Process, request: MPI_Request, generalized: Generalized) -> Option<Generalized> {
    if generalized.complete {
        return Some(generalized);
    }
    process.requests.0.put_back(request.0, Object::Generalized(Generalized { freed: true, ..generalized }));
    None
}

/// Calls the program's cancel function.
pub fn cancel(request: MPI_Request) -> Result {
    let generalized = get(request)?;
    let Some(cancel) = generalized.cancel else { return Ok(()) };
    // SAFETY: as in `ask`.
    match unsafe { cancel(generalized.extra, c_int::from(generalized.complete)) } {
        MPI_SUCCESS => Ok(()),
        code => Err(callback_failed(code, "cancel_fn")),
    }
}

//! Generalized requests (MPI 5.0 section 13.2).

use crate::core::boundary::Out;
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::core::given;
use crate::core::process::{Process, enter};
use crate::core::wait::Waiting;
use crate::env::raise::callback_failed;
use crate::p2p::ended::Ended;
use crate::p2p::request::{Callback, Progress, Request};
use std::ffi::{c_int, c_void};
use tern_abi::*;

/// A generalized request: the program completes it and says how it ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GeneralizedRequest {
    query: Option<MPI_Grequest_query_function>,
    free: Option<MPI_Grequest_free_function>,
    cancel: Option<MPI_Grequest_cancel_function>,
    extra: *mut c_void,
    /// `MPI_Grequest_complete` has been called.
    complete: bool,
    /// `MPI_Request_free` was called before that.
    freed: bool,
}

// SAFETY: `extra` is the program's own, handed to its own functions.
unsafe impl Send for GeneralizedRequest {}

entry! {
    /// Starts a generalized request.
    safe fn MPI_Grequest_start(query_fn: Option<MPI_Grequest_query_function>, free_fn: Option<MPI_Grequest_free_function>, cancel_fn: Option<MPI_Grequest_cancel_function>, extra_state: *mut c_void, request: Out<'_, MPI_Request>) {
        let generalized = GeneralizedRequest {
            query: query_fn,
            free: free_fn,
            cancel: cancel_fn,
            extra: extra_state,
            complete: false,
            freed: false,
        };
        request.set(enter().new_request(generalized)?);
        Ok(())
    }

    /// The program's operation is complete.
    safe fn MPI_Grequest_complete(request: MPI_Request) {
        match complete(request)? {
            Some(generalized) => free(&generalized),
            None => Ok(()),
        }
    }
}

/// Marks it complete, wakes whoever waits; one that was freed before goes now.
fn complete(request: MPI_Request) -> Result<Option<GeneralizedRequest>> {
    let mut process = enter();
    let found = process.objects.requests.find_mut::<GeneralizedRequest>(request);
    let found = found.ok_or_else(|| {
        fail(MPI_ERR_REQUEST, format!("{:#x} is no generalized request", given::handle(request.0)))
    })?;
    found.complete = true;
    let gone = found.freed.then_some(*found);
    if gone.is_some() {
        process.objects.requests.remove(request);
    }
    if let Some(bell) = &process.waiting.bell {
        bell.ring();
    }
    Ok(gone)
}

fn get(request: MPI_Request) -> Result<GeneralizedRequest> {
    let process = enter();
    let found = process.objects.requests.find::<GeneralizedRequest>(request);
    found.copied().ok_or_else(|| crate::p2p::request::no_request(request))
}

/// Asks the program for the status of a complete request.
pub(crate) fn query(request: MPI_Request) -> Result<MPI_Status> {
    ask(&get(request)?).map(|ended| ended.status)
}

fn ask(generalized: &GeneralizedRequest) -> Result<Ended> {
    let mut status = MPI_Status::EMPTY;
    let Some(query) = generalized.query else { return Ok(Ended::well(status)) };
    // SAFETY: the program gave the function and its state to be called like this; no lock is held.
    let code = unsafe { query(generalized.extra, &mut status) };
    let error = (code != MPI_SUCCESS).then(|| callback_failed(code, "query_fn"));
    Ok(Ended { status, error })
}

/// Completes a request for a completion call: asks for the status, then frees.
pub(crate) fn finish(request: MPI_Request) -> Result<Ended> {
    let generalized = get(request)?;
    let mut ended = ask(&generalized)?;
    enter().objects.requests.remove(request);
    if let Err(error) = free(&generalized) {
        // The request has ended all the same, and its handle becomes null.
        ended.error.get_or_insert(error);
    }
    Ok(ended)
}

/// Calls the program's free function.
fn free(generalized: &GeneralizedRequest) -> Result {
    let Some(free) = generalized.free else { return Ok(()) };
    // SAFETY: as in `ask`.
    match unsafe { free(generalized.extra) } {
        MPI_SUCCESS => Ok(()),
        code => Err(callback_failed(code, "free_fn")),
    }
}

/// Calls the program's cancel function.
fn cancel(generalized: &GeneralizedRequest) -> Result {
    let Some(cancel) = generalized.cancel else { return Ok(()) };
    // SAFETY: as in `ask`.
    match unsafe { cancel(generalized.extra, c_int::from(generalized.complete)) } {
        MPI_SUCCESS => Ok(()),
        code => Err(callback_failed(code, "cancel_fn")),
    }
}

impl Request for GeneralizedRequest {
    fn progress(&mut self, _process: &mut Process) -> Result<Progress> {
        Ok(if self.complete { Progress::Ask } else { Progress::Pending })
    }

    fn is_complete(&mut self, _process: &mut Process) -> Result<bool> {
        Ok(self.complete)
    }

    fn status(&self, _process: &Process) -> Option<MPI_Status> {
        None
    }

    fn cancel(&mut self, _process: &mut Process) -> Result<Option<Callback>> {
        let generalized = *self;
        Ok(Some(Box::new(move || cancel(&generalized))))
    }

    /// One that is not complete yet stays until it is.
    fn free(mut self: Box<Self>, process: &mut Process, handle: MPI_Request) -> Result<Option<Callback>> {
        if self.complete {
            return Ok(Some(Box::new(move || free(&self))));
        }
        self.freed = true;
        process.objects.requests.put_back(handle, self);
        Ok(None)
    }

    fn is_pending(&self, _process: &Process, _handle: MPI_Request) -> bool {
        !self.complete
    }

    fn waiting(&self, _process: &Process, call: &'static str) -> Waiting {
        Waiting { detail: "until MPI_Grequest_complete".into(), ..Waiting::on(call) }
    }

    fn named(&self, _process: &Process) -> String {
        "MPI_Grequest_complete".into()
    }
}

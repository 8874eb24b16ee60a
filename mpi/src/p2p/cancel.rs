//! Cancelling (MPI 5.0 section 3.8.4).

use crate::core::arguments::out;
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::core::process::{Process, enter};
use crate::p2p::generalized;
use crate::p2p::request::{Object, no_request};
use crate::p2p::status;
use std::ffi::c_int;
use tern_abi::*;
use tern_engine::Started;

entry! {
    /// Asks to give a communication up. It still has to be completed, and its status says whether it was.
    fn MPI_Cancel(request: *mut MPI_Request) {
        let request = *out("request", request)?;
        let asked = cancel(&mut enter(), request)?;
        match asked {
            Asked::Library => Ok(()),
            Asked::Program => generalized::cancel(request),
        }
    }

    /// Whether a communication was cancelled.
    fn MPI_Test_cancelled(status: *const MPI_Status, flag: *mut c_int) {
        let status = out("status", status.cast_mut())?;
        *out("flag", flag)? = c_int::from(status::cancelled(&*status));
        Ok(())
    }
}

/// Who cancels.
enum Asked {
    Library,
    /// The functions of a generalized request, without the lock.
    Program,
}

fn cancel(process: &mut Process, request: MPI_Request) -> Result<Asked> {
    if let Some(started) = process.plain(request)? {
        return cancel_all(process, &[started]);
    }
    match process.requests.0.get(request.0) {
        None if request == MPI_REQUEST_NULL => Err(fail(MPI_ERR_REQUEST, "the request is MPI_REQUEST_NULL")),
        None => Err(no_request(request)),
        Some(Object::Generalized(_)) => Ok(Asked::Program),
        Some(Object::Persistent(persistent)) => {
            let active = persistent.active.ok_or_else(|| not_active(request))?;
            cancel_all(process, &[active])
        }
        Some(Object::Pair(pair)) => {
            let both = [pair.receive, pair.send];
            cancel_all(process, &both)
        }
        Some(Object::Ended(_)) => Ok(Asked::Library),
        Some(Object::Collective(_)) => {
            Err(fail(MPI_ERR_REQUEST, "a collective cannot be cancelled (section 6.12)"))
        }
        Some(Object::Flush(_)) => Err(fail(MPI_ERR_REQUEST, "the flush of a buffer cannot be cancelled")),
    }
}

fn cancel_all(process: &mut Process, what: &[Started]) -> Result<Asked> {
    for &started in what {
        process.cancel_started(started);
    }
    // A message to this very rank is given up at once: one poll takes the question, another the answer.
    let engine = process.engine()?;
    engine.poll();
    engine.poll();
    Ok(Asked::Library)
}

#[cold]
fn not_active(request: MPI_Request) -> Box<crate::core::error::Error> {
    fail(MPI_ERR_REQUEST, format!("the persistent request {:#x} is not active: nothing to cancel", request.0))
}

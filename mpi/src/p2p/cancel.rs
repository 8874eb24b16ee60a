//! Cancelling (MPI 5.0 section 3.8.4).

use crate::core::boundary::Out;
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::core::process::{Process, enter};
use crate::p2p::request::Callback;
use crate::p2p::status;
use std::ffi::c_int;
use tern_abi::*;
use tern_engine::StartedMessage;

entry! {
    /// Asks to give a communication up. It still has to be completed, and its status says whether it was.
    safe fn MPI_Cancel(request: &mut MPI_Request) {
        let asked = cancel(&mut enter(), *request)?;
        asked.map_or(Ok(()), |callback| callback())
    }

    /// Whether a communication was cancelled.
    safe fn MPI_Test_cancelled(status: &MPI_Status, flag: Out<'_, c_int>) {
        flag.set(c_int::from(status::cancelled(status)));
        Ok(())
    }
}

fn cancel(process: &mut Process, request: MPI_Request) -> Result<Option<Callback>> {
    if let Some(started) = process.plain(request)? {
        return process.cancel_all(&[started]).map(|()| None);
    }
    if request == MPI_REQUEST_NULL {
        return Err(fail(MPI_ERR_REQUEST, "the request is MPI_REQUEST_NULL"));
    }
    process.with_request(request, |object, process| object.cancel(process))
}

impl Process {
    /// Tries to cancel messages.
    pub(crate) fn cancel_all(&mut self, what: &[StartedMessage]) -> Result {
        for &started in what {
            self.cancel_started(started);
        }
        // A message to this very rank is given up at once: one poll takes the question, another the answer.
        let engine = self.engine()?;
        engine.poll();
        engine.poll();
        Ok(())
    }
}

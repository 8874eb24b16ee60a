//! Non-blocking accesses as requests (MPI 5.0 section 14.4).

use super::pending::PendingAccess;
use crate::core::error::{Result, fail};
use crate::core::process::Process;
use crate::core::wait::Waiting;
use crate::p2p::request::{Callback, Progress, Request};
use tern_abi::*;

impl Request for PendingAccess {
    fn progress(&mut self, _process: &mut Process) -> Result<Progress> {
        if !self.look() {
            return Ok(Progress::Pending);
        }
        Ok(self.ended.take().map_or(Progress::Inactive, Progress::Ended))
    }

    fn is_complete(&mut self, _process: &mut Process) -> Result<bool> {
        Ok(self.look())
    }

    fn status(&self, _process: &Process) -> Option<MPI_Status> {
        Some(self.ended.as_ref().map_or(MPI_Status::EMPTY, |ended| ended.status))
    }

    fn cancel(&mut self, _process: &mut Process) -> Result<Option<Callback>> {
        // What the system has been given is done: the standard lets a request complete as if it had not been cancelled.
        Ok(None)
    }

    fn may_be_freed(&self) -> Result {
        if self.call.ends_with("_all") {
            return Err(fail(
                MPI_ERR_REQUEST,
                "a collective access under way must be completed, not freed (section 14.4.5)",
            ));
        }
        Ok(())
    }

    fn free(self: Box<Self>, process: &mut Process, _handle: MPI_Request) -> Result<Option<Callback>> {
        // What is under way keeps what it needs, but a conversion of the read data would be lost: it ends first.
        process.objects.files.freed.push(*self);
        Ok(None)
    }

    fn is_pending(&self, _process: &Process, _handle: MPI_Request) -> bool {
        self.ended.is_none() && !self.completion.is_over()
    }

    fn waiting(&self, _process: &Process, call: &'static str) -> Waiting {
        Waiting {
            detail: format!("{} of file '{}'", self.call, self.completion.facts.path),
            ..Waiting::on(call)
        }
    }

    fn named(&self, _process: &Process) -> String {
        format!("{} of file '{}'", self.call, self.completion.facts.path)
    }
}

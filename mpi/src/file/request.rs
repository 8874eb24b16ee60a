//! Non-blocking accesses as requests (MPI 5.0 section 14.4).

use super::datarep::ConvertedTransfer;
use super::facts::FileFacts;
use crate::core::error::{Error, Result, fail};
use crate::core::process::Process;
use crate::core::wait::Waiting;
use crate::p2p::request::{Callback, Ended, Progress, Request};
use crate::p2p::status;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tern_abi::*;

/// Bytes that were moved, and the error if there was one.
pub type AccessOutcome = (u64, Option<Box<Error>>);

/// How an access has ended, once it has.
pub struct Completion {
    facts: Arc<FileFacts>,
    is_over: AtomicBool,
    outcome: Mutex<Option<AccessOutcome>>,
}

impl Completion {
    /// Of an access that starts now.
    pub fn new(facts: &Arc<FileFacts>) -> Arc<Completion> {
        facts.pending.fetch_add(1, Ordering::AcqRel);
        Arc::new(Completion {
            facts: facts.clone(),
            is_over: AtomicBool::new(false),
            outcome: Mutex::new(None),
        })
    }

    /// It is over. Any thread may call.
    pub fn complete(&self, outcome: AccessOutcome) {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        // First: whoever sees that it is over may ask at once whether the file is idle.
        self.facts.pending.fetch_sub(1, Ordering::AcqRel);
        self.is_over.store(true, Ordering::Release);
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// What it came to, if it is over; it is told once.
    pub fn take(&self) -> Option<AccessOutcome> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// An access under way.
pub struct PendingAccess {
    /// The call that started it.
    pub call: &'static str,
    /// The file.
    pub fh: MPI_File,
    /// How it ends.
    pub completion: Arc<Completion>,
    /// Its buffer.
    pub transfer: ConvertedTransfer,
    /// Whether it writes.
    pub writes: bool,
    /// What it came to, once somebody has looked.
    pub ended: Option<Ended>,
}

impl PendingAccess {
    /// Takes what it came to, and converts data that were read. Whether it is over.
    pub fn look(&mut self) -> bool {
        if self.ended.is_none()
            && self.completion.is_over()
            && let Some(outcome) = self.completion.take()
        {
            self.ended = Some(ended(&self.transfer, self.writes, outcome, self.fh));
        }
        self.ended.is_some()
    }
}

/// The status of an access; data that were read are converted here.
pub fn ended(
    transfer: &ConvertedTransfer,
    writes: bool,
    (bytes, error): AccessOutcome,
    fh: MPI_File,
) -> Ended {
    let mut shown = MPI_Status::EMPTY;
    let error = match transfer.finish(bytes, writes) {
        Ok(bytes) => {
            status::set_bytes(&mut shown, bytes);
            error
        }
        Err(conversion) => Some(error.unwrap_or(conversion)),
    };
    Ended { status: shown, error: error.map(|error| error.at(fh)) }
}

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

//! Accesses under way, and how they end.

use super::datarep::ConvertedTransfer;
use super::facts::FileFacts;
use crate::core::error::Error;
use crate::p2p::ended::Ended;
use crate::p2p::status;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tern_abi::*;

/// Bytes that were moved, and the error if there was one.
pub(crate) type AccessOutcome = (u64, Option<Box<Error>>);

/// How an access has ended, once it has.
pub(crate) struct Completion {
    pub(super) facts: Arc<FileFacts>,
    is_over: AtomicBool,
    outcome: Mutex<Option<AccessOutcome>>,
}

impl Completion {
    /// Of an access that starts now.
    pub(crate) fn new(facts: &Arc<FileFacts>) -> Arc<Completion> {
        facts.pending.fetch_add(1, Ordering::AcqRel);
        Arc::new(Completion {
            facts: facts.clone(),
            is_over: AtomicBool::new(false),
            outcome: Mutex::new(None),
        })
    }

    /// It is over. Any thread may call.
    pub(crate) fn complete(&self, outcome: AccessOutcome) {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        // First: whoever sees that it is over may ask at once whether the file is idle.
        self.facts.pending.fetch_sub(1, Ordering::AcqRel);
        self.is_over.store(true, Ordering::Release);
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// What it came to, if it is over; it is told once.
    pub(crate) fn take(&self) -> Option<AccessOutcome> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// An access under way.
pub(crate) struct PendingAccess {
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
    pub(crate) fn look(&mut self) -> bool {
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
pub(crate) fn ended(
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

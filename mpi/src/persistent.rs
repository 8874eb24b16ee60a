//! Persistent requests (MPI 5.0 section 3.9).

use crate::error::Result;
use crate::process::Process;
use crate::request::{Object, Progress, no_request};
use tern_abi::*;

/// A persistent request: what to start, and what has been started.
pub struct Persistent {
    /// The request of the current start, if any.
    pub active: Option<MPI_Request>,
}

/// Where a persistent request stands; it becomes inactive when its start is complete.
pub fn progress(process: &mut Process, request: MPI_Request) -> Result<Progress> {
    let Some(mut active) = get(process, request)?.active else { return Ok(Progress::Inactive) };
    let progress = process.progress(&mut active)?;
    if !matches!(progress, Progress::Pending | Progress::Ask) {
        get(process, request)?.active = None;
    }
    Ok(progress)
}

/// Whether a completion call would end for it.
pub fn is_complete(process: &mut Process, request: MPI_Request) -> Result<bool> {
    match get(process, request)?.active {
        Some(active) => process.is_complete(active),
        None => Ok(true),
    }
}

fn get(process: &mut Process, request: MPI_Request) -> Result<&mut Persistent> {
    match process.requests.0.get_mut(request.0) {
        Some(Object::Persistent(persistent)) => Ok(persistent),
        _ => Err(no_request(request)),
    }
}

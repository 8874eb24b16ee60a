//! Collectives: from a call's arguments to a schedule, and from a schedule to messages (MPI 5.0 chapter 6).

use crate::error::Result;
use crate::process::Process;
use crate::request::Progress;
use tern_abi::*;

/// A collective under way.
pub struct Running {}

/// Where a collective stands.
pub fn progress(_process: &mut Process, _request: &mut MPI_Request) -> Result<Progress> {
    Ok(Progress::Pending)
}

/// Whether a completion call would end for it.
pub fn is_complete(_process: &mut Process, _request: MPI_Request) -> Result<bool> {
    Ok(false)
}

/// A barrier within another call.
pub fn barrier_on(_call: &'static str, _comm: MPI_Comm) -> Result {
    Ok(())
}

//! How a request ended.

use crate::core::error::Error;
use tern_abi::MPI_Status;

/// How something ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its status, without the error field.
    pub status: MPI_Status,
    /// Its error.
    pub error: Option<Box<Error>>,
}

impl Ended {
    /// Well, with this status.
    pub(crate) fn well(status: MPI_Status) -> Self {
        Ended { status, error: None }
    }
}

//! Sessions (MPI 5.0 section 11.3).

use tern_abi::*;

/// All sessions.
pub struct Sessions {}

impl Sessions {
    /// None.
    pub const fn new() -> Self {
        Sessions {}
    }

    /// The error handler of a session.
    pub fn errhandler(&self, _session: MPI_Session) -> Option<MPI_Errhandler> {
        None
    }
}

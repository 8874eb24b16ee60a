//! Sessions (MPI 5.0 section 11.3).

use crate::error::{Error, Result, fail};
use crate::handle::Kind;
use crate::process::Process;
use crate::table::Table;
use tern_abi::*;

/// A session.
#[derive(Clone, Copy, Debug)]
pub struct Session {
    /// Its error handler.
    pub errhandler: MPI_Errhandler,
}

/// All sessions.
pub struct Sessions(Table<Session>);

impl Sessions {
    /// None.
    pub const fn new() -> Self {
        Sessions(Table::new(Kind::Session))
    }

    /// The error handler of a session.
    pub fn errhandler(&self, session: MPI_Session) -> Option<MPI_Errhandler> {
        self.0.get(session.0).map(|session| session.errhandler)
    }
}

impl Process {
    /// The session of a handle.
    pub fn session(&self, session: MPI_Session) -> Result<&Session> {
        self.sessions.0.get(session.0).ok_or_else(|| no_session(session))
    }

    /// The session of a handle, to change it.
    pub fn session_mut(&mut self, session: MPI_Session) -> Result<&mut Session> {
        self.sessions.0.get_mut(session.0).ok_or_else(|| no_session(session))
    }
}

#[cold]
fn no_session(session: MPI_Session) -> Box<Error> {
    if session == MPI_SESSION_NULL {
        return fail(MPI_ERR_SESSION, "the session is MPI_SESSION_NULL");
    }
    fail(MPI_ERR_SESSION, format!("{:#x} is no session: it was finalized or never was one", session.0))
}

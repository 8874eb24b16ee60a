//! Sessions: the object behind a handle.

use crate::core::handle::HandleKind;
use crate::core::table::Table;
use std::collections::BTreeMap;
use tern_abi::*;

/// A session.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    /// Its error handler.
    pub errhandler: MPI_Errhandler,
    /// The kinds of memory that it asks for.
    pub(super) memory_kinds: String,
}

/// All sessions.
pub(crate) struct Sessions {
    pub(super) table: Table<Session>,
    /// The groups and communicators that come from sessions, by handle.
    pub(super) origins: BTreeMap<usize, MPI_Session>,
}

impl Sessions {
    /// None.
    pub(crate) const fn new() -> Self {
        Sessions { table: Table::new(HandleKind::Session), origins: BTreeMap::new() }
    }

    /// The error handler of a session.
    pub(crate) fn errhandler(&self, session: MPI_Session) -> Option<MPI_Errhandler> {
        self.table.get(session.0).map(|session| session.errhandler)
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.table.iter().next().is_none()
    }

    /// The session that a group or communicator comes from; none if it comes from the world.
    pub(crate) fn origin(&self, handle: usize) -> Option<MPI_Session> {
        self.origins.get(&handle).copied()
    }

    /// A group or communicator `child` was made from `parent`. The empty group is everybody's.
    pub(crate) fn inherit(&mut self, parent: usize, child: usize) {
        if child != MPI_GROUP_EMPTY.0
            && let Some(session) = self.origin(parent)
        {
            self.origins.insert(child, session);
        }
    }

    /// A group or communicator is gone.
    pub(crate) fn forget(&mut self, handle: usize) {
        self.origins.remove(&handle);
    }
}

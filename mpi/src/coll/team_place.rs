//! What a communicator has of the memory that its ranks share.

use tern_transport::Team;

/// What a communicator has of it.
#[derive(Debug, Default)]
pub enum TeamPlace {
    /// Its ranks agree on it in their first blocking collective.
    #[default]
    Unasked,
    /// There is none.
    Never,
    /// This rank's seat.
    Here(Box<Team>),
    /// A collective is using it now.
    InUse,
}

impl TeamPlace {
    /// The team, for a collective that will give it back by [`TeamPlace::Here`].
    pub fn take(&mut self) -> Option<Box<Team>> {
        match std::mem::replace(self, TeamPlace::InUse) {
            TeamPlace::Here(team) => Some(team),
            other => {
                *self = other;
                None
            }
        }
    }

    /// The team, if it is not in use.
    #[inline]
    pub fn team(&self) -> Option<&Team> {
        match self {
            TeamPlace::Here(team) => Some(team),
            _ => None,
        }
    }
}

/// A slot in this rank's region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Led {
    /// Nobody has used it, or all have left.
    Free,
    /// A communicator has it.
    Taken,
    /// The communicator, of so many ranks, is gone here; other ranks may still have it.
    Leaving(u32),
}

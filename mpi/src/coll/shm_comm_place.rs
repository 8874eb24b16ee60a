//! What a communicator has of the memory that its ranks share.

use tern_shm::ShmComm;

/// What a communicator has of it.
#[derive(Debug, Default)]
pub(crate) enum ShmCommPlace {
    /// Its ranks agree on it in their first blocking collective.
    #[default]
    Unasked,
    /// There is none.
    Never,
    /// This rank's side of it.
    Here(Box<ShmComm>),
    /// A collective is using it now.
    InUse,
}

impl ShmCommPlace {
    /// The shm communicator, for a collective that will give it back by [`ShmCommPlace::Here`].
    pub(crate) fn take(&mut self) -> Option<Box<ShmComm>> {
        match std::mem::replace(self, ShmCommPlace::InUse) {
            ShmCommPlace::Here(shm_comm) => Some(shm_comm),
            other => {
                *self = other;
                None
            }
        }
    }

    /// The shm communicator, if it is not in use.
    #[inline]
    pub(crate) fn shm_comm(&self) -> Option<&ShmComm> {
        match self {
            ShmCommPlace::Here(shm_comm) => Some(shm_comm),
            _ => None,
        }
    }

    /// The same to be changed.
    #[inline]
    pub(crate) fn shm_comm_mut(&mut self) -> Option<&mut ShmComm> {
        match self {
            ShmCommPlace::Here(shm_comm) => Some(shm_comm),
            _ => None,
        }
    }
}

/// A slot in this rank's region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LeaderSlot {
    /// Nobody has used it, or all have left.
    Free,
    /// A communicator has it.
    Taken,
    /// The communicator, of so many ranks, is gone here; other ranks may still have it.
    Leaving(u32),
}

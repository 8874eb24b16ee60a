//! The steps of a shm communicator, what its ranks wait for in them, and what they see.

use super::counts;
use tern_transport::Peer;

/// A sync step that has begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SyncStep {
    pub(super) count: u64,
    pub(super) half: usize,
    pub(super) buffer: usize,
}

/// An eager step that has begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EagerStep {
    pub(super) count: u64,
    /// Its eager slot; numbers behind the last slot are flags without one.
    pub(super) place: usize,
    /// How far all ranks have to be before that is free.
    pub(super) free_at: u64,
}

/// What follows for a rank that has arrived at a sync step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// Others have yet to come.
    Early(ShmWatch),
    /// All have come: this rank calls [`ShmComm::open`](super::ShmComm::open).
    Last,
    /// Others make another call: they have been told, or have gone on.
    Amiss,
}

/// Which communicator, and which of its ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShmMember {
    /// Whose region holds the memory, by its rank in the job.
    pub leader: Peer,
    /// Which part of it, below [`ShmComm::SLOTS`](super::ShmComm::SLOTS).
    pub slot: u32,
    /// This rank in the communicator.
    pub rank: u32,
    /// Ranks of the communicator.
    pub size: u32,
}

/// What a rank waits for: one word of shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "only this module makes and reads it")]
pub enum ShmWatch {
    /// The gate of a sync step opens.
    Gate { count: u64 },
    /// Rank `by` raises a flag in this call.
    Flag { line: usize, count: u64, by: u32 },
    /// Rank `by` raises a flag in this call, which has one step.
    Sole { line: usize, count: u64, by: u32 },
    /// A rank gets so far or farther.
    Progress { line: usize, count: u64 },
}

impl ShmWatch {
    /// Whether a rank that sees this in the word has to wait on.
    #[inline]
    pub fn is_pending_at(&self, seen: u64) -> bool {
        match *self {
            ShmWatch::Gate { count } | ShmWatch::Flag { count, .. } | ShmWatch::Progress { count, .. } => {
                seen < count
            }
            // Another step of the same call is another call's.
            ShmWatch::Sole { count, .. } => counts::call_of(seen) < counts::call_of(count),
        }
    }
}

/// What a look at a watched word shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sight {
    /// It has not come.
    Pending,
    /// It has come.
    Come,
    /// It will not come: another rank makes another call. See [`ShmComm::mismatch`](super::ShmComm::mismatch).
    Amiss,
}

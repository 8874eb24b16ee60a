//! What a shm communicator needs of the memory that its ranks share.

use super::arrivals::Arrived;
use crate::flag::FlagPayload;
use tern_mem::UserBuf;

/// The lines of a shm communicator: its flags, which are numbered, the words by which more than two ranks synchronize, and its data.
pub trait Lines {
    /// Raises a flag. What this rank has written before is visible to whoever sees the count.
    fn raise(&self, line: usize, count: u64, mark: u64);

    /// Raises a flag that never has a payload, and that others wait for until it is so high or higher.
    fn raise_progress(&self, line: usize, count: u64, mark: u64);

    /// Raises a flag to a count that says which mark it is.
    fn raise_count(&self, line: usize, count: u64);

    /// Raises a flag with a payload.
    fn raise_with(&self, line: usize, count: u64, mark: u64, payload: &FlagPayload);

    /// How far a flag is raised.
    fn count(&self, line: usize) -> u64;

    /// The mark beside a flag that was raised.
    fn mark(&self, line: usize) -> u64;

    /// The payload of a flag that was raised.
    fn payload(&self, line: usize) -> FlagPayload;

    /// Counts a flag up by one, unless it is at `most`; whether it did.
    fn enter(&self, line: usize, most: u64) -> bool;

    /// Counts a flag down by one.
    fn leave(&self, line: usize);

    /// Counts this rank as arrived at sync step `count`.
    fn arrive(&self, count: u64, mark: u64) -> Arrived;

    /// Forgets those who arrived at a sync step that nobody will complete, if nobody has arrived since.
    fn forget_arrivals(&self, seen: u64);

    /// Opens the gate of sync step `count`, to which all have come, and says with which mark.
    fn open(&self, count: u64, mark: u64);

    /// The last sync step whose gate was opened.
    fn gate(&self) -> u64;

    /// The mark that all came to it with.
    fn gate_mark(&self) -> u64;

    /// Some of the shm communicator's data.
    fn data(&self, offset: usize, bytes: usize) -> UserBuf;
}

//! What a rank lets others reach in a window, as the caller of the engine gives it.

use super::access::{Combination, LockKind, TargetRefusal};
use std::sync::Arc;
use tern_mem::{Basic, Layout, UserBuf};
use tern_transport::Peer;

/// What a rank exposes in a window: its memory, and the words that it shares with ranks that reach them directly. Every call is made
/// on behalf of a remote rank, and checked by whoever answers.
pub trait ExposedWindow: Send {
    /// Bytes from a displacement on, which is an address in a dynamic window. `writes`: they are to be changed.
    fn contiguous(&self, at: u64, len: u64, writes: bool) -> Result<UserBuf, TargetRefusal>;
    /// Elements at a displacement.
    fn typed(
        &self,
        at: i64,
        count: u64,
        layout: &Arc<Layout>,
        writes: bool,
    ) -> Result<UserBuf, TargetRefusal>;
    /// Combines packed elements with those at the same packed bytes of `there`, by the rule that all ranks of the window follow.
    fn combine(&self, there: &UserBuf, elements: &CombinedElements<'_>);
    /// Puts `new` there if `compared` is there. What was there.
    fn swap(&self, there: &UserBuf, basic: Basic, compared: &UserBuf, new: &UserBuf) -> UserBuf;
    /// Takes a ticket for the lock.
    fn ticket(&self, kind: LockKind) -> u64;
    /// Whether it is the turn of a ticket; then the lock is held on behalf of `rank`.
    fn enter(&self, ticket: u64, kind: LockKind, rank: u32) -> bool;
    /// The newest epoch of `MPI_Win_lock_all` that has had the lock.
    fn newest_epoch(&self) -> u64;
    /// Gives the lock back.
    fn leave(&self, kind: LockKind);
    /// Tickets wait here for their turn, from now on or no longer.
    fn waits(&self, waits: bool);
    /// Ranks of this host that wait for the lock.
    fn waiters(&self) -> Vec<Peer>;
    /// `rank` lets this one access its memory.
    fn posted(&self, rank: u32);
    /// `rank` has completed its accesses.
    fn completed(&self, rank: u32);
}

/// Elements that are combined with some of a target's.
#[derive(Debug)]
pub struct CombinedElements<'a> {
    /// How.
    pub combination: Combination,
    /// The first packed byte at the target.
    pub from: usize,
    /// Packed bytes.
    pub bytes: usize,
    /// The origin's; none to fetch only.
    pub mine: Option<&'a UserBuf>,
    /// Where what was there goes, if somebody asks.
    pub old: Option<&'a UserBuf>,
}

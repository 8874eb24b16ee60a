//! What accesses to windows are about: targets, operations, epochs, refusals. It uses nothing of the engine but its numbers.

use crate::slab::Id;
use std::sync::Arc;
use tern_mem::op::PredefinedOp;
use tern_mem::{Basic, Layout};
use tern_transport::TransferError;

/// A window's number in this process.
pub type WindowId = Id;

/// In the context of an access's status, above the number of its window: no communicator has such a context.
pub const ACCESS_CONTEXT: u64 = 1 << 63;

/// How a rank's memory is locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockKind {
    /// With others.
    Shared,
    /// Alone.
    Exclusive,
    /// With others, in an epoch of `MPI_Win_lock_all` across hosts, which has this number: the newer the larger.
    All(u64),
}

/// Why a target does not do what an origin asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum TargetRefusal {
    /// Not all of the bytes are in the target's part of the window.
    Outside = 1,
    /// Not all of them are memory of the target's process.
    Unmapped,
    /// The request makes no sense to the target.
    Malformed,
}

/// An access that its target refuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefusedAccess {
    /// Why.
    pub why: TargetRefusal,
    /// Displacement of its first byte in bytes, which is an address in a dynamic window; [`RefusedAccess::SOMEWHERE`] if it has a shape.
    pub at: u64,
}

impl RefusedAccess {
    /// Elements with gaps have no first byte that says much.
    pub const SOMEWHERE: u64 = u64::MAX;
}

/// Why an access did not come to pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessFault {
    /// The target refuses it.
    Refused(RefusedAccess),
    /// This rank's own buffer could not be used.
    Buffer(TransferError),
}

/// Elements in the memory of another rank.
#[derive(Clone, Debug)]
pub struct Far {
    /// The window.
    pub window: WindowId,
    /// The rank in it.
    pub rank: u32,
    /// Displacement in bytes: of the first byte, or of where the elements begin if they have a shape.
    pub at: i64,
    /// What they are, unless they are one run of bytes.
    pub shape: Option<GappedElements>,
}

/// Elements with gaps.
#[derive(Clone, Debug)]
pub struct GappedElements {
    /// How many.
    pub count: u64,
    /// Each.
    pub layout: Arc<Layout>,
}

/// How elements are combined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Combination {
    /// The operation.
    pub op: PredefinedOp,
    /// The type of each element.
    pub basic: Basic,
}

/// Why an access cannot be begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CannotBegin {
    /// There is no such window or rank.
    NoTarget,
    /// The description of the target's elements has so many bytes, which are too many.
    LongDescription(usize),
}

/// What one rank tells another, behind all of its accesses until then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sync {
    /// Says when they are done.
    Flush,
    /// It may access this rank's memory.
    Post,
    /// This rank has completed its accesses.
    Complete,
    /// Wants its lock.
    Lock(LockKind),
    /// Gives its lock back, and wants to know when the accesses are done.
    Unlock(LockKind),
}

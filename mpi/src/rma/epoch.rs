//! Epochs: when a rank may access the memory of others (MPI 5.0 section 12.5).

use super::control::LockKind;
use crate::check::windows::AccessEnd;
use crate::core::error::{Error, Result, fail};
use std::ffi::c_int;
use tern_abi::{MPI_ERR_ASSERT, MPI_ERR_RMA_SYNC};

/// Which epochs of a window are open at this rank.
#[derive(Debug, Default)]
pub(crate) struct Epoch {
    /// A fence has opened both kinds.
    fence: Fence,
    /// How each target is accessed by itself.
    targets: Vec<TargetAccess>,
    /// Targets that are locked.
    locked: u32,
    /// `MPI_Win_lock_all`, and how it has taken the locks.
    lock_all: Option<AllTaken>,
    /// The targets of `MPI_Win_start`.
    started: Option<Vec<u32>>,
    /// The origins of `MPI_Win_post`.
    posted: Option<Vec<u32>>,
}

/// What the last fence has left behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Fence {
    /// Nothing.
    #[default]
    None,
    /// An epoch, if an access comes; other epochs may begin as well (section 12.5.1).
    Offered,
    /// An epoch with accesses, which only another fence ends.
    Used,
}

/// How a target is accessed by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum TargetAccess {
    /// Not.
    #[default]
    None,
    /// By `MPI_Win_start`.
    Started,
    /// By `MPI_Win_lock`; whether the lock was taken, which `MPI_MODE_NOCHECK` saves.
    Locked(LockKind, bool),
}

/// How `MPI_Win_lock_all` has taken the locks of ranks of this host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AllTaken {
    /// Not: the program has said that nobody else locks.
    Unchecked,
    /// By a mark.
    Marked,
    /// One by one, in this way. Those of other hosts are taken so when they are accessed.
    Each(LockKind),
}

impl Epoch {
    /// None, in a window of `size` ranks.
    pub(crate) fn new(size: u32) -> Epoch {
        Epoch { targets: vec![TargetAccess::None; size as usize], ..Epoch::default() }
    }

    /// Whether an access to a target may come now, and changes nothing here.
    #[inline(always)]
    pub(crate) fn is_open(&self, target: u32) -> bool {
        self.lock_all.is_some()
            || self.targets.get(target as usize).is_some_and(|access| *access != TargetAccess::None)
            || self.fence == Fence::Used
    }

    /// Whether a target is locked, by itself or with all others.
    #[inline(always)]
    pub(crate) fn is_locked(&self, target: u32) -> bool {
        let access = self.targets.get(target as usize);
        self.lock_all.is_some() || access.is_some_and(|access| matches!(access, TargetAccess::Locked(..)))
    }

    /// Whether some target is locked.
    #[inline(always)]
    pub(crate) fn is_any_locked(&self) -> bool {
        self.locked > 0 || self.lock_all.is_some()
    }

    /// Refuses an access to a target outside an epoch.
    #[inline]
    pub(crate) fn may_access(&self, target: u32) -> Result {
        match self.is_apart(target) || self.fence != Fence::None {
            true => Ok(()),
            false => Err(self.closed(target)),
        }
    }

    /// An access to a target comes to pass. One that was refused leaves the epoch that a fence offers to others.
    #[inline]
    pub(crate) fn access(&mut self, target: u32) {
        if !self.is_apart(target) {
            self.fence = Fence::Used;
        }
    }

    /// Whether a target is accessed without a fence.
    #[inline]
    fn is_apart(&self, target: u32) -> bool {
        self.targets[target as usize] != TargetAccess::None || self.lock_all.is_some()
    }

    /// The same for what only passive targets allow: requests (section 12.3.5) and flushes (section 12.5.4).
    #[inline]
    pub(crate) fn passive(&self, target: u32) -> Result {
        if self.is_locked(target) { Ok(()) } else { Err(self.not_locked(target)) }
    }

    /// The same for all targets.
    pub(crate) fn passive_any(&self) -> Result {
        if self.is_any_locked() {
            return Ok(());
        }
        Err(wrong("no target is locked: call MPI_Win_lock or MPI_Win_lock_all first"))
    }

    /// What would end an access to a target that came now, if it may come.
    pub(crate) fn ends(&self, target: u32) -> Option<AccessEnd> {
        match self.targets[target as usize] {
            TargetAccess::Started => Some(AccessEnd::Complete),
            TargetAccess::Locked(..) => Some(AccessEnd::Flush),
            TargetAccess::None if self.lock_all.is_some() => Some(AccessEnd::Flush),
            TargetAccess::None => (self.fence != Fence::None).then_some(AccessEnd::Fence),
        }
    }

    #[cold]
    fn closed(&self, target: u32) -> Box<Error> {
        let what = match () {
            () if self.started.is_some() => "MPI_Win_start has other targets",
            () if self.locked > 0 => "MPI_Win_lock has locked other targets",
            () => {
                "no access epoch is open: call MPI_Win_fence, MPI_Win_start, MPI_Win_lock or MPI_Win_lock_all first"
            }
        };
        wrong(&format!("rank {target} cannot be accessed now: {what}"))
    }

    #[cold]
    fn not_locked(&self, target: u32) -> Box<Error> {
        wrong(&format!(
            "rank {target} is not locked, as this call needs: call MPI_Win_lock or MPI_Win_lock_all first"
        ))
    }

    /// How the epoch of `MPI_Win_lock_all` that is open takes each lock, if it does so one by one.
    #[inline]
    pub(crate) fn locks_each(&self) -> Option<LockKind> {
        match self.lock_all {
            Some(AllTaken::Each(kind)) => Some(kind),
            _ => None,
        }
    }

    /// A fence comes; `succeeds`, accesses may follow it. Whether some came before it.
    pub(crate) fn fence(&mut self, succeeds: bool) -> Result<bool> {
        self.expect_no_access("MPI_Win_fence")?;
        if self.posted.is_some() {
            return Err(wrong("an exposure epoch is open: MPI_Win_wait or MPI_Win_test has to end it first"));
        }
        let next = if succeeds { Fence::Offered } else { Fence::None };
        Ok(std::mem::replace(&mut self.fence, next) == Fence::Used)
    }

    /// Refuses to begin an access epoch while another one is open.
    fn expect_no_access(&self, call: &str) -> Result {
        let open = match () {
            () if self.started.is_some() => "the epoch of MPI_Win_start, which MPI_Win_complete ends",
            () if self.lock_all.is_some() => "the epoch of MPI_Win_lock_all, which MPI_Win_unlock_all ends",
            () if self.locked > 0 => "the epoch of MPI_Win_lock, which MPI_Win_unlock ends",
            () => return Ok(()),
        };
        Err(wrong(&format!("{call} cannot come now: {open}, is open")))
    }

    /// The same of an epoch that no fence opens: one that a fence offers is gone then.
    fn leave_fence(&mut self, call: &str) -> Result {
        if self.fence == Fence::Used {
            return Err(wrong(&format!(
                "{call} cannot come now: the epoch of MPI_Win_fence has accesses, which another MPI_Win_fence ends"
            )));
        }
        self.fence = Fence::None;
        Ok(())
    }

    /// `MPI_Win_start`.
    pub(crate) fn start(&mut self, targets: Vec<u32>) -> Result {
        self.expect_no_access("MPI_Win_start")?;
        self.leave_fence("MPI_Win_start")?;
        for &target in &targets {
            self.targets[target as usize] = TargetAccess::Started;
        }
        self.started = Some(targets);
        Ok(())
    }

    /// `MPI_Win_complete`: the targets.
    pub(crate) fn complete(&mut self) -> Result<Vec<u32>> {
        let targets =
            self.started.take().ok_or_else(|| wrong("no MPI_Win_start has opened an access epoch"))?;
        for &target in &targets {
            self.targets[target as usize] = TargetAccess::None;
        }
        Ok(targets)
    }

    /// `MPI_Win_post`.
    pub(crate) fn post(&mut self, origins: Vec<u32>) {
        self.posted = Some(origins);
    }

    /// Whether `MPI_Win_post` may come.
    pub(crate) fn may_post(&mut self) -> Result {
        if self.posted.is_some() {
            return Err(wrong(
                "the exposure epoch of the last MPI_Win_post has not been ended by MPI_Win_wait",
            ));
        }
        self.leave_fence("MPI_Win_post")
    }

    /// The targets of `MPI_Win_start`.
    pub(crate) fn started(&self) -> &[u32] {
        self.started.as_deref().unwrap_or_default()
    }

    /// The origins of the exposure epoch that is open.
    pub(crate) fn posted(&self) -> Result<&[u32]> {
        self.posted.as_deref().ok_or_else(|| wrong("no MPI_Win_post has opened an exposure epoch"))
    }

    /// `MPI_Win_wait` is through.
    pub(crate) fn exposed(&mut self) {
        self.posted = None;
    }

    /// Whether `MPI_Win_lock` may come for a target.
    pub(crate) fn may_lock(&mut self, target: u32) -> Result {
        if self.lock_all.is_some() || self.started.is_some() {
            self.expect_no_access("MPI_Win_lock")?;
        }
        if let TargetAccess::Locked(..) = self.targets[target as usize] {
            return Err(wrong(&format!("rank {target} is locked already by this rank")));
        }
        self.leave_fence("MPI_Win_lock")
    }

    /// Whether nothing is in the way of `MPI_Win_lock`, or with no target of `MPI_Win_lock_all`; no explanation is given if not.
    #[inline(always)]
    pub(crate) fn is_free_for(&self, target: Option<u32>) -> bool {
        let is_unlocked = match target {
            Some(target) => self.targets.get(target as usize) == Some(&TargetAccess::None),
            None => self.locked == 0,
        };
        is_unlocked && self.lock_all.is_none() && self.started.is_none() && self.fence == Fence::None
    }

    /// The lock of a target, if it is held.
    #[inline(always)]
    pub(crate) fn held(&self, target: u32) -> Option<LockKind> {
        match self.targets.get(target as usize) {
            Some(TargetAccess::Locked(kind, true)) => Some(*kind),
            _ => None,
        }
    }

    /// A target is locked; `taken`, its lock was taken.
    #[inline(always)]
    pub(crate) fn lock(&mut self, target: u32, kind: LockKind, taken: bool) {
        self.targets[target as usize] = TargetAccess::Locked(kind, taken);
        self.locked += 1;
    }

    /// `MPI_Win_unlock` of a target whose lock is held.
    #[inline(always)]
    pub(crate) fn unlock_held(&mut self, target: u32) {
        self.targets[target as usize] = TargetAccess::None;
        self.locked -= 1;
    }

    /// `MPI_Win_unlock`: the lock that is to be given back, if it was taken.
    pub(crate) fn unlock(&mut self, target: u32) -> Result<Option<LockKind>> {
        let TargetAccess::Locked(kind, taken) = self.targets[target as usize] else {
            return Err(wrong(&format!("rank {target} is not locked: MPI_Win_lock has to come first")));
        };
        self.targets[target as usize] = TargetAccess::None;
        self.locked -= 1;
        Ok(taken.then_some(kind))
    }

    /// Whether `MPI_Win_lock_all` may come.
    pub(crate) fn may_lock_all(&mut self) -> Result {
        self.expect_no_access("MPI_Win_lock_all")?;
        self.leave_fence("MPI_Win_lock_all")
    }

    /// All targets are locked.
    #[inline(always)]
    pub(crate) fn lock_all(&mut self, taken: AllTaken) {
        self.lock_all = Some(taken);
    }

    /// Whether the locks of all targets are held by a mark.
    #[inline(always)]
    pub(crate) fn is_all_marked(&self) -> bool {
        self.lock_all == Some(AllTaken::Marked)
    }

    /// `MPI_Win_unlock_all` where a mark holds the locks.
    #[inline(always)]
    pub(crate) fn unlock_all_marked(&mut self) {
        self.lock_all = None;
    }

    /// `MPI_Win_unlock_all`: how the locks were taken.
    pub(crate) fn unlock_all(&mut self) -> Result<AllTaken> {
        self.lock_all.take().ok_or_else(|| wrong("no MPI_Win_lock_all has locked the window"))
    }

    /// Whether the window may be freed.
    pub(crate) fn may_end(&self) -> Result {
        self.expect_no_access("MPI_Win_free")?;
        if self.posted.is_some() {
            return Err(wrong("an exposure epoch is open: MPI_Win_wait has to end it first"));
        }
        Ok(())
    }
}

/// Refuses an assertion that means nothing to a call.
pub(super) fn check_assertion(assert: c_int, known: c_int) -> Result {
    if assert & !known == 0 {
        return Ok(());
    }
    Err(fail(
        MPI_ERR_ASSERT,
        format!("assert is {assert:#x}, of which {:#x} means nothing in this call", assert & !known),
    ))
}

#[cold]
fn wrong(text: &str) -> Box<Error> {
    fail(MPI_ERR_RMA_SYNC, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_offers_an_epoch_that_others_may_take_the_place_of() {
        let mut epoch = Epoch::new(2);
        assert!(epoch.may_access(1).is_err() && epoch.ends(1).is_none());
        epoch.fence(true).unwrap();
        assert_eq!(epoch.ends(1), Some(AccessEnd::Fence));
        epoch.may_lock(1).unwrap();
        epoch.lock(1, LockKind::Shared, true);
        assert!(epoch.may_access(1).is_ok() && epoch.may_access(0).is_err());
        assert!(epoch.fence(true).is_err(), "while a lock is held");
        assert_eq!(epoch.unlock(1).unwrap(), Some(LockKind::Shared));
        assert!(epoch.may_access(1).is_err(), "the fence's epoch is gone");
        epoch.fence(true).unwrap();
        epoch.may_access(0).unwrap();
        epoch.may_lock(1).expect("nothing has been accessed");
        epoch.fence(true).unwrap();
        epoch.access(0);
        assert!(epoch.may_lock_all().is_err(), "it has accesses now");
        epoch.fence(false).unwrap();
        assert!(epoch.may_access(0).is_err());
    }

    #[test]
    fn epochs_of_one_kind_do_not_meet_another() {
        let mut epoch = Epoch::new(3);
        epoch.start(vec![2]).unwrap();
        assert!(epoch.may_access(2).is_ok() && epoch.may_access(1).is_err() && epoch.passive(2).is_err());
        assert!(epoch.may_lock(1).is_err() && epoch.start(vec![1]).is_err() && epoch.may_end().is_err());
        epoch.may_post().unwrap();
        epoch.post(vec![0]);
        assert!(epoch.may_post().is_err());
        assert_eq!(epoch.complete().unwrap(), [2]);
        assert!(epoch.complete().is_err() && epoch.fence(true).is_err());
        epoch.exposed();
        epoch.may_lock_all().unwrap();
        epoch.lock_all(AllTaken::Unchecked);
        assert!(epoch.passive(1).is_ok() && epoch.passive_any().is_ok() && epoch.may_lock(1).is_err());
        assert!(epoch.unlock_all().unwrap() == AllTaken::Unchecked);
        assert!(epoch.unlock_all().is_err() && epoch.unlock(1).is_err());
        assert!(epoch.may_end().is_ok());
    }
}

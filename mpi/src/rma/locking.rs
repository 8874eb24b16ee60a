//! The calls that lock the memory of ranks (MPI 5.0 section 12.5.3), each with a short way where nobody is in the way.

use super::control::{AllEntered, LockKind};
use super::epoch::{AllTaken, check_assertion};
use super::far::{self, Done};
use super::lock::{take_lock, wake_all_later, wake_later, wake_waiters};
use super::object::Window;
use super::watch;
use crate::check::windows::{AccessEnd, EndedAccesses};
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::core::process::{Process, enter, enter_at_once};
use std::ffi::c_int;
use tern_abi::*;

entry! {
    /// Locks the memory of one rank.
    safe fn MPI_Win_lock(lock_type: c_int, rank: c_int, assert: c_int, win: MPI_Win) on win {
        if lock_short(lock_type, rank, assert, win) { Ok(()) } else { lock_longer(lock_type, rank, assert, win) }
    }

    /// Locks the memory of all ranks, together with others.
    safe fn MPI_Win_lock_all(assert: c_int, win: MPI_Win) on win {
        if lock_all_short(assert, win) { Ok(()) } else { lock_all_longer(assert, win) }
    }

    /// Ends the accesses to one rank, and gives its lock back.
    safe fn MPI_Win_unlock(rank: c_int, win: MPI_Win) on win {
        if unlock_short(rank, win) { Ok(()) } else { unlock_longer(rank, win) }
    }

    /// Ends the accesses to all ranks.
    safe fn MPI_Win_unlock_all(win: MPI_Win) on win {
        if unlock_all_short(win) { Ok(()) } else { unlock_all_longer(win) }
    }
}

/// The shortest way of `MPI_Win_lock`, where nobody is in the way; whether it was so. If not, nothing has happened.
#[inline(always)]
fn lock_short(lock_type: c_int, rank: c_int, assert: c_int, win: MPI_Win) -> bool {
    let kind = match lock_type {
        MPI_LOCK_SHARED => LockKind::Shared,
        MPI_LOCK_EXCLUSIVE => LockKind::Exclusive,
        _ => return false,
    };
    let Some(mut process) = enter_at_once() else { return false };
    let Some(window) = process.usual_window(win) else { return false };
    let target = rank as u32;
    if assert != 0
        || !window.may_be_locked
        || !window.epoch.is_free_for(Some(target))
        || !window.is_copied(target)
    {
        return false;
    }
    let is_held = window.controls[target as usize].enter_at_once(&window.controls, kind, window.me);
    if is_held {
        window.epoch.lock(target, kind, true);
    }
    is_held
}

/// The same of `MPI_Win_unlock`.
#[inline(always)]
fn unlock_short(rank: c_int, win: MPI_Win) -> bool {
    let Some(mut process) = enter_at_once() else { return false };
    let Some(window) = process.usual_window(win) else { return false };
    let target = rank as u32;
    let Some(kind) = window.epoch.held(target).filter(|_| window.is_copied(target)) else { return false };
    window.epoch.unlock_held(target);
    let control = &window.controls[target as usize];
    control.leave(kind);
    if control.has_waiters() {
        wake_later(&process, win, target);
    }
    true
}

/// The same of `MPI_Win_lock_all`, where all ranks are of this host.
#[inline(always)]
fn lock_all_short(assert: c_int, win: MPI_Win) -> bool {
    let Some(mut process) = enter_at_once() else { return false };
    let Some(window) = process.usual_window(win) else { return false };
    if assert != 0 || !window.are_all_copied() || !window.may_be_locked || !window.epoch.is_free_for(None) {
        return false;
    }
    match window.controls[window.me as usize].enter_all(&window.controls) {
        AllEntered::Held => {
            window.epoch.lock_all(AllTaken::Marked);
            true
        }
        AllEntered::Never => false,
        AllEntered::GaveWay => {
            wake_all_later(&process, win);
            false
        }
    }
}

/// The same of `MPI_Win_unlock_all`.
#[inline(always)]
fn unlock_all_short(win: MPI_Win) -> bool {
    let Some(mut process) = enter_at_once() else { return false };
    let Some(window) = process.usual_window(win) else { return false };
    if !window.are_all_copied() || !window.epoch.is_all_marked() {
        return false;
    }
    window.epoch.unlock_all_marked();
    if window.controls[window.me as usize].leave_all(&window.controls) {
        wake_all_later(&process, win);
    }
    true
}

/// Any other `MPI_Win_lock`.
#[inline(never)]
fn lock_longer(lock_type: c_int, rank: c_int, assert: c_int, win: MPI_Win) -> Result {
    check_assertion(assert, MPI_MODE_NOCHECK)?;
    let kind = match lock_type {
        MPI_LOCK_EXCLUSIVE => LockKind::Exclusive,
        MPI_LOCK_SHARED => LockKind::Shared,
        _ => {
            return Err(fail(
                MPI_ERR_LOCKTYPE,
                format!("lock_type is {lock_type}, but must be MPI_LOCK_EXCLUSIVE or MPI_LOCK_SHARED"),
            ));
        }
    };
    let mut process = enter();
    let window = process.window_mut(win)?;
    expect_locks(window)?;
    let Some(target) = window.target(rank)? else { return Ok(()) };
    window.epoch.may_lock(target)?;
    let taken = assert & MPI_MODE_NOCHECK == 0;
    window.epoch.lock(target, kind, taken);
    if taken && window.locks_by_message(target) {
        far::lock(process, win, "MPI_Win_lock", target, kind)?;
    } else if taken {
        take_lock(process, win, "MPI_Win_lock", target, kind);
    }
    Ok(())
}

/// Any other `MPI_Win_lock_all`.
#[inline(never)]
fn lock_all_longer(assert: c_int, win: MPI_Win) -> Result {
    check_assertion(assert, MPI_MODE_NOCHECK)?;
    let mut process = enter();
    let window = process.window_mut(win)?;
    expect_locks(window)?;
    window.epoch.may_lock_all()?;
    if assert & MPI_MODE_NOCHECK != 0 {
        window.epoch.lock_all(AllTaken::Unchecked);
        return Ok(());
    }
    let entered = enter_all(window);
    if entered == AllEntered::Held {
        window.epoch.lock_all(AllTaken::Marked);
        return Ok(());
    }
    let kind = window.begin_lock_all();
    window.epoch.lock_all(AllTaken::Each(kind));
    let size = window.size();
    if entered == AllEntered::GaveWay {
        wake_all_later(&process, win);
    }
    for target in 0..size {
        // That of a rank of another host is taken when it is accessed.
        if process.window(win)?.locks_by_message(target) {
            continue;
        }
        take_lock(process, win, "MPI_Win_lock_all", target, kind);
        process = enter();
        let window = process.window_mut(win)?;
        window.know_epoch(window.controls[target as usize].newest_epoch());
    }
    Ok(())
}

/// Takes the locks of all ranks by a mark, in a window of one host. In one of several hosts an epoch waits for locks of other hosts while
/// it holds those of this one. A mark says nothing of its age, which decides who passes whom: see `EpochLock`.
fn enter_all(window: &Window) -> AllEntered {
    let own = &window.controls[window.me as usize];
    if own.spans_hosts() { AllEntered::Never } else { own.enter_all(&window.controls) }
}

/// Any other `MPI_Win_unlock`.
#[inline(never)]
fn unlock_longer(rank: c_int, win: MPI_Win) -> Result {
    let mut process = enter();
    let window = process.window_mut(win)?;
    let Some(target) = window.target(rank)? else { return Ok(()) };
    let taken = window.epoch.unlock(target)?;
    if !window.is_copied(target) {
        drop(process);
        return unlock_apart(win, target, taken);
    }
    give_back(&process, win, target, taken)
}

/// Any other `MPI_Win_unlock_all`.
#[inline(never)]
fn unlock_all_longer(win: MPI_Win) -> Result {
    let mut process = enter();
    let window = process.window_mut(win)?;
    let taken = window.epoch.unlock_all()?;
    let mut watched = Ok(());
    if window.watch.is_some() {
        drop(process);
        let ended = EndedAccesses { ends: AccessEnd::Flush, target: None };
        watched = watch::end(win, "MPI_Win_unlock_all", ended, Done::There);
        process = enter();
    }
    let each = if let AllTaken::Each(kind) = taken { Some(kind) } else { None };
    if process.window(win)?.far.is_some() {
        drop(process);
        watched = far::unlock_all(win, each).and(watched);
        process = enter();
    }
    let window = process.window(win)?;
    for target in (0..window.size()).filter(|target| !window.locks_by_message(*target)) {
        let Some(kind) = each else { break };
        window.controls[target as usize].leave(kind);
        wake_waiters(&process, window, target);
    }
    if taken == AllTaken::Marked && window.controls[window.me as usize].leave_all(&window.controls) {
        wake_all_later(&process, win);
    }
    watched
}

/// `MPI_Win_unlock` of a rank whose memory is not mapped here, or is watched.
#[cold]
fn unlock_apart(win: MPI_Win, target: u32, taken: Option<LockKind>) -> Result {
    const CALL: &str = "MPI_Win_unlock";
    // What comes after may not meet this rank's accesses any more.
    let watched =
        watch::end(win, CALL, EndedAccesses { ends: AccessEnd::Flush, target: Some(target) }, Done::There);
    let (is_far, by_message) = {
        let process = enter();
        let window = process.window(win)?;
        (window.is_far(target), window.locks_by_message(target))
    };
    let completed = match is_far {
        true => far::unlock(win, CALL, &[(target, taken.filter(|_| by_message))]).and(watched),
        false => watched,
    };
    match by_message {
        true => completed,
        false => give_back(&enter(), win, target, taken).and(completed),
    }
}

/// Leaves the lock of a rank whose words are mapped here, if it was taken.
#[inline]
fn give_back(process: &Process, win: MPI_Win, target: u32, taken: Option<LockKind>) -> Result {
    if let Some(kind) = taken {
        let window = process.window(win)?;
        window.controls[target as usize].leave(kind);
        wake_waiters(process, window, target);
    }
    Ok(())
}

fn expect_locks(window: &Window) -> Result {
    if window.may_be_locked {
        return Ok(());
    }
    Err(fail(
        MPI_ERR_RMA_SYNC,
        format!("{} was made with the hint no_locks, and cannot be locked", window.named()),
    ))
}

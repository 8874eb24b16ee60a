//! Synchronization of windows (MPI 5.0 section 12.5). Transfers by copies are done when their calls return, so to end an epoch is to
//! tell the others. Those by messages are waited for first.

use super::control::{LockKind, WindowControl};
use super::far::{self, Done};
use super::lock::{take_lock, wait_on, wake_waiters};
use super::object::Window;
use super::watch;
use crate::check::windows::{AccessEnd, EndedAccesses};
use crate::coll::barrier_on;
use crate::core::boundary::Out;
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::process::{LockGuard, Process, enter};
use crate::core::wait::{self, Waiting};
use crate::limits::FLUSHES_PER_LOOK;
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use tern_abi::*;
use tern_engine::rma::Sync;
use tern_transport::Peer;

entry! {
    /// All ranks end their epochs and begin the next.
    safe fn MPI_Win_fence(assert: c_int, win: MPI_Win) on win {
        const ALL: c_int = MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
        check_assertion(assert, ALL)?;
        let (comm, is_watched) = {
            let mut process = enter();
            let window = process.window_mut(win)?;
            window.epoch.fence(assert & MPI_MODE_NOSUCCEED == 0)?;
            (window.comm, window.watch.is_some())
        };
        // What went wrong is told when nobody waits for this rank any more.
        let mut completed = far::complete_all(win, "MPI_Win_fence", Done::There);
        if is_watched {
            completed = completed.and(watch::fence(win, comm));
        }
        fence(Ordering::SeqCst);
        barrier_on("MPI_Win_fence", comm)?;
        fence(Ordering::SeqCst);
        completed
    }

    /// Lets the ranks of a group access this rank's memory.
    safe fn MPI_Win_post(group: MPI_Group, assert: c_int, win: MPI_Win) on win {
        check_assertion(assert, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT)?;
        let mut process = enter();
        let origins = ranks_of(&process, group, win)?;
        let window = process.window_mut(win)?;
        window.epoch.post(origins.clone())?;
        fence(Ordering::SeqCst);
        // Whoever says so need not ask, and is not told.
        if assert & MPI_MODE_NOCHECK == 0 {
            tell_all(&mut process, win, &origins, Sync::Post)?;
        }
        Ok(())
    }

    /// Waits until the ranks of a group let this one access their memory.
    safe fn MPI_Win_start(group: MPI_Group, assert: c_int, win: MPI_Win) on win {
        check_assertion(assert, MPI_MODE_NOCHECK)?;
        let mut process = enter();
        let targets = ranks_of(&process, group, win)?;
        let window = process.window_mut(win)?;
        window.epoch.start(targets.clone())?;
        if assert & MPI_MODE_NOCHECK == 0 {
            let control = Own::of(window);
            let posted = |target: &u32| control.words().posts(*target).load(Ordering::SeqCst) > 0;
            let late = || targets.iter().copied().find(|target| !posted(target));
            wait_on(process, win, "MPI_Win_start", || late().is_none(), || {
                late().map_or_else(String::new, |rank| format!("for MPI_Win_post of rank {rank}"))
            });
            for &target in &targets {
                control.words().posts(target).fetch_sub(1, Ordering::SeqCst);
            }
        }
        Ok(())
    }

    /// Ends the accesses that [`MPI_Win_start`] has begun.
    safe fn MPI_Win_complete(win: MPI_Win) on win {
        let mut process = enter();
        let window = process.window_mut(win)?;
        let targets = window.epoch.complete()?;
        fence(Ordering::SeqCst);
        // A target may change what is read once it knows. A dynamic one may have refused something.
        let done = if window.is_dynamic() { Done::There } else { Done::Here };
        let mut completed = Ok(());
        if window.far.is_some() {
            drop(process);
            completed = far::complete(win, "MPI_Win_complete", &targets, done);
            let ended = EndedAccesses { ends: AccessEnd::Complete, target: None };
            completed = completed.and(watch::end(win, "MPI_Win_complete", ended, done));
            process = enter();
        }
        tell_all(&mut process, win, &targets, Sync::Complete)?;
        completed
    }

    /// Waits until all to whom [`MPI_Win_post`] gave access have completed.
    safe fn MPI_Win_wait(win: MPI_Win) on win {
        let mut process = enter();
        let window = process.window_mut(win)?;
        let origins = window.epoch.posted()?.to_vec();
        let control = Own::of(window);
        let late = || late(control.words(), &origins);
        wait_on(process, win, "MPI_Win_wait", || late().is_none(), || {
            late().map_or_else(String::new, |rank| format!("for MPI_Win_complete of rank {rank}"))
        });
        take_completions(control.words(), &origins);
        exposed(enter(), win, "MPI_Win_wait")
    }

    /// Whether they have.
    safe fn MPI_Win_test(win: MPI_Win, flag: Out<'_, c_int>) on win {
        let mut process = wait::look_again(enter(), |_| Waiting::on("MPI_Win_test"));
        let window = process.window_mut(win)?;
        let (origins, control) = (window.epoch.posted()?.to_vec(), Own::of(window));
        let all = late(control.words(), &origins).is_none();
        flag.set(c_int::from(all));
        if all {
            take_completions(control.words(), &origins);
            return exposed(process, win, "MPI_Win_test");
        }
        Ok(())
    }
}

entry! {
    /// Locks the memory of one rank.
    safe fn MPI_Win_lock(lock_type: c_int, rank: c_int, assert: c_int, win: MPI_Win) on win {
        check_assertion(assert, MPI_MODE_NOCHECK)?;
        let kind = match lock_type {
            MPI_LOCK_EXCLUSIVE => LockKind::Exclusive,
            MPI_LOCK_SHARED => LockKind::Shared,
            _ => return Err(fail(
                MPI_ERR_LOCKTYPE,
                format!("lock_type is {lock_type}, but must be MPI_LOCK_EXCLUSIVE or MPI_LOCK_SHARED"),
            )),
        };
        let mut process = enter();
        let window = process.window_mut(win)?;
        expect_locks(window)?;
        let Some(target) = window.target(rank)? else { return Ok(()) };
        window.epoch.may_lock(target)?;
        let taken = assert & MPI_MODE_NOCHECK == 0;
        window.epoch.lock(target, kind, taken);
        if taken && window.is_far(target) {
            far::lock(process, win, "MPI_Win_lock", target, kind)?;
        } else if taken {
            take_lock(process, win, "MPI_Win_lock", target, kind);
        }
        Ok(())
    }

    /// Locks the memory of all ranks, together with others.
    safe fn MPI_Win_lock_all(assert: c_int, win: MPI_Win) on win {
        check_assertion(assert, MPI_MODE_NOCHECK)?;
        let mut process = enter();
        let window = process.window_mut(win)?;
        expect_locks(window)?;
        window.epoch.may_lock_all()?;
        let taken = assert & MPI_MODE_NOCHECK == 0;
        window.epoch.lock_all(taken);
        let size = if taken { window.size() } else { 0 };
        for target in 0..size {
            // That of a rank of another host is taken when it is accessed.
            if process.window(win)?.is_far(target) {
                continue;
            }
            take_lock(process, win, "MPI_Win_lock_all", target, LockKind::Shared);
            process = enter();
        }
        Ok(())
    }

    /// Ends the accesses to one rank, and gives its lock back.
    safe fn MPI_Win_unlock(rank: c_int, win: MPI_Win) on win {
        let mut process = enter();
        let window = process.window_mut(win)?;
        let Some(target) = window.target(rank)? else { return Ok(()) };
        let taken = window.epoch.unlock(target)?;
        if !window.is_direct(target) {
            drop(process);
            return unlock_apart(win, target, taken);
        }
        give_back(&process, win, target, taken)
    }

    /// Ends the accesses to all ranks.
    safe fn MPI_Win_unlock_all(win: MPI_Win) on win {
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
        if taken {
            let window = process.window(win)?;
            for target in (0..window.size()).filter(|target| !window.is_far(*target)) {
                window.controls[target as usize].leave(LockKind::Shared);
                wake_waiters(&process, window, target);
            }
        }
        drop(process);
        far::unlock_all(win).and(watched)
    }

    /// Completes the transfers to one rank there.
    safe fn MPI_Win_flush(rank: c_int, win: MPI_Win) on win {
        flush(win, Some(rank), Done::There, "MPI_Win_flush")
    }

    /// Completes the transfers to all ranks there.
    safe fn MPI_Win_flush_all(win: MPI_Win) on win {
        flush(win, None, Done::There, "MPI_Win_flush_all")
    }

    /// Completes the transfers to one rank here.
    safe fn MPI_Win_flush_local(rank: c_int, win: MPI_Win) on win {
        flush(win, Some(rank), Done::Here, "MPI_Win_flush_local")
    }

    /// Completes the transfers to all ranks here.
    safe fn MPI_Win_flush_local_all(win: MPI_Win) on win {
        flush(win, None, Done::Here, "MPI_Win_flush_local_all")
    }

    /// Makes this rank's stores visible, and those of others to it.
    safe fn MPI_Win_sync(win: MPI_Win) on win {
        let process = enter();
        process.window(win)?;
        fence(Ordering::SeqCst);
        // Programs wait in loops over this call for what others store.
        drop(wait::look_again(process, |_| Waiting::on("MPI_Win_sync")));
        Ok(())
    }
}

/// Of mapped memory everything is done but that this rank's next loads may come before its last stores have left the processor. A program may wait for
/// others in a loop over this call, so what has arrived is taken now and then.
#[inline]
fn flush(win: MPI_Win, rank: Option<c_int>, done: Done, call: &'static str) -> Result {
    let mut process = enter();
    let is_oversubscribed = process.waiting.oversubscribed;
    let window = process.window_mut(win)?;
    match rank {
        Some(rank) => match window.target(rank)? {
            Some(target) => window.epoch.passive(target)?,
            None => return Ok(()),
        },
        None => window.epoch.passive_any()?,
    }
    window.order_stores();
    if window.far.is_some() {
        let far = rank.map(|rank| (rank as u32, window.is_far(rank as u32)));
        drop(process);
        let completed = match far {
            Some((rank, true)) => far::complete(win, call, &[rank], done),
            Some((_, false)) => {
                drop(wait::look_again(enter(), |_| Waiting::on(call)));
                Ok(())
            }
            None => far::complete_all(win, call, done),
        };
        let which = EndedAccesses { ends: AccessEnd::Flush, target: far.map(|(rank, _)| rank) };
        return completed.and(watch::end(win, call, which, done));
    }
    window.flushes = window.flushes.wrapping_add(1);
    if is_oversubscribed || window.flushes.is_multiple_of(FLUSHES_PER_LOOK) {
        drop(wait::look_again(process, |_| Waiting::on(call)));
    }
    Ok(())
}

/// The exposure epoch of this rank is over.
fn exposed(mut process: LockGuard, win: MPI_Win, call: &'static str) -> Result {
    let window = process.window_mut(win)?;
    window.epoch.exposed();
    if window.watch.is_none() {
        return Ok(());
    }
    drop(process);
    watch::settle(win, call, AccessEnd::Complete)
}

/// `MPI_Win_unlock` of a rank whose memory is not mapped here, or is watched.
#[cold]
fn unlock_apart(win: MPI_Win, target: u32, taken: Option<LockKind>) -> Result {
    const CALL: &str = "MPI_Win_unlock";
    // What comes after may not meet this rank's accesses any more.
    let watched =
        watch::end(win, CALL, EndedAccesses { ends: AccessEnd::Flush, target: Some(target) }, Done::There);
    let process = enter();
    if process.window(win)?.is_far(target) {
        drop(process);
        return far::unlock(win, CALL, &[(target, taken)]).and(watched);
    }
    give_back(&process, win, target, taken).and(watched)
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

fn check_assertion(assert: c_int, known: c_int) -> Result {
    if assert & !known == 0 {
        return Ok(());
    }
    Err(fail(
        MPI_ERR_ASSERT,
        format!("assert is {assert:#x}, of which {:#x} means nothing in this call", assert & !known),
    ))
}

fn expect_locks(window: &Window) -> Result {
    if window.info.get("no_locks") != Some("true") {
        return Ok(());
    }
    Err(fail(
        MPI_ERR_RMA_SYNC,
        format!("{} was made with the hint no_locks, and cannot be locked", window.named()),
    ))
}

/// Tells ranks that this one has posted or completed.
fn tell_all(process: &mut LockGuard, win: MPI_Win, ranks: &[u32], what: Sync) -> Result {
    let window = process.window(win)?;
    let (far, near): (Vec<u32>, Vec<u32>) = ranks.iter().partition(|rank| window.is_far(**rank));
    for &rank in &near {
        let control = &window.controls[rank as usize];
        let word = if what == Sync::Post { control.posts(window.me) } else { control.completions(window.me) };
        word.fetch_add(1, Ordering::SeqCst);
    }
    process.ring(window, near);
    if let Some(number) = window.far {
        let engine = process.engine()?;
        far.into_iter().for_each(|rank| engine.synchronize(number, rank, what));
    }
    Ok(())
}

/// The ranks in the window of a group's members.
fn ranks_of(process: &Process, group: MPI_Group, win: MPI_Win) -> Result<Vec<u32>> {
    let (group, window) = (process.group(group)?, process.window(win)?);
    let rank = |member| window.group.rank_of(member).ok_or_else(|| stranger(member, window));
    group.members().map(rank).collect()
}

#[cold]
fn stranger(member: Peer, window: &Window) -> Box<Error> {
    let text = format!(
        "the group has the process of rank {member} in the world, which is not in {}",
        window.named()
    );
    fail(MPI_ERR_GROUP, text)
}

/// This rank's own words.
struct Own {
    controls: Arc<[WindowControl]>,
    me: u32,
}

impl Own {
    fn of(window: &Window) -> Own {
        Own { controls: window.controls.clone(), me: window.me }
    }

    fn words(&self) -> &WindowControl {
        &self.controls[self.me as usize]
    }
}

/// An origin that has not completed.
fn late(words: &WindowControl, origins: &[u32]) -> Option<u32> {
    origins.iter().copied().find(|origin| words.completions(*origin).load(Ordering::SeqCst) == 0)
}

fn take_completions(words: &WindowControl, origins: &[u32]) {
    for &origin in origins {
        words.completions(origin).fetch_sub(1, Ordering::SeqCst);
    }
    fence(Ordering::SeqCst);
}

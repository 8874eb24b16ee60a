//! Synchronization of windows (MPI 5.0 section 12.5). Transfers by copies are done when their calls return, so to end an epoch is to
//! tell the others. Those by messages are waited for first.

use super::control::{Turn, WindowControl};
use super::epoch::check_assertion;
use super::far::{self, Done};
use super::lock::wait_on;
use super::object::Window;
use super::{own_memory, watch};
use crate::check::windows::{AccessEnd, EndedAccesses};
use crate::coll::barrier_on;
use crate::core::boundary::Out;
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::process::{LockGuard, Process, enter, enter_at_once};
use crate::core::wait::{self, Waiting};
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
        let (comm, is_watched, has_messages, has_accessed) = {
            let mut process = enter();
            let window = process.window_mut(win)?;
            let has_accessed = window.epoch.fence(assert & MPI_MODE_NOSUCCEED == 0)?;
            (window.comm, window.watch.is_some(), window.has_messages, has_accessed)
        };
        // What went wrong is told when nobody waits for this rank any more.
        let mut completed = Ok(());
        if has_messages {
            completed = far::complete_all(win, "MPI_Win_fence", Done::There);
        }
        if has_accessed && assert & MPI_MODE_NOPRECEDE != 0 {
            completed = completed.and(Err(fail(
                MPI_ERR_ASSERT,
                "assert has MPI_MODE_NOPRECEDE, but this rank has accessed the window since the last fence",
            )));
        }
        if is_watched {
            completed = completed.and(watch::fence(win, comm, assert));
        }
        // Whoever leaves the barrier sees what all had stored when they came: they release its flags, and it acquires them.
        barrier_on("MPI_Win_fence", comm)?;
        completed
    }

    /// Lets the ranks of a group access this rank's memory.
    safe fn MPI_Win_post(group: MPI_Group, assert: c_int, win: MPI_Win) on win {
        check_assertion(assert, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT)?;
        let mut process = enter();
        let origins = ranks_of(&process, group, win)?;
        let window = process.window_mut(win)?;
        window.epoch.may_post()?;
        let is_watched = window.watch.is_some();
        let mut asserted = Ok(());
        if is_watched {
            drop(process);
            asserted = own_memory::post(win, assert)?;
            process = enter();
        }
        // Whoever says so need not ask, and is not told, unless it is looked whether they say the same.
        if is_watched || assert & MPI_MODE_NOCHECK == 0 {
            tell_all(&mut process, win, &origins, Turn::Post)?;
        }
        process.window_mut(win)?.epoch.post(origins);
        asserted
    }

    /// Waits until the ranks of a group let this one access their memory.
    safe fn MPI_Win_start(group: MPI_Group, assert: c_int, win: MPI_Win) on win {
        check_assertion(assert, MPI_MODE_NOCHECK)?;
        let mut process = enter();
        let targets = ranks_of(&process, group, win)?;
        let window = process.window_mut(win)?;
        window.epoch.start(targets)?;
        if window.watch.is_some() {
            return start_watched(process, win, assert);
        }
        if assert & MPI_MODE_NOCHECK != 0 || take_all(window, window.epoch.started(), Turn::Post) {
            return Ok(());
        }
        await_posts(process, win)
    }

    /// Ends the accesses that [`MPI_Win_start`] has begun.
    safe fn MPI_Win_complete(win: MPI_Win) on win {
        let mut process = enter();
        let window = process.window_mut(win)?;
        let targets = window.epoch.complete()?;
        // A target may change what is read once it knows. A dynamic one may have refused something.
        let done = if window.is_dynamic() { Done::There } else { Done::Here };
        let mut completed = Ok(());
        if !window.are_all_copied() {
            drop(process);
            completed = far::complete(win, "MPI_Win_complete", &targets, done);
            let ended = EndedAccesses { ends: AccessEnd::Complete, target: None };
            completed = completed.and(watch::end(win, "MPI_Win_complete", ended, done));
            process = enter();
        }
        tell_all(&mut process, win, &targets, Turn::Completion)?;
        completed
    }

    /// Waits until all to whom [`MPI_Win_post`] gave access have completed.
    safe fn MPI_Win_wait(win: MPI_Win) on win {
        let mut process = enter();
        let window = process.window_mut(win)?;
        if take_all(window, window.epoch.posted()?, Turn::Completion) {
            return exposed(process, win, "MPI_Win_wait");
        }
        let (origins, control) = (window.epoch.posted()?.to_vec(), Own::of(window));
        let late = || late(control.words(), &origins, Turn::Completion);
        wait_on(process, win, "MPI_Win_wait", || late().is_none(), || {
            late().map_or_else(String::new, |rank| format!("for MPI_Win_complete of rank {rank}"))
        });
        origins.iter().for_each(|&origin| control.words().take(origin, Turn::Completion));
        exposed(enter(), win, "MPI_Win_wait")
    }

    /// Tests whether the exposure epoch of a window has ended.
    safe fn MPI_Win_test(win: MPI_Win, flag: Out<'_, c_int>) on win {
        let mut process = wait::look_again(enter(), |process| testing(process, win));
        let window = process.window_mut(win)?;
        let all = take_all(window, window.epoch.posted()?, Turn::Completion);
        flag.set(c_int::from(all));
        if all {
            return exposed(process, win, "MPI_Win_test");
        }
        Ok(())
    }
}

entry! {
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
        let mut process = enter();
        if let Some(watch) = &mut process.window_mut(win)?.watch {
            watch.before = None;
        }
        fence(Ordering::SeqCst);
        // Programs wait in loops over this call for what others store.
        drop(wait::look_again(process, |_| Waiting::on("MPI_Win_sync")));
        Ok(())
    }
}

/// Of mapped memory everything is done but that this rank's next loads may come before its last stores have left the processor. A
/// program may wait for others in a loop over this call, so what has arrived is taken now and then.
#[inline(always)]
fn flush(win: MPI_Win, rank: Option<c_int>, done: Done, call: &'static str) -> Result {
    if flush_short(win, rank) { Ok(()) } else { flush_longer(win, rank, done, call) }
}

/// The short way, where what is flushed is done when its call returns, and it is not time to look at what has arrived; whether it was
/// so. If not, nothing has happened.
#[inline(always)]
fn flush_short(win: MPI_Win, rank: Option<c_int>) -> bool {
    let Some(mut process) = enter_at_once() else { return false };
    let is_oversubscribed = process.waiting.oversubscribed;
    let Some(window) = process.usual_window(win) else { return false };
    let may_flush = match rank {
        Some(rank) => (rank as u32) < window.size() && window.epoch.is_locked(rank as u32),
        None => window.epoch.is_any_locked(),
    };
    if !may_flush || window.looks_next(is_oversubscribed) {
        return false;
    }
    let is_done = match rank {
        Some(rank) => window.is_copied(rank as u32),
        None => window.are_all_copied(),
    };
    if !is_done {
        return false;
    }
    window.count_flush();
    window.order_stores();
    true
}

#[inline(never)]
fn flush_longer(win: MPI_Win, rank: Option<c_int>, done: Done, call: &'static str) -> Result {
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
        window.count_flush();
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
    let looks = window.looks_next(is_oversubscribed);
    window.count_flush();
    if looks {
        drop(wait::look_again(process, |_| Waiting::on(call)));
    }
    Ok(())
}

/// Waits for the posts of all whom `MPI_Win_start` names.
fn await_posts(process: LockGuard, win: MPI_Win) -> Result {
    let window = process.window(win)?;
    let (targets, control) = (window.epoch.started().to_vec(), Own::of(window));
    let late = || late(control.words(), &targets, Turn::Post);
    wait_on(
        process,
        win,
        "MPI_Win_start",
        || late().is_none(),
        || late().map_or_else(String::new, |rank| format!("for MPI_Win_post of rank {rank}")),
    );
    targets.iter().for_each(|&target| control.words().take(target, Turn::Post));
    Ok(())
}

/// `MPI_Win_start` of a window that is watched: posts are waited for whatever is asserted, and compared. The epoch opens in any case.
#[cold]
fn start_watched(process: LockGuard, win: MPI_Win, assert: c_int) -> Result {
    let targets = process.window(win)?.epoch.started().to_vec();
    drop(process);
    let posted = own_memory::expect_posts(win, &targets, assert);
    await_posts(enter(), win)?;
    posted.and(own_memory::compare_posts(win, &targets, assert))
}

/// The exposure epoch of this rank is over.
fn exposed(mut process: LockGuard, win: MPI_Win, call: &'static str) -> Result {
    let window = process.window_mut(win)?;
    window.epoch.exposed();
    if window.watch.is_none() {
        return Ok(());
    }
    drop(process);
    watch::settle(win, call, AccessEnd::Complete, 0)
}

/// Tells ranks that this one has posted or completed.
fn tell_all(process: &mut LockGuard, win: MPI_Win, ranks: &[u32], what: Turn) -> Result {
    let window = process.window(win)?;
    for &rank in ranks.iter().filter(|rank| !window.is_far(**rank)) {
        window.controls[rank as usize].tell(window.me, what);
        process.ring(window, [rank]);
    }
    let Some(number) = window.far else { return Ok(()) };
    let far: Vec<u32> = ranks.iter().copied().filter(|rank| window.is_far(*rank)).collect();
    let (engine, what) = (process.engine()?, if what == Turn::Post { Sync::Post } else { Sync::Complete });
    far.into_iter().for_each(|rank| engine.synchronize(number, rank, what));
    Ok(())
}

/// Takes up what all of these ranks have told; whether they have.
#[inline]
fn take_all(window: &Window, ranks: &[u32], what: Turn) -> bool {
    let words = &window.controls[window.me as usize];
    let are_all_there = late(words, ranks, what).is_none();
    if are_all_there {
        ranks.iter().for_each(|&rank| words.take(rank, what));
    }
    are_all_there
}

/// The ranks in the window of a group's members.
fn ranks_of(process: &Process, group: MPI_Group, win: MPI_Win) -> Result<Vec<u32>> {
    let (group, window) = (process.group(group)?, process.window(win)?);
    let rank = |member| window.group.rank_of(member).ok_or_else(|| not_of_window(member, window));
    group.members().map(rank).collect()
}

#[cold]
fn not_of_window(member: Peer, window: &Window) -> Box<Error> {
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

/// For whom a program waits that tests whether an exposure epoch has ended.
#[cold]
fn testing(process: &Process, win: MPI_Win) -> Waiting {
    let waiting = Waiting::on("MPI_Win_test");
    let Ok(window) = process.window(win) else { return waiting };
    let origins = window.epoch.posted().unwrap_or_default();
    let detail = match late(Own::of(window).words(), origins, Turn::Completion) {
        Some(rank) => format!("on {}, for MPI_Win_complete of rank {rank}", window.described()),
        None => format!("on {}", window.described()),
    };
    Waiting { detail, ..waiting }
}

/// A rank that has not told yet.
fn late(words: &WindowControl, ranks: &[u32], what: Turn) -> Option<u32> {
    ranks.iter().copied().find(|rank| !words.is_told(*rank, what))
}

//! Synchronization of windows (MPI 5.0 section 12.5). Transfers are done when their calls return, so to end an epoch is to tell the
//! others.

use super::control::{Control, LockKind};
use super::object::Window;
use crate::coll::barrier_on;
use crate::core::arguments::out;
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::process::{Guard, Process, enter};
use crate::core::wait::{self, Event, Waiting};
use crate::limits::{FLUSHES_PER_LOOK, WINDOW_LOOK, WINDOW_LOOK_UNRUNG};
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;
use tern_abi::*;
use tern_transport::{Doorbell, Peer};

entry! {
    /// All ranks end their epochs and begin the next.
    fn MPI_Win_fence(assert: c_int, win: MPI_Win) on win {
        const ALL: c_int = MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
        check_assertion(assert, ALL)?;
        let comm = {
            let mut process = enter();
            let window = process.window_mut(win)?;
            window.epoch.fence(assert & MPI_MODE_NOSUCCEED == 0)?;
            window.comm
        };
        fence(Ordering::SeqCst);
        barrier_on("MPI_Win_fence", comm)?;
        fence(Ordering::SeqCst);
        Ok(())
    }

    /// Lets the ranks of a group access this rank's memory.
    fn MPI_Win_post(group: MPI_Group, assert: c_int, win: MPI_Win) on win {
        check_assertion(assert, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT)?;
        let mut process = enter();
        let origins = ranks_of(&process, group, win)?;
        let window = process.window_mut(win)?;
        window.epoch.post(origins.clone())?;
        fence(Ordering::SeqCst);
        // Whoever says so need not ask, and is not told.
        let told: Vec<u32> = if assert & MPI_MODE_NOCHECK == 0 { origins } else { Vec::new() };
        for &origin in &told {
            window.controls[origin as usize].posts(window.me).fetch_add(1, Ordering::SeqCst);
        }
        let peers: Vec<Peer> = told.iter().map(|&origin| window.peer(origin)).collect();
        process.ring(peers);
        Ok(())
    }

    /// Waits until the ranks of a group let this one access their memory.
    fn MPI_Win_start(group: MPI_Group, assert: c_int, win: MPI_Win) on win {
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
    fn MPI_Win_complete(win: MPI_Win) on win {
        let mut process = enter();
        let window = process.window_mut(win)?;
        let targets = window.epoch.complete()?;
        fence(Ordering::SeqCst);
        for &target in &targets {
            window.controls[target as usize].completions(window.me).fetch_add(1, Ordering::SeqCst);
        }
        let peers: Vec<Peer> = targets.iter().map(|&target| window.peer(target)).collect();
        process.ring(peers);
        Ok(())
    }

    /// Waits until all to whom [`MPI_Win_post`] gave access have completed.
    fn MPI_Win_wait(win: MPI_Win) on win {
        let mut process = enter();
        let window = process.window_mut(win)?;
        let origins = window.epoch.posted()?.to_vec();
        let control = Own::of(window);
        let late = || late(control.words(), &origins);
        wait_on(process, win, "MPI_Win_wait", || late().is_none(), || {
            late().map_or_else(String::new, |rank| format!("for MPI_Win_complete of rank {rank}"))
        });
        take_completions(control.words(), &origins);
        enter().window_mut(win)?.epoch.exposed();
        Ok(())
    }

    /// Whether they have.
    fn MPI_Win_test(win: MPI_Win, flag: *mut c_int) on win {
        let flag = out("flag", flag)?;
        let mut process = wait::look_again(enter(), |_| Waiting::on("MPI_Win_test"));
        let window = process.window_mut(win)?;
        let (origins, control) = (window.epoch.posted()?.to_vec(), Own::of(window));
        let all = late(control.words(), &origins).is_none();
        if all {
            take_completions(control.words(), &origins);
            window.epoch.exposed();
        }
        *flag = c_int::from(all);
        Ok(())
    }
}

entry! {
    /// Locks the memory of one rank.
    fn MPI_Win_lock(lock_type: c_int, rank: c_int, assert: c_int, win: MPI_Win) on win {
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
        if taken {
            take_lock(process, win, "MPI_Win_lock", target, kind);
        }
        Ok(())
    }

    /// Locks the memory of all ranks, together with others.
    fn MPI_Win_lock_all(assert: c_int, win: MPI_Win) on win {
        check_assertion(assert, MPI_MODE_NOCHECK)?;
        let mut process = enter();
        let window = process.window_mut(win)?;
        expect_locks(window)?;
        window.epoch.may_lock_all()?;
        let taken = assert & MPI_MODE_NOCHECK == 0;
        window.epoch.lock_all(taken);
        let size = if taken { window.size() } else { 0 };
        for target in 0..size {
            take_lock(process, win, "MPI_Win_lock_all", target, LockKind::Shared);
            process = enter();
        }
        Ok(())
    }

    /// Ends the accesses to one rank, and gives its lock back.
    fn MPI_Win_unlock(rank: c_int, win: MPI_Win) on win {
        let mut process = enter();
        let window = process.window_mut(win)?;
        let Some(target) = window.target(rank)? else { return Ok(()) };
        if let Some(kind) = window.epoch.unlock(target)? {
            window.controls[target as usize].leave(kind);
            wake_waiters(&mut process, win, target);
        }
        Ok(())
    }

    /// Ends the accesses to all ranks.
    fn MPI_Win_unlock_all(win: MPI_Win) on win {
        let mut process = enter();
        let window = process.window_mut(win)?;
        if window.epoch.unlock_all()? {
            for target in 0..window.size() {
                process.window(win)?.controls[target as usize].leave(LockKind::Shared);
                wake_waiters(&mut process, win, target);
            }
        }
        Ok(())
    }

    /// Completes the transfers to one rank there.
    fn MPI_Win_flush(rank: c_int, win: MPI_Win) on win {
        flush(win, Some(rank), "MPI_Win_flush")
    }

    /// Completes the transfers to all ranks there.
    fn MPI_Win_flush_all(win: MPI_Win) on win {
        flush(win, None, "MPI_Win_flush_all")
    }

    /// Completes the transfers to one rank here.
    fn MPI_Win_flush_local(rank: c_int, win: MPI_Win) on win {
        flush(win, Some(rank), "MPI_Win_flush_local")
    }

    /// Completes the transfers to all ranks here.
    fn MPI_Win_flush_local_all(win: MPI_Win) on win {
        flush(win, None, "MPI_Win_flush_local_all")
    }

    /// Makes this rank's stores visible, and those of others to it.
    fn MPI_Win_sync(win: MPI_Win) on win {
        let process = enter();
        process.window(win)?;
        fence(Ordering::SeqCst);
        // Programs wait in loops over this call for what others store.
        drop(wait::look_again(process, |_| Waiting::on("MPI_Win_sync")));
        Ok(())
    }
}

/// Everything is done but that this rank's next loads may come before its last stores have left the processor. A program may wait for
/// others in a loop over this call, so what has arrived is taken now and then.
#[inline]
fn flush(win: MPI_Win, rank: Option<c_int>, call: &'static str) -> Result {
    let mut process = enter();
    let is_crowded = process.crowded;
    let window = process.window_mut(win)?;
    match rank {
        Some(rank) => match window.target(rank)? {
            Some(target) => window.epoch.passive(target)?,
            None => return Ok(()),
        },
        None => window.epoch.passive_any()?,
    }
    window.order_stores();
    window.flushes = window.flushes.wrapping_add(1);
    if is_crowded || window.flushes.is_multiple_of(FLUSHES_PER_LOOK) {
        drop(wait::look_again(process, |_| Waiting::on(call)));
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
    controls: Arc<[Control]>,
    me: u32,
}

impl Own {
    fn of(window: &Window) -> Own {
        Own { controls: window.controls.clone(), me: window.me }
    }

    fn words(&self) -> &Control {
        &self.controls[self.me as usize]
    }
}

/// An origin that has not completed.
fn late(words: &Control, origins: &[u32]) -> Option<u32> {
    origins.iter().copied().find(|origin| words.completions(*origin).load(Ordering::SeqCst) == 0)
}

fn take_completions(words: &Control, origins: &[u32]) {
    for &origin in origins {
        words.completions(origin).fetch_sub(1, Ordering::SeqCst);
    }
    fence(Ordering::SeqCst);
}

/// Takes the lock of a target.
fn take_lock(mut process: Guard, win: MPI_Win, call: &'static str, target: u32, kind: LockKind) {
    let Ok(window) = process.window(win) else { return };
    let (control, me) = (&window.controls[target as usize], window.me);
    let ticket = control.ticket();
    if !control.enter(ticket, kind, me) {
        let controls = window.controls.clone();
        process = wait_for_lock(process, win, call, (&controls[target as usize], target), (ticket, kind));
    }
    // Another reader may wait behind this one.
    if kind == LockKind::Shared {
        wake_waiters(&mut process, win, target);
    }
}

#[cold]
fn wait_for_lock(
    process: Guard,
    win: MPI_Win,
    call: &'static str,
    (control, target): (&Control, u32),
    (ticket, kind): (u64, LockKind),
) -> Guard {
    let me = process.window(win).map_or(0, |window| window.me);
    control.waits(me, true);
    let missing = || match control.holder() {
        Some(holder) => format!("for the lock of rank {target}, which rank {holder} holds"),
        None => format!("for the lock of rank {target}"),
    };
    wait_on(process, win, call, || control.enter(ticket, kind, me), missing);
    control.waits(me, false);
    enter()
}

/// Wakes whoever waits for the lock of a target, which has just been entered or left.
fn wake_waiters(process: &mut Process, win: MPI_Win, target: u32) {
    let Ok(window) = process.window(win) else { return };
    let peers: Vec<Peer> = window.controls[target as usize].waiters().map(|rank| window.peer(rank)).collect();
    if !peers.is_empty() {
        process.ring(peers);
    }
}

/// Waits until a look at the shared words finds what it wants; `missing` says what that is.
fn wait_on(
    process: Guard,
    win: MPI_Win,
    call: &'static str,
    look: impl FnMut() -> bool,
    missing: impl Fn() -> String,
) {
    let is_rung = process.engine_ref().is_some_and(|engine| {
        let fabric = engine.transport_ref();
        !fabric.is_networked() || fabric.has_neighbours()
    });
    wait::until_event(process, OnWords { win, call, look, missing, is_rung });
}

/// What the words of a window bring about.
struct OnWords<L, M> {
    win: MPI_Win,
    call: &'static str,
    look: L,
    missing: M,
    /// The other ranks can wake this one.
    is_rung: bool,
}

impl<L: FnMut() -> bool, M: Fn() -> String> Event for OnWords<L, M> {
    type News = ();

    fn waiting(&self, process: &Process) -> Waiting {
        let window = process.window(self.win).map_or_else(|_| String::new(), Window::described);
        Waiting { detail: format!("on {window}, {}", (self.missing)()), ..Waiting::on(self.call) }
    }

    fn look(&mut self, _: &mut Process) -> Option<()> {
        (self.look)().then_some(())
    }

    fn sleep(&self, bell: &dyn Doorbell, armed: u32, timeout: Option<Duration>) {
        let look = if self.is_rung { WINDOW_LOOK } else { WINDOW_LOOK_UNRUNG };
        bell.sleep(armed, Some(timeout.map_or(look, |timeout| timeout.min(look))));
    }
}

//! Ranks that are reached by messages: what their windows need beside what `tern_engine::rma` does.

use super::control::LockKind;
use super::object::{FarLock, Window};
use super::refused::refused;
use crate::core::error::{Error, Result, fail};
use crate::core::process::{LockGuard, Process, enter};
use crate::core::wait::{self, Waiting};
use std::ffi::c_int;
use tern_abi::*;
use tern_engine::RequestId;
use tern_engine::rma::{AccessFault, CannotBegin, Sync, WindowId};
use tern_transport::TransferError;

/// What a call waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Done {
    /// The buffers of this rank may be used again.
    Here,
    /// The accesses are done at the target.
    There,
}

/// What the engine has begun, or why it could not.
pub(crate) fn begun(begun: std::result::Result<Option<RequestId>, CannotBegin>) -> Result<Option<RequestId>> {
    begun.map_err(|why| match why {
        CannotBegin::NoTarget => fail(MPI_ERR_WIN, "the window is not known to this rank's engine"),
        CannotBegin::LongDescription(bytes) => fail(
            MPI_ERR_TYPE,
            format!(
                "the target's datatype is so irregular that its description has {bytes} bytes, which is more than a message to another \
                 host may carry: use several transfers"
            ),
        ),
    })
}

/// Before an access: `MPI_Win_lock_all` takes the locks of ranks of other hosts when they are accessed first.
#[inline]
pub(crate) fn prepare(process: LockGuard, win: MPI_Win, rank: c_int) -> Result<LockGuard> {
    let window = process.window(win)?;
    let may_lack = window.far.is_some()
        && u32::try_from(rank).is_ok_and(|rank| {
            rank < window.size()
                && window.locks_by_message(rank)
                && window.far_locks.get(&rank) != Some(&FarLock::Held)
        });
    if !may_lack {
        return Ok(process);
    }
    match window.epoch.locks_each() {
        Some(kind) => lock_for_access(process, win, rank as u32, kind),
        None => Ok(process),
    }
}

/// Asks for the lock, unless another thread has done so: a target gives it once in an epoch. All of them wait until it is given.
#[cold]
fn lock_for_access(mut process: LockGuard, win: MPI_Win, rank: u32, kind: LockKind) -> Result<LockGuard> {
    const CALL: &str = "MPI_Win_lock_all";
    let is_asked = process.window_mut(win)?.far_locks.insert(rank, FarLock::Asked).is_some();
    let mut process = match is_asked {
        true => await_lock(process, win, CALL, rank)?,
        false => lock(process, win, CALL, rank, kind)?,
    };
    process.window_mut(win)?.far_locks.insert(rank, FarLock::Held);
    Ok(process)
}

/// Takes the lock of a rank.
pub(crate) fn lock(
    mut process: LockGuard,
    win: MPI_Win,
    call: &'static str,
    rank: u32,
    kind: LockKind,
) -> Result<LockGuard> {
    let Some(far) = process.window(win)?.far else { return Ok(process) };
    process.engine()?.synchronize(far, rank, Sync::Lock(kind));
    await_lock(process, win, call, rank)
}

/// Waits for the lock of a rank, which has been asked for.
fn await_lock(process: LockGuard, win: MPI_Win, call: &'static str, rank: u32) -> Result<LockGuard> {
    let Some(far) = process.window(win)?.far else { return Ok(process) };
    let newest = wait::until(
        process,
        |process| waiting(process, win, call, format!("for the lock of rank {rank}")),
        |process| process.engine_mut()?.granted(far, rank),
    );
    let mut process = enter();
    process.window_mut(win)?.know_epoch(newest);
    Ok(process)
}

/// Waits until accesses to ranks are done, here or there.
pub(crate) fn complete(win: MPI_Win, call: &'static str, ranks: &[u32], done: Done) -> Result {
    let mut process = enter();
    let Some(far) = process.window(win)?.far else { return Ok(()) };
    if done == Done::There {
        let engine = process.engine()?;
        ranks.iter().for_each(|&rank| engine.synchronize(far, rank, Sync::Flush));
    }
    settle(process, win, call, (far, ranks), done)
}

/// The same for all ranks that were accessed.
pub(crate) fn complete_all(win: MPI_Win, call: &'static str, done: Done) -> Result {
    let ranks = touched(win)?;
    if ranks.is_empty() { Ok(()) } else { complete(win, call, &ranks, done) }
}

fn touched(win: MPI_Win) -> Result<Vec<u32>> {
    let mut process = enter();
    match process.window(win)?.far {
        Some(far) => Ok(process.engine()?.touched(far)),
        None => Ok(Vec::new()),
    }
}

/// Waits for what was asked for, and tells what went wrong.
fn settle(
    process: LockGuard,
    win: MPI_Win,
    call: &'static str,
    (far, ranks): (WindowId, &[u32]),
    done: Done,
) -> Result {
    let mut left = 0;
    wait::until(
        process,
        |process| waiting(process, win, call, "for accesses to ranks of other hosts to end".into()),
        |process| {
            let engine = process.engine_mut()?;
            while left < ranks.len() && engine.is_flushed(far, ranks[left], done == Done::Here) {
                left += 1;
            }
            (left == ranks.len()).then_some(())
        },
    );
    let mut process = enter();
    let engine = process.engine()?;
    let faults: Vec<_> =
        ranks.iter().filter_map(|&rank| Some((rank, engine.take_fault(far, rank)?))).collect();
    match faults.first() {
        None => Ok(()),
        Some(&(rank, fault)) => Err(explain(process.window(win)?, rank, fault)),
    }
}

/// Gives the lock of ranks back, or only completes the accesses to those whose lock was not taken.
pub(crate) fn unlock(win: MPI_Win, call: &'static str, ranks: &[(u32, Option<LockKind>)]) -> Result {
    let all: Vec<u32> = ranks.iter().map(|&(rank, _)| rank).collect();
    // What is still read must not be changed by who has the lock next.
    let here = complete(win, call, &all, Done::Here);
    let mut process = enter();
    let Some(far) = process.window(win)?.far else { return Ok(()) };
    for &(rank, kind) in ranks {
        process.engine()?.synchronize(far, rank, kind.map_or(Sync::Flush, Sync::Unlock));
    }
    settle(process, win, call, (far, &all), Done::There).and(here)
}

/// The same at the end of an epoch of `MPI_Win_lock_all`.
pub(crate) fn unlock_all(win: MPI_Win, each: Option<LockKind>) -> Result {
    let ranks = touched(win)?;
    let locks = std::mem::take(&mut enter().window_mut(win)?.far_locks);
    let kinds: Vec<_> =
        ranks.into_iter().map(|rank| (rank, each.filter(|_| locks.contains_key(&rank)))).collect();
    if kinds.is_empty() { Ok(()) } else { unlock(win, "MPI_Win_unlock_all", &kinds) }
}

fn waiting(process: &Process, win: MPI_Win, call: &'static str, what: String) -> Waiting {
    let window = process.window(win).map_or_else(|_| String::new(), Window::described);
    Waiting { detail: format!("on {window}, {what}"), ..Waiting::on(call) }
}

/// Why accesses to a rank did not come to pass.
#[cold]
fn explain(window: &Window, rank: u32, fault: AccessFault) -> Box<Error> {
    let which = format!("an access to rank {rank} of {} since the last synchronization", window.named());
    match fault {
        AccessFault::Refused(refusal) => refused(&which, refusal),
        AccessFault::Buffer(TransferError::OwnMemory { base, len }) => fail(
            MPI_ERR_BUFFER,
            format!(
                "{which} failed: this process cannot use the memory of its buffer, {len} bytes at {base:#x}"
            ),
        ),
        AccessFault::Buffer(error) => fail(MPI_ERR_BUFFER, format!("{which} failed: {error:?}")),
    }
}

//! `TERN_CHECK=windows`: each access is compared with those that are open at its target, and is complete when its call returns. What the
//! rules are, [`crate::check::windows`] says.

use super::call::{Origin, RmaAccess, RmaCall};
use super::far::{self, Done};
use super::object::{MemoryRoute, Window};
use super::own_memory::OwnMemory;
use super::place::TargetElements;
use super::tables::RankTable;
use crate::check::windows::{
    AccessBuffer, AccessEnd, AccessedBytes, EndedAccesses, HeldAccess, WindowWatch, conflict, content,
    find_conflict, not_promised, stored,
};
use crate::coll::barrier_on;
use crate::core::arguments::buffer;
use crate::core::error::{Error, Result, fail};
use crate::core::process::{LockGuard, Process, enter};
use std::ffi::c_int;
use tern_abi::*;
use tern_engine::RequestId;
use tern_mem::{Basic, UserBuf};

/// Runs of bytes of an access that are compared; of one with more, only its buffers are watched.
const RUNS_MAX: usize = 512;

/// Makes an access, with what comes before it: the locks of ranks of other hosts, and the check if it is on.
#[inline]
pub(super) fn perform(
    process: LockGuard,
    win: MPI_Win,
    access: &RmaAccess,
    work: impl FnOnce(&mut LockGuard) -> Result<Option<RequestId>>,
) -> Result<Option<RequestId>> {
    let window = process.window(win)?;
    if window.far.is_none() {
        let mut process = process;
        return work(&mut process);
    }
    let is_watched = window.watch.is_some();
    let mut process = far::prepare(process, win, access.at.0)?;
    if !is_watched {
        return work(&mut process);
    }
    match plan(&process, win, access) {
        Ok(Some(plan)) => plan.perform(process, win, work),
        // The access itself says what is wrong.
        _ => work(&mut process),
    }
}

/// An access that is to be compared.
struct WatchedAccess {
    call: RmaCall,
    target: u32,
    ends: AccessEnd,
    /// It may change the target.
    writes: bool,
    /// What it uses at the target, and where each run begins in its packed bytes.
    runs: Vec<(AccessedBytes, usize)>,
    buffers: Vec<AccessBuffer>,
    /// Which of the buffers has the bytes that the target has afterwards.
    content: Option<UserBuf>,
}

/// What is to be compared, unless the access is to no rank, of no bytes, or outside an epoch.
fn plan(process: &Process, win: MPI_Win, access: &RmaAccess) -> Result<Option<WatchedAccess>> {
    let window = process.window(win)?;
    let Some(target) = window.target(access.at.0)? else { return Ok(None) };
    let here = |given: Option<Origin>| match given {
        Some(Origin(address, count, datatype)) => buffer(process, address, count, datatype).map(Some),
        None => Ok(None),
    };
    let (from, compared, into) = (here(access.from)?, here(access.compared)?, here(access.into)?);
    let place = TargetElements::of(process, win, target, access.at)?;
    if place.bytes() == 0 {
        return Ok(None);
    }
    let ends =
        window.epoch.ends(target).filter(|ends| *ends == AccessEnd::Flush || !access.call.is_request());
    let Some(ends) = ends else { return Ok(None) };
    let element = Basic::from_handle(access.at.3.0)
        .or_else(|| process.objects.types.committed(access.at.3).ok()?.uniform())
        .map_or(MPI_DATATYPE_NULL, |basic| MPI_Datatype(basic.handle_value().into()));
    let whole = AccessedBytes {
        call: access.call,
        op: access.op,
        element,
        ends,
        is_ordered: window.info.get("accumulate_ordering") != Some("none"),
        origin: window.me,
        low: 0,
        high: 0,
        content: None,
    };
    let content =
        if access.call.is_get() { into.clone() } else { from.clone().filter(|_| access.call.is_put()) };
    let access_buffer = |buffer: UserBuf, is_written| AccessBuffer { buffer, is_written, content: 0 };
    let reads = [from, compared].into_iter().flatten().map(|buffer| access_buffer(buffer, false));
    let buffers = reads.chain(into.map(|buffer| access_buffer(buffer, true))).collect();
    // Nobody may store meanwhile; in a dynamic window the memory may be gone, and what a flush ends only its origin knows.
    let content = content.filter(|_| ends != AccessEnd::Flush && !window.is_dynamic());
    let runs = runs(&place, base_of(window, target), whole);
    let writes = !whole.only_reads();
    Ok(Some(WatchedAccess { call: access.call, target, ends, writes, runs, buffers, content }))
}

/// What the addresses of a place at a target count from.
fn base_of(window: &Window, target: u32) -> u64 {
    match window.targets[target as usize].route {
        MemoryRoute::Direct(base) | MemoryRoute::Watched(base) => base.0.addr() as u64,
        MemoryRoute::Kernel { base, .. } => base,
        MemoryRoute::Message => 0,
    }
}

/// The runs of a place; none if they are too many.
fn runs(place: &TargetElements, base: u64, whole: AccessedBytes) -> Vec<(AccessedBytes, usize)> {
    let mut runs: Vec<(AccessedBytes, usize)> = Vec::new();
    let all = place.pieces(|piece, before| {
        let low = (piece.base as u64).wrapping_sub(base);
        let high = low.wrapping_add(piece.len as u64);
        let is_full = runs.len() == RUNS_MAX;
        match runs.last_mut() {
            Some((last, _)) if last.high == low => last.high = high,
            _ if is_full => return Err(()),
            _ => runs.push((AccessedBytes { low, high, ..whole }, before)),
        }
        Ok(())
    });
    if all.is_ok() { runs } else { Vec::new() }
}

impl WatchedAccess {
    fn perform(
        mut self,
        process: LockGuard,
        win: MPI_Win,
        work: impl FnOnce(&mut LockGuard) -> Result<Option<RequestId>>,
    ) -> Result<Option<RequestId>> {
        if let Some(complaint) = watch_of(&process, win)?.reuse(self.call, &self.buffers) {
            return Err(missing(complaint));
        }
        drop(process);
        let mut table = RankTable::open(win, self.target, self.call.name())?;
        if let Some(error) = self.meets(win, &table) {
            table.close(false)?;
            return Err(error);
        }
        let done = self.complete(win, work);
        // What a request ends at the target nobody tells.
        let enters = done.is_ok() && self.call != RmaCall::Rget && self.call != RmaCall::RgetAccumulate;
        if enters {
            self.note_contents();
            table.entries.extend(self.runs.iter().map(|(run, _)| *run));
        }
        // What the table does not have, or not as long as the target's epoch, cannot be told from stores.
        let is_apart = self.writes && (self.ends == AccessEnd::Flush || self.runs.is_empty());
        table.state.is_written |= is_apart;
        table.close(enters || is_apart)?;
        let id = done?;
        self.remember(win)?;
        Ok(id)
    }

    fn meets(&self, win: MPI_Win, table: &RankTable) -> Option<Box<Error>> {
        let named = || enter().window(win).map_or_else(|_| String::new(), Window::named);
        if self.writes
            && let Some(promise) = table.state.no_put(self.ends)
        {
            let me = enter().window(win).map_or(0, |window| window.me);
            let text = not_promised(self.call, me, self.target, promise, &named());
            return Some(fail(MPI_ERR_ASSERT, text));
        }
        let runs: Vec<AccessedBytes> = self.runs.iter().map(|(run, _)| *run).collect();
        let (open, run) = find_conflict(&table.entries, &runs)?;
        Some(fail(MPI_ERR_RMA_CONFLICT, conflict(open, run, self.target, &named())))
    }

    /// Makes the access, and waits until it is done at the target.
    fn complete(
        &self,
        win: MPI_Win,
        work: impl FnOnce(&mut LockGuard) -> Result<Option<RequestId>>,
    ) -> Result<Option<RequestId>> {
        let mut process = enter();
        let id = work(&mut process)?;
        let is_far = process.window(win)?.is_far(self.target);
        drop(process);
        if is_far {
            far::complete(win, self.call.name(), &[self.target], Done::There)?;
        }
        Ok(id)
    }

    fn note_contents(&mut self) {
        for used in &mut self.buffers {
            used.content = content(&used.buffer, 0, used.buffer.len());
        }
        let Some(buffer) = &self.content else { return };
        for (run, before) in &mut self.runs {
            run.content = Some(content(buffer, *before, (run.high - run.low) as usize));
        }
    }

    /// What a call that ends the access has to look at.
    fn remember(self, win: MPI_Win) -> Result {
        let mut process = enter();
        let Some(watch) = &mut process.window_mut(win)?.watch else { return Ok(()) };
        let enters = self.call != RmaCall::Rget && self.call != RmaCall::RgetAccumulate;
        if self.ends == AccessEnd::Flush && enters && !self.runs.is_empty() {
            watch.entered.insert(self.target);
        }
        // Of a request, its completion gives the buffers back.
        if !self.call.is_request() {
            let there =
                (self.runs.first().map_or(0, |run| run.0.low), self.runs.last().map_or(1, |run| run.0.high));
            let WatchedAccess { call, target, ends, buffers, .. } = self;
            watch.hold(HeldAccess { call, target, ends, there, buffers });
        }
        Ok(())
    }
}

fn watch_of(process: &Process, win: MPI_Win) -> Result<&WindowWatch> {
    Ok(process.window(win)?.watch.as_ref().expect("a window that is watched"))
}

#[cold]
fn missing(complaint: String) -> Box<Error> {
    fail(MPI_ERR_RMA_SYNC, complaint)
}

/// A call of this rank ends its accesses, if the window is watched.
pub(super) fn end(win: MPI_Win, call: &'static str, which: EndedAccesses, done: Done) -> Result {
    let mut process = enter();
    let Some(watch) = &mut process.window_mut(win)?.watch else { return Ok(()) };
    let complaint = watch.release(call, which);
    // Stores before this call are no matter of what comes later; a fence looks for them itself.
    if which.ends != AccessEnd::Fence {
        watch.before = None;
    }
    let mut targets = Vec::new();
    if which.ends == AccessEnd::Flush && done == Done::There {
        targets = match which.target {
            Some(target) => watch.entered.take(&target).into_iter().collect(),
            None => std::mem::take(&mut watch.entered).into_iter().collect(),
        };
    }
    let me = process.window(win)?.me;
    drop(process);
    for target in targets {
        let mut table = RankTable::open(win, target, call)?;
        table.entries.retain(|entry| entry.origin != me || entry.ends != AccessEnd::Flush);
        table.close(true)?;
    }
    complaint.map_or(Ok(()), |complaint| Err(missing(complaint)))
}

/// `MPI_Win_fence` ends accesses: when all ranks have come, each looks at its own memory. Nobody goes on before all have.
pub(super) fn fence(win: MPI_Win, comm: MPI_Comm, assert: c_int) -> Result {
    const CALL: &str = "MPI_Win_fence";
    let ended = end(win, CALL, EndedAccesses { ends: AccessEnd::Fence, target: None }, Done::There);
    barrier_on(CALL, comm)?;
    ended.and(settle(win, CALL, AccessEnd::Fence, assert))
}

/// Accesses to this rank's memory have ended: whether it has stayed what they made it, and what they read. What `assert` says of the
/// time before is looked at, and what it promises is written down.
pub(super) fn settle(win: MPI_Win, call: &'static str, ends: AccessEnd, assert: c_int) -> Result {
    let own = OwnMemory::of(&enter(), win)?;
    let mut table = RankTable::open(win, own.me, call)?;
    let changed = |entry: &&AccessedBytes| {
        let bytes = entry.high.saturating_sub(entry.low);
        // A table is written by others: what is not in the window is not looked at.
        let Some(there) = own.memory.contiguous(entry.low, bytes) else { return false };
        entry.ends == ends && entry.content.is_some_and(|before| content(&there, 0, bytes as usize) != before)
    };
    let complaint = table.entries.iter().find(changed).map(|entry| stored(entry, own.me, &own.named));
    let not_asserted = own.stored_though(win, &table, assert);
    table.entries.retain(|entry| entry.ends != ends);
    if ends == AccessEnd::Fence {
        table.state.fence_no_put = assert & MPI_MODE_NOPUT != 0;
    } else {
        (table.state.is_posted, table.state.post_no_put) = (false, false);
    }
    table.state.is_written = false;
    own.remember(win);
    table.close(true)?;
    complaint.map_or(not_asserted, |complaint| Err(fail(MPI_ERR_RMA_CONFLICT, complaint)))
}

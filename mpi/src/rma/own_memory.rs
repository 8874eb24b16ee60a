//! `TERN_CHECK=windows`: whether what a rank asserts of its own memory, in `MPI_Win_fence` and `MPI_Win_post`, is so, and whether
//! `MPI_Win_start` asserts the same as the posts that it meets (MPI 5.0 section 12.5.5).

use super::object::{Constants, Window};
use super::tables::RankTable;
use crate::check::windows::{ExposureState, find_store, not_posted, stored_though, unlike};
use crate::core::error::{Result, fail};
use crate::core::process::{Process, enter};
use std::ffi::c_int;
use tern_abi::*;
use tern_mem::ExposedMemory;

/// Windows up to this size are remembered, to see stores in them.
const REMEMBERED_MAX: u64 = 16 << 20;

/// This rank's memory in a window.
pub(super) struct OwnMemory {
    pub me: u32,
    pub memory: ExposedMemory,
    pub named: String,
    size: u64,
    /// Only this rank stores in it.
    is_own: bool,
}

impl OwnMemory {
    pub(super) fn of(process: &Process, win: MPI_Win) -> Result<OwnMemory> {
        let window = process.window(win)?;
        let Constants { base, size, flavor, .. } = *window.constants;
        // SAFETY: the window's memory, which the program keeps until it has freed the window.
        let memory = unsafe { ExposedMemory::new(base.0, size as usize) };
        let is_own = flavor != MPI_WIN_FLAVOR_SHARED && !window.is_dynamic();
        Ok(OwnMemory { me: window.me, memory, named: window.named(), size: size as u64, is_own })
    }

    /// The bytes now, unless stores cannot be seen in them.
    fn copy(&self) -> Option<Vec<u8>> {
        let is_seen = self.is_own && self.size <= REMEMBERED_MAX;
        let memory = self.memory.contiguous(0, self.size).filter(|_| is_seen)?;
        let mut bytes = vec![0; self.size as usize];
        memory.read(0, &mut bytes);
        Some(bytes)
    }

    /// This rank has synchronized: later stores are compared with what there is now.
    pub(super) fn remember(&self, win: MPI_Win) {
        let bytes = self.copy();
        if let Ok(Window { watch: Some(watch), .. }) = enter().window_mut(win) {
            watch.before = bytes;
        }
    }

    /// Refuses `MPI_MODE_NOSTORE` if bytes have changed that no access in this rank's table wrote.
    pub(super) fn stored_though(&self, win: MPI_Win, table: &RankTable, assert: c_int) -> Result {
        if assert & MPI_MODE_NOSTORE == 0 || table.state.is_written {
            return Ok(());
        }
        let before = enter().window_mut(win)?.watch.as_mut().and_then(|watch| watch.before.take());
        let store =
            before.zip(self.copy()).and_then(|(before, now)| find_store(&before, &now, &table.entries));
        match store {
            Some((low, high)) => Err(fail(MPI_ERR_ASSERT, stored_though(low, high, self.me, &self.named))),
            None => Ok(()),
        }
    }
}

/// `MPI_Win_post` comes: writes down what it promises. The answer tells what is wrong of it, which does not keep the epoch from opening.
pub(super) fn post(win: MPI_Win, assert: c_int) -> Result<Result> {
    let own = OwnMemory::of(&enter(), win)?;
    let mut table = RankTable::open(win, own.me, "MPI_Win_post")?;
    let told = own.stored_though(win, &table, assert);
    table.state.is_posted = true;
    table.state.post_no_put = assert & MPI_MODE_NOPUT != 0;
    table.state.is_unchecked = assert & MPI_MODE_NOCHECK != 0;
    table.close(true)?;
    Ok(told)
}

/// `MPI_Win_start` with `MPI_MODE_NOCHECK` comes, which may only be if all targets have posted.
pub(super) fn expect_posts(win: MPI_Win, targets: &[u32], assert: c_int) -> Result {
    // Its own epochs come between stores and whatever asserts that there were none.
    if let Some(watch) = &mut enter().window_mut(win)?.watch {
        watch.before = None;
    }
    let asked = if assert & MPI_MODE_NOCHECK != 0 { targets } else { &[] };
    for &target in asked {
        if !state_of(win, target)?.is_posted {
            return Err(fail(MPI_ERR_ASSERT, not_posted(target, &enter().window(win)?.named())));
        }
    }
    Ok(())
}

/// What a target of `MPI_Win_start` has promised.
fn state_of(win: MPI_Win, target: u32) -> Result<ExposureState> {
    let table = RankTable::open(win, target, "MPI_Win_start")?;
    let state = table.state;
    table.close(false)?;
    Ok(state)
}

/// `MPI_Win_start` has met the posts of all targets: they assert what it does.
pub(super) fn compare_posts(win: MPI_Win, targets: &[u32], assert: c_int) -> Result {
    for &target in targets {
        let is_unchecked = state_of(win, target)?.is_unchecked;
        if is_unchecked != (assert & MPI_MODE_NOCHECK != 0) {
            return Err(fail(MPI_ERR_ASSERT, unlike(target, is_unchecked, &enter().window(win)?.named())));
        }
    }
    Ok(())
}

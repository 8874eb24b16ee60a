//! Where open accesses are kept for `TERN_CHECK=windows`: a window of the library's own, in which each rank has a table that its origins
//! read and write under its lock. So ranks of this host and of others are one case.

use super::control::LockKind;
use super::far::{self, Done};
use super::lock::{take_lock, wake_waiters};
use super::object::MemoryRoute;
use crate::check::windows::{AccessedBytes, ExposureState};
use crate::core::error::Result;
use crate::core::process::{LockGuard, enter};
use tern_abi::MPI_Win;
use tern_engine::rma::Far;
use tern_mem::UserBuf;

/// Entries of a table; the oldest make room for others.
pub(super) const ENTRIES_MAX: usize = 4096;
/// How many entries there are, and what the rank has said.
const HEAD_BYTES: usize = 16;
/// Bytes of a table.
pub(super) const BYTES: u64 = (HEAD_BYTES + ENTRIES_MAX * AccessedBytes::BYTES) as u64;

/// The table of a rank, which this thread alone has until it calls [`RankTable::close`].
pub(super) struct RankTable {
    win: MPI_Win,
    tables: MPI_Win,
    rank: u32,
    call: &'static str,
    /// What is open.
    pub entries: Vec<AccessedBytes>,
    /// What the rank has said of its memory.
    pub state: ExposureState,
}

impl RankTable {
    /// That of a rank of window `win`.
    pub(super) fn open(win: MPI_Win, rank: u32, call: &'static str) -> Result<RankTable> {
        let tables = occupy(win)?;
        let mut table =
            RankTable { win, tables, rank, call, entries: Vec::new(), state: ExposureState::default() };
        if let Err(error) = table.lock() {
            table.vacate();
            return Err(error);
        }
        match table.read() {
            Ok(()) => Ok(table),
            Err(error) => table.close(false).and(Err(error)),
        }
    }

    fn lock(&self) -> Result {
        let process = enter();
        if process.window(self.tables)?.is_far(self.rank) {
            return far::lock(process, self.tables, self.call, self.rank, LockKind::Exclusive).map(drop);
        }
        take_lock(process, self.tables, self.call, self.rank, LockKind::Exclusive);
        Ok(())
    }

    fn read(&mut self) -> Result {
        let mut head = [0; HEAD_BYTES];
        self.copy_here(0, HEAD_BYTES)?.read(0, &mut head);
        let word = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("eight bytes"));
        self.state = ExposureState::of_word(word(8));
        let count = (word(0) as usize).min(ENTRIES_MAX);
        let body = self.copy_here(HEAD_BYTES, count * AccessedBytes::BYTES)?;
        let mut bytes = [0; AccessedBytes::BYTES];
        for at in 0..count {
            body.read(at * AccessedBytes::BYTES, &mut bytes);
            self.entries.extend(AccessedBytes::read(&bytes));
        }
        Ok(())
    }

    /// Gives the table back, with `entries` if they were `changed`.
    pub(super) fn close(mut self, changed: bool) -> Result {
        let written = if changed { self.write() } else { Ok(()) };
        let left = self.leave();
        self.vacate();
        written.and(left)
    }

    fn write(&mut self) -> Result {
        let spare = self.entries.len().saturating_sub(ENTRIES_MAX);
        self.state.is_written |= spare > 0;
        let entries = &self.entries[spare..];
        let bytes = UserBuf::owned(HEAD_BYTES + entries.len() * AccessedBytes::BYTES);
        bytes.write(0, &(entries.len() as u64).to_le_bytes());
        bytes.write(8, &self.state.word().to_le_bytes());
        for (at, entry) in entries.iter().enumerate() {
            bytes.write(HEAD_BYTES + at * AccessedBytes::BYTES, &entry.bytes());
        }
        let mut process = enter();
        match self.place(&process, 0, bytes.len())? {
            Ok(there) => UserBuf::copy(&bytes, 0, &there, 0, bytes.len()),
            Err(there) => _ = far::begun(process.engine()?.put_to(&there, &bytes, false))?,
        }
        Ok(())
    }

    fn leave(&self) -> Result {
        let process = enter();
        let window = process.window(self.tables)?;
        if window.is_far(self.rank) {
            drop(process);
            return far::unlock(self.tables, self.call, &[(self.rank, Some(LockKind::Exclusive))]);
        }
        window.controls[self.rank as usize].leave(LockKind::Exclusive);
        wake_waiters(&process, window, self.rank);
        Ok(())
    }

    /// Other threads of this process may have a table.
    fn vacate(&self) {
        if let Ok(window) = enter().window_mut(self.win) {
            window.watch.iter_mut().for_each(|watch| watch.is_busy = false);
        }
    }

    /// A copy of some bytes of the table.
    fn copy_here(&self, from: usize, bytes: usize) -> Result<UserBuf> {
        let copy = UserBuf::owned(bytes);
        if bytes == 0 {
            return Ok(copy);
        }
        let mut process = enter();
        match self.place(&process, from, bytes)? {
            Ok(there) => UserBuf::copy(&there, 0, &copy, 0, bytes),
            Err(there) => {
                far::begun(process.engine()?.get_from(&there, &copy, false))?;
                drop(process);
                far::complete(self.tables, self.call, &[self.rank], Done::Here)?;
            }
        }
        Ok(copy)
    }

    /// Some bytes of the table: mapped, or by messages.
    fn place(
        &self,
        process: &LockGuard,
        from: usize,
        bytes: usize,
    ) -> Result<std::result::Result<UserBuf, Far>> {
        let window = process.window(self.tables)?;
        Ok(match (window.targets[self.rank as usize].route, window.far) {
            (MemoryRoute::Direct(base), _) => {
                // SAFETY: `from` and `bytes` are within the table, which is mapped as long as its window lives; its lock keeps others away.
                Ok(unsafe { UserBuf::contiguous(base.0.wrapping_add(from), bytes) })
            }
            (_, Some(window)) => Err(Far { window, rank: self.rank, at: from as i64, shape: None }),
            (_, None) => unreachable!("a window that is not mapped is reached by messages"),
        })
    }
}

/// Waits until no other thread of this process has a table of the window, and answers which window the tables are.
fn occupy(win: MPI_Win) -> Result<MPI_Win> {
    loop {
        let mut process = enter();
        let watch = process.window_mut(win)?.watch.as_mut().expect("a window that is watched");
        if !std::mem::replace(&mut watch.is_busy, true) {
            return Ok(watch.tables);
        }
        drop(process);
        std::thread::yield_now();
    }
}

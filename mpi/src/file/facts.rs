//! What stays as it was when a file was opened, and what all its ranks do together.

use super::pointer_place::SharedPointer;
use super::together::Together;
use crate::comm::object::shown;
use crate::core::error::{Result, fail};
use std::ffi::c_int;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tern_abi::*;
use tern_engine::Group;
use tern_io::{FileSystem, Plan, PosixFile, Storage};
use tern_job::status_page::count_of_ranks;

/// What does not change while a file is open. Accesses that go on have it.
pub(crate) struct FileFacts {
    /// Path as the program gave it, without a prefix that names a file system.
    pub path: String,
    /// The same from the root: the program may go to another folder.
    pub place: PathBuf,
    /// Access mode.
    pub amode: c_int,
    /// This process's rank.
    pub me: u32,
    /// Its ranks.
    pub group: Group,
    /// Context of messages among them.
    pub context: u64,
    /// The host of each.
    pub hosts: Vec<u32>,
    /// The system's file.
    pub storage: Arc<PosixFile>,
    /// What it lies on.
    pub filesystem: FileSystem,
    /// Bytes that the file system likes to have together.
    pub block_bytes: u64,
    /// The pointer that all ranks share.
    pub shared: SharedPointer,
    /// What collective accesses go by.
    pub together: Together,
    /// Non-blocking accesses under way.
    pub pending: AtomicUsize,
    /// Writes of this rank since the last sync.
    pub unsynced: AtomicUsize,
    /// The program syncs soon after it has written.
    pub syncs_soon: AtomicBool,
}

/// A program that syncs after so few writes waits for the medium each time.
const WRITES_PER_SYNC_MAX: usize = 4;
/// The medium is not told of less than this.
const WRITEBACK_BYTES_MIN: u64 = 256 << 10;

impl FileFacts {
    /// Ranks of the file.
    pub(crate) fn size(&self) -> u32 {
        self.group.size()
    }

    /// Name and size, for a message to a person.
    pub(crate) fn described(&self) -> String {
        let name = shown(&self.path, "");
        format!("file '{name}' ({}, this is {})", count_of_ranks(self.size()), self.me)
    }

    /// The number of the domain that this rank aggregates, if it does.
    pub(crate) fn domain_of(&self, plan: &Plan) -> Option<usize> {
        plan.domains.iter().position(|(rank, _)| *rank == self.me)
    }

    /// Whether all ranks run on one host.
    pub(crate) fn is_on_one_host(&self) -> bool {
        self.hosts.iter().all(|host| *host == self.hosts[0])
    }

    /// Whether all ranks see one page cache, which alone decides what is in the file.
    pub(crate) fn has_one_page_cache(&self) -> bool {
        self.is_on_one_host() && matches!(self.filesystem, FileSystem::Local | FileSystem::Tmpfs)
    }

    /// This rank has written within a range. Where the program will sync soon, the medium begins now.
    pub(crate) fn written(&self, range: &Range<u64>) {
        // One more or less does not matter, so no locked instruction.
        let writes = self.unsynced.load(Ordering::Relaxed) + 1;
        self.unsynced.store(writes, Ordering::Relaxed);
        self.begin_writeback(range);
        if writes == WRITES_PER_SYNC_MAX {
            self.syncs_soon.store(false, Ordering::Relaxed);
        }
    }

    /// The medium begins with a range that was written, where the program will sync soon.
    pub(crate) fn begin_writeback(&self, range: &Range<u64>) {
        let is_long = range.end.saturating_sub(range.start) >= WRITEBACK_BYTES_MIN;
        if is_long && self.filesystem == FileSystem::Local && self.syncs_soon.load(Ordering::Relaxed) {
            self.storage.begin_writeback(range.start, range.end);
        }
    }

    /// All that was written is being synced.
    pub(crate) fn synced(&self) {
        let writes = self.unsynced.swap(0, Ordering::Relaxed);
        if writes > 0 {
            self.syncs_soon.store(writes <= WRITES_PER_SYNC_MAX, Ordering::Relaxed);
        }
    }

    /// Whether this rank syncs for all of its host.
    pub(crate) fn syncs_for_host(&self) -> bool {
        let mine = self.hosts[self.me as usize];
        !matches!(self.filesystem, FileSystem::Local | FileSystem::Tmpfs)
            || self.hosts.iter().position(|host| *host == mine) == Some(self.me as usize)
    }

    /// Whether it was opened with one of these modes.
    pub(crate) fn may(&self, modes: c_int) -> bool {
        self.amode & modes != 0
    }

    /// Whether it was opened for writing.
    pub(crate) fn writes(&self) -> bool {
        self.may(MPI_MODE_WRONLY | MPI_MODE_RDWR)
    }

    /// Whether the mode allows to write or read, and at a place if it has one.
    pub(crate) fn allows(&self, writes: bool, has_place: bool) -> bool {
        let refused = if writes { MPI_MODE_RDONLY } else { MPI_MODE_WRONLY };
        !(self.may(refused) || has_place && self.may(MPI_MODE_SEQUENTIAL))
    }

    /// Refuses what the mode does not allow.
    pub(crate) fn expect(&self, writes: bool) -> Result {
        if writes && !self.writes() {
            return Err(fail(
                MPI_ERR_READ_ONLY,
                "the file was opened with MPI_MODE_RDONLY: it cannot be written",
            ));
        }
        if !writes && self.may(MPI_MODE_WRONLY) {
            return Err(fail(MPI_ERR_ACCESS, "the file was opened with MPI_MODE_WRONLY: it cannot be read"));
        }
        Ok(())
    }

    /// Refuses a place in a file that was opened for sequential access.
    pub(crate) fn expect_places(&self) -> Result {
        if self.may(MPI_MODE_SEQUENTIAL) {
            return Err(fail(
                MPI_ERR_UNSUPPORTED_OPERATION,
                "the file was opened with MPI_MODE_SEQUENTIAL: only accesses by the shared pointer are possible",
            ));
        }
        Ok(())
    }

    /// Bytes of the file.
    pub(crate) fn bytes(&self) -> Result<u64> {
        let found = self.storage.0.metadata();
        found.map(|found| found.len()).map_err(|error| super::fault::of_system(&error, &self.path))
    }

    /// No non-blocking access is under way.
    pub(crate) fn expect_idle(&self) -> Result {
        match self.pending.load(Ordering::Acquire) {
            0 => Ok(()),
            n => Err(fail(
                MPI_ERR_OTHER,
                format!("{n} non-blocking accesses are under way: complete their requests first"),
            )),
        }
    }
}

//! The first page of the job's memory file: what all ranks of a host have in common before, and beside, the segment.

use std::io;
use std::mem::offset_of;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64};

use super::segment::{AttachError, map, within_file_limit};
use crate::limits::PAGE_BYTES;
use tern_transport::fingerprint::FINGERPRINT_SETTINGS_MAX;

/// What lies where. Any bytes are one.
#[repr(C)]
pub(super) struct FirstPage {
    /// Fingerprint of the segment's layout, see `segment.rs`.
    layout: AtomicU64,
    /// Marks of the settings, see `fingerprint.rs`.
    pub(super) marks: OnOwnLine<[AtomicU32; FINGERPRINT_SETTINGS_MAX]>,
    /// See `host_answer.rs`.
    pub(super) host_answer: OnOwnLine<AtomicU32>,
    /// Bytes of the file that are reserved for windows, see `memory.rs`.
    reserved: OnOwnLine<AtomicU64>,
}

/// What begins a line of the cache.
#[repr(C, align(64))]
pub(super) struct OnOwnLine<T>(pub(super) T);

/// For those that have the page mapped with more.
pub(super) const LAYOUT_AT: usize = offset_of!(FirstPage, layout);
pub(super) const RESERVED_AT: usize = offset_of!(FirstPage, reserved);

const _: () = assert!(size_of::<FirstPage>() <= PAGE_BYTES);

/// What `look` makes of the page, which is mapped meanwhile.
pub(super) fn with_first_page<T>(fd: &OwnedFd, look: impl FnOnce(&FirstPage) -> T) -> Result<T, AttachError> {
    allocate_page(fd).map_err(|error| AttachError::Size { bytes: PAGE_BYTES, error })?;
    let base = map(fd, PAGE_BYTES).map_err(|error| AttachError::Map { bytes: PAGE_BYTES, error })?;
    // SAFETY: the page was just mapped, is as long as that, and is unmapped below.
    let seen = look(unsafe { base.cast().as_ref() });
    // SAFETY: exactly what was mapped, and nobody uses it any more.
    unsafe { libc::munmap(base.as_ptr().cast(), PAGE_BYTES) };
    Ok(seen)
}

/// Unlike `ftruncate` this never makes a file shorter that another rank has just made longer.
fn allocate_page(fd: &OwnedFd) -> io::Result<()> {
    within_file_limit(PAGE_BYTES)?;
    // SAFETY: a plain system call on a descriptor that is open.
    let answer = unsafe { libc::fallocate(fd.as_raw_fd(), 0, 0, PAGE_BYTES as libc::off_t) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

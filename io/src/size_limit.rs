//! The limit on file sizes of this process (`ulimit -f`). Beyond it the system would not only refuse a write but send a signal that ends
//! the process.
//!
//! The limit is asked for when a file is opened, and when a write goes beyond the last answer. So writes cost no second system call. A
//! program that lowers it later gets the error alone: see [`survive`].

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the system has said last; nothing is allowed before it was asked.
static KNOWN: AtomicU64 = AtomicU64::new(0);

/// Asks the system. Bytes that a file may have.
pub fn ask() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure lives through the call.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) } == 0;
    let bytes = if known && limit.rlim_cur != libc::RLIM_INFINITY { limit.rlim_cur } else { u64::MAX };
    KNOWN.store(bytes, Ordering::Relaxed);
    bytes
}

/// From now on the system only refuses a write beyond the limit, unless the program has said what is to happen at the signal.
pub fn survive() {
    // SAFETY: all zeros are a value of this structure; it lives through the call.
    let is_default = unsafe {
        let mut found: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGXFSZ, ptr::null(), &raw mut found) == 0
            && found.sa_sigaction == libc::SIG_DFL
    };
    if is_default {
        // SAFETY: no function is called.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    }
}

/// Bytes that a write of `len` bytes to `offset` may have.
#[inline]
pub fn allowed(offset: u64, len: usize) -> io::Result<usize> {
    if offset.saturating_add(len as u64) <= KNOWN.load(Ordering::Relaxed) {
        return Ok(len);
    }
    let room = ask().saturating_sub(offset);
    if room == 0 && len > 0 {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    }
    Ok(len.min(usize::try_from(room).unwrap_or(usize::MAX)))
}

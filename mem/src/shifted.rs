//! Copies by the kernel to a place that lies a few bytes farther in its page than what is copied.
//!
//! The kernel copies by one instruction (`rep movsb`). On some processors that takes several times as long where the target lies 1 to 31
//! bytes farther in its page than the source in its own (docs/performance/constants.md). A large block of `malloc` begins 16 bytes into
//! a page; the pages of files begin with one, and what `mmap` gives. So that is a usual case. A way by a block that lies in its page as
//! the other side does is faster then.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::limits::{PAGE_BYTES, SHIFTED_BYTES_MIN};

/// Whether the kernel copies `len` bytes from one address to the other so, on such a processor. The place in a file counts as an address.
/// The first who asks about such a copy waits for some 50 µs, in which it is measured.
#[inline]
pub fn is_slow_shift(from: usize, to: usize, len: usize) -> bool {
    len >= SHIFTED_BYTES_MIN && (1..32).contains(&(to.wrapping_sub(from) % PAGE_BYTES)) && is_slow_here()
}

#[cold]
fn is_slow_here() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    // Miri has no kernel to ask.
    if cfg!(miri) {
        return false;
    }
    *ANSWER.get_or_init(|| match TriedPages::new().map(|tried| (tried.time(AHEAD_BYTES), tried.time(0))) {
        Some((Some(ahead), Some(level))) => ahead > 2 * level,
        _ => false,
    })
}

/// Where large blocks of `malloc` begin in their page.
const AHEAD_BYTES: usize = 16;
const TRIED_BYTES: usize = 4 * PAGE_BYTES;
const PAGES_BYTES: usize = TRIED_BYTES + PAGE_BYTES;
const TRIALS: usize = 5;

#[repr(align(4096))]
struct Pages([u8; PAGES_BYTES]);

/// Some pages of a file without a name, which the kernel copies from.
struct TriedPages(libc::c_int);

impl TriedPages {
    /// `None` where the system gives no such file.
    fn new() -> Option<TriedPages> {
        // SAFETY: a plain system call with a name that ends with a zero.
        let fd = unsafe { libc::memfd_create(c"tern-tried".as_ptr(), libc::MFD_CLOEXEC) };
        let tried = (fd >= 0).then_some(TriedPages(fd))?;
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the limit is stored during the call. Beyond it the kernel would not refuse to write but kill (SIGXFSZ).
        let known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } == 0;
        if !known || limit.rlim_cur < TRIED_BYTES as libc::rlim_t {
            return None;
        }
        let bytes = [1u8; TRIED_BYTES];
        // SAFETY: the bytes live through the call.
        let written = unsafe { libc::pwrite(tried.0, bytes.as_ptr().cast(), bytes.len(), 0) };
        (written == TRIED_BYTES as isize).then_some(tried)
    }

    /// How long the kernel copies them to where they lie that much farther, at best. `None` if it does not.
    fn time(&self, ahead: usize) -> Option<Duration> {
        let mut to = Pages([0; PAGES_BYTES]);
        let here = black_box(to.0.as_mut_ptr()).wrapping_add(ahead);
        let trial = |_| {
            let start = Instant::now();
            // SAFETY: behind `ahead` bytes there are as many as are read, or more.
            let read = unsafe { libc::pread(self.0, here.cast(), TRIED_BYTES, 0) };
            (read == TRIED_BYTES as isize).then(|| start.elapsed())
        };
        (0..TRIALS).map(trial).min().flatten()
    }
}

impl Drop for TriedPages {
    fn drop(&mut self) {
        // SAFETY: this descriptor is its own.
        unsafe { libc::close(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_a_little_ahead_is_suspect() {
        let (page, long) = (1 << 20, SHIFTED_BYTES_MIN);
        for (to, from) in [(page, page), (page, page + 8), (page + 32, page), (page + 64, page)] {
            assert!(!is_slow_shift(from, to, long));
        }
        assert!(!is_slow_shift(page, page + 8, long - 1));
        assert_eq!(is_slow_shift(page, page + 8, long), is_slow_here());
        assert_eq!(is_slow_shift(page + PAGE_BYTES - 8, page, long), is_slow_here());
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no memfd_create")]
    fn the_kernel_can_be_timed() {
        let tried = TriedPages::new().expect("a file without a name");
        assert!(tried.time(0).is_some() && tried.time(AHEAD_BYTES).is_some());
    }
}

//! The system calls of sleeping and waking.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

/// Sleeps while `word` is `expected`, until woken, interrupted or the time is over. The word may be shared
/// between processes.
pub(crate) fn wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) {
    let time = timeout.map(timespec);
    let time_ptr = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the word and the time live during the call; the kernel writes to neither.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, expected, time_ptr) };
}

/// Wakes all who sleep on `word`.
pub(crate) fn wake_all(word: &AtomicU32) {
    // SAFETY: the kernel only looks the address up.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

fn timespec(time: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}

/// One word of a `futex_waitv`, linux/futex.h.
#[repr(C)]
struct Waiter {
    value: u64,
    address: u64,
    flags: u32,
    reserved: u32,
}

const FUTEX2_SIZE_U32: u32 = 2;

/// Whether threads can sleep on two words at once: from Linux 5.16 on, unless a filter refuses the call.
pub(crate) fn has_wait_either() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        // SAFETY: no waiters are given, which the kernel refuses where it knows the call.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_futex_waitv,
                std::ptr::null::<Waiter>(),
                0,
                0,
                std::ptr::null::<libc::timespec>(),
                0,
            )
        };
        answer >= 0 || last_errno() == libc::EINVAL
    })
}

/// Sleeps while both words have their expected values, until either is woken or the time is over. Only where [`has_wait_either`].
pub(crate) fn wait_either(words: [(&AtomicU32, u32); 2], timeout: Option<Duration>) {
    let waiters = words.map(|(word, expected)| Waiter {
        value: expected.into(),
        address: word.as_ptr().addr() as u64,
        flags: FUTEX2_SIZE_U32,
        reserved: 0,
    });
    let deadline = timeout.map(|time| timespec(monotonic_now().saturating_add(time)));
    let deadline_ptr = deadline.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the waiters, their words and the deadline live during the call; the kernel writes to none.
    unsafe {
        libc::syscall(libc::SYS_futex_waitv, waiters.as_ptr(), 2, 0, deadline_ptr, libc::CLOCK_MONOTONIC)
    };
}

fn monotonic_now() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the one struct.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn last_errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// The half of a count that changes, for the kernel to compare and sleep on.
pub(crate) fn changing_half(count: &AtomicU64) -> &AtomicU32 {
    let half = if cfg!(target_endian = "little") { 0 } else { 1 };
    // SAFETY: within the count, and aligned. Only its address is used: the kernel reads it.
    unsafe { &*count.as_ptr().cast::<AtomicU32>().add(half) }
}

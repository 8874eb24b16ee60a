//! Signals, and the threads that the library starts.

use std::marker::PhantomData;

/// Blocks all signals in the calling thread, for as long as it lives: the program's handlers run on the program's threads.
pub fn block() {
    // SAFETY: the set is filled before it is used, and only this thread's mask changes.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
    }
}

/// Signals that a fault of this thread's raises at once: they cannot wait.
const OF_FAULTS: [i32; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];

/// While this exists, no handler interrupts the thread that has made it, and drops it.
pub struct Held(libc::sigset_t, PhantomData<*mut ()>);

impl Held {
    /// Handlers of this thread wait from now on.
    pub fn new() -> Held {
        // SAFETY: both sets are filled before they are used, and only this thread's mask changes.
        unsafe {
            let mut held: libc::sigset_t = std::mem::zeroed();
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&mut held);
            OF_FAULTS.iter().for_each(|signal| _ = libc::sigdelset(&mut held, *signal));
            libc::pthread_sigmask(libc::SIG_BLOCK, &held, &mut before);
            Held(before, PhantomData)
        }
    }
}

impl Default for Held {
    fn default() -> Held {
        Held::new()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: the mask that this thread had before.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut());
        }
    }
}

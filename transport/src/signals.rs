//! Signals, and the threads that the library starts.

/// Blocks all signals in the calling thread, for as long as it lives: the program's handlers run on the program's threads.
pub fn block() {
    // SAFETY: the set is filled before it is used, and only this thread's mask changes.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
    }
}

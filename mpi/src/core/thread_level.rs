//! The level of thread support that MPI was started with, and by which thread (MPI 5.0 section 11.6).

use std::cell::Cell;
use std::sync::atomic::{AtomicI32, Ordering};

use tern_abi::MPI_THREAD_SINGLE;

static PROVIDED: AtomicI32 = AtomicI32::new(MPI_THREAD_SINGLE);

thread_local! {
    static IS_MAIN: Cell<bool> = const { Cell::new(false) };
}

/// This thread has started MPI, which grants `level`.
pub(crate) fn grant(level: i32) {
    PROVIDED.store(level, Ordering::Relaxed);
    IS_MAIN.set(true);
}

/// Whether this is the thread that called `MPI_Init`.
pub(crate) fn is_main() -> bool {
    IS_MAIN.get()
}

/// The level that was granted: one of the `MPI_THREAD_` constants.
pub(crate) fn provided() -> i32 {
    PROVIDED.load(Ordering::Relaxed)
}

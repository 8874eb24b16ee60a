//! Threads that the library starts for itself.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::signals;

static SERVING: AtomicUsize = AtomicUsize::new(0);

/// A thread of the library's, from before its start to its last step.
#[derive(Debug)]
pub struct Serving(());

impl Serving {
    /// One is about to be started. It takes this along.
    #[must_use]
    pub fn start() -> Serving {
        SERVING.fetch_add(1, Ordering::SeqCst);
        Serving(())
    }

    /// Its first step: it takes none of the program's signals.
    pub fn begin(&self) {
        signals::block();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        SERVING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// How many there are now.
pub fn serving() -> usize {
    SERVING.load(Ordering::SeqCst)
}

//! Where the pointer that all ranks of a file share is.

use std::sync::atomic::{AtomicU64, Ordering};
use tern_shm::{Reservation, SharedRange};

/// Where the pointer is.
pub(crate) enum SharedPointer {
    /// In memory of the job's; rank 0 gives it back in the end.
    Word(SharedRange, #[expect(dead_code, reason = "held, not read")] Option<Reservation>),
    /// At rank 0.
    AtFirst(AtomicU64),
}

impl SharedPointer {
    /// The pointer at rank 0.
    pub(crate) fn at_first(value: u64) -> SharedPointer {
        SharedPointer::AtFirst(AtomicU64::new(value))
    }

    pub(super) fn word(&self) -> &AtomicU64 {
        match self {
            SharedPointer::Word(range, _) => range.word(0),
            SharedPointer::AtFirst(word) => word,
        }
    }

    /// Sets it; for rank 0, while no other rank uses it.
    pub(crate) fn set(&self, value: u64) {
        self.word().store(value, Ordering::SeqCst);
    }

    /// Where it is now, if all ranks have it in their memory.
    pub(crate) fn peek(&self) -> Option<u64> {
        matches!(self, SharedPointer::Word(..)).then(|| self.word().load(Ordering::Relaxed))
    }

    /// Moves it on, where this rank has it. Where it was.
    pub(crate) fn advance_here(&self, more: u64) -> u64 {
        self.word().fetch_add(more, Ordering::SeqCst)
    }
}

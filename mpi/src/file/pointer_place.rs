//! Where the pointer that all ranks of a file share is.

use std::sync::atomic::{AtomicU64, Ordering};
use tern_abi::MPI_Offset;
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

    /// Moves it on, where this rank has it, unless no offset is so large. Where it was.
    pub(crate) fn advance_here(&self, more: u64) -> u64 {
        let moved = |at: u64| at.checked_add(more).filter(|to| *to <= MPI_Offset::MAX as u64);
        let was = self.word().fetch_update(Ordering::SeqCst, Ordering::SeqCst, moved);
        was.unwrap_or_else(|stays| stays)
    }

    /// Moves it back from behind an access that was refused, if this rank has it and nobody has moved it since.
    pub(crate) fn take_back(&self, position: u64, elements: u64) {
        let _ = self.word().compare_exchange(
            position.saturating_add(elements),
            position,
            Ordering::SeqCst,
            Ordering::Relaxed,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_where_no_offset_is_so_large() {
        let pointer = SharedPointer::at_first(MPI_Offset::MAX as u64 - 4);
        assert_eq!(pointer.advance_here(8), MPI_Offset::MAX as u64 - 4);
        assert_eq!(pointer.advance_here(u64::MAX), MPI_Offset::MAX as u64 - 4);
        assert_eq!(pointer.advance_here(4), MPI_Offset::MAX as u64 - 4);
        assert_eq!(pointer.advance_here(0), MPI_Offset::MAX as u64);
    }

    #[test]
    fn what_was_refused_is_taken_back_once() {
        let pointer = SharedPointer::at_first(10);
        let was = pointer.advance_here(5);
        pointer.take_back(was, 5);
        assert_eq!(pointer.advance_here(7), 10);
        pointer.take_back(was, 5);
        assert_eq!(pointer.advance_here(0), 17, "another one has moved it");
    }
}

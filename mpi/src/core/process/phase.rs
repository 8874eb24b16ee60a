//! How far this process is (MPI 5.0 section 11.2).

use std::sync::atomic::{AtomicU8, Ordering};

/// How far this process is (MPI 5.0 section 11.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Phase {
    /// `MPI_Init` has not been called.
    Before,
    /// Initialized.
    Running,
    /// `MPI_Finalize` has been called.
    Finalized,
    /// This is a child of the process that called `MPI_Init`, see [`crate::core::forked`].
    Forked,
}

static PHASE: AtomicU8 = AtomicU8::new(Phase::Before as u8);

/// How far this process is.
pub(crate) fn phase() -> Phase {
    match PHASE.load(Ordering::Acquire) {
        0 => Phase::Before,
        1 => Phase::Running,
        2 => Phase::Finalized,
        _ => Phase::Forked,
    }
}

/// The process has come so far.
pub(crate) fn set_phase(phase: Phase) {
    PHASE.store(phase as u8, Ordering::Release);
}

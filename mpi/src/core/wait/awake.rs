//! How many calls wait, awake.

use std::sync::atomic::{AtomicI32, Ordering};

/// Calls that wait and do not sleep: they make progress. It changes with the state entered, and is looked at without.
static WAITS: AtomicI32 = AtomicI32::new(0);

/// So many more of them.
#[inline]
pub(super) fn count_waits(more: i32) {
    WAITS.store(WAITS.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

/// Whether a call waits, awake. Those that sleep wake for what arrives, not for what another thread has left behind.
#[inline]
pub(crate) fn is_anybody_awake() -> bool {
    WAITS.load(Ordering::Relaxed) > 0
}

//! A child that the program has forked. It has copies of this process's sockets and mappings, and every message that it took
//! or sent would be taken from, or sent in the name of, its parent. So MPI is over for it, from the fork on.
//!
//! The child is told apart by what every call looks at anyway: it has no engine and no communicators. A call costs nothing
//! for it. Programs that are started from here (`exec`, `posix_spawn`, `system`) are not concerned.

use crate::core::process::{Phase, Process, Threads, allow, in_forked_child, set_phase};
use crate::rma::object::Windows;
use std::mem;
use std::sync::Once;

/// From now on a forked child learns that it is one. Called when the engine is there.
pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function lives as long as the library, which the C library forgets when it unloads it.
        unsafe { pthread_atfork(None, None, Some(became_child)) };
    });
}

unsafe extern "C" {
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> std::ffi::c_int;
}

/// Runs in the child, before `fork` returns there. It allocates and frees nothing.
extern "C" fn became_child() {
    in_forked_child(|process| {
        if process.engine_ref().is_none() {
            return;
        }
        set_phase(Phase::Forked);
        // Another thread may have had the lock, and no thread but this one has come along.
        allow(Threads::One);
        process.abandon();
    });
}

impl Process {
    /// Forgets all by which this process could reach others. Nothing is dropped: what ends with a drop would be told to peers.
    fn abandon(&mut self) {
        mem::forget(self.take_engine());
        mem::forget(self.job.take());
        mem::forget(self.waiting.bell.take());
        mem::forget(mem::take(&mut self.objects.collectives));
        mem::forget(mem::replace(&mut self.objects.windows, Windows::new()));
        mem::swap(&mut self.objects.comms, &mut self.objects.parents_comms);
    }
}

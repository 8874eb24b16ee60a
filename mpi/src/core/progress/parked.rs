//! Where the thread is, and who wakes it.

use crate::core::process::Process;
use crate::core::wait::is_anybody_awake;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::JoinHandle;
use tern_tcp::DoorPost;

/// There is no thread, or it runs.
pub(super) const AWAY: u8 = 0;
/// It waits to be woken.
pub(super) const PARKED: u8 = 1;
/// It is to end.
pub(super) const ENDS: u8 = 2;
/// It sleeps until the doorbell rings.
pub(super) const SLEEPS: u8 = 3;

pub(super) static STATE: AtomicU8 = AtomicU8::new(AWAY);
static THREAD: Mutex<Option<JoinHandle<()>>> = Mutex::new(None);

pub(super) fn thread() -> std::sync::MutexGuard<'static, Option<JoinHandle<()>>> {
    THREAD.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Whoever leaves the library: the thread goes on if it has something to do.
#[inline]
pub(crate) fn leaving(process: &mut Process) {
    match STATE.load(Ordering::Relaxed) {
        PARKED => wake(process),
        SLEEPS => rouse(process),
        _ => {}
    }
}

/// A call has left something behind of which no bell tells: bytes that wait for the next poll, or a message that has been read, and
/// left since nobody waited for it, and that somebody may wait for now.
#[cold]
fn rouse(process: &mut Process) {
    let left = process.engine_mut().is_some_and(|engine| {
        let transport = engine.transport();
        transport.has_unsignaled() || transport.has_unsent()
    });
    if let Some(bell) = process.waiting.bell.as_ref().filter(|_| left) {
        bell.ring();
    }
}

#[cold]
fn wake(process: &mut Process) {
    if has_work(process)
        && STATE.compare_exchange(PARKED, AWAY, Ordering::SeqCst, Ordering::SeqCst).is_ok()
        && let Some(handle) = &*thread()
    {
        unpark(handle);
    }
}

/// There is something to do, and no call that waits does it. One that sleeps wakes for what arrives.
pub(super) fn has_work(process: &mut Process) -> bool {
    if is_anybody_awake() {
        return false;
    }
    let (always, collectives) = (process.waiting.progress_thread, !process.objects.collectives.is_empty());
    let serves = serves_others(process);
    let asleep = process.waiting.sleepers > 0;
    let Some(engine) = process.engine_mut() else { return false };
    if asleep {
        return engine.transport().is_corked();
    }
    serves || (always && (collectives || !engine.is_idle())) || engine.transport().has_unsent()
}

/// Ranks of other hosts may access a window at any time (MPI 5.0 section 12.7.3), and those that have not left yet want to know
/// that this one has all.
pub(super) fn serves_others(process: &Process) -> bool {
    process.objects.windows.served > 0 || process.waiting.away
}

/// Whether there is a thread.
pub(crate) fn runs() -> bool {
    thread().is_some()
}

/// The thread goes on, wherever it sleeps while it is parked.
pub(super) fn unpark(handle: &JoinHandle<()>) {
    handle.thread().unpark();
    door().iter().for_each(DoorPost::wake);
}

/// Where the thread sleeps, if that is at a door.
static DOOR: Mutex<Option<DoorPost>> = Mutex::new(None);

pub(super) fn door() -> std::sync::MutexGuard<'static, Option<DoorPost>> {
    DOOR.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

//! Progress while the program computes, by a thread of the library's own.
//!
//! `TERN_PROGRESS=thread`: messages move meanwhile (the interrupt-driven controller of the MP_Lite thesis, chapter 5; interrupt
//! mode of MPI-LAPI, section 6). The thread sleeps on the rank's doorbell, as a call that waits would, and makes progress when it
//! rings. Over TCP the thread exists in any case, for what a completed send has left behind: a connection that is not made
//! yet, bytes that the socket did not take. The receiver must not wait for the sender's next call.
//!
//! It steps aside whenever it would only be in the way: while a call of the program waits, or calls follow each other, since they
//! make progress themselves and faster, and while there is nothing to do. Then it is parked: no bell is armed, and no sender makes a system call for it.
//! Whoever leaves the library with something to do wakes it.

use crate::limits::{NAP, NAP_FOR_RESIDUE};
use crate::process::{Guard, Process, enter};
use crate::wait;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::JoinHandle;

/// There is no thread, or it runs.
const AWAY: u8 = 0;
/// It waits to be woken.
const PARKED: u8 = 1;
/// It is to end.
const ENDS: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(AWAY);
static THREAD: Mutex<Option<JoinHandle<()>>> = Mutex::new(None);

fn thread() -> std::sync::MutexGuard<'static, Option<JoinHandle<()>>> {
    THREAD.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Starts the thread. The process's state must be behind its lock from now on. Without a thread, which a limit of the
/// system may forbid, progress is made in calls only.
pub fn start() {
    STATE.store(AWAY, Ordering::SeqCst);
    *thread() = std::thread::Builder::new().name("tern-progress".into()).spawn(run).ok();
}

/// Ends the thread, and waits until it has. Nobody may be in the library on its behalf.
pub fn stop() {
    let Some(handle) = thread().take() else { return };
    STATE.store(ENDS, Ordering::SeqCst);
    handle.thread().unpark();
    if let Some(bell) = enter().bell.clone() {
        bell.ring();
    }
    let _ = handle.join();
}

/// Whoever leaves the library: the thread goes on if it has something to do.
#[inline]
pub fn leaving(process: &mut Process) {
    if STATE.load(Ordering::Relaxed) == PARKED {
        wake(process);
    }
}

#[cold]
fn wake(process: &mut Process) {
    if has_work(process) && STATE.compare_exchange(PARKED, AWAY, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
        if let Some(handle) = &*thread() {
            handle.thread().unpark();
        }
    }
}

/// There is something to do, and no call that waits does it.
fn has_work(process: &mut Process) -> bool {
    if process.waiting > 0 {
        return false;
    }
    let (always, collectives) = (process.progress_thread, !process.collectives.is_empty());
    let Some(engine) = process.engine_mut() else { return false };
    (always && (collectives || !engine.is_idle())) || engine.transport().has_residue()
}

fn run() {
    block_signals();
    let mut seen = 0;
    loop {
        let mut process = enter();
        if STATE.load(Ordering::SeqCst) == ENDS {
            return;
        }
        let others = process.entries.wrapping_sub(seen) > 1;
        seen = process.entries;
        if !has_work(&mut process) {
            park(process);
        } else if others {
            let nap = if process.progress_thread { NAP } else { NAP_FOR_RESIDUE };
            drop(process);
            std::thread::sleep(nap);
        } else {
            work(process);
        }
    }
}

/// Makes progress, or sleeps until there may be some to make.
fn work(process: Guard) {
    let (process, moved) = wait::progress(process);
    let Some(bell) = process.bell.clone().filter(|_| !moved) else { return };
    let armed = bell.arm();
    let (mut process, moved) = wait::progress(process);
    let stays = !moved && has_work(&mut process) && STATE.load(Ordering::SeqCst) != ENDS;
    drop(process);
    match stays {
        true => drop(bell.sleep(armed, None)),
        false => bell.disarm(),
    }
}

fn park(process: Guard) {
    // Under the lock: whoever leaves the library afterwards sees it.
    let parked = STATE.compare_exchange(AWAY, PARKED, Ordering::SeqCst, Ordering::SeqCst).is_ok();
    drop(process);
    while parked && STATE.load(Ordering::SeqCst) == PARKED {
        std::thread::park();
    }
}

/// The program's signal handlers run on the program's threads.
fn block_signals() {
    // SAFETY: the set is filled before it is used, and only this thread's mask changes.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
    }
}

//! A thread that notices the death of other ranks, under launchers that let a job go on without one.

use crate::core::process::complain;
use crate::core::stdio;
use crate::limits::CARRYING_TIME;
use std::sync::{Mutex, Once};
use std::thread::JoinHandle;
use tern_job::watch::{Stop, Watch};
use tern_transport::threads::Serving;

static THREAD: Mutex<Option<(Stop, JoinHandle<()>)>> = Mutex::new(None);

/// Why the job ends has been said, by whichever thread has noticed it first.
static SAID: Once = Once::new();

fn thread() -> std::sync::MutexGuard<'static, Option<(Stop, JoinHandle<()>)>> {
    THREAD.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Starts it. Without a thread, which a limit of the system may forbid, the launcher alone notices deaths.
pub(crate) fn start(mut watch: Watch) {
    let (serving, stop) = (Serving::start(), watch.stop());
    let run = move || {
        serving.begin();
        if let Some(verdict) = watch.run() {
            // First of all: launchers that end the ranks themselves name a process, and leave no time to name its rank.
            if let Some(message) = &verdict.message {
                SAID.call_once(|| complain(message));
            }
            watch.tell_ranks(&verdict);
            stdio::flush_streams();
            // A launcher that is told to end its job may drop what it has not carried yet of this rank's words, or of another's.
            std::thread::sleep(CARRYING_TIME);
            watch.end_job(&verdict);
            // SAFETY: _exit has no preconditions.
            unsafe { libc::_exit(tern_job::exit_status(verdict.code)) };
        }
    };
    let handle = std::thread::Builder::new().name("tern-watch".into()).spawn(run).ok();
    *thread() = handle.map(|handle| (stop, handle));
}

/// Ends it: this rank uses MPI no more, and has said so on the status page.
pub(crate) fn stop() {
    let Some((stop, handle)) = thread().take() else { return };
    if let Err(why) = stop.stop() {
        SAID.call_once(|| complain(&why));
        stdio::flush_streams();
        // SAFETY: _exit has no preconditions.
        unsafe { libc::_exit(1) };
    }
    let _ = handle.join();
}

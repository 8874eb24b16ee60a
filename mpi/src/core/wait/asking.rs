//! What this process asks for again and again, on the status page for a person to read: a loop over `MPI_Test` or
//! `MPI_Iprobe` waits like any other call, but in the program's own code.
//!
//! Calls that find nothing look at the clock now and then, and say where they are every 50 ms. They say when they
//! asked last, too, so that `mpirun` can tell a rank that still asks from one that has long gone on.

use super::notes;
use super::publish::{is_anybody, with_blocked};
use super::waiting::Waiting;
use crate::core::process::Process;
use tern_job::{Blocked, now_ns};

/// A call has asked, and nothing has come. Whether it is to look at the network too: the program asks seldom.
#[cold]
#[inline(never)]
pub(super) fn asked(process: &mut Process, waiting: impl FnOnce(&Process) -> Waiting) -> bool {
    let is_seen = process.job.as_ref().is_some_and(|job| job.status_page.is_some());
    let is_networked = process.engine_ref().is_some_and(|engine| engine.transport_ref().is_networked());
    if !is_seen && !is_networked {
        process.waiting.polling.look_at = u64::MAX;
        return false;
    }
    let (now, polls) = (now_ns(), process.waiting.polls);
    let seldom = process.waiting.polling.is_seldom(now, polls);
    let completions = process.engine_ref().map_or(0, |engine| engine.completions());
    if let Some(since_ns) = process.waiting.polling.look(now, polls, completions)
        && !is_anybody(process)
    {
        publish_wait(process, &waiting(process), since_ns, now);
    }
    seldom && is_networked
}

fn publish_wait(process: &Process, waiting: &Waiting, since_ns: u64, now_ns: u64) {
    let Some(status_page) = process.job.as_ref().and_then(|job| job.status_page.as_ref()) else { return };
    let notes = notes::notes(process, &[waiting]);
    with_blocked(waiting, &waiting.detail, process, |blocked| {
        status_page.publish(&Blocked { since_ns, asked_ns: Some(now_ns), notes: &notes, ..*blocked });
    });
}

//! Telling the tool what has happened, at the end of a call.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use tern_abi::{MPI_T_event_instance, MPI_T_event_registration};

use super::happening::take_next;
use super::state::lock;

/// A thread is telling.
static TELLING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// This thread tells, or is not the program's.
    static QUIET: Cell<bool> = const { Cell::new(false) };
    /// This thread only looks at a number, perhaps in a signal handler: what has happened is for others to take along.
    static LOOKING: Cell<bool> = const { Cell::new(false) };
}

/// Does something by which nothing that has happened is noted.
pub(super) fn looking<T>(look: impl FnOnce() -> T) -> T {
    LOOKING.set(true);
    let seen = look();
    LOOKING.set(false);
    seen
}

/// Whether this thread may take along what has happened, and tell the tool.
pub(crate) fn may_note() -> bool {
    !LOOKING.get()
}

/// This thread never calls the tool's functions: it is not the program's.
pub(crate) fn keep_quiet() {
    QUIET.set(true);
}

/// Tells the tool of what has happened, unless this thread may not or another one does.
#[cold]
pub(crate) fn deliver() {
    if QUIET.get() || TELLING.swap(true, Ordering::Acquire) {
        return;
    }
    QUIET.set(true);
    while tell_next() {}
    QUIET.set(false);
    TELLING.store(false, Ordering::Release);
}

/// Tells of one event; whether there was any.
fn tell_next() -> bool {
    let (next, dropped) = take_next();
    if next.is_none() && dropped == 0 {
        return false;
    }
    let mut tools = lock();
    let told_of_loss: Vec<_> = match dropped {
        0 => Vec::new(),
        _ => tools.registrations.iter().filter_map(|(&at, known)| known.dropped(at, dropped)).collect(),
    };
    let instance = tools.fresh_handle();
    let calls: Vec<_> = next
        .iter()
        .flat_map(|next| tools.registrations.iter().filter(|(_, known)| known.event == next.kind))
        .filter_map(|(&at, known)| known.call(MPI_T_event_instance(instance), MPI_T_event_registration(at)))
        .collect();
    next.iter().for_each(|next| _ = tools.instances.insert(instance, *next));
    drop(tools);
    told_of_loss.into_iter().chain(calls).for_each(|call| call());
    lock().instances.remove(&instance);
    next.is_some()
}

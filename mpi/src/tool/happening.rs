//! What happens in the library and how a tool is told of it (section 15.3.8).
//!
//! The engine and the transports note what happens, and whoever leaves the library takes it along ([`collect`]). The tool's functions are
//! called when the lock is free again ([`deliver`]), by a thread of the program, one event after the other.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError, TryLockError};
use std::time::Instant;

use tern_abi::{MPI_Datatype, MPI_T_event_instance, MPI_T_event_registration};
use tern_abi::{MPI_INT, MPI_UNSIGNED_LONG_LONG};
use tern_engine::counters::{ToolEvent, ToolEventKind};
use tern_tcp::Change;

use super::TOOLS;
use crate::core::process::Process;
use crate::limits::HAPPENINGS_MAX;

/// A kind of event.
pub(super) struct EventType {
    pub name: &'static str,
    pub meaning: &'static str,
    /// Names and types of its elements; each has 8 bytes in [`Happening`].
    pub elements: &'static [(&'static str, MPI_Datatype)],
}

const OF_MESSAGE: &[(&str, MPI_Datatype)] =
    &[("process", MPI_INT), ("tag", MPI_INT), ("bytes", MPI_UNSIGNED_LONG_LONG)];
const OF_PROCESS: &[(&str, MPI_Datatype)] = &[("process", MPI_INT)];

/// All kinds of events. A process is named by its rank in `MPI_COMM_WORLD`.
pub(super) const EVENT_TYPES: [EventType; 5] = [
    EventType {
        name: "tern_message_unexpected",
        meaning: "A message has come before its receive: from this process, with this tag and so many bytes.",
        elements: OF_MESSAGE,
    },
    EventType {
        name: "tern_rendezvous_begun",
        meaning: "A long message begins to move to this rank: from this process, with this tag and so many bytes.",
        elements: OF_MESSAGE,
    },
    EventType {
        name: "tern_connection_lost",
        meaning: "The connection to this process broke; it is made again.",
        elements: OF_PROCESS,
    },
    EventType {
        name: "tern_connection_resumed",
        meaning: "The connection to this process was made again, and nothing was lost.",
        elements: OF_PROCESS,
    },
    EventType {
        name: "tern_rank_failed",
        meaning: "This process cannot be reached any more.",
        elements: OF_PROCESS,
    },
];

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Happening {
    /// Which of [`EVENT_TYPES`].
    pub kind: usize,
    /// When, by [`now`].
    pub at: u64,
    pub elements: [u64; 3],
}

impl From<ToolEvent> for Happening {
    fn from(ToolEvent { kind, peer, envelope, bytes }: ToolEvent) -> Self {
        let kind = match kind {
            ToolEventKind::Unexpected => 0,
            ToolEventKind::Rendezvous => 1,
        };
        Happening { kind, at: now(), elements: [peer.into(), envelope.tag as u64, bytes] }
    }
}

/// Nanoseconds of the source's clock.
pub(super) fn now() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_nanos() as u64
}

/// Somebody listens.
static HEARD: AtomicBool = AtomicBool::new(false);
/// A thread is telling.
static TELLING: AtomicBool = AtomicBool::new(false);

/// What nobody has been told yet, and how much was dropped.
struct EventQueue {
    waiting: VecDeque<Happening>,
    dropped: u64,
}

static QUEUE: Mutex<EventQueue> = Mutex::new(EventQueue { waiting: VecDeque::new(), dropped: 0 });

thread_local! {
    /// This thread tells, or is not the program's.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Whether somebody listens.
#[inline]
pub fn is_heard() -> bool {
    HEARD.load(Ordering::Relaxed)
}

/// Somebody listens from now on, or nobody does.
pub(super) fn set_heard(heard: bool) {
    HEARD.store(heard, Ordering::Relaxed);
}

/// This thread never calls the tool's functions: it is not the program's.
pub fn keep_quiet() {
    QUIET.set(true);
}

/// Takes along what has happened.
#[cold]
pub fn collect(process: &mut Process) {
    let Some(engine) = process.engine_mut() else { return };
    let (events, dropped) = engine.take_tool_events();
    let changes = engine.transport().take_changes().map(|(peer, change)| {
        let kind = match change {
            Change::Lost => 2,
            Change::Resumed => 3,
            Change::Failed => 4,
        };
        Happening { kind, at: now(), elements: [peer.into(), 0, 0] }
    });
    let mut queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
    queue.dropped += dropped;
    for happening in events.into_iter().map(Happening::from).chain(changes) {
        if queue.waiting.len() < HAPPENINGS_MAX {
            queue.waiting.push_back(happening);
        } else {
            queue.dropped += 1;
        }
    }
}

/// Tells the tool of what has happened, unless this thread may not or another one does.
#[cold]
pub fn deliver() {
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
    // A thread that is in the tool interface, this one perhaps, comes by again.
    let mut tools = match TOOLS.try_lock() {
        Ok(tools) => tools,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return false,
    };
    let (next, dropped) = {
        let mut queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
        (queue.waiting.pop_front(), std::mem::take(&mut queue.dropped))
    };
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
    next.into_iter().for_each(|next| _ = tools.instances.insert(instance, next));
    drop(tools);
    told_of_loss.into_iter().chain(calls).for_each(|call| call());
    super::lock().instances.remove(&instance);
    next.is_some()
}

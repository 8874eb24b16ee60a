//! What happens in the library and how a tool is told of it (section 15.3.8).
//!
//! The engine and the transports note what happens, and whoever leaves the library takes it along ([`collect`]). The tool's functions are
//! called when the lock is free again ([`deliver`]), by a thread of the program, one event after the other.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Instant;

use tern_abi::MPI_Datatype;
use tern_abi::{MPI_INT, MPI_UNSIGNED_LONG_LONG};
use tern_engine::counters::{ToolEvent, ToolEventKind};
use tern_tcp::Change;

use crate::core::engine::ProcessEngine;
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

/// What nobody has been told yet, and how much was dropped.
struct EventQueue {
    waiting: VecDeque<Happening>,
    dropped: u64,
}

static QUEUE: Mutex<EventQueue> = Mutex::new(EventQueue { waiting: VecDeque::new(), dropped: 0 });

/// Whether somebody listens.
#[inline]
pub(crate) fn is_heard() -> bool {
    HEARD.load(Ordering::Relaxed)
}

/// Somebody listens from now on, or nobody does.
pub(super) fn set_heard(heard: bool) {
    HEARD.store(heard, Ordering::Relaxed);
}

/// Takes along what has happened.
#[cold]
pub(crate) fn collect(engine: &mut ProcessEngine) {
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

/// The next event that nobody has been told of, and how many were dropped before it.
pub(super) fn take_next() -> (Option<Happening>, u64) {
    let mut queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
    (queue.waiting.pop_front(), std::mem::take(&mut queue.dropped))
}

/// Forgets what nobody has been told.
pub(super) fn forget() {
    let mut queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
    queue.waiting.clear();
    queue.dropped = 0;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_forgotten_is_told_to_nobody() {
        let happening = Happening { kind: 0, at: 0, elements: [0; 3] };
        {
            let mut queue = QUEUE.lock().unwrap();
            queue.waiting.push_back(happening);
            queue.dropped = 2;
        }
        forget();
        assert!(matches!(take_next(), (None, 0)));
    }
}

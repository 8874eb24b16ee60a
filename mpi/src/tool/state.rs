//! What the tool interface keeps between calls, behind a lock of its own.

use super::happening::Happening;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tern_abi::*;
use tern_transport::signals;

/// A call's outcome: an error is a class of the tool interface.
pub(super) type ToolResult<T = ()> = Result<T, c_int>;

/// What the interface keeps between calls.
pub(super) struct Tools {
    /// How many more `MPI_T_init_thread` than `MPI_T_finalize` there were.
    pub(super) uses: usize,
    /// Control variables bound by handles.
    pub(super) cvar_handles: BTreeMap<usize, BoundCvar>,
    /// Sessions of performance variables.
    pub(super) pvar_sessions: BTreeMap<usize, ()>,
    /// Their handles.
    pub(super) pvar_handles: BTreeMap<usize, BoundPvar>,
    /// Who wants to hear of events.
    pub(super) registrations: BTreeMap<usize, EventRegistration>,
    /// The events of which somebody is being told.
    pub(super) instances: BTreeMap<usize, Happening>,
    /// The next handle of either kind; never used twice, so a freed handle stays invalid.
    pub(super) next_handle: usize,
}

impl Tools {
    pub(super) fn fresh_handle(&mut self) -> usize {
        self.next_handle += 1;
        self.next_handle
    }
}

/// Handles below are the standard's.
pub(super) const HANDLES_START: usize = 4096;

static TOOLS: Mutex<Tools> = Mutex::new(Tools {
    uses: 0,
    cvar_handles: BTreeMap::new(),
    pvar_sessions: BTreeMap::new(),
    pvar_handles: BTreeMap::new(),
    registrations: BTreeMap::new(),
    instances: BTreeMap::new(),
    next_handle: HANDLES_START,
});

/// The right to use the state. No handler interrupts its holder: one that reads a variable would wait for it. For the same reason the
/// holder waits for nothing else: whoever needs the state of MPI, too, has entered that first.
pub(super) struct ToolsGuard {
    // In this order: a handler that has waited may lock.
    tools: MutexGuard<'static, Tools>,
    _signals: signals::Held,
}

impl Deref for ToolsGuard {
    type Target = Tools;

    fn deref(&self) -> &Tools {
        &self.tools
    }
}

impl DerefMut for ToolsGuard {
    fn deref_mut(&mut self) -> &mut Tools {
        &mut self.tools
    }
}

pub(super) fn lock() -> ToolsGuard {
    let signals = signals::Held::new();
    ToolsGuard { tools: TOOLS.lock().unwrap_or_else(PoisonError::into_inner), _signals: signals }
}

/// The state, if the interface is initialized.
pub(super) fn enter() -> ToolResult<ToolsGuard> {
    let tools = lock();
    if tools.uses == 0 { Err(MPI_T_ERR_NOT_INITIALIZED) } else { Ok(tools) }
}

/// A control variable that is bound.
#[derive(Clone, Copy, Debug)]
pub(super) struct BoundCvar {
    /// Which one.
    pub(super) number: usize,
    /// How many elements its program has room for.
    pub(super) room: usize,
}

/// A performance variable that is bound.
#[derive(Clone, Debug)]
pub(super) struct BoundPvar {
    pub(super) session: usize,
    pub(super) number: usize,
    pub(super) comm: MPI_Comm,
    /// Values that it had when it was started last; none while it is stopped.
    pub(super) since: Option<Vec<u64>>,
    /// What it has gathered before.
    pub(super) before: Vec<u64>,
    /// What was seen last.
    pub(super) seen: Vec<u64>,
}

/// The levels of safety, from the one that allows a callback most on.
pub(super) const LEVELS: [MPI_T_cb_safety; 4] = [
    MPI_T_CB_REQUIRE_NONE,
    MPI_T_CB_REQUIRE_MPI_RESTRICTED,
    MPI_T_CB_REQUIRE_THREAD_SAFE,
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE,
];

/// A function of the tool's with its data.
#[derive(Clone, Copy)]
pub(super) struct ToolCallback {
    pub(super) function: MPI_T_event_cb_function,
    pub(super) data: *mut c_void,
}

/// Who wants to hear of an event.
pub(super) struct EventRegistration {
    /// Of which: an index into [`EVENT_TYPES`].
    pub event: usize,
    /// By level of safety.
    pub(super) callbacks: [Option<ToolCallback>; 4],
    pub(super) dropped: Option<MPI_T_event_dropped_cb_function>,
}

// SAFETY: the data are the tool's own, handed to its own functions.
unsafe impl Send for EventRegistration {}

impl EventRegistration {
    /// Calls the function that may do most: at the end of a call of MPI nothing is in its way.
    pub(super) fn call(
        &self,
        instance: MPI_T_event_instance,
        registration: MPI_T_event_registration,
    ) -> Option<Box<dyn FnOnce()>> {
        let (level, callback) = self.first()?;
        // SAFETY: the tool gave the function to be called like this; no lock is held.
        Some(Box::new(move || unsafe { (callback.function)(instance, registration, level, callback.data) }))
    }

    /// Calls the function that hears how many events were lost.
    pub(super) fn dropped(&self, registration: usize, count: u64) -> Option<Box<dyn FnOnce()>> {
        let function = self.dropped?;
        let (level, data) =
            self.first().map_or((LEVELS[0], ptr::null_mut()), |(level, own)| (level, own.data));
        let registration = MPI_T_event_registration(registration);
        // SAFETY: as above.
        Some(Box::new(move || unsafe { function(count as MPI_Count, registration, 0, level, data) }))
    }

    fn first(&self) -> Option<(MPI_T_cb_safety, ToolCallback)> {
        LEVELS.into_iter().zip(self.callbacks).find_map(|(level, callback)| Some((level, callback?)))
    }
}

//! Sleeping until another rank rings, at no cost to the others while nobody sleeps.
//!
//! After publishing a message a sender loads one word of the receiver's; while the receiver is awake that is
//! all. For no wake-up to be lost, the sender's store and its load must not pass each other, which takes a full
//! fence. The sleeper pays for it: `membarrier` makes every running sender pass a fence before the sleeper
//! looks a last time. Where that call is not to be had, or ranks outnumber the cores and sleeping is
//! so frequent that interrupting the others costs more than their fences, the receiver's word asks
//! the senders to fence.
//!
//! A sleeper whose sends were refused must also hear of room. It says so beside the announcement that it sleeps,
//! and then tries the send once more. Whoever makes room for it (takes a quarter of a ring, or frees a cell) does
//! what a sender does, but rings only if room is wanted: a sleeper who waits for an answer is not woken by each
//! step of those who read its messages. Since only the announced want room, making it costs the same one load.

use std::sync::atomic::compiler_fence;

use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};

/// Somebody sleeps here, or is about to.
const ASLEEP: u32 = 1;
/// Senders must fence before they believe that nobody sleeps.
pub(crate) const NEEDS_FENCE: u32 = 2;

/// Who sleeps has sends that were refused, and is to hear of room.
const WANTS_ROOM: u32 = 4;

/// In place of the name of a line: several threads sleep for several lines.
pub(crate) const ANY_LINE: u64 = u64::MAX;

/// What senders look at, and what sleepers sleep on.
#[repr(C)]
#[cfg_attr(not(loom), repr(align(64)))]
pub(crate) struct BellWords {
    state: AtomicU32,
    rings: AtomicU32,
    /// The line of a shm communicator for which this rank sleeps here, too, or [`ANY_LINE`]; zero: none.
    line: AtomicU64,
}

impl BellWords {
    pub(crate) fn new() -> Self {
        BellWords { state: AtomicU32::new(0), rings: AtomicU32::new(0), line: AtomicU64::new(0) }
    }

    /// Asks senders to fence, from now on.
    pub(crate) fn ask_for_fences(&self) {
        self.state.fetch_or(NEEDS_FENCE, Ordering::SeqCst);
    }

    /// Says that this rank is about to sleep. The count is taken first: whoever takes the announcement back by
    /// ringing counts up after that, so that the sleeper sees it.
    pub(crate) fn announce(&self) -> u32 {
        let armed = self.rings.load(Ordering::SeqCst);
        self.state.fetch_or(ASLEEP, Ordering::SeqCst);
        armed
    }

    /// Says that whoever sleeps here wants room, too. If so, the caller must look for room once more: what was made
    /// before rings nobody. If nobody has announced, nothing is said: who announces later looks for itself.
    pub(crate) fn want_room(&self) -> bool {
        let add = |state| (state & ASLEEP != 0).then_some(state | WANTS_ROOM);
        let said = self.state.fetch_update(Ordering::SeqCst, Ordering::SeqCst, add).is_ok();
        fence(Ordering::SeqCst);
        said
    }

    pub(crate) fn withdraw(&self) {
        self.state.fetch_and(!(ASLEEP | WANTS_ROOM), Ordering::SeqCst);
    }

    /// After publishing something: whether the bell must be rung. `fence` is [`NEEDS_FENCE`] if the caller
    /// cannot be reached by `membarrier`, else 0.
    #[inline(always)]
    pub(crate) fn must_ring(&self, fence: u32) -> bool {
        self.must_ring_if(ASLEEP, fence)
    }

    /// As [`BellWords::must_ring`], after making room for what the bell's rank sends.
    #[inline(always)]
    pub(crate) fn must_ring_for_room(&self, fence: u32) -> bool {
        self.must_ring_if(ASLEEP | WANTS_ROOM, fence)
    }

    #[inline(always)]
    fn must_ring_if(&self, wanted: u32, fence: u32) -> bool {
        compiler_fence(Ordering::SeqCst);
        let state = self.state.load(Ordering::Relaxed) | fence;
        state != 0 && self.must_ring_slow(state, wanted)
    }

    /// `membarrier` orders what the caller published before the announcement only; whatever else the sleeper says
    /// is believed after a fence.
    #[inline(never)]
    fn must_ring_slow(&self, seen: u32, wanted: u32) -> bool {
        if seen & (wanted | NEEDS_FENCE) == wanted {
            return true;
        }
        fence(Ordering::SeqCst);
        self.state.load(Ordering::Relaxed) & wanted == wanted
    }

    /// Says for which line of a shm communicator, [`ANY_LINE`] or zero, its raiser is to ring; before the sleeper is counted at the line.
    pub(crate) fn set_line(&self, line: u64) {
        self.line.store(line, Ordering::SeqCst);
    }

    /// After raising a line at which a sleeper was counted: whether this bell must be rung for it.
    pub(crate) fn must_ring_for_line(&self, line: u64) -> bool {
        let slept_for = self.line.load(Ordering::SeqCst);
        (slept_for == line || slept_for == ANY_LINE) && self.must_ring(NEEDS_FENCE)
    }

    /// The first half of ringing: everybody who has announced so far will find the count changed.
    pub(crate) fn count_ring(&self) {
        self.withdraw();
        self.rings.fetch_add(1, Ordering::SeqCst);
    }

    /// Whether somebody rang since [`BellWords::announce`] gave `armed`.
    pub(crate) fn rang_since(&self, armed: u32) -> bool {
        self.rings.load(Ordering::SeqCst) != armed
    }

    /// The word to sleep on.
    pub(crate) fn word(&self) -> &AtomicU32 {
        &self.rings
    }
}

#[cfg(test)]
mod tests;

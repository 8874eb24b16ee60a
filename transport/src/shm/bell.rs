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

use crate::sync::{AtomicU32, Ordering, fence};

/// Somebody sleeps here, or is about to.
const ASLEEP: u32 = 1;
/// Senders must fence before they believe that nobody sleeps.
pub(crate) const NEEDS_FENCE: u32 = 2;

/// Who sleeps has sends that were refused, and is to hear of room.
const WANTS_ROOM: u32 = 4;

/// What senders look at, and what sleepers sleep on.
#[repr(C)]
#[cfg_attr(not(loom), repr(align(64)))]
pub(crate) struct BellWords {
    state: AtomicU32,
    rings: AtomicU32,
}

impl BellWords {
    pub(crate) fn new() -> Self {
        BellWords { state: AtomicU32::new(0), rings: AtomicU32::new(0) }
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

#[cfg(not(loom))]
pub(crate) use sleeping::{Bell, PeerBell, ring};

#[cfg(not(loom))]
mod sleeping {
    use std::sync::atomic::{Ordering, fence};
    use std::sync::{Arc, Mutex, PoisonError};
    use std::time::Duration;

    use crate::doorbell::Doorbell;
    use crate::shm::futex;
    use crate::shm::segment::Segment;

    use super::BellWords;

    /// Wakes all who sleep on `words`.
    #[cold]
    pub(crate) fn ring(words: &BellWords) {
        words.count_ring();
        futex::wake_all(words.word());
    }

    /// A peer's bell, to ring. Zeros are nobody's, which must not be rung.
    #[derive(Clone, Copy)]
    pub(crate) struct PeerBell {
        words: *const BellWords,
        /// [`super::NEEDS_FENCE`] if this process cannot be reached by `membarrier`, else 0.
        fence: u32,
    }

    impl PeerBell {
        /// # Safety
        /// The result must not be used after the segment is unmapped.
        pub(crate) unsafe fn new(segment: &Segment, peer: u32, fence: u32) -> Self {
            PeerBell { words: &raw const segment.control(peer).bell, fence }
        }

        #[inline(always)]
        fn words(&self) -> &BellWords {
            debug_assert!(!self.is_nobodys());
            // SAFETY: within the segment, which is mapped, as promised to `new`.
            unsafe { &*self.words }
        }

        /// Whether it is all zeros.
        #[inline(always)]
        pub(crate) fn is_nobodys(&self) -> bool {
            self.words.is_null()
        }

        /// After publishing a message to the peer.
        #[inline(always)]
        pub(crate) fn sent(&self) {
            if self.words().must_ring(self.fence) {
                ring(self.words());
            }
        }

        /// After making room for what the peer sends to this rank.
        #[inline(always)]
        pub(crate) fn made_room(&self) {
            if self.words().must_ring_for_room(self.fence) {
                ring(self.words());
            }
        }
    }

    /// Where this process's own bell lies.
    enum Place {
        Shared { segment: Arc<Segment>, rank: u32 },
        Private(Box<BellWords>),
    }

    /// The bell of this process: any of its threads may sleep on it.
    pub(crate) struct Bell {
        place: Place,
        /// Senders must be made to pass a fence by `membarrier`; otherwise they fence themselves.
        membarrier: bool,
        /// Threads of this process that have announced and neither slept nor withdrawn.
        sleepers: Mutex<u32>,
    }

    impl Bell {
        /// The bell in this rank's region. `fences`: senders are to fence themselves.
        pub(crate) fn shared(segment: Arc<Segment>, rank: u32, fences: bool) -> Self {
            if fences {
                segment.control(rank).bell.ask_for_fences();
            }
            let place = Place::Shared { segment, rank };
            Bell { place, membarrier: !fences, sleepers: Mutex::new(0) }
        }

        /// A bell that only threads of this process ring.
        pub(crate) fn private() -> Self {
            let words = Box::new(BellWords::new());
            words.ask_for_fences();
            Bell { place: Place::Private(words), membarrier: false, sleepers: Mutex::new(0) }
        }

        #[inline]
        pub(crate) fn words(&self) -> &BellWords {
            match &self.place {
                Place::Shared { segment, rank } => &segment.control(*rank).bell,
                Place::Private(words) => words,
            }
        }

        /// Whether a sleeper here can make all ranks pass a fence; otherwise they have to do so themselves.
        pub(crate) fn reaches_all(&self) -> bool {
            self.membarrier
        }

        /// After announcing a sleep, before the last look.
        pub(crate) fn fence_all(&self) {
            if !(self.membarrier && futex::fence_everywhere()) {
                fence(Ordering::SeqCst);
            }
        }

        fn leave(&self) {
            let mut sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
            *sleepers = sleepers.saturating_sub(1);
            if *sleepers == 0 {
                self.words().withdraw();
            }
        }
    }

    impl Doorbell for Bell {
        fn arm(&self) -> u32 {
            let armed = {
                let mut sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
                *sleepers += 1;
                self.words().announce()
            };
            self.fence_all();
            armed
        }

        fn disarm(&self) {
            self.leave();
        }

        fn sleep(&self, armed: u32, timeout: Option<Duration>) -> bool {
            futex::wait(self.words().word(), armed, timeout);
            self.leave();
            self.words().rang_since(armed)
        }

        fn ring(&self) {
            ring(self.words());
        }
    }
}

#[cfg(test)]
mod tests;

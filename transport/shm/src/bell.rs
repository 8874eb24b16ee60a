//! A rank's own bell, to sleep on, and those of its peers, to ring; the protocol is in [`super::bell_words`].

use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::futex;
use crate::segment::Segment;
use tern_transport::doorbell::Doorbell;
use tern_transport::fence::fence_everywhere;

use super::bell_words::{ANY_LINE, BellWords, NEEDS_FENCE};

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
    /// [`super::bell_words::NEEDS_FENCE`] if this process cannot be reached by `membarrier`, else 0.
    fence: u32,
}

impl PeerBell {
    /// # Safety
    /// The result must not be used after the segment is unmapped.
    pub(crate) unsafe fn new(segment: &Segment, peer: u32, fence: u32) -> Self {
        PeerBell { words: std::ptr::from_ref(segment.bell(peer)), fence }
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
        self.wake();
    }

    /// The same; whether the peer slept.
    #[inline(always)]
    pub(crate) fn wake(&self) -> bool {
        let sleeps = self.words().must_ring(self.fence);
        if sleeps {
            ring(self.words());
        }
        sleeps
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
enum BellPlace {
    Shared { segment: Arc<Segment>, rank: u32 },
    Private(Box<BellWords>),
}

/// The bell of this process: any of its threads may sleep on it.
pub struct Bell {
    place: BellPlace,
    /// Senders must be made to pass a fence by `membarrier`; otherwise they fence themselves.
    membarrier: bool,
    /// Threads of this process that have announced and neither slept nor withdrawn.
    sleepers: Mutex<u32>,
    /// Threads of this process that sleep here for a line of a shm communicator, and for which.
    line_sleepers: Mutex<(u32, u64)>,
}

impl Bell {
    /// The bell in this rank's region. `fences`: senders are to fence themselves.
    pub(crate) fn shared(segment: Arc<Segment>, rank: u32, fences: bool) -> Self {
        if fences {
            segment.control(rank).bell.ask_for_fences();
        }
        let place = BellPlace::Shared { segment, rank };
        Bell { place, membarrier: !fences, sleepers: Mutex::default(), line_sleepers: Mutex::default() }
    }

    /// A bell that only threads of this process ring.
    pub fn private() -> Self {
        let words = Box::new(BellWords::new());
        words.ask_for_fences();
        Bell {
            place: BellPlace::Private(words),
            membarrier: false,
            sleepers: Mutex::default(),
            line_sleepers: Mutex::default(),
        }
    }

    #[inline]
    pub(crate) fn words(&self) -> &BellWords {
        match &self.place {
            BellPlace::Shared { segment, rank } => &segment.control(*rank).bell,
            BellPlace::Private(words) => words,
        }
    }

    /// Wakes threads that sleep here, after something was published to this process by itself.
    #[inline]
    pub fn sent(&self) {
        if self.words().must_ring(NEEDS_FENCE) {
            ring(self.words());
        }
    }

    /// Whether a sleeper here can make all ranks pass a fence; otherwise they have to do so themselves.
    pub(crate) fn reaches_all(&self) -> bool {
        self.membarrier
    }

    /// After announcing a sleep, before the last look.
    pub(crate) fn fence_all(&self) {
        if !(self.membarrier && fence_everywhere()) {
            fence(Ordering::SeqCst);
        }
    }

    /// A thread is about to sleep here for a line of a shm communicator: who raises it rings. [`Bell::forget_line`] follows.
    pub(crate) fn await_line(&self, line: u64) {
        let mut sleepers = self.line_sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        let (threads, other) = *sleepers;
        *sleepers = (threads + 1, if threads == 0 || other == line { line } else { ANY_LINE });
        self.words().set_line(sleepers.1);
    }

    pub(crate) fn forget_line(&self) {
        let mut sleepers = self.line_sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        sleepers.0 = sleepers.0.saturating_sub(1);
        if sleepers.0 == 0 {
            self.words().set_line(0);
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

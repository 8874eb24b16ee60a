//! The gate: the program's one thread enters by two plain stores, though the library's own thread may come in, too.
//!
//! The one who comes often says that it is inside, and looks whether the gate is closed. The one who comes seldom closes it, makes all
//! threads of the process pass a fence (`membarrier`), and looks whether anybody is inside. So one of the two sees the other, and the
//! frequent one needs no locked instruction.

use crate::limits::STORES_ARE_SEEN;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, compiler_fence};
use tern_transport::fence::{fence_own_threads, register_for_own};

/// Who may be in the library without the lock. Only one of the threads that pass may come at a time: that is their program's promise.
pub(super) struct EntryGate {
    /// Somebody has passed it, and has not left. Where no lock is used at all it says the same, and nobody closes the gate.
    inside: AtomicBool,
    /// How many keep it closed, and [`SHUT`].
    closed: AtomicU32,
}

/// Nobody may pass it, whoever keeps it closed beside: closing needs no fence.
const SHUT: u32 = 1 << 31;

impl EntryGate {
    /// Nobody passes before it is opened.
    pub(super) const fn new() -> EntryGate {
        EntryGate { inside: AtomicBool::new(false), closed: AtomicU32::new(SHUT) }
    }

    /// Shuts it until [`EntryGate::open_with_fences`]. Nobody is inside, or closes it, meanwhile.
    pub(super) fn shut(&self) {
        self.closed.fetch_or(SHUT, Ordering::Release);
    }

    /// Opens it for who will be fenced; whether that worked. It stays closed where the kernel, or a filter, refuses the fences. May take
    /// milliseconds.
    pub(super) fn open_with_fences(&self) -> bool {
        let can_fence = register_for_own();
        if can_fence {
            self.closed.fetch_and(!SHUT, Ordering::Release);
        }
        can_fence
    }

    /// Whether somebody is inside.
    #[inline(always)]
    pub(super) fn is_occupied(&self) -> bool {
        self.inside.load(Ordering::Relaxed)
    }

    /// Somebody is inside from now on, whether it is closed or not.
    #[inline(always)]
    pub(super) fn occupy(&self) {
        self.inside.store(true, Ordering::Relaxed);
    }

    /// Whoever was inside has left.
    #[inline(always)]
    pub(super) fn vacate(&self) {
        self.inside.store(false, Ordering::Release);
    }

    /// Whether somebody keeps it closed.
    #[inline(always)]
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed) != 0
    }

    /// Passes, unless it is closed. Nobody may be inside.
    #[inline(always)]
    pub(super) fn try_pass(&self) -> bool {
        self.inside.store(true, Ordering::Relaxed);
        // The processor keeps the order as of the other side's `fence_own_threads`.
        compiler_fence(Ordering::SeqCst);
        if self.closed.load(Ordering::Acquire) == 0 {
            return true;
        }
        self.vacate();
        false
    }

    /// Closes it, unless somebody is inside: from now on nobody passes, until [`EntryGate::reopen`].
    pub(super) fn try_close(&self) -> bool {
        if self.is_occupied() {
            return false;
        }
        self.count_closer();
        let is_free = !self.inside.load(Ordering::Acquire);
        if !is_free {
            self.reopen();
        }
        is_free
    }

    /// Closes it, and waits until nobody is inside.
    pub(super) fn close(&self) {
        self.count_closer();
        while self.inside.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    }

    /// One more keeps it closed, and all threads see that.
    fn count_closer(&self) {
        let before = self.closed.fetch_add(1, Ordering::SeqCst);
        if before & SHUT == 0 && !fence_own_threads() {
            // A filter refuses it by now. Time does the same, and nobody passes any more.
            self.closed.fetch_or(SHUT, Ordering::SeqCst);
            std::thread::sleep(STORES_ARE_SEEN);
        }
    }

    /// As [`EntryGate::close`], by the thread that is inside, or is the only one that could be.
    pub(super) fn close_from_inside(&self) {
        self.closed.fetch_add(1, Ordering::SeqCst);
    }

    /// One less keeps it closed.
    pub(super) fn reopen(&self) {
        self.closed.fetch_sub(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::UnsafeCell;
    use std::sync::atomic::AtomicU64;

    struct Guarded {
        gate: EntryGate,
        count: UnsafeCell<u64>,
    }

    // SAFETY: the count is touched by whoever is inside, or has closed the gate.
    unsafe impl Sync for Guarded {}

    impl Guarded {
        fn new() -> Guarded {
            Guarded { gate: EntryGate::new(), count: UnsafeCell::new(0) }
        }

        /// Two steps with time between them, so that a second one in the middle loses a count.
        fn count_one(&self) {
            // SAFETY: see above.
            unsafe {
                let now = self.count.get().read_volatile();
                std::hint::spin_loop();
                self.count.get().write_volatile(now + 1);
            }
        }
    }

    const PASSES: u64 = 3_000_000;

    #[test]
    fn who_passes_and_who_closes_never_meet() {
        let (guarded, done) = (Guarded::new(), AtomicBool::new(false));
        if !guarded.gate.open_with_fences() {
            return;
        }
        let closings = AtomicU64::new(0);
        let mut passed = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    if guarded.gate.try_close() {
                        guarded.count_one();
                        closings.fetch_add(1, Ordering::Relaxed);
                        guarded.gate.reopen();
                    }
                }
            });
            for _ in 0..PASSES {
                if guarded.gate.try_pass() {
                    guarded.count_one();
                    passed += 1;
                    guarded.gate.vacate();
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(guarded.count.into_inner(), passed + closings.into_inner());
        assert!(passed > 0, "the gate was never open");
    }

    #[test]
    fn closing_waits_for_who_is_inside() {
        let guarded = Guarded::new();
        if !guarded.gate.open_with_fences() {
            return;
        }
        assert!(guarded.gate.try_pass());
        assert!(!guarded.gate.try_close(), "somebody is inside");
        std::thread::scope(|scope| {
            let closing = scope.spawn(|| {
                guarded.gate.close();
                guarded.count_one();
            });
            while !guarded.gate.is_closed() {
                std::hint::spin_loop();
            }
            guarded.count_one();
            guarded.gate.vacate();
            closing.join().expect("it does not panic");
        });
        assert!(!guarded.gate.try_pass(), "it is closed");
        guarded.gate.reopen();
        assert!(guarded.gate.try_pass());
        assert_eq!(guarded.count.into_inner(), 2);
    }

    #[test]
    fn nobody_passes_before_it_is_opened() {
        let gate = EntryGate::new();
        assert!(!gate.try_pass() && gate.is_closed() && !gate.is_occupied());
        assert!(gate.try_close());
        gate.reopen();
        assert_eq!(gate.open_with_fences(), gate.try_pass());
    }

    #[test]
    fn it_opens_when_the_last_reopens_it() {
        let gate = EntryGate::new();
        if !gate.open_with_fences() {
            return;
        }
        assert!(gate.try_close() && gate.try_close());
        gate.reopen();
        assert!(!gate.try_pass());
        gate.reopen();
        assert!(gate.try_pass());
    }
}

//! How a thread enters the library: the one lock, and the guard.

use super::Process;
use super::ending::die;
use crate::check::threads;
use parking_lot::RawMutex;
use parking_lot::lock_api::{RawMutex as _, RawMutexFair as _};
use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

struct SharedProcess(UnsafeCell<Process>);

// SAFETY: reached only through `enter`, which gives out one `LockGuard` at a time: by the lock when the program may
// call from several threads, or the library's own may look; otherwise by the program's promise (section 11.6: below
// MPI_THREAD_MULTIPLE no two threads are in MPI at once).
unsafe impl Sync for SharedProcess {}

static PROCESS: SharedProcess = SharedProcess(UnsafeCell::new(Process::new()));
static LOCK: RawMutex = RawMutex::INIT;

/// Which threads may be in the library at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Threads {
    /// One. No lock is used.
    One,
    /// One of the program's, and the library's own.
    OneAndOurs,
    /// Any.
    Several,
}

/// Any, until `MPI_Init_thread` has said otherwise: before, any may create info objects and the like.
static THREADS: AtomicU8 = AtomicU8::new(Threads::Several as u8);

/// Decides which threads may be in the library at once. Called by `MPI_Init_thread`, alone.
pub(crate) fn allow(threads: Threads) {
    THREADS.store(threads as u8, Ordering::Release);
}

/// Whether the lock is used.
#[inline]
pub(crate) fn threaded() -> bool {
    THREADS.load(Ordering::Relaxed) != Threads::One as u8
}

/// Whether several threads of the program may be in the library: whoever spins lets them in. The library's own thread stays out while a
/// call makes progress.
#[inline]
pub(crate) fn several() -> bool {
    THREADS.load(Ordering::Relaxed) == Threads::Several as u8
}

/// Whether the lock is used, and two threads of the program must not meet nevertheless.
#[inline]
fn is_for_ours_alone() -> bool {
    THREADS.load(Ordering::Relaxed) == Threads::OneAndOurs as u8
}

/// From now on the lock is used: threads that are not the program's may look. No thread is in the library without it.
pub(crate) fn use_lock() {
    let (one, ours) = (Threads::One as u8, Threads::OneAndOurs as u8);
    let _ = THREADS.compare_exchange(one, ours, Ordering::AcqRel, Ordering::Relaxed);
}

/// A thread is in the library, while no lock is used: a second one must not come in.
static BUSY: AtomicBool = AtomicBool::new(false);
/// The thread that sleeps in the library meanwhile, by [`thread_token`]; 0: none.
static ASLEEP: AtomicUsize = AtomicUsize::new(0);
/// The program's thread that is in a call, asleep or not, by [`thread_token`], with [`Threads::OneAndOurs`]; 0: none.
static CALLER: AtomicUsize = AtomicUsize::new(0);

thread_local!(static IS_OURS: Cell<bool> = const { Cell::new(false) });

/// This thread is the library's own: it may be in the library beside one of the program's.
pub(crate) fn be_ours() {
    IS_OURS.set(true);
}

/// A number of this thread's, which no other that lives has.
fn thread_token() -> usize {
    IS_OURS.with(|ours| ptr::from_ref(ours).addr())
}

/// The right to use the process's state.
pub(crate) struct LockGuard {
    locked: bool,
    /// [`BUSY`] is this guard's, or [`CALLER`] where the lock is used.
    counted: bool,
    events: u64,
    /// The thread is among the sleepers already: it has looked at everything.
    sleeps: bool,
}

/// Enters the library. A thread that is in it already must not enter again: with assertions on, that is a panic.
#[inline]
#[cfg_attr(debug_assertions, track_caller)]
pub(crate) fn enter() -> LockGuard {
    holder::assert_absent();
    if threaded() {
        let counted = is_for_ours_alone() && come_as_the_only_one();
        LOCK.lock();
        return entered(counted);
    }
    if BUSY.load(Ordering::Relaxed) {
        come_back_or_meet_another();
    }
    BUSY.store(true, Ordering::Relaxed);
    holder::arrive();
    LockGuard { locked: false, counted: true, events: 0, sleeps: false }
}

/// Enters the library where no lock is used and nobody is in it, for what takes no time; `None` otherwise.
#[inline(always)]
#[cfg_attr(debug_assertions, track_caller)]
pub(crate) fn enter_alone() -> Option<LoneGuard> {
    holder::assert_absent();
    if threaded() || BUSY.load(Ordering::Relaxed) {
        return None;
    }
    BUSY.store(true, Ordering::Relaxed);
    holder::arrive();
    Some(LoneGuard(PhantomData))
}

/// As [`LockGuard`], without anything to remember: it neither sleeps nor hands the library to another thread.
pub(crate) struct LoneGuard(PhantomData<*mut ()>);

impl Deref for LoneGuard {
    type Target = Process;

    #[inline(always)]
    fn deref(&self) -> &Process {
        // SAFETY: one guard at a time (see `SharedProcess`), and the reference does not outlive it.
        unsafe { &*PROCESS.0.get() }
    }
}

impl DerefMut for LoneGuard {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Process {
        // SAFETY: one guard at a time (see `SharedProcess`), and the reference does not outlive it.
        unsafe { &mut *PROCESS.0.get() }
    }
}

impl Drop for LoneGuard {
    #[inline(always)]
    fn drop(&mut self) {
        holder::leave();
        BUSY.store(false, Ordering::Relaxed);
    }
}

/// Whether this thread has a guard: one with two would have the state twice, as two exclusive references. Empty without assertions.
mod holder {
    #[cfg(debug_assertions)]
    use super::Cell;

    #[cfg(debug_assertions)]
    thread_local!(static IS_HERE: Cell<bool> = const { Cell::new(false) });

    /// Panics if this thread has a guard.
    #[inline(always)]
    #[cfg_attr(debug_assertions, track_caller)]
    pub(super) fn assert_absent() {
        #[cfg(debug_assertions)]
        assert!(!IS_HERE.get(), "this thread is in the library already, and enters it again");
    }

    /// This thread has come in.
    #[inline(always)]
    pub(super) fn arrive() {
        #[cfg(debug_assertions)]
        IS_HERE.set(true);
    }

    /// This thread goes.
    #[inline(always)]
    pub(super) fn leave() {
        #[cfg(debug_assertions)]
        IS_HERE.set(false);
    }
}

/// A thread is in the library: the one that calls, which has slept there, or another one. (Not in line: the address of a
/// thread's own variable is a call, which a compiler may make beforehand.)
#[cold]
#[inline(never)]
fn come_back_or_meet_another() {
    let oneself = ASLEEP.load(Ordering::Relaxed) == thread_token();
    meet_another(oneself);
    ASLEEP.store(0, Ordering::Relaxed);
}

/// A thread enters the library while another is in it, and no lock keeps them apart. A thread that comes back from its own
/// sleep has met itself.
#[cold]
pub(crate) fn meet_another(oneself: bool) {
    if !oneself {
        die(tern_abi::MPI_ERR_OTHER, &threads::encounter(), false);
    }
}

/// A thread of the program's enters where the lock keeps it apart from the library's own threads alone. False: it is one of those.
#[cold]
#[inline(never)]
fn come_as_the_only_one() -> bool {
    let (oneself, is_ours) = IS_OURS.with(|ours| (ptr::from_ref(ours).addr(), ours.get()));
    if is_ours {
        return false;
    }
    let caller = CALLER.load(Ordering::Relaxed);
    if caller != 0 {
        meet_another(caller == oneself);
    }
    CALLER.store(oneself, Ordering::Relaxed);
    true
}

/// For so long, whatever thread enters meets another one, where no lock is used: this one, which has found the state wrong. Whether
/// this one has met another, which sleeps in a call.
pub(crate) fn bar_others(time: Duration) -> bool {
    let since = Instant::now();
    while !threaded() && since.elapsed() < time {
        // Again and again: whoever is inside takes the mark away when it leaves.
        BUSY.store(true, Ordering::Relaxed);
        let asleep = ASLEEP.load(Ordering::Relaxed);
        if asleep != 0 && asleep != thread_token() {
            return true;
        }
        std::thread::yield_now();
    }
    false
}

/// This thread sleeps in the library.
#[cold]
#[inline(never)]
fn fall_asleep() {
    ASLEEP.store(thread_token(), Ordering::Relaxed);
}

/// Enters the library for a call that any thread may make at any time, whatever level was asked for (MPI 5.0 section 11.4.1).
#[cfg_attr(debug_assertions, track_caller)]
pub(crate) fn enter_anyway() -> LockGuard {
    holder::assert_absent();
    if threaded() {
        LOCK.lock();
        return entered(false);
    }
    holder::arrive();
    LockGuard { locked: false, counted: false, events: 0, sleeps: false }
}

/// Enters the library unless somebody else is in it, where the lock is used.
pub(crate) fn try_enter() -> Option<LockGuard> {
    (threaded() && LOCK.try_lock()).then(|| entered(false))
}

/// Enters the library unless somebody is in it: another thread, or this one, which a signal has interrupted.
pub(crate) fn try_look() -> Option<LockGuard> {
    if threaded() {
        return try_enter();
    }
    (!BUSY.load(Ordering::Relaxed)).then(enter)
}

/// As [`use_lock`], unless a thread is in the library without it.
pub(crate) fn use_lock_if_idle() {
    if !BUSY.load(Ordering::Relaxed) {
        use_lock();
    }
}

/// The lock has been taken.
#[inline]
fn entered(counted: bool) -> LockGuard {
    holder::arrive();
    let mut guard = LockGuard { locked: true, counted, events: 0, sleeps: false };
    guard.waiting.entries = guard.waiting.entries.wrapping_add(1);
    guard.events = guard.engine_mut().map_or(0, |engine| engine.events());
    guard
}

impl Deref for LockGuard {
    type Target = Process;

    #[inline]
    fn deref(&self) -> &Process {
        // SAFETY: one guard at a time (see `SharedProcess`), and the reference does not outlive it.
        unsafe { &*PROCESS.0.get() }
    }
}

impl DerefMut for LockGuard {
    #[inline]
    fn deref_mut(&mut self) -> &mut Process {
        // SAFETY: one guard at a time (see `SharedProcess`), and the reference does not outlive it.
        unsafe { &mut *PROCESS.0.get() }
    }
}

impl Drop for LockGuard {
    #[inline]
    fn drop(&mut self) {
        if self.locked {
            leave_locked(self.events, self.sleeps, self.counted);
        } else if self.counted {
            self.leave_alone();
        } else {
            holder::leave();
        }
    }
}

/// What a guard does at its end where the lock is used. Not in line, and without a reference to the guard: where no lock is used, the
/// guard stays in registers, and a call of MPI saves no more of them than it needs.
#[inline(never)]
fn leave_locked(events: u64, sleeps: bool, counted: bool) {
    let mut guard = ManuallyDrop::new(LockGuard { locked: true, counted, events, sleeps });
    guard.wake_sleepers();
    crate::core::progress::leaving(&mut guard);
    let heard = crate::tool::is_heard();
    if heard {
        guard.engine_mut().into_iter().for_each(crate::tool::collect);
    }
    holder::leave();
    if counted && !sleeps {
        CALLER.store(0, Ordering::Relaxed);
    }
    // SAFETY: `enter` took the lock for this guard. Fair, so that a thread that polls in a loop lets the others in.
    unsafe { LOCK.unlock_fair() };
    if heard {
        crate::tool::deliver();
    }
}

impl LockGuard {
    /// The thread leaves to sleep, counted among the sleepers, and needs no waking for what it has seen.
    pub(crate) fn leave_to_sleep(mut self) {
        self.sleeps = true;
    }

    /// Leaves the library to others; a thread that only sleeps stays the one that is in it.
    #[inline]
    fn leave_alone(&self) {
        holder::leave();
        if self.sleeps {
            fall_asleep();
        } else {
            BUSY.store(false, Ordering::Relaxed);
        }
    }

    /// A thread that sleeps may wait for what this one has just completed or come upon, or for what it has left unseen.
    fn wake_sleepers(&mut self) {
        if self.waiting.sleepers > u32::from(self.sleeps) {
            self.wake_for_events();
        }
    }

    #[cold]
    fn wake_for_events(&mut self) {
        let before = self.events;
        let news = self
            .engine_mut()
            .is_some_and(|engine| engine.events() != before || engine.transport().has_unsignaled());
        if let Some(bell) = self.waiting.bell.as_ref().filter(|_| news) {
            bell.ring();
        }
    }
}

/// The state of a child that has just been forked.
pub(crate) fn in_forked_child(change: impl FnOnce(&mut Process)) {
    BUSY.store(false, Ordering::Relaxed);
    CALLER.store(0, Ordering::Relaxed);
    // SAFETY: the child has one thread. It forked outside the library, or in one of the program's functions that the library
    // calls without a guard.
    change(unsafe { &mut *PROCESS.0.get() });
}

/// The state of a process that ends because of a fault.
///
/// # Safety
/// Nothing is changed, and the process ends before another thread is served.
pub(crate) unsafe fn state_after_fault() -> &'static Process {
    // SAFETY: the caller's promise.
    unsafe { &*PROCESS.0.get() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "enters it again")]
    fn a_thread_that_enters_twice_is_noticed() {
        let _first = enter();
        let _second = enter();
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "enters it again")]
    fn a_call_that_may_be_made_at_any_time_is_no_second_entry() {
        let _first = enter_anyway();
        let _second = enter_anyway();
    }

    #[test]
    fn a_thread_that_has_left_may_enter_again() {
        drop(enter());
        drop(enter());
    }
}

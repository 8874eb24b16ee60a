//! How a thread enters the library: the one lock, and the guard.

use super::Process;
use super::ending::die;
use super::gate::EntryGate;
use crate::check::threads;
use parking_lot::RawMutex;
use parking_lot::lock_api::{RawMutex as _, RawMutexFair as _};
use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

struct SharedProcess(UnsafeCell<Process>);

// SAFETY: reached only through `enter`, which gives out one `LockGuard` at a time: by the lock when the program may
// call from several threads; by the lock or the gate when the library's own may look; otherwise by the program's promise
// (section 11.6: below MPI_THREAD_MULTIPLE no two threads are in MPI at once).
unsafe impl Sync for SharedProcess {}

static PROCESS: SharedProcess = SharedProcess(UnsafeCell::new(Process::new()));
static LOCK: RawMutex = RawMutex::INIT;
/// Whether a thread is in the library without the lock: a second one of the program's must not come in, and one of the library's own
/// closes the gate first.
static GATE: EntryGate = EntryGate::new();

/// Which threads may be in the library at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Threads {
    /// One. No lock is used.
    One,
    /// One of the program's, and the library's own: the former needs the lock only while the gate is closed.
    OneAndOurs,
    /// Any.
    Several,
}

/// Any, until `MPI_Init_thread` has said otherwise: before, any may create info objects and the like.
static THREADS: AtomicU8 = AtomicU8::new(Threads::Several as u8);

/// Decides which threads may be in the library at once. Called by `MPI_Init_thread`, alone.
pub(crate) fn allow(threads: Threads) {
    GATE.shut();
    THREADS.store(threads as u8, Ordering::Release);
}

/// Which threads may be in the library at once.
#[inline]
pub(crate) fn threads() -> Threads {
    match THREADS.load(Ordering::Relaxed) {
        0 => Threads::One,
        1 => Threads::OneAndOurs,
        _ => Threads::Several,
    }
}

/// Whether the lock is used.
#[inline]
fn threaded() -> bool {
    THREADS.load(Ordering::Relaxed) != Threads::One as u8
}

/// Whether several threads of the program may be in the library: whoever spins lets them in. The library's own thread stays out while a
/// call makes progress.
#[inline]
pub(crate) fn several() -> bool {
    THREADS.load(Ordering::Relaxed) == Threads::Several as u8
}

/// Whether the lock and the gate keep one thread of the program's and the library's own apart. Two of the program's must not meet.
#[inline]
pub(crate) fn is_for_ours_alone() -> bool {
    THREADS.load(Ordering::Relaxed) == Threads::OneAndOurs as u8
}

/// From now on the lock is used: threads that are not the program's may look. No thread is in the library without it.
pub(crate) fn use_lock() {
    if threaded() {
        return;
    }
    GATE.shut();
    let (one, ours) = (Threads::One as u8, Threads::OneAndOurs as u8);
    let _ = THREADS.compare_exchange(one, ours, Ordering::AcqRel, Ordering::Relaxed);
}

/// The thread that sleeps in the library, where no lock is used, by [`thread_token`]; 0: none.
static ASLEEP: AtomicUsize = AtomicUsize::new(0);
/// In its place: another thread makes that the lock is used, and the sleeper waits for that.
const SWITCHING: usize = usize::MAX;
/// The program's thread that is in a call with the lock, or sleeps in one, with [`Threads::OneAndOurs`], by [`thread_token`]; 0: none.
static CALLER: AtomicUsize = AtomicUsize::new(0);

thread_local!(static IS_OURS: Cell<bool> = const { Cell::new(false) });

/// This thread is the library's own: it may be in the library beside one of the program's.
pub(crate) fn be_ours() {
    IS_OURS.set(true);
}

/// Whether this thread is the library's own.
pub(crate) fn is_ours() -> bool {
    IS_OURS.get()
}

/// A number of this thread's, which no other that lives has.
fn thread_token() -> usize {
    IS_OURS.with(|ours| ptr::from_ref(ours).addr())
}

/// From now on the program's thread may pass the gate, unless it may have company: another one asks for it with [`close_gate`]. Takes
/// milliseconds where there are several threads. Without it, the lock is used.
pub(crate) fn open_gate() {
    if is_for_ours_alone() {
        GATE.open_with_fences();
    }
}

/// The program's threads need the lock while this exists, where only one of them and the library's own may be in the library.
pub(crate) struct ClosedGate(&'static EntryGate);

/// Closes the gate, unless somebody is inside.
pub(crate) fn close_gate() -> Option<ClosedGate> {
    ClosedGate::of(&GATE)
}

impl ClosedGate {
    fn of(gate: &'static EntryGate) -> Option<ClosedGate> {
        // Lazily: one that is dropped reopens the gate.
        gate.try_close().then(|| ClosedGate(gate))
    }

    /// It stays closed, until somebody else reopens it.
    pub(crate) fn leave_closed(self) {
        std::mem::forget(self);
    }
}

impl Drop for ClosedGate {
    fn drop(&mut self) {
        self.0.reopen();
    }
}

/// How a guard came in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum Entry {
    /// No lock is used, and nobody minds: see [`enter_anyway`].
    Free,
    /// No lock is used.
    Alone,
    /// Through the gate.
    Gate,
    /// By the lock.
    Lock,
    /// By the lock, as the one thread of the program's.
    LockAsCaller,
    /// By the lock, with the gate closed for it.
    LockAndGate,
}

/// The right to use the process's state. One byte, so that it stays in a register wherever it goes.
pub(crate) struct LockGuard {
    entry: Entry,
}

/// Enters the library. A thread that is in it already must not enter again: with assertions on, that is a panic.
#[inline]
#[cfg_attr(debug_assertions, track_caller)]
pub(crate) fn enter() -> LockGuard {
    holder::assert_absent();
    if threaded() {
        return LockGuard { entry: enter_threaded() };
    }
    if GATE.is_occupied() {
        come_back_or_meet_another();
    }
    GATE.occupy();
    holder::arrive();
    LockGuard { entry: Entry::Alone }
}

/// The same where the lock is used: what the guard is made of.
#[inline(never)]
fn enter_threaded() -> Entry {
    if pass_gate() {
        return Entry::Gate;
    }
    let entry = if is_for_ours_alone() { come_as_the_only_one() } else { Entry::Lock };
    LOCK.lock();
    if entry == Entry::LockAsCaller {
        // Another thread of the program's meets this one here. Nobody else looks: the lock comes first.
        GATE.occupy();
    }
    ManuallyDrop::new(entered(entry)).entry
}

/// Passes the gate, if it is open: no other thread can be inside then but one that sleeps.
#[inline(always)]
fn pass_gate() -> bool {
    if GATE.is_closed() {
        return false;
    }
    if GATE.is_occupied() {
        // It is open, so this is no thread of the library's own. Who sleeps has closed it.
        meet_another(false);
    }
    if !GATE.try_pass() {
        return false;
    }
    holder::arrive();
    count_entry();
    true
}

/// Counts the times that a thread has entered, where several may. Changed with the state entered, and looked at without.
static ENTRIES: AtomicU64 = AtomicU64::new(0);

/// Somebody has come in, which the library's own thread wants to know.
#[inline(always)]
fn count_entry() {
    ENTRIES.store(ENTRIES.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

/// How often somebody has come in, where several threads may.
pub(crate) fn entries() -> u64 {
    ENTRIES.load(Ordering::Relaxed)
}

/// Enters the library without the lock, for what takes no time and leaves nothing behind that the library's own thread would have to
/// see to; `None` where that cannot be.
#[inline(always)]
#[cfg_attr(debug_assertions, track_caller)]
pub(crate) fn enter_at_once() -> Option<LoneGuard> {
    if threaded() { enter_by_gate() } else { enter_alone() }
}

/// As [`enter_at_once`], where the library's own thread may come in.
#[inline(always)]
#[cfg_attr(debug_assertions, track_caller)]
pub(crate) fn enter_by_gate() -> Option<LoneGuard> {
    holder::assert_absent();
    pass_gate().then(|| LoneGuard(PhantomData))
}

/// As [`enter_at_once`], where no other thread could come in, however long it takes.
#[inline(always)]
#[cfg_attr(debug_assertions, track_caller)]
pub(crate) fn enter_alone() -> Option<LoneGuard> {
    holder::assert_absent();
    if threaded() || GATE.is_occupied() {
        return None;
    }
    GATE.occupy();
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
        GATE.vacate();
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

/// A thread enters where the lock keeps one of the program's apart from the library's own alone: which it is.
#[cold]
#[inline(never)]
fn come_as_the_only_one() -> Entry {
    let (oneself, is_ours) = IS_OURS.with(|ours| (ptr::from_ref(ours).addr(), ours.get()));
    if is_ours {
        return Entry::Lock;
    }
    let caller = CALLER.load(Ordering::Relaxed);
    if caller == oneself {
        // It comes back from its sleep, for which it has closed the gate.
        GATE.reopen();
    } else if caller != 0 {
        meet_another(false);
    }
    CALLER.store(oneself, Ordering::Relaxed);
    Entry::LockAsCaller
}

/// For so long, whatever thread enters meets another one, where no lock is used: this one, which has found the state wrong. Whether
/// this one has met another, which sleeps in a call.
pub(crate) fn bar_others(time: Duration) -> bool {
    let since = Instant::now();
    while !several() && since.elapsed() < time {
        // Again and again: whoever is inside takes the mark away when it leaves.
        GATE.occupy();
        let asleep = if threaded() { &CALLER } else { &ASLEEP }.load(Ordering::Relaxed);
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
    ASLEEP.store(thread_token(), Ordering::Release);
}

/// Enters the library after [`LockGuard::leave_to_sleep`]. Another thread may have begun to use the lock meanwhile.
#[cold]
#[cfg_attr(debug_assertions, track_caller)]
pub(crate) fn enter_from_sleep() -> LockGuard {
    let oneself = thread_token();
    while !threaded() {
        match ASLEEP.compare_exchange(oneself, 0, Ordering::Acquire, Ordering::Acquire) {
            Ok(_) => {
                holder::arrive();
                return LockGuard { entry: Entry::Alone };
            }
            Err(SWITCHING) => std::thread::yield_now(),
            Err(_) => break,
        }
    }
    enter()
}

/// Enters the library for a call that any thread may make at any time, whatever level was asked for (MPI 5.0 section 11.4.1).
#[cfg_attr(debug_assertions, track_caller)]
pub(crate) fn enter_anyway() -> LockGuard {
    holder::assert_absent();
    if !threaded() {
        holder::arrive();
        return LockGuard { entry: Entry::Free };
    }
    LOCK.lock();
    if !is_for_ours_alone() {
        return entered(Entry::Lock);
    }
    GATE.close();
    entered(Entry::LockAndGate)
}

/// Enters the library unless somebody else is in it, where the lock is used. The caller has closed the gate.
pub(crate) fn try_enter(_: &ClosedGate) -> Option<LockGuard> {
    (threaded() && LOCK.try_lock()).then(|| entered(Entry::Lock))
}

/// Enters the library unless somebody is in it: another thread, or this one, which a signal has interrupted.
pub(crate) fn try_look() -> Option<LockGuard> {
    if !threaded() {
        return (!GATE.is_occupied()).then(enter);
    }
    let closed = close_gate()?;
    if !LOCK.try_lock() {
        return None;
    }
    closed.leave_closed();
    Some(entered(Entry::LockAndGate))
}

/// As [`try_look`], for a call that ends this process: it tries for a while, and a call of this thread's that sleeps is no hindrance.
pub(crate) fn try_to_end(patience: Duration) -> Option<LockGuard> {
    let since = Instant::now();
    loop {
        let sleeps_here = !threaded() && ASLEEP.load(Ordering::Relaxed) == thread_token();
        let looks = if sleeps_here { Some(enter()) } else { try_look() };
        if looks.is_some() || since.elapsed() > patience {
            return looks;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// As [`use_lock`], with the gate open, once no other thread is in the library but one that sleeps there. This one is not.
pub(crate) fn use_lock_in_time() {
    while !threaded() {
        if !GATE.is_occupied() {
            use_lock();
            open_gate();
        } else if !use_lock_beside_sleeper() {
            std::thread::yield_now();
        }
    }
}

/// As [`use_lock`], if a thread sleeps in the library: it sleeps on as one that has slept with the lock from the beginning.
fn use_lock_beside_sleeper() -> bool {
    let sleeper = ASLEEP.load(Ordering::Relaxed);
    let is_asleep = sleeper != 0 && sleeper != SWITCHING;
    let holds = || ASLEEP.compare_exchange(sleeper, SWITCHING, Ordering::Acquire, Ordering::Relaxed).is_ok();
    if !is_asleep || !holds() {
        return false;
    }
    CALLER.store(sleeper, Ordering::Relaxed);
    GATE.close_from_inside();
    GATE.vacate();
    use_lock();
    ASLEEP.store(0, Ordering::Release);
    open_gate();
    true
}

/// The lock has been taken.
#[inline]
fn entered(entry: Entry) -> LockGuard {
    holder::arrive();
    count_entry();
    let mut guard = LockGuard { entry };
    guard.waiting.events_at_entry = guard.engine_mut().map_or(0, |engine| engine.events());
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
        leave(self.entry, false);
    }
}

/// What a guard does at its end. A thread that `sleeps` is among the sleepers already: it has looked at everything.
#[inline(always)]
fn leave(entry: Entry, sleeps: bool) {
    match entry {
        Entry::Alone => leave_alone(sleeps),
        entry => leave_otherwise(sleeps, entry),
    }
}

/// Leaves the library to others; a thread that only sleeps stays the one that is in it.
#[inline(always)]
fn leave_alone(sleeps: bool) {
    holder::leave();
    if sleeps {
        fall_asleep();
    } else {
        GATE.vacate();
    }
}

/// What a guard does at its end where the lock is used. Not in line: where no lock is used, a call of MPI saves no more registers than
/// it needs.
#[inline(never)]
fn leave_otherwise(sleeps: bool, entry: Entry) {
    if entry == Entry::Free {
        return holder::leave();
    }
    let mut guard = ManuallyDrop::new(LockGuard { entry });
    if entry != Entry::Gate {
        guard.wake_sleepers(sleeps);
    }
    crate::core::progress::leaving(&mut guard);
    let heard = crate::tool::is_heard() && crate::tool::may_note();
    if heard {
        guard.engine_mut().into_iter().for_each(crate::tool::collect);
    }
    holder::leave();
    match entry {
        Entry::Gate => leave_gate(sleeps),
        _ => leave_locked(sleeps, entry),
    }
    if heard {
        crate::tool::deliver();
    }
}

#[inline(always)]
fn leave_gate(sleeps: bool) {
    if sleeps {
        fall_asleep_in_call();
    }
    GATE.vacate();
}

#[inline(always)]
fn leave_locked(sleeps: bool, entry: Entry) {
    match entry {
        Entry::LockAsCaller if sleeps => {
            fall_asleep_in_call();
            GATE.vacate();
        }
        Entry::LockAsCaller => {
            CALLER.store(0, Ordering::Relaxed);
            GATE.vacate();
        }
        Entry::LockAndGate => GATE.reopen(),
        _ => {}
    }
    // SAFETY: `enter` took the lock for this guard. Fair, so that a thread that polls in a loop lets the others in.
    unsafe { LOCK.unlock_fair() };
}

/// The program's one thread sleeps in its call. The gate is closed meanwhile: another one that calls meets it, and the library's own
/// need no fence.
#[cold]
#[inline(never)]
fn fall_asleep_in_call() {
    CALLER.store(thread_token(), Ordering::Relaxed);
    GATE.close_from_inside();
}

impl LockGuard {
    /// The thread leaves to sleep, counted among the sleepers, and needs no waking for what it has seen.
    pub(crate) fn leave_to_sleep(self) {
        leave(ManuallyDrop::new(self).entry, true);
    }

    /// A thread that sleeps may wait for what this one has just completed or come upon, or for what it has left unseen.
    fn wake_sleepers(&mut self, sleeps: bool) {
        if self.waiting.sleepers > u32::from(sleeps) {
            self.wake_for_events();
        }
    }

    #[cold]
    fn wake_for_events(&mut self) {
        let before = self.waiting.events_at_entry;
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
    GATE.vacate();
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
    fn who_could_not_close_the_gate_has_changed_nothing() {
        static GATE: EntryGate = EntryGate::new();
        if !GATE.open_with_fences() {
            return;
        }
        assert!(GATE.try_pass());
        assert!(ClosedGate::of(&GATE).is_none(), "somebody is inside");
        GATE.vacate();
        assert!(!GATE.is_closed());
        let closed = ClosedGate::of(&GATE);
        assert!(closed.is_some() && !GATE.try_pass());
        drop(closed);
        assert!(!GATE.is_closed() && !GATE.is_occupied());
    }

    #[test]
    fn a_thread_that_has_left_may_enter_again() {
        drop(enter());
        drop(enter());
    }
}

//! What the ranks of a window share beside its memory: of each rank a lock, the ranks that wait for it, and who has posted and
//! completed (MPI 5.0 sections 12.5.2 and 12.5.3).
//!
//! All words count upwards or are zero at first, as new memory is. Whoever changes a word that another rank may wait for rings that
//! rank's bell afterwards.

use super::errand::StageHalf;
use crate::limits::STAGE_HALF_BYTES;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
pub(super) use tern_engine::rma::LockKind;
use tern_mem::UserBuf;
use tern_shm::SharedRange;
use tern_shm::epoch_lock::EpochLock;
use tern_shm::errand::ErrandLine;
use tern_shm::turns::{self, AllLocked, Marked, TurnLock};

// The lock: see `TurnLock`.
const LINE: usize = 0;
const LEFT: usize = 8;
/// The lock that epochs of `MPI_Win_lock_all` share: see `EpochLock`.
const EPOCHS: usize = 16;
/// Rank of the writer, and one: for reports.
const HOLDER: usize = 24;
/// Ranks that wait for the lock, by themselves or for others.
const WAITERS: usize = 32;
/// The newest epoch of them.
const NEWEST_EPOCH: usize = 40;
/// Held while elements are combined that the processor cannot combine by one instruction, or many at once.
const ELEMENTS: usize = 64;
/// Not zero while many elements here are combined at once.
const MANY: usize = 72;
/// Not zero after an errand that nobody took up: whoever is woken looks for more than a moment.
const WANTED: usize = 80;
/// Not zero while this rank combines a few elements somewhere. In a line of its own.
const FEW: usize = 128;
/// Not zero while this rank holds the locks of all by `MPI_Win_lock_all`: see `AllLocked`.
const ALL: usize = 132;
/// Whether such marks count. In a line of its own, since everybody reads it; of the first rank's words it is used.
const WRITERS: usize = 192;
/// What others ask this rank to do with its memory: see `ErrandLine`. In a line of its own.
const ERRAND: usize = 256;
/// Regions that are attached to a dynamic window: how many entries are in use, then address and bytes of each.
const ATTACHED: usize = 320;
const REGIONS: usize = 384;
/// Behind them, the words for each rank: in a window that has no regions in their place, so that all words are in one page.
const OF_RANKS: [usize; 2] = [REGIONS, REGIONS + 16 * REGIONS_MAX];
const BYTES_PER_RANK: usize = 24;
/// Behind those, in lines of their own, how many of each rank's posts and completions this one has used up.
const BYTES_TAKEN: usize = 16;

/// Bytes of a stage.
pub(super) const STAGE_BYTES: usize = 2 * STAGE_HALF_BYTES;

/// Regions that can be attached to a dynamic window at once.
pub(super) const REGIONS_MAX: usize = 1024;

/// The words of one rank.
#[derive(Debug)]
pub(crate) struct WindowControl {
    range: SharedRange,
    size: u32,
    is_dynamic: bool,
    /// Ranks of the window are of several hosts: epochs of `MPI_Win_lock_all` take each lock by `EpochLock`, and marks do not count.
    spans_hosts: bool,
    /// Where the stage begins, in a window that has one.
    stage: Option<usize>,
}

/// Why a region is not attached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NotAttached {
    /// There are [`REGIONS_MAX`].
    TooMany,
    /// Of the region with this address and so many bytes some are the same.
    Overlaps(u64, u64),
}

/// Who of a rank waits for a lock: bits of its word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LockWaits {
    /// A call of its own.
    Itself = 1,
    /// Its engine, for ranks of other hosts.
    ForOthers = 2,
}

/// What ranks tell each other between post and wait: words of a rank, the first two of three.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// `MPI_Win_post`: the other may access this one's memory.
    Post = 0,
    /// `MPI_Win_complete`: it has done so.
    Completion = 1,
}

/// Where the words of which only this rank knows begin.
const fn taken_at(size: u32, is_dynamic: bool) -> usize {
    (OF_RANKS[is_dynamic as usize] + size as usize * BYTES_PER_RANK).next_multiple_of(64)
}

/// Whether all locks are held by one mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AllEntered {
    /// They are.
    Held,
    /// Not in this window any more.
    Never,
    /// A rank that wants one alone came first. Whoever waits has to be woken.
    GaveWay,
}

impl WindowControl {
    /// Bytes that a rank's words take in a window of `size` ranks; regions can be attached to a dynamic one.
    pub(crate) fn bytes(size: u32, is_dynamic: bool) -> usize {
        taken_at(size, is_dynamic) + size as usize * BYTES_TAKEN
    }

    /// The words at the beginning of a range, in a window of `size` ranks.
    pub(crate) fn new(range: SharedRange, size: u32, is_dynamic: bool) -> WindowControl {
        assert!(!range.at(0, WindowControl::bytes(size, is_dynamic)).is_null());
        WindowControl { range, size, is_dynamic, spans_hosts: false, stage: None }
    }

    /// The same in a window whose ranks are of several hosts.
    pub(crate) fn spanning(self) -> WindowControl {
        WindowControl { spans_hosts: true, ..self }
    }

    /// The same with a stage of [`STAGE_BYTES`] from this byte of the range on.
    pub(crate) fn with_stage(self, offset: usize) -> WindowControl {
        assert!(!self.range.at(offset, STAGE_BYTES).is_null());
        WindowControl { stage: Some(offset), ..self }
    }

    /// In place of the words of a rank of another host, which are not reached from here.
    pub(crate) fn elsewhere(size: u32) -> WindowControl {
        let range = SharedRange::none();
        WindowControl { range, size, is_dynamic: false, spans_hosts: true, stage: None }
    }

    /// Whether ranks of the window are of several hosts.
    #[inline(always)]
    pub(crate) fn spans_hosts(&self) -> bool {
        self.spans_hosts
    }

    /// Whether the words are reached from here.
    pub(crate) fn is_here(&self) -> bool {
        !self.range.is_none()
    }

    /// Behind the words: memory of the window.
    pub(crate) fn memory(&self, offset: usize, bytes: usize) -> *mut u8 {
        self.range.at(offset, bytes)
    }

    /// The word at one of the offsets above: to know that they all are there takes one look.
    #[inline(always)]
    fn word(&self, offset: usize) -> &AtomicU64 {
        &self.range.first_words::<{ REGIONS / 8 }>()[offset / 8]
    }

    /// The same of half a word.
    #[inline(always)]
    fn half_word(&self, offset: usize) -> &AtomicU32 {
        &self.range.first_half_words::<{ REGIONS / 4 }>()[offset / 4]
    }

    fn of_rank(&self, rank: u32, word: usize) -> usize {
        assert!(rank < self.size, "rank {rank} of {}", self.size);
        OF_RANKS[usize::from(self.is_dynamic)] + rank as usize * BYTES_PER_RANK + word * 8
    }

    // The lock.

    #[inline(always)]
    fn turns(&self) -> TurnLock<'_> {
        TurnLock { line: self.word(LINE), left: self.word(LEFT) }
    }

    fn epochs(&self) -> EpochLock<'_> {
        EpochLock { state: self.word(EPOCHS), newest: self.word(NEWEST_EPOCH) }
    }

    /// Takes a ticket for the lock.
    #[inline]
    pub(crate) fn ticket(&self, kind: LockKind) -> u64 {
        match kind {
            LockKind::All(_) => self.epochs().wait(),
            LockKind::Shared | LockKind::Exclusive => self.turns().ticket(),
        }
    }

    /// The newest epoch of `MPI_Win_lock_all` that has had the lock, in a window of several hosts.
    pub(crate) fn newest_epoch(&self) -> u64 {
        self.epochs().newest()
    }

    /// Whether it is the turn of a ticket; then the lock is held. `all` are the words of all ranks.
    #[inline]
    pub(crate) fn enter(&self, all: &[WindowControl], ticket: u64, kind: LockKind, me: u32) -> bool {
        match kind {
            LockKind::Shared => self.turns().reads(ticket),
            LockKind::All(epoch) => self.epochs().enters(epoch, ticket),
            LockKind::Exclusive if self.spans_hosts => {
                self.turns().writes(ticket) && self.epochs().writes() && self.is_held_by(me)
            }
            // Some rank may hold all locks by its mark.
            LockKind::Exclusive => self.turns().writes(ticket) && are_unmarked(all) && self.is_held_by(me),
        }
    }

    /// Takes the lock, if nobody is there or waits; otherwise nothing has happened.
    #[inline(always)]
    pub(crate) fn enter_at_once(&self, all: &[WindowControl], kind: LockKind, me: u32) -> bool {
        match kind {
            LockKind::Shared => self.turns().reads_at_once(),
            LockKind::All(epoch) => self.epochs().enters_at_once(epoch),
            // It takes two locks, of which the first cannot be given back.
            LockKind::Exclusive if self.spans_hosts => false,
            LockKind::Exclusive => are_unmarked(all) && self.turns().writes_at_once() && self.is_held_by(me),
        }
    }

    /// Says who holds the lock alone.
    #[inline(always)]
    fn is_held_by(&self, me: u32) -> bool {
        self.word(HOLDER).store(u64::from(me) + 1, Ordering::Relaxed);
        true
    }

    /// Holds the locks of all ranks of this host for reading, if no rank has locked one alone yet. These are this rank's words, and `all`
    /// are those of all.
    #[inline(always)]
    pub(crate) fn enter_all(&self, all: &[WindowControl]) -> AllEntered {
        let marks = all_locked(all);
        if !marks.may_mark() {
            return AllEntered::Never;
        }
        match marks.mark(self.half_word(ALL)) {
            true => AllEntered::Held,
            false => {
                marks.unmark(self.half_word(ALL));
                AllEntered::GaveWay
            }
        }
    }

    /// Gives them back; whether a rank may wait for that.
    #[inline(always)]
    pub(crate) fn leave_all(&self, all: &[WindowControl]) -> bool {
        all_locked(all).unmark(self.half_word(ALL))
    }

    /// Whether this rank holds the locks of all by its mark: for reports.
    pub(crate) fn has_all(&self) -> bool {
        self.is_here() && self.half_word(ALL).load(Ordering::Relaxed) != 0
    }

    /// Gives the lock back. What comes after is not seen before.
    #[inline(always)]
    pub(crate) fn leave(&self, kind: LockKind) {
        match kind {
            LockKind::Shared => self.turns().end_reading(),
            LockKind::All(_) => self.epochs().end_epoch(),
            LockKind::Exclusive => {
                self.word(HOLDER).store(0, Ordering::Relaxed);
                // Epochs that wait come in before the next writer has its turn.
                if self.spans_hosts {
                    self.epochs().end_writing();
                }
                self.turns().end_writing();
            }
        }
    }

    /// The rank that holds the lock alone, if one does.
    pub(crate) fn holder(&self) -> Option<u32> {
        (self.word(HOLDER).load(Ordering::Relaxed) as u32).checked_sub(1)
    }

    /// Somebody of a rank waits for the lock, from now on or no longer. The rank's word is changed by that rank alone.
    pub(crate) fn waits(&self, rank: u32, who: LockWaits, waits: bool) {
        let word = self.range.word(self.of_rank(rank, 2));
        let before = word.load(Ordering::Relaxed);
        let after = if waits { before | who as u64 } else { before & !(who as u64) };
        word.store(after, Ordering::SeqCst);
        match (before != 0, after != 0) {
            (false, true) => self.word(WAITERS).fetch_add(1, Ordering::SeqCst),
            (true, false) => self.word(WAITERS).fetch_sub(1, Ordering::SeqCst),
            _ => 0,
        };
    }

    /// Whether some rank waits for the lock.
    #[inline(always)]
    pub(crate) fn has_waiters(&self) -> bool {
        self.word(WAITERS).load(Ordering::SeqCst) != 0
    }

    /// The ranks to be woken after the lock was entered or left.
    #[inline]
    pub(crate) fn waiters(&self) -> impl Iterator<Item = u32> {
        let some = self.has_waiters();
        let waits = |rank: &u32| self.range.word(self.of_rank(*rank, 2)).load(Ordering::Relaxed) != 0;
        (0..if some { self.size } else { 0 }).filter(waits)
    }

    // Post, start, complete, wait.

    /// `rank`, which alone says so, has posted an exposure to this one, or completed an access. Whoever sees that sees what was done
    /// before it.
    #[inline]
    pub(crate) fn tell(&self, rank: u32, what: Turn) {
        let told = self.range.word(self.of_rank(rank, what as usize));
        told.store(told.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }

    /// Whether `rank` has done so, and this rank has not taken it up yet.
    #[inline]
    pub(crate) fn is_told(&self, rank: u32, what: Turn) -> bool {
        let told = self.range.word(self.of_rank(rank, what as usize)).load(Ordering::Acquire);
        told != self.taken(rank, what).load(Ordering::Relaxed)
    }

    /// This rank takes it up.
    #[inline]
    pub(crate) fn take(&self, rank: u32, what: Turn) {
        let taken = self.taken(rank, what);
        taken.store(taken.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    fn taken(&self, rank: u32, what: Turn) -> &AtomicU64 {
        assert!(rank < self.size, "rank {rank} of {}", self.size);
        self.range
            .word(taken_at(self.size, self.is_dynamic) + rank as usize * BYTES_TAKEN + what as usize * 8)
    }

    // Elements.

    /// Does something while nobody else combines elements here that need a lock. Elements are combined in a moment, so whoever waits
    /// spins, and gives the core away now and then.
    pub(crate) fn alone<T>(&self, me: u32, work: impl FnOnce() -> T) -> T {
        let lock = self.half_word(ELEMENTS);
        let mut looks = 0u32;
        while lock.compare_exchange_weak(0, me + 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            looks += 1;
            if looks.is_multiple_of(64) {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
        let _open = Marked::found(lock);
        work()
    }

    // Few and many elements. Who combines a few by atomic instructions says so at its own words, and looks whether somebody combines many
    // at the target. Who combines many says so at the target, lets all ranks pass a fence, and waits for those that are in the middle of
    // a few. So the few cost no fence.

    /// This rank is about to combine a few elements, or has done so.
    #[inline(always)]
    pub(crate) fn combines_few(&self, now: bool) {
        turns::mark_few(self.half_word(FEW), now);
    }

    /// Whether somebody combines many here, so that a few have to wait.
    #[inline(always)]
    pub(crate) fn has_many(&self) -> bool {
        turns::has_many(self.half_word(MANY))
    }

    /// Within [`WindowControl::alone`]: does something while nobody combines elements here by atomic instructions, if
    /// that can be had: `all` are the words of all ranks, and `fence` makes all of them pass a fence. The work is told
    /// whether it is so.
    pub(crate) fn with_many<T>(
        &self,
        all: &[WindowControl],
        fence: impl FnOnce() -> bool,
        work: impl FnOnce(bool) -> T,
    ) -> T {
        let _marked = turns::mark_many(self.half_word(MANY));
        let is_fenced = fence();
        for control in all.iter().filter(|control| is_fenced && control.is_here()) {
            turns::await_few(control.half_word(FEW), std::thread::yield_now);
        }
        work(is_fenced)
    }

    /// What others ask this rank to do with its memory.
    #[inline(always)]
    pub(crate) fn errand(&self) -> ErrandLine<'_> {
        ErrandLine(&self.range.first_words::<{ REGIONS / 8 }>()[ERRAND / 8..][..ErrandLine::WORDS])
    }

    /// Others have errands for this rank, which has taken none up.
    pub(crate) fn want(&self) {
        self.half_word(WANTED).store(1, Ordering::Relaxed);
    }

    /// Whether that is so.
    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.half_word(WANTED).load(Ordering::Relaxed) != 0
    }

    /// This rank looks for errands now, if others have some.
    pub(crate) fn take_wanted(&self) -> bool {
        let is_wanted = self.is_wanted();
        if is_wanted {
            self.half_word(WANTED).store(0, Ordering::Relaxed);
        }
        is_wanted
    }

    /// A half of the stage by which bytes go that are too many for the line, if there is one and they fit.
    pub(super) fn stage(&self, half: StageHalf, bytes: usize) -> Option<UserBuf> {
        let start = self.stage.filter(|_| bytes <= STAGE_HALF_BYTES)?;
        let half = if half == StageHalf::First { 0 } else { STAGE_HALF_BYTES };
        let base = self.range.at(start + half, bytes);
        // SAFETY: within the range, which is mapped as long as this. Who may use a half of it, the line of errands says.
        Some(unsafe { UserBuf::contiguous(base, bytes) })
    }

    // Regions of a dynamic window. Their owner writes them, alone.

    /// Says that a region is attached.
    pub(crate) fn attach(&self, address: u64, bytes: u64) -> Result<(), NotAttached> {
        assert!(self.is_dynamic, "regions of a window that has none");
        let count = self.range.word(ATTACHED).load(Ordering::Relaxed) as usize;
        let end = address.saturating_add(bytes);
        let overlaps =
            |(base, len): &(u64, u64)| *len > 0 && *base < end && base.saturating_add(*len) > address;
        if let Some((base, len)) = (0..count).map(|entry| self.region(entry)).find(overlaps) {
            return Err(NotAttached::Overlaps(base, len));
        }
        let free = (0..count).find(|&entry| self.region(entry).1 == 0).unwrap_or(count);
        if free == REGIONS_MAX {
            return Err(NotAttached::TooMany);
        }
        let entry = REGIONS + 16 * free;
        self.range.word(entry).store(address, Ordering::Relaxed);
        self.range.word(entry + 8).store(bytes, Ordering::Release);
        self.range.word(ATTACHED).store(count.max(free + 1) as u64, Ordering::Release);
        Ok(())
    }

    /// Says that the region at an address is attached no longer; false if none was.
    pub(crate) fn detach(&self, address: u64) -> bool {
        assert!(self.is_dynamic, "regions of a window that has none");
        let count = self.range.word(ATTACHED).load(Ordering::Relaxed) as usize;
        let found = (0..count).find(|&entry| self.region(entry).0 == address && self.region(entry).1 > 0);
        if let Some(entry) = found {
            self.range.word(REGIONS + 16 * entry + 8).store(0, Ordering::Release);
        }
        found.is_some()
    }

    /// Whether all of these bytes are attached, by one region or by several that follow each other.
    pub(crate) fn is_attached(&self, address: u64, bytes: u64) -> bool {
        assert!(self.is_dynamic, "regions of a window that has none");
        let count = (self.range.word(ATTACHED).load(Ordering::Acquire) as usize).min(REGIONS_MAX);
        let (mut from, end) = (address, address.saturating_add(bytes));
        while from < end {
            let reach = |entry| {
                let (base, len) = self.region(entry);
                (base <= from && from - base < len).then(|| base.saturating_add(len))
            };
            match (0..count).find_map(reach) {
                Some(reached) => from = reached,
                None => return false,
            }
        }
        true
    }

    /// Whether all bytes of a buffer are attached that has gaps, which need not be.
    #[cold]
    pub(crate) fn are_attached(&self, buffer: &UserBuf) -> bool {
        buffer.all_pieces(|piece| self.is_attached(piece.base as u64, piece.len as u64))
    }

    fn region(&self, entry: usize) -> (u64, u64) {
        let bytes = self.range.word(REGIONS + 16 * entry + 8).load(Ordering::Acquire);
        (self.range.word(REGIONS + 16 * entry).load(Ordering::Relaxed), bytes)
    }
}

/// The marks of those that hold all locks. The words of the first rank of this host are meant, which all ranks of it know.
#[inline(always)]
fn all_locked(all: &[WindowControl]) -> AllLocked<'_> {
    let first = all.iter().find(|control| control.is_here()).expect("this rank's own words are here");
    AllLocked { writers: first.half_word(WRITERS) }
}

/// Whether no rank holds all locks by its mark; from now on none does so any more.
#[inline(always)]
fn are_unmarked(all: &[WindowControl]) -> bool {
    let marks = all.iter().filter(|control| control.is_here()).map(|control| control.half_word(ALL));
    all_locked(all).are_over(marks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tern_shm::JobMemory;

    fn control(size: u32) -> WindowControl {
        let memory = JobMemory::new(None).unwrap();
        WindowControl::new(memory.map(0, WindowControl::bytes(size, true)).unwrap(), size, true)
    }

    fn tries(control: &WindowControl, ticket: u64, kind: LockKind) -> bool {
        control.enter(std::slice::from_ref(control), ticket, kind, 3)
    }

    #[test]
    fn who_comes_first_enters_first_and_readers_together() {
        use LockKind::*;
        let control = control(4);
        let tickets: Vec<u64> = (0..4).map(|_| control.ticket(Shared)).collect();
        // Two readers, a writer, a reader.
        assert!(!tries(&control, tickets[1], Shared), "the first one has not entered");
        assert!(tries(&control, tickets[0], Shared) && tries(&control, tickets[1], Shared));
        assert!(!tries(&control, tickets[2], Exclusive));
        assert!(!tries(&control, tickets[3], Shared), "nobody overtakes a writer");
        control.leave(Shared);
        assert!(!tries(&control, tickets[2], Exclusive));
        control.leave(Shared);
        assert!(tries(&control, tickets[2], Exclusive) && control.holder() == Some(3));
        assert!(!tries(&control, tickets[3], Shared));
        control.leave(Exclusive);
        assert!(tries(&control, tickets[3], Shared) && control.holder().is_none());
        control.leave(Shared);
        let last = control.ticket(Exclusive);
        assert!(tries(&control, last, Exclusive));
    }

    #[test]
    fn epochs_of_several_hosts_pass_a_writer_that_waits() {
        use LockKind::*;
        let control = control(4).spanning();
        let all = std::slice::from_ref(&control);
        assert!(control.enter_at_once(all, All(3), 0) && control.enter_at_once(all, Shared, 1));
        assert!(!control.enter_at_once(all, Exclusive, 2));
        let writer = control.ticket(Exclusive);
        assert!(!tries(&control, writer, Exclusive));
        control.leave(Shared);
        assert!(!tries(&control, writer, Exclusive), "the epoch is still inside");
        assert!(control.enter_at_once(all, All(2), 1) && !control.enter_at_once(all, All(4), 1));
        let newer = control.ticket(All(4));
        assert!(!tries(&control, newer, All(4)) && control.newest_epoch() == 3);
        control.leave(All(3));
        control.leave(All(2));
        assert!(tries(&control, writer, Exclusive) && control.holder() == Some(3));
        assert!(!tries(&control, newer, All(4)) && !control.enter_at_once(all, Shared, 1));
        control.leave(Exclusive);
        assert!(tries(&control, newer, All(4)) && control.enter_at_once(all, Shared, 1));
    }

    #[test]
    fn a_lock_excludes() {
        let (control, mut inside) = (control(8), 0u64);
        let at = (&raw mut inside).expose_provenance();
        let work = |me: u32| {
            for _ in 0..2_000 {
                let all = std::slice::from_ref(&control);
                if !control.enter_at_once(all, LockKind::Exclusive, me) {
                    let ticket = control.ticket(LockKind::Exclusive);
                    while !control.enter(all, ticket, LockKind::Exclusive, me) {
                        std::thread::yield_now();
                    }
                }
                let inside = std::ptr::with_exposed_provenance_mut::<u64>(at);
                // SAFETY: the lock is held, so nobody else is here.
                unsafe { inside.write_volatile(inside.read_volatile() + 1) };
                control.leave(LockKind::Exclusive);
                control.alone(me, || {
                    // SAFETY: as above, by the other lock: nobody writes the word now but in the same way.
                    let _ = unsafe { inside.read_volatile() };
                });
            }
        };
        std::thread::scope(|scope| {
            for me in 0..4 {
                scope.spawn(move || work(me));
            }
        });
        assert_eq!(inside, 8_000);
    }

    /// Two words that belong together: the few change one after the other, and the many see them equal.
    #[test]
    fn who_combines_many_is_alone() {
        let (all, mut words) = ([control(3), control(3), control(3)], [0u64; 2]);
        let at = words.as_mut_ptr().expose_provenance();
        let word = |index: usize| std::ptr::with_exposed_provenance_mut::<u64>(at).wrapping_add(index);
        let few = |me: usize| {
            for _ in 0..50_000 {
                all[me].combines_few(true);
                // Without `membarrier` the test fences here.
                std::sync::atomic::fence(Ordering::SeqCst);
                if all[0].has_many() {
                    all[me].combines_few(false);
                    all[0].alone(me as u32, || {});
                    continue;
                }
                for index in 0..2 {
                    // SAFETY: the words outlive the threads; whoever does not do so atomically is alone.
                    unsafe { AtomicU64::from_ptr(word(index)) }.fetch_add(1, Ordering::SeqCst);
                }
                all[me].combines_few(false);
            }
        };
        let many = || {
            for _ in 0..5_000 {
                let equal = all[0].alone(0, || {
                    let fence = || {
                        std::sync::atomic::fence(Ordering::SeqCst);
                        true
                    };
                    // SAFETY: nobody else changes the words now.
                    all[0].with_many(&all, fence, |_| unsafe {
                        word(0).read_volatile() == word(1).read_volatile()
                    })
                });
                assert!(equal);
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(move || few(1));
            scope.spawn(move || few(2));
            scope.spawn(many);
        });
    }

    #[test]
    fn who_waits_is_known() {
        let control = control(3);
        assert_eq!(control.waiters().count(), 0);
        control.waits(2, LockWaits::Itself, true);
        control.waits(2, LockWaits::ForOthers, true);
        assert_eq!(control.waiters().collect::<Vec<_>>(), [2]);
        control.waits(2, LockWaits::Itself, false);
        assert_eq!(control.waiters().collect::<Vec<_>>(), [2], "its engine still waits");
        control.waits(2, LockWaits::ForOthers, false);
        assert_eq!(control.waiters().count(), 0);
    }

    #[test]
    fn words_of_a_window_without_regions_are_in_one_page() {
        let (plain, dynamic) = (WindowControl::bytes(64, false), WindowControl::bytes(64, true));
        assert!(plain <= 4096 && dynamic == plain + 16 * REGIONS_MAX);
        let memory = JobMemory::new(None).unwrap();
        let control = WindowControl::new(memory.map(0, plain).unwrap(), 64, false);
        control.tell(63, Turn::Completion);
        assert!(control.is_told(63, Turn::Completion) && !control.is_told(63, Turn::Post));
        control.take(63, Turn::Completion);
        assert!(
            !control.is_told(63, Turn::Completion) && (0..63).all(|rank| !control.is_told(rank, Turn::Post))
        );
        assert!(control.holder().is_none() && !control.has_waiters() && !control.has_all());
    }

    #[test]
    fn attached_regions_may_follow_each_other() {
        let control = control(1);
        let attaches = |address, bytes| control.attach(address, bytes).is_ok();
        assert!(attaches(1000, 100) && attaches(1100, 50));
        assert_eq!(control.attach(1149, 1), Err(NotAttached::Overlaps(1100, 50)));
        assert_eq!(control.attach(900, 101), Err(NotAttached::Overlaps(1000, 100)));
        assert!(control.is_attached(1000, 150) && control.is_attached(1149, 1) && control.is_attached(7, 0));
        assert!(!control.is_attached(1000, 151) && !control.is_attached(999, 1));
        assert!(control.detach(1000) && !control.detach(1000));
        assert!(!control.is_attached(1050, 10) && control.is_attached(1100, 50));
        assert!((1..REGIONS_MAX).all(|at| attaches(10_000 + 10 * at as u64, 5)));
        assert_eq!(control.attach(5, 5), Err(NotAttached::TooMany));
    }
}

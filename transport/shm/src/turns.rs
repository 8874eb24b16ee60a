//! The words by which ranks take turns at the memory of a window: a lock that readers share, and a mark by which those who combine many
//! elements keep out those who combine a few. They are in memory that ranks share, and zero at first.

use crate::sync::{AtomicU32, AtomicU64, Ordering};
use std::sync::atomic::compiler_fence;

/// A lock that gives turns in the order of tickets: a reader enters when all before it have come so far that they let it read, a writer
/// when all before it have left. Readers that follow each other enter together. Numbers of tickets begin again after 2^32.
pub struct TurnLock<'a> {
    /// In the lower half the next ticket; in the upper one, how many let those behind them read: readers when they enter, writers when
    /// they have left.
    pub line: &'a AtomicU64,
    /// How many have left.
    pub left: &'a AtomicU64,
}

/// One more lets those behind it read. What overflows is gone.
const LETS_READ: u64 = 1 << 32;

/// The ticket that is taken next, and the one that may read next.
#[inline(always)]
fn halves(line: u64) -> (u32, u32) {
    (line as u32, (line >> 32) as u32)
}

/// The line with one ticket more.
#[inline(always)]
fn with_ticket(line: u64) -> u64 {
    line & !u64::from(u32::MAX) | u64::from((line as u32).wrapping_add(1))
}

impl TurnLock<'_> {
    /// Takes a ticket.
    #[inline(always)]
    pub fn ticket(&self) -> u64 {
        let mut line = self.line.load(Ordering::Relaxed);
        loop {
            let swapped =
                self.line.compare_exchange_weak(line, with_ticket(line), Ordering::AcqRel, Ordering::Relaxed);
            match swapped {
                Ok(_) => return u64::from(line as u32),
                Err(other) => line = other,
            }
        }
    }

    /// Takes a ticket and the lock with it, for reading, by one instruction; false, and nothing has happened, if somebody is before it.
    #[inline(always)]
    pub fn reads_at_once(&self) -> bool {
        let line = self.line.load(Ordering::Relaxed);
        let (next, read) = halves(line);
        let entered = with_ticket(line).wrapping_add(LETS_READ);
        next == read && self.line.compare_exchange(line, entered, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// The same for writing.
    #[inline(always)]
    pub fn writes_at_once(&self) -> bool {
        let line = self.line.load(Ordering::Relaxed);
        // Nobody can leave whose ticket is not taken, so if all have left, and no ticket is taken until mine, nobody is inside.
        self.left.load(Ordering::Acquire) as u32 == line as u32
            && self
                .line
                .compare_exchange(line, with_ticket(line), Ordering::SeqCst, Ordering::Relaxed)
                .is_ok()
    }

    /// Whether it is the turn of a reader's ticket; then it has the lock, and the next one in the line may read, too.
    #[inline(always)]
    pub fn reads(&self, ticket: u64) -> bool {
        let mine = halves(self.line.load(Ordering::Acquire)).1 == ticket as u32;
        if mine {
            self.line.fetch_add(LETS_READ, Ordering::SeqCst);
        }
        mine
    }

    /// Whether it is the turn of a writer's ticket; then it has the lock, alone.
    #[inline(always)]
    pub fn writes(&self, ticket: u64) -> bool {
        self.left.load(Ordering::Acquire) as u32 == ticket as u32
    }

    /// A reader leaves. What comes after is not seen before.
    #[inline(always)]
    pub fn end_reading(&self) {
        self.left.fetch_add(1, Ordering::SeqCst);
    }

    /// A writer leaves, as [`TurnLock::end_reading`].
    #[inline(always)]
    pub fn end_writing(&self) {
        // Nobody else changes this word now. The next writer may come at once, and whoever it lets read waits for this one as well.
        let left = self.left.load(Ordering::Relaxed) + 1;
        self.left.store(left, Ordering::Release);
        self.line.fetch_add(LETS_READ, Ordering::SeqCst);
    }
}

/// The words by which a rank has the locks of all at once, for reading. It marks a word of its own, and holds them all, as long as no
/// writer has ever come; from then on it takes them one by one. So to lock all costs one instruction in windows that nobody locks alone.
pub struct AllLocked<'a> {
    /// One for all ranks: [`NO_WRITER`] at first.
    pub writers: &'a AtomicU32,
}

/// No writer has come, so marks count.
const NO_WRITER: u32 = 0;
/// One has come, and waits for those that have marked.
const WRITER_WAITS: u32 = 1;
/// All marks that counted are gone.
const NO_MARKS: u32 = 2;

/// The accesses before and after this are in one order that all see, since they are `SeqCst`. Loom takes them for `AcqRel` ones, so in models
/// a fence stands here.
#[inline(always)]
fn in_one_order() {
    #[cfg(loom)]
    crate::sync::fence(Ordering::SeqCst);
}

impl AllLocked<'_> {
    /// Whether a rank may hold all locks by a mark: otherwise it should not try.
    #[inline(always)]
    pub fn may_mark(&self) -> bool {
        self.writers.load(Ordering::Relaxed) == NO_WRITER
    }

    /// Marks a rank's own word; whether it holds all locks by that. If not, it has to be unmarked.
    #[inline(always)]
    pub fn mark(&self, mine: &AtomicU32) -> bool {
        mine.swap(1, Ordering::SeqCst);
        in_one_order();
        self.writers.load(Ordering::SeqCst) == NO_WRITER
    }

    /// Takes the mark away; whether a writer may wait for that.
    #[inline(always)]
    pub fn unmark(&self, mine: &AtomicU32) -> bool {
        mine.swap(0, Ordering::SeqCst);
        in_one_order();
        self.writers.load(Ordering::SeqCst) != NO_WRITER
    }

    /// Whether no rank holds all locks by a mark, now and ever after: asked by a writer whose turn it is. `marks` are the words of all.
    #[inline(always)]
    pub fn are_over<'b>(&self, marks: impl Iterator<Item = &'b AtomicU32>) -> bool {
        self.writers.load(Ordering::Acquire) == NO_MARKS || self.end(marks)
    }

    #[cold]
    fn end<'b>(&self, mut marks: impl Iterator<Item = &'b AtomicU32>) -> bool {
        // Another writer may have gone on meanwhile, which must not be taken back.
        let _ = self.writers.compare_exchange(NO_WRITER, WRITER_WAITS, Ordering::SeqCst, Ordering::SeqCst);
        in_one_order();
        let are_over = marks.all(|mark| mark.load(Ordering::SeqCst) == 0);
        if are_over {
            self.writers.store(NO_MARKS, Ordering::SeqCst);
        }
        are_over
    }
}

/// Marks a rank's own word: it is about to combine a few elements, or has done so. It then looks at [`has_many`], and goes back if so.
/// Whoever combines many makes it pass a fence in between, so this costs none.
#[inline(always)]
pub fn mark_few(word: &AtomicU32, now: bool) {
    compiler_fence(Ordering::SeqCst);
    word.store(u32::from(now), Ordering::Release);
    compiler_fence(Ordering::SeqCst);
}

/// Whether somebody combines many elements at the rank of a word.
#[inline(always)]
pub fn has_many(word: &AtomicU32) -> bool {
    word.load(Ordering::Acquire) != 0
}

/// Marks the word of the rank at which many elements are about to be combined. All ranks have to pass a fence then, and those that are in
/// the middle of a few have to be waited for ([`await_few`]). The mark goes with the value.
pub fn mark_many(word: &AtomicU32) -> Marked<'_> {
    word.store(1, Ordering::SeqCst);
    Marked(word)
}

/// Waits until a rank is not in the middle of a few.
pub fn await_few(word: &AtomicU32, pause: impl Fn()) {
    while word.load(Ordering::Acquire) != 0 {
        pause();
    }
}

/// A word that is not zero as long as this exists.
pub struct Marked<'a>(&'a AtomicU32);

impl<'a> Marked<'a> {
    /// Somebody has made it so already.
    pub fn found(word: &'a AtomicU32) -> Marked<'a> {
        Marked(word)
    }
}

impl Drop for Marked<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Release);
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::sync::{UnsafeCell, fence};
    use loom::thread;
    use std::sync::Arc;

    struct Lock {
        line: AtomicU64,
        left: AtomicU64,
        inside: UnsafeCell<u32>,
    }

    // SAFETY: `inside` is what the lock guards; loom tells of any access that it does not.
    unsafe impl Send for Lock {}
    // SAFETY: as above.
    unsafe impl Sync for Lock {}

    impl Lock {
        fn new() -> Arc<Lock> {
            // The numbers of tickets begin again during the model.
            let last = u64::from(u32::MAX);
            let (line, left) = (AtomicU64::new(last << 32 | last), AtomicU64::new(last));
            Arc::new(Lock { line, left, inside: UnsafeCell::new(0) })
        }

        fn turns(&self) -> TurnLock<'_> {
            TurnLock { line: &self.line, left: &self.left }
        }

        fn write(&self) {
            let (turns, ticket) = (self.turns(), self.turns().ticket());
            while !turns.writes(ticket) {
                thread::yield_now();
            }
            // SAFETY: this thread has the lock alone.
            self.inside.with_mut(|inside| unsafe { *inside += 1 });
            turns.end_writing();
        }

        fn read(&self) -> u32 {
            let (turns, ticket) = (self.turns(), self.turns().ticket());
            while !turns.reads(ticket) {
                thread::yield_now();
            }
            // SAFETY: whoever has the lock meanwhile reads.
            let inside = self.inside.with(|inside| unsafe { *inside });
            turns.end_reading();
            inside
        }
    }

    impl Lock {
        /// Writes, if that can be at once or at the first look; otherwise the ticket, whose turn is to come.
        fn try_write(&self) -> Option<u64> {
            if !self.turns().writes_at_once() {
                let ticket = self.turns().ticket();
                if !self.turns().writes(ticket) {
                    return Some(ticket);
                }
            }
            // SAFETY: this thread has the lock alone.
            self.inside.with_mut(|inside| unsafe { *inside += 1 });
            self.turns().end_writing();
            None
        }

        /// The same of a reader.
        fn try_read(&self) -> Option<u64> {
            if !self.turns().reads_at_once() {
                let ticket = self.turns().ticket();
                if !self.turns().reads(ticket) {
                    return Some(ticket);
                }
            }
            // SAFETY: whoever has the lock meanwhile reads.
            self.inside.with(|inside| assert!(unsafe { *inside } <= 2));
            self.turns().end_reading();
            None
        }

        /// Those that have not had their turn have it now, in some order that the lock gives; nobody is left.
        fn finish(&self, mut writers: Vec<u64>, mut readers: Vec<u64>) {
            while !(writers.is_empty() && readers.is_empty()) {
                let before = writers.len() + readers.len();
                writers.retain(|&ticket| {
                    let mine = self.turns().writes(ticket);
                    if mine {
                        // SAFETY: as above.
                        self.inside.with_mut(|inside| unsafe { *inside += 1 });
                        self.turns().end_writing();
                    }
                    !mine
                });
                readers.retain(|&ticket| {
                    let mine = self.turns().reads(ticket);
                    if mine {
                        self.turns().end_reading();
                    }
                    !mine
                });
                assert!(writers.len() + readers.len() < before, "nobody has the turn");
            }
        }
    }

    /// Three threads have more orders than can be tried: those with so many switches at most that no thread asks for.
    fn check_three(bound: usize, model: impl Fn() + Send + Sync + 'static) {
        let mut three = loom::model::Builder::new();
        three.preemption_bound = Some(bound);
        three.check(model);
    }

    /// Of three that come at once, nobody spins: who has to wait is left for the end.
    fn three_at_once(second_writes: bool) {
        check_three(3, move || {
            let lock = Lock::new();
            let (second, third) = (lock.clone(), lock.clone());
            let second =
                thread::spawn(move || if second_writes { second.try_write() } else { second.try_read() });
            let third = thread::spawn(move || third.try_read());
            let mut writers: Vec<u64> = lock.try_write().into_iter().collect();
            let (second, third) = (second.join().unwrap(), third.join().unwrap());
            let mut readers: Vec<u64> = third.into_iter().collect();
            if second_writes { &mut writers } else { &mut readers }.extend(second);
            lock.finish(writers, readers);
            // SAFETY: all others have gone.
            lock.inside.with(|inside| assert_eq!(unsafe { *inside }, 1 + u32::from(second_writes)));
            assert!(lock.turns().writes_at_once(), "the lock is free");
        });
    }

    #[test]
    fn two_writers_and_a_reader_take_turns() {
        three_at_once(true);
    }

    #[test]
    fn a_writer_and_two_readers_take_turns() {
        three_at_once(false);
    }

    /// Every order of two writers: they exclude each other, and both come through. Where threads spin there are two of
    /// them: of more that spin, loom lets some do so for ever.
    #[test]
    fn writers_take_turns() {
        loom::model(|| {
            let lock = Lock::new();
            let other = lock.clone();
            let writer = thread::spawn(move || other.write());
            lock.write();
            writer.join().unwrap();
            assert_eq!(lock.read(), 2);
        });
    }

    /// A writer and a reader exclude each other, and what the writer has left the reader sees.
    #[test]
    fn a_writer_and_a_reader_take_turns() {
        loom::model(|| {
            let lock = Lock::new();
            let other = lock.clone();
            let reader = thread::spawn(move || other.read());
            lock.write();
            assert!(reader.join().unwrap() <= 1);
            assert_eq!(lock.read(), 1);
        });
    }

    /// Readers do not keep each other out: one may leave while the other is inside, and a writer comes after both.
    #[test]
    fn a_writer_comes_after_all_readers_before_it() {
        loom::model(|| {
            let lock = Lock::new();
            let (turns, other) = (lock.turns(), lock.clone());
            let (first, second) = (turns.ticket(), turns.ticket());
            assert!(turns.reads(first) && turns.reads(second));
            let writer = thread::spawn(move || other.write());
            turns.end_reading();
            // SAFETY: the second reader has not left.
            lock.inside.with(|inside| assert_eq!(unsafe { *inside }, 0));
            turns.end_reading();
            writer.join().unwrap();
        });
    }

    struct AllOfThem {
        writers: AtomicU32,
        marks: [AtomicU32; 2],
        /// One for each writer, since the other lock keeps writers apart.
        inside: [UnsafeCell<u32>; 2],
    }

    // SAFETY: `inside` is what marks guard; loom tells of any access that they do not.
    unsafe impl Send for AllOfThem {}
    // SAFETY: as above.
    unsafe impl Sync for AllOfThem {}

    impl AllOfThem {
        fn new() -> Arc<AllOfThem> {
            let mark = || AtomicU32::new(0);
            let inside = [UnsafeCell::new(0), UnsafeCell::new(0)];
            Arc::new(AllOfThem { writers: AtomicU32::new(NO_WRITER), marks: [mark(), mark()], inside })
        }

        fn all(&self) -> AllLocked<'_> {
            AllLocked { writers: &self.writers }
        }

        /// Reads everything, if all locks can be had by a mark. Whether whoever waits is woken.
        fn read(&self, rank: usize) -> bool {
            if !self.all().may_mark() {
                return false;
            }
            if self.all().mark(&self.marks[rank]) {
                // SAFETY: all locks are held, for reading.
                self.inside.iter().for_each(|inside| inside.with(|inside| assert!(unsafe { *inside } <= 1)));
            }
            self.all().unmark(&self.marks[rank])
        }

        /// Writes, unless a mark is in the way: whether it was so.
        fn write(&self, writer: usize) -> bool {
            let is_alone = self.all().are_over(self.marks.iter());
            if is_alone {
                // SAFETY: nobody holds all locks, and no other writer uses this word.
                self.inside[writer].with_mut(|inside| unsafe { *inside += 1 });
            }
            is_alone
        }
    }

    /// A writer and two that lock all: it never meets one inside, and if it has to wait, somebody wakes it.
    #[test]
    fn a_writer_ends_the_locks_of_all() {
        check_three(2, || {
            let all = AllOfThem::new();
            let (one, other) = (all.clone(), all.clone());
            let (one, other) = (thread::spawn(move || one.read(0)), thread::spawn(move || other.read(1)));
            let is_alone = all.write(0);
            let woken = [one.join().unwrap(), other.join().unwrap()].contains(&true);
            assert!(is_alone || woken, "it would sleep");
            assert!(all.write(0) && !all.all().may_mark(), "now there are no marks, for ever");
        });
    }

    /// Two writers, at different ranks, and one that locks all.
    #[test]
    fn two_writers_end_the_locks_of_all() {
        check_three(2, || {
            let all = AllOfThem::new();
            let (one, other) = (all.clone(), all.clone());
            let (reader, writer) =
                (thread::spawn(move || one.read(0)), thread::spawn(move || other.write(1)));
            let first = all.write(0);
            let (woken, second) = (reader.join().unwrap(), writer.join().unwrap());
            assert!(first && second || woken, "one would sleep");
            assert!(all.write(0) && !all.all().may_mark());
        });
    }

    struct Crowd {
        few: AtomicU32,
        many: AtomicU32,
        elements: UnsafeCell<u32>,
    }

    // SAFETY: `elements` is what the marks guard; loom tells of any access that they do not.
    unsafe impl Send for Crowd {}
    // SAFETY: as above.
    unsafe impl Sync for Crowd {}

    /// Who combines a few and who combines many never do so at once. `membarrier` makes the former pass a fence, which stands here.
    #[test]
    fn few_and_many_exclude_each_other() {
        loom::model(|| {
            let crowd = Arc::new(Crowd {
                few: AtomicU32::new(0),
                many: AtomicU32::new(0),
                elements: UnsafeCell::new(0),
            });
            let other = crowd.clone();
            // SAFETY: the marks keep the other out.
            let combine = |crowd: &Crowd| crowd.elements.with_mut(|elements| unsafe { *elements += 1 });
            let few = thread::spawn(move || {
                mark_few(&other.few, true);
                fence(Ordering::SeqCst);
                let alone = !has_many(&other.many);
                if alone {
                    combine(&other);
                }
                mark_few(&other.few, false);
                u32::from(alone)
            });
            let marked = mark_many(&crowd.many);
            fence(Ordering::SeqCst);
            await_few(&crowd.few, thread::yield_now);
            combine(&crowd);
            drop(marked);
            let combined = few.join().unwrap();
            crowd.elements.with(|elements| assert_eq!(unsafe { *elements }, 1 + combined));
        });
    }
}

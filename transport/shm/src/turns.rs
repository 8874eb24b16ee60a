//! The words by which ranks take turns at the memory of a window: a lock that readers share, and a mark by which those who combine many
//! elements keep out those who combine a few. They are in memory that ranks share, and zero at first.

use crate::sync::{AtomicU32, AtomicU64, Ordering};
use std::sync::atomic::compiler_fence;

/// A lock that gives turns in the order of tickets: readers enter when `read` has come to theirs, a writer when `write` has. Readers that
/// follow each other enter together.
pub struct TurnLock<'a> {
    /// The next ticket.
    pub next: &'a AtomicU64,
    /// Up to here all have entered.
    pub read: &'a AtomicU64,
    /// Up to here all have left.
    pub write: &'a AtomicU64,
}

impl TurnLock<'_> {
    /// Takes a ticket.
    #[inline(always)]
    pub fn ticket(&self) -> u64 {
        self.next.fetch_add(1, Ordering::AcqRel)
    }

    /// Whether it is the turn of a reader's ticket; then it has the lock, and the next one in the line may read, too.
    #[inline(always)]
    pub fn reads(&self, ticket: u64) -> bool {
        let mine = self.read.load(Ordering::Acquire) == ticket;
        if mine {
            self.read.fetch_add(1, Ordering::SeqCst);
        }
        mine
    }

    /// Whether it is the turn of a writer's ticket; then it has the lock, alone.
    #[inline(always)]
    pub fn writes(&self, ticket: u64) -> bool {
        self.write.load(Ordering::Acquire) == ticket
    }

    /// A reader leaves. What comes after is not seen before.
    #[inline(always)]
    pub fn end_reading(&self) {
        self.write.fetch_add(1, Ordering::SeqCst);
    }

    /// A writer leaves, as [`TurnLock::end_reading`].
    #[inline(always)]
    pub fn end_writing(&self) {
        // Nobody else changes these words now.
        let next = self.write.load(Ordering::Relaxed) + 1;
        self.read.store(next, Ordering::Release);
        self.write.swap(next, Ordering::SeqCst);
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
        next: AtomicU64,
        read: AtomicU64,
        write: AtomicU64,
        inside: UnsafeCell<u32>,
    }

    // SAFETY: `inside` is what the lock guards; loom tells of any access that it does not.
    unsafe impl Send for Lock {}
    // SAFETY: as above.
    unsafe impl Sync for Lock {}

    impl Lock {
        fn new() -> Arc<Lock> {
            let word = || AtomicU64::new(0);
            Arc::new(Lock { next: word(), read: word(), write: word(), inside: UnsafeCell::new(0) })
        }

        fn turns(&self) -> TurnLock<'_> {
            TurnLock { next: &self.next, read: &self.read, write: &self.write }
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

    /// Every order of two writers: they exclude each other, and both come through. Models have two threads, of which
    /// one spins at a time: of more that spin, loom lets some do so for ever.
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

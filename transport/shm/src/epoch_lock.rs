//! The lock that epochs of `MPI_Win_lock_all` share in windows of several hosts, beside a rank's [`TurnLock`](crate::turns::TurnLock).
//!
//! Such an epoch takes the locks of ranks of other hosts when it accesses them first, in any order. So it holds some while it waits for
//! others. If it waited behind every writer that waits, two epochs and two writers could wait in a circle. If it passed all of them, epochs
//! that follow each other could keep a writer out for ever.
//!
//! So each epoch has a number, which is larger than those of all epochs that its rank has met (Lamport's clock). A writer whose turn it is,
//! and that finds epochs inside, closes the door to all that are newer than the newest that came in. Whoever a writer waits for is then
//! older than whoever waits for the writer, and a circle cannot close. A rank that comes in learns the number of the newest. So it passes a
//! writer that waits with one epoch at most: its next one is newer.
//!
//! Epochs that wait when a writer leaves come in before the next one. So writers do not keep out epochs either.

use crate::sync::{AtomicU64, Ordering};

/// The lock. It is in memory that ranks share, and zero at first.
pub struct EpochLock<'a> {
    /// Bits for writers; then how many epochs are inside, and how many wait.
    pub state: &'a AtomicU64,
    /// The largest number of those that have come in.
    pub newest: &'a AtomicU64,
}

/// A writer is inside.
const WRITES: u64 = 1;
/// One waits for the epochs that are inside.
const WRITER_WAITS: u64 = 1 << 1;
/// Changes when a writer leaves.
const PHASE: u64 = 1 << 2;
/// One epoch that is inside.
const INSIDE: u64 = 1 << 3;
/// One epoch that waits.
const WAITING: u64 = 1 << 33;

/// How many epochs are inside.
fn inside(state: u64) -> u64 {
    state % WAITING / INSIDE
}

impl EpochLock<'_> {
    /// Enters with an epoch; false, and nothing has happened, if a writer keeps it out.
    #[inline]
    pub fn enters_at_once(&self, epoch: u64) -> bool {
        let mut state = self.state.load(Ordering::SeqCst);
        while self.is_open(state, epoch) {
            match self.comes_in(state, state + INSIDE, epoch) {
                Ok(_) => return true,
                Err(other) => state = other,
            }
        }
        false
    }

    /// An epoch waits from now on: what [`EpochLock::enters`] is to know of it.
    pub fn wait(&self) -> u64 {
        self.state.fetch_add(WAITING, Ordering::SeqCst) & PHASE
    }

    /// Whether an epoch that waits is inside now.
    pub fn enters(&self, epoch: u64, phase: u64) -> bool {
        let mut state = self.state.load(Ordering::SeqCst);
        // A writer that has left meanwhile has let it in.
        while state & PHASE == phase {
            if !self.is_open(state, epoch) {
                return false;
            }
            match self.comes_in(state, state - WAITING + INSIDE, epoch) {
                Ok(_) => return true,
                Err(other) => state = other,
            }
        }
        self.newest.fetch_max(epoch, Ordering::SeqCst);
        true
    }

    /// Whether writers let an epoch in.
    fn is_open(&self, state: u64, epoch: u64) -> bool {
        let may_pass = || state & WRITER_WAITS == 0 || epoch <= self.newest.load(Ordering::SeqCst);
        state & WRITES == 0 && may_pass()
    }

    /// The number comes before the epoch: whoever closes the door behind it knows the number.
    fn comes_in(&self, from: u64, to: u64, epoch: u64) -> Result<u64, u64> {
        self.newest.fetch_max(epoch, Ordering::SeqCst);
        self.state.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst)
    }

    /// An epoch leaves.
    pub fn end_epoch(&self) {
        self.state.fetch_sub(INSIDE, Ordering::SeqCst);
    }

    /// Whether a writer is inside now, whose turn it is among writers; if not, it waits.
    pub fn writes(&self) -> bool {
        let wanted = |state: u64| match inside(state) {
            0 => state & !WRITER_WAITS | WRITES,
            _ => state | WRITER_WAITS,
        };
        let changed = |state| Some(wanted(state)).filter(|wanted| *wanted != state);
        self.state
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, changed)
            .is_ok_and(|before| inside(before) == 0)
    }

    /// A writer leaves, and lets in the epochs that wait.
    pub fn end_writing(&self) {
        let after = |state: u64| (state / WAITING * INSIDE) | ((state & PHASE) ^ PHASE);
        let _ = self.state.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |state| Some(after(state)));
    }

    /// The newest epoch that has come in: those that begin later at a rank that knows of it are newer.
    pub fn newest(&self) -> u64 {
        self.newest.load(Ordering::SeqCst)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Words([AtomicU64; 2]);

    impl Words {
        fn lock(&self) -> EpochLock<'_> {
            EpochLock { state: &self.0[0], newest: &self.0[1] }
        }
    }

    #[test]
    fn older_epochs_pass_a_writer_that_waits() {
        let words = Words::default();
        let lock = words.lock();
        assert!(lock.enters_at_once(5) && !lock.writes());
        assert!(lock.enters_at_once(4) && lock.enters_at_once(5), "they may hold what others wait for");
        assert!(!lock.enters_at_once(6) && lock.newest() == 5);
        let phase = lock.wait();
        (0..3).for_each(|_| lock.end_epoch());
        assert!(lock.writes() && !lock.enters_at_once(1), "nobody passes a writer that is inside");
        assert!(!lock.enters(6, phase));
        lock.end_writing();
        assert!(!lock.writes(), "who has waited comes before the next writer");
        assert!(lock.enters(6, phase) && lock.newest() == 6);
        lock.end_epoch();
        assert!(lock.writes());
        lock.end_writing();
        assert!(lock.enters_at_once(9));
    }

    /// Two epochs, each with a lock that the other one needs, and a writer at each lock.
    #[test]
    fn a_circle_does_not_close() {
        for numbers in [[1, 1], [1, 2], [2, 1]] {
            let words = [Words::default(), Words::default()];
            let locks = || words.iter().map(Words::lock);
            assert!(locks().zip(numbers).all(|(lock, epoch)| lock.enters_at_once(epoch)));
            assert!(locks().all(|lock| !lock.writes()));
            let other = locks().rev().zip(numbers).filter(|(lock, epoch)| lock.enters_at_once(*epoch));
            assert!(other.count() > 0, "the older one comes in, so it ends");
        }
    }

    #[test]
    fn an_epoch_that_waits_may_turn_out_to_be_old() {
        let words = Words::default();
        let lock = words.lock();
        assert!(lock.enters_at_once(1) && !lock.writes());
        let phase = lock.wait();
        assert!(!lock.enters(2, phase));
        lock.newest.fetch_max(2, Ordering::SeqCst);
        assert!(lock.enters(2, phase) && !lock.writes());
        (0..2).for_each(|_| lock.end_epoch());
        assert!(lock.writes());
        lock.end_writing();
        assert_eq!(lock.state.load(Ordering::SeqCst), PHASE, "nobody is there");
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::sync::UnsafeCell;
    use loom::thread;
    use std::sync::Arc;

    struct Lock {
        state: AtomicU64,
        newest: AtomicU64,
        inside: UnsafeCell<u32>,
    }

    // SAFETY: `inside` is what the lock guards; loom tells of any access that it does not.
    unsafe impl Send for Lock {}
    // SAFETY: as above.
    unsafe impl Sync for Lock {}

    impl Lock {
        fn words(&self) -> EpochLock<'_> {
            EpochLock { state: &self.state, newest: &self.newest }
        }

        /// Reads and leaves, if that can be at once or at the first look; otherwise what it waits with.
        fn try_read(&self, epoch: u64) -> Option<u64> {
            if self.words().enters_at_once(epoch) {
                self.read();
                return None;
            }
            let phase = self.words().wait();
            self.read_again(epoch, phase)
        }

        fn read_again(&self, epoch: u64, phase: u64) -> Option<u64> {
            if !self.words().enters(epoch, phase) {
                return Some(phase);
            }
            self.read();
            None
        }

        fn read(&self) {
            // SAFETY: whoever is inside meanwhile reads.
            self.inside.with(|inside| assert!(unsafe { *inside } <= 1));
            self.words().end_epoch();
        }

        /// The same of a writer: whether it has written.
        fn try_write(&self) -> bool {
            let is_inside = self.words().writes();
            if is_inside {
                // SAFETY: this thread is inside alone.
                self.inside.with_mut(|inside| unsafe { *inside += 1 });
                self.words().end_writing();
            }
            is_inside
        }
    }

    /// Every order of an old and a new epoch and a writer: it is inside alone, and all come through.
    #[test]
    fn epochs_and_a_writer_exclude_each_other() {
        let mut three = loom::model::Builder::new();
        three.preemption_bound = Some(3);
        three.check(|| {
            let lock = Arc::new(Lock {
                state: AtomicU64::new(0),
                newest: AtomicU64::new(0),
                inside: UnsafeCell::new(0),
            });
            let (old, new) = (lock.clone(), lock.clone());
            let old = thread::spawn(move || old.try_read(1));
            let new = thread::spawn(move || new.try_read(2));
            let mut written = lock.try_write();
            let mut waiting = [(1, old.join().unwrap()), (2, new.join().unwrap())];
            for _ in 0..3 {
                for (epoch, phase) in &mut waiting {
                    *phase = phase.and_then(|phase| lock.read_again(*epoch, phase));
                }
                written = written || lock.try_write();
            }
            assert!(written && waiting.iter().all(|(_, phase)| phase.is_none()), "nobody waits for ever");
            assert_eq!(lock.state.load(Ordering::SeqCst), PHASE, "nobody is there");
        });
    }
}

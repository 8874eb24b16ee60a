//! A line that one rank writes at a time and others wait for: a count that only grows, the mark of the call that it belongs to, and
//! what fits beside them. Or, in other lines, a count of those who do something now.

use crate::limits::FLAG_PAYLOAD_BYTES;
use crate::sync::{AtomicU64, Ordering};

/// What travels in a flag's own line.
pub type FlagPayload = [u8; FLAG_PAYLOAD_BYTES];

const WORDS: usize = FLAG_PAYLOAD_BYTES / size_of::<u64>();

/// One cache line. Zero is its state in a new segment.
#[repr(C)]
#[cfg_attr(not(loom), repr(align(64)))]
pub(crate) struct Flag {
    count: AtomicU64,
    mark: AtomicU64,
    payload: [AtomicU64; WORDS],
}

impl Flag {
    /// What has been written before this, here and elsewhere, is visible to whoever sees the count.
    #[inline]
    pub(crate) fn raise(&self, count: u64, mark: u64) {
        self.mark.store(mark, Ordering::Relaxed);
        self.count.store(count, Ordering::Release);
    }

    /// As [`Flag::raise`], where the count says which mark it is.
    #[inline]
    pub(crate) fn raise_count(&self, count: u64) {
        self.count.store(count, Ordering::Release);
    }

    /// Raises the flag with a payload.
    #[inline]
    pub(crate) fn raise_with(&self, count: u64, mark: u64, payload: &FlagPayload) {
        for (word, bytes) in self.payload.iter().zip(payload.chunks_exact(8)) {
            word.store(u64::from_ne_bytes(bytes.try_into().expect("eight bytes")), Ordering::Relaxed);
        }
        self.raise(count, mark);
    }

    #[inline]
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// The mark of whoever raised the flag last; to be read as the payload is.
    #[inline]
    pub(crate) fn mark(&self) -> u64 {
        self.mark.load(Ordering::Relaxed)
    }

    /// The payload of whoever raised the flag last; only to be read once [`Flag::count`] has said that it is there, and before
    /// the writer is allowed to go on.
    #[inline]
    pub(crate) fn payload(&self) -> FlagPayload {
        let mut payload = [0; FLAG_PAYLOAD_BYTES];
        for (word, bytes) in self.payload.iter().zip(payload.chunks_exact_mut(8)) {
            bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
        payload
    }

    /// As in a new segment.
    pub(crate) fn clear(&self) {
        self.raise_with(0, 0, &[0; FLAG_PAYLOAD_BYTES]);
    }

    /// Of a flag that never has a payload: asks to be woken once it is raised so high, or sooner for another who asks. How often
    /// anybody has been woken so far.
    pub(crate) fn await_count(&self, count: u64) -> u64 {
        let wakes = self.wakes().load(Ordering::Acquire);
        let lower = |awaited: u64| (awaited == 0 || count < awaited).then_some(count);
        let _ = self.awaited().fetch_update(Ordering::SeqCst, Ordering::SeqCst, lower);
        wakes
    }

    /// Of such a flag, by who has raised it so high: whether those who asked are to be woken.
    pub(crate) fn has_come_to_awaited(&self, count: u64) -> bool {
        let awaited = self.awaited().load(Ordering::Relaxed);
        let has_come = awaited != 0 && awaited <= count;
        if has_come {
            // Who has asked in between, and is forgotten here, finds that somebody has been woken, and asks again.
            self.awaited().store(0, Ordering::Relaxed);
            self.wakes().store(self.wakes().load(Ordering::Relaxed) + 1, Ordering::Release);
        }
        has_come
    }

    /// The lowest count for which somebody asks to be woken; zero: nobody does.
    fn awaited(&self) -> &AtomicU64 {
        &self.payload[0]
    }

    fn wakes(&self) -> &AtomicU64 {
        &self.payload[1]
    }

    /// The half of [`Flag::await_count`] that changes, for the kernel to compare and sleep on.
    #[cfg(not(loom))]
    pub(crate) fn wakes_word(&self) -> &std::sync::atomic::AtomicU32 {
        super::futex::changing_half(self.wakes())
    }

    /// Where many ranks count up and down: one more, unless there are `most`.
    #[inline]
    pub(crate) fn enter(&self, most: u64) -> bool {
        let enters = self.count.fetch_add(1, Ordering::Relaxed) < most;
        if !enters {
            self.leave();
        }
        enters
    }

    /// One less.
    #[inline]
    pub(crate) fn leave(&self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }

    /// The half of the count that changes, for the kernel to compare and sleep on.
    #[cfg(not(loom))]
    pub(crate) fn futex_word(&self) -> &std::sync::atomic::AtomicU32 {
        super::futex::changing_half(&self.count)
    }

    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Flag {
            count: AtomicU64::new(0),
            mark: AtomicU64::new(0),
            payload: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Flag>() == crate::limits::LINE_BYTES);

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    fn payload(value: u8) -> FlagPayload {
        [value; FLAG_PAYLOAD_BYTES]
    }

    fn wait(flag: &Flag, count: u64) {
        while flag.count() < count {
            thread::yield_now();
        }
    }

    /// Two ranks synchronize over two pairs of lines in turn: nobody's payload is written over before the other has read it.
    #[test]
    fn two_synchronize_three_times() {
        loom::model(|| {
            let lines: Arc<[[Flag; 2]; 2]> = Arc::new(std::array::from_fn(|_| [Flag::new(), Flag::new()]));
            let synchronize = |lines: &[[Flag; 2]; 2], me: usize| {
                for step in 1..=3u64 {
                    let pair = &lines[step as usize % 2];
                    pair[me].raise_with(step, 0, &payload(10 * me as u8 + step as u8));
                    wait(&pair[1 - me], step);
                    assert_eq!(pair[1 - me].payload(), payload(10 * (1 - me) as u8 + step as u8));
                }
            };
            let theirs = lines.clone();
            let other = thread::spawn(move || synchronize(&theirs, 1));
            synchronize(&lines, 0);
            other.join().unwrap();
        });
    }

    /// One writes, the other reads, over one line: the writer goes on once the reader has said that it is through.
    #[test]
    fn what_was_read_may_be_written_over() {
        loom::model(|| {
            let lines: Arc<[Flag; 2]> = Arc::new([Flag::new(), Flag::new()]);
            let theirs = lines.clone();
            let reader = thread::spawn(move || {
                for round in 1..=2u64 {
                    wait(&theirs[0], round);
                    assert_eq!(theirs[0].payload(), payload(round as u8));
                    theirs[1].raise(round, 0);
                }
            });
            for round in 1..=2u64 {
                wait(&lines[1], round - 1);
                lines[0].raise_with(round, 0, &payload(round as u8));
            }
            reader.join().unwrap();
        });
    }

    /// Two wait for one flag to get to different counts, which it passes: whoever asks and then finds the flag too low is woken, or finds
    /// that somebody has been woken since it asked.
    #[test]
    fn who_awaits_a_count_is_woken() {
        let mut three_threads = loom::model::Builder::new();
        three_threads.preemption_bound = Some(3);
        three_threads.check(|| {
            let flag = Arc::new(Flag::new());
            let waiters = [2, 3].map(|count| {
                let flag = flag.clone();
                thread::spawn(move || {
                    let wakes = flag.await_count(count);
                    loom::sync::atomic::fence(Ordering::SeqCst);
                    let sleeps = flag.count() < count;
                    (sleeps, wakes, count)
                })
            });
            for count in 1..=3u64 {
                flag.raise(count, 0);
                loom::sync::atomic::fence(Ordering::SeqCst);
                flag.has_come_to_awaited(count);
            }
            for waiter in waiters {
                let (sleeps, wakes, count) = waiter.join().unwrap();
                assert!(
                    !sleeps || flag.wakes().load(Ordering::Relaxed) > wakes,
                    "nobody wakes who waits for {count}"
                );
            }
        });
    }
}

//! What one rank finds out for all ranks of its host, in the first page of the segment.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::first_page::with_first_page;
use super::segment::AttachError;

/// Nobody looks for the answer yet.
const UNKNOWN: u32 = 0;
/// A rank does.
const SOUGHT: u32 = 1;
/// It is this more than an answer.
const KNOWN: u32 = 2;

/// So often a rank looks whether the answer is there.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// The answer that the first rank to come finds. The others wait for it; after `patience` they find one of their own, since that rank may
/// have ended. Answers are less than `u32::MAX - 1`.
pub fn host_answer(fd: &OwnedFd, patience: Duration, find: impl FnOnce() -> u32) -> Result<u32, AttachError> {
    with_first_page(fd, |page| word_answer(&page.host_answer.0, patience, find))
}

fn word_answer(word: &AtomicU32, patience: Duration, find: impl FnOnce() -> u32) -> u32 {
    if word.compare_exchange(UNKNOWN, SOUGHT, Ordering::AcqRel, Ordering::Acquire).is_err() {
        let since = Instant::now();
        while since.elapsed() < patience {
            match word.load(Ordering::Acquire) {
                UNKNOWN | SOUGHT => thread::sleep(LOOK_EVERY),
                known => return known - KNOWN,
            }
        }
    }
    let answer = find();
    word.store(answer + KNOWN, Ordering::Release);
    answer
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn one_finds_the_answer_for_all() {
        let (word, finders) = (AtomicU32::new(UNKNOWN), AtomicUsize::new(0));
        let find = || {
            thread::sleep(Duration::from_millis(20));
            finders.fetch_add(1, Ordering::Relaxed);
            7
        };
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert_eq!(word_answer(&word, LONG, find), 7));
            }
        });
        assert_eq!(finders.into_inner(), 1);
        assert_eq!(word_answer(&word, LONG, || unreachable!("it is known")), 7);
    }

    #[test]
    fn who_has_waited_long_enough_finds_one_itself() {
        let word = AtomicU32::new(SOUGHT);
        assert_eq!(word_answer(&word, Duration::from_millis(5), || 0), 0);
        assert_eq!(word_answer(&word, LONG, || unreachable!("it is known")), 0);
    }
}

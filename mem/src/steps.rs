//! Whether this processor copies faster by vectors what lies a few bytes farther in its page: see [`copy_long`](crate::copy_long). `memmove`
//! does so in steps of [`STEP_BYTES`].

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::copy::copy_in_steps;
use crate::limits::{PAGE_BYTES, STEP_BYTES};

/// Copies in a batch, so that the clock's own time does not count.
const COPIES: usize = 4;

/// Batches, of which the fastest counts: an interrupt spoils one.
const BATCHES: usize = 3;

/// Where `malloc`'s large blocks begin in their page.
const AHEAD_BYTES: usize = 16;

#[repr(align(4096))]
struct Page([u8; PAGE_BYTES]);

/// Measured once, by the first who has to know; it takes 20 µs at most.
#[inline]
pub(crate) fn are_faster() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| 2 * time_of(STEP_BYTES) < time_of(PAGE_BYTES))
}

/// Copies a page to where it lies that much farther, some times.
fn time_of(step: usize) -> Duration {
    let (source, mut target) = (Page([1; PAGE_BYTES]), [Page([0; PAGE_BYTES]), Page([0; PAGE_BYTES])]);
    let (src, dst) = (source.0.as_ptr(), target.as_mut_ptr().cast::<u8>().wrapping_add(AHEAD_BYTES));
    let batch = || {
        let start = Instant::now();
        for _ in 0..COPIES {
            // SAFETY: the source has a page, the target two; nobody else uses either.
            unsafe { copy_in_steps(black_box(dst), black_box(src), PAGE_BYTES, step) };
        }
        start.elapsed()
    };
    (0..BATCHES).map(|_| batch()).min().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_stays() {
        let first = are_faster();
        assert!((0..10).all(|_| are_faster() == first));
        assert!(time_of(STEP_BYTES) > Duration::ZERO);
    }
}

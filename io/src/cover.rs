//! Which bytes of a collective buffer have been filled: a bit for each, in memory that ranks share.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bits of a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Cover<'a>(pub &'a [AtomicU64]);

const BITS: usize = 64;

impl Cover<'_> {
    /// Words for a buffer of so many bytes.
    pub const fn words(bytes: usize) -> usize {
        bytes.div_ceil(BITS)
    }

    /// Marks bytes. Several ranks may do so at once. Whoever reads the bits has synchronized with them.
    pub fn mark(&self, bytes: Range<usize>) {
        let mut at = bytes.start;
        while at < bytes.end {
            let (word, bit) = (at / BITS, at % BITS);
            let count = (BITS - bit).min(bytes.end - at);
            if count == BITS {
                self.0[word].store(u64::MAX, Ordering::Relaxed);
            } else {
                self.0[word].fetch_or(((1 << count) - 1) << bit, Ordering::Relaxed);
            }
            at += count;
        }
    }

    /// Calls `each` with the ranges of marked bytes among the first `bytes`, in order, until it answers false.
    pub fn ranges(&self, bytes: usize, mut each: impl FnMut(Range<usize>) -> bool) {
        let mut at = 0;
        while let Some(start) = self.next(at, bytes, true) {
            let end = self.next(start, bytes, false).unwrap_or(bytes);
            if !each(start..end) {
                return;
            }
            at = end;
        }
    }

    /// Forgets the marks of the first `bytes`.
    pub fn clear(&self, bytes: usize) {
        self.0[..Cover::words(bytes)].iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// The first byte from `at` on, among `bytes`, that is marked, or is not.
    fn next(&self, mut at: usize, bytes: usize, marked: bool) -> Option<usize> {
        while at < bytes {
            let word = self.0[at / BITS].load(Ordering::Relaxed);
            let wanted = (if marked { word } else { !word }) >> (at % BITS);
            if wanted != 0 {
                return Some(at + wanted.trailing_zeros() as usize).filter(|found| *found < bytes);
            }
            at = (at / BITS + 1) * BITS;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(words: usize, ranges: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let bits: Vec<AtomicU64> = (0..words).map(|_| AtomicU64::new(0)).collect();
        let cover = Cover(&bits);
        ranges.iter().for_each(|range| cover.mark(range.0..range.1));
        let mut found = Vec::new();
        cover.ranges(words * BITS - 3, |range| {
            found.push((range.start, range.end));
            true
        });
        cover.clear(words * BITS);
        assert!(bits.iter().all(|word| word.load(Ordering::Relaxed) == 0));
        found
    }

    #[test]
    fn what_was_marked_is_found() {
        assert_eq!(marked(4, &[]), []);
        assert_eq!(marked(4, &[(0, 64), (64, 128)]), [(0, 128)]);
        assert_eq!(marked(4, &[(3, 5), (63, 65), (200, 253)]), [(3, 5), (63, 65), (200, 253)]);
        assert_eq!(marked(4, &[(10, 100), (50, 150), (150, 151)]), [(10, 151)]);
        assert_eq!(marked(4, &[(0, 256)]), [(0, 253)]);
    }

    #[test]
    fn random_marks_are_those_of_a_list() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..300 {
            let mut list = vec![false; 64 * 5 - 3];
            let ranges: Vec<_> = (0..random.usize(0..12))
                .map(|_| {
                    let start = random.usize(0..list.len());
                    (start, random.usize(start..=list.len()))
                })
                .collect();
            ranges.iter().for_each(|range| list[range.0..range.1].fill(true));
            let mut again = vec![false; list.len()];
            marked(5, &ranges).into_iter().for_each(|range| again[range.0..range.1].fill(true));
            assert_eq!(list, again);
        }
    }
}

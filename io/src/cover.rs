//! Which bytes of a collective buffer have been filled: a bit for each, in memory that ranks share.
//!
//! Whole lines of 64 bytes have bits of their own, so that a block of 4 KiB is marked by one word. Only lines that were filled in part
//! have a bit for each byte, and a bit that says so.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bits of a buffer. Only the first use of the memory, which is zeros, and [`Cover::clear`] make it empty.
#[derive(Clone, Copy, Debug)]
pub struct Cover<'a> {
    /// For each line a word whose bits are its bytes.
    bytes: &'a [AtomicU64],
    /// A bit for each line that is filled from end to end.
    whole: &'a [AtomicU64],
    /// A bit for each line whose word of bytes is not zero.
    partial: &'a [AtomicU64],
}

const BITS: usize = 64;

/// The words that the bits of so many lines take.
const fn line_words(lines: usize) -> usize {
    lines.div_ceil(BITS)
}

/// The bits from `first` on, `count` of them, of which there is one at least.
const fn mask(first: usize, count: usize) -> u64 {
    (u64::MAX >> (BITS - count)) << first
}

impl<'a> Cover<'a> {
    /// Words for a buffer of so many bytes.
    pub const fn words(bytes: usize) -> usize {
        let lines = bytes.div_ceil(BITS);
        lines + 2 * line_words(lines)
    }

    /// The bits of a buffer of so many bytes, in [`Cover::words`] words.
    pub fn of(words: &'a [AtomicU64], bytes: usize) -> Cover<'a> {
        let lines = bytes.div_ceil(BITS);
        let (bytes, rest) = words.split_at(lines);
        let (whole, partial) = rest.split_at(line_words(lines));
        Cover { bytes, whole, partial }
    }

    /// Marks bytes. Several ranks may do so at once. Whoever reads the bits has synchronized with them.
    pub fn mark(&self, bytes: Range<usize>) {
        if bytes.is_empty() {
            return;
        }
        let (first, last) = (bytes.start.div_ceil(BITS), bytes.end / BITS);
        if first > last {
            // Within one line.
            return self.mark_part(last, bytes.start % BITS, bytes.len());
        }
        if !bytes.start.is_multiple_of(BITS) {
            self.mark_part(first - 1, bytes.start % BITS, first * BITS - bytes.start);
        }
        self.mark_lines(first, last);
        if !bytes.end.is_multiple_of(BITS) {
            self.mark_part(last, 0, bytes.end % BITS);
        }
    }

    fn mark_lines(&self, mut line: usize, end: usize) {
        while line < end {
            let count = (BITS - line % BITS).min(end - line);
            self.whole[line / BITS].fetch_or(mask(line % BITS, count), Ordering::Relaxed);
            line += count;
        }
    }

    fn mark_part(&self, line: usize, first: usize, count: usize) {
        self.bytes[line].fetch_or(mask(first, count), Ordering::Relaxed);
        self.partial[line / BITS].fetch_or(1 << (line % BITS), Ordering::Relaxed);
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
        for word in 0..line_words(bytes.div_ceil(BITS)) {
            self.whole[word].store(0, Ordering::Relaxed);
            let mut partial = self.partial[word].load(Ordering::Relaxed);
            self.partial[word].store(0, Ordering::Relaxed);
            while partial != 0 {
                self.bytes[word * BITS + partial.trailing_zeros() as usize].store(0, Ordering::Relaxed);
                partial &= partial - 1;
            }
        }
    }

    /// The first byte from `at` on, among `bytes`, that is marked, or is not.
    fn next(&self, mut at: usize, bytes: usize, marked: bool) -> Option<usize> {
        while at < bytes {
            let line = at / BITS;
            let alike = self.lines_alike(line, marked);
            if alike > 0 {
                at = (line + alike) * BITS;
                continue;
            }
            let word = self.line(line);
            let wanted = (if marked { word } else { !word }) >> (at % BITS);
            if wanted != 0 {
                return Some(at + wanted.trailing_zeros() as usize).filter(|found| *found < bytes);
            }
            at = (line + 1) * BITS;
        }
        None
    }

    /// Lines from one on, as far as one word tells, in which nothing of what is looked for can be.
    fn lines_alike(&self, line: usize, marked: bool) -> usize {
        let (word, bit) = (line / BITS, line % BITS);
        let whole = self.whole[word].load(Ordering::Relaxed);
        let looked_for = if marked { whole | self.partial[word].load(Ordering::Relaxed) } else { !whole };
        ((looked_for >> bit).trailing_zeros() as usize).min(BITS - bit)
    }

    fn line(&self, line: usize) -> u64 {
        let is_whole = self.whole[line / BITS].load(Ordering::Relaxed) >> (line % BITS) & 1 == 1;
        if is_whole { u64::MAX } else { self.bytes[line].load(Ordering::Relaxed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(words: usize, ranges: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let bits: Vec<AtomicU64> = (0..Cover::words(words * BITS)).map(|_| AtomicU64::new(0)).collect();
        let cover = Cover::of(&bits, words * BITS);
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

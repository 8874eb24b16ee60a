//! How a cell is filled: by stores to the cache as usual, or by stores past it.
//!
//! Where both cores share a cache, the usual stores are faster. Where they do not, each line has to be fetched from the core that
//! read the cell last, and from here again when it is read next
//! (docs/decisions/0011-stores-past-the-cache.md). Which of the two it is changes when the scheduler or a hypervisor moves a rank, so it
//! is measured (`tuner.rs`).

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tern_mem::{copy_between_cores, copy_past_cache};

use super::segment_words::CellLine;
use super::tuner::TwoWayTuner;
use crate::limits::{CROWDED_SAMPLES_PER_TRIAL, STORES_PER_SAMPLE, TUNER_TRIAL_RUNS};

/// How a rank fills its cells. It is one for all peers: a cell that went past the cache costs the next usual fill a fetch
/// from memory, so with one for each peer all looked alike.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StoreTuner {
    tuner: TwoWayTuner,
    fills: u32,
    past_cache: bool,
    sample: Sample,
    /// Ranks outnumber the cores.
    is_crowded: bool,
}

/// A fill that was measured; the receiver's part is still to come. Nothing, if it took no time.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    past_cache: bool,
    cell: u32,
    bytes: u32,
    took: u32,
}

impl StoreTuner {
    /// `is_crowded`: ranks outnumber the cores. Then what others did in between is in what is measured, so both ways seem to be as good as
    /// equal, and each would be tried again and again. So one is tried less often, and not at once.
    pub(crate) fn new(is_crowded: bool) -> StoreTuner {
        StoreTuner { is_crowded, ..StoreTuner::default() }
    }

    /// How the next fills go.
    fn next(&mut self) -> bool {
        let sample = self.fills / STORES_PER_SAMPLE % CROWDED_SAMPLES_PER_TRIAL;
        let may_try = !self.is_crowded || sample >= CROWDED_SAMPLES_PER_TRIAL - TUNER_TRIAL_RUNS;
        if may_try { self.tuner.next(false, true) } else { self.tuner.best() }
    }

    /// Fills a cell. Answers whether the receiver is to measure how long it copies it out. `line` finds the line of a cell.
    ///
    /// What the sender needs says little: what was stored past the cache is there sooner and read later. So both parts count, of one in
    /// [`STORES_PER_SAMPLE`].
    ///
    /// # Safety
    /// `n` bytes must be readable at `from` and writable at `to`, where a line begins.
    pub(crate) unsafe fn copy<'a>(
        &mut self,
        line: impl Fn(u32) -> &'a CellLine,
        cell: u32,
        to: *mut u8,
        from: *const u8,
        n: usize,
    ) -> bool {
        let fill = self.fills % STORES_PER_SAMPLE;
        if fill == 0 {
            self.past_cache = self.next();
        } else if fill == STORES_PER_SAMPLE / 2 {
            self.look(&line);
        }
        self.fills = self.fills.wrapping_add(1);
        let start = (fill == STORES_PER_SAMPLE - 1).then(Instant::now);
        // SAFETY: the caller's promise.
        unsafe { copy(self.past_cache, to, from, n) };
        if let Some(start) = start {
            let took = nanoseconds(start);
            self.sample = Sample { past_cache: self.past_cache, cell, bytes: n as u32, took };
            line(cell).took.store(0, Ordering::Relaxed);
        }
        start.is_some()
    }

    /// What the receiver says of the sample, which was long ago.
    fn look<'a>(&mut self, line: impl Fn(u32) -> &'a CellLine) {
        let Sample { past_cache, cell, bytes, took } = std::mem::take(&mut self.sample);
        if took == 0 {
            return;
        }
        let theirs = line(cell).took.load(Ordering::Relaxed);
        if theirs > 0 {
            let both = Duration::from_nanos(u64::from(took) + u64::from(theirs));
            self.tuner.note(past_cache, bytes.into(), both);
        }
    }
}

/// Since then, and at least one.
pub(crate) fn nanoseconds(start: Instant) -> u32 {
    u32::try_from(start.elapsed().as_nanos()).unwrap_or(u32::MAX).max(1)
}

/// # Safety
/// As [`StoreTuner::copy`].
unsafe fn copy(past_cache: bool, to: *mut u8, from: *const u8, n: usize) {
    // SAFETY: the caller's promise. Copies of a program's buffer may overlap anything that the program passes.
    unsafe {
        if past_cache {
            copy_past_cache(to, from, n);
        } else {
            copy_between_cores(to, from, n);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(64))]
    struct Cell([u8; 4096]);

    #[test]
    fn both_ways_copy_the_same() {
        let from: Vec<u8> = (0..4096).map(|at| at as u8 ^ (at >> 8) as u8).collect();
        for n in [0, 1, 63, 64, 65, 127, 1000, 4095] {
            for past_cache in [false, true] {
                let mut cell = Cell([0xaa; 4096]);
                // SAFETY: both have 4,096 bytes, and one more than `n`.
                unsafe { copy(past_cache, cell.0.as_mut_ptr(), from[1..].as_ptr(), n) };
                assert_eq!(cell.0[..n], from[1..n + 1]);
                assert!(cell.0[n..].iter().all(|byte| *byte == 0xaa));
            }
        }
    }

    /// Fills cells whose receiver takes so many nanoseconds, by the usual stores and past the cache; how many of the last
    /// half went past it.
    fn fill(usual_ns: u32, past_ns: u32) -> usize {
        const FILLS: u32 = 100 * STORES_PER_SAMPLE;
        let lines: [CellLine; 2] = std::array::from_fn(|_| CellLine::default());
        let (mut fill, mut cell, mut past) = (StoreTuner::default(), Cell([0; 4096]), 0);
        for round in 0..FILLS {
            let (number, from) = (round % 2, [round as u8; 4000]);
            let line = |cell: u32| &lines[cell as usize];
            // SAFETY: both are as long.
            let timed = unsafe { fill.copy(line, number, cell.0.as_mut_ptr(), from.as_ptr(), from.len()) };
            assert_eq!(cell.0[..4000], from);
            if timed {
                let took = if fill.past_cache { past_ns } else { usual_ns };
                line(number).took.store(took, Ordering::Relaxed);
            }
            past += usize::from(fill.past_cache && round >= FILLS / 2);
        }
        past
    }

    #[test]
    fn what_is_faster_for_both_sides_together_is_taken() {
        let half = 50 * STORES_PER_SAMPLE as usize;
        assert!(fill(1_000_000, 3_000_000) < half / 4);
        assert!(fill(3_000_000, 1_000_000) > half - half / 4);
    }

    #[test]
    fn without_an_answer_nothing_is_learned() {
        assert_eq!(fill(0, 0), 0);
    }
}

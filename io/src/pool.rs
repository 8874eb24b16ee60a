//! Windows that the ranks of one host fill and empty together, in memory that all share.
//!
//! A collective access goes through the file window by window. Every rank copies its pieces of a window, and whoever has nothing to copy
//! reads or writes one. So no rank is an aggregator, and copies go on while the file is busy. Which windows there are, and how often each
//! slot of the memory is used, are functions of what all ranks have told: all count alike without asking.

use crate::plan::{AccessSpan, whole};
use std::ops::Range;
use std::sync::Arc;

/// The smallest window that is worth a turn, unless there is less memory.
pub const WINDOW_BYTES_MIN: u64 = 64 << 10;

/// A window in its slot of the memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolWindow {
    /// Its number among all windows since the file was opened.
    pub number: u64,
    /// Its bytes in the file.
    pub range: Range<u64>,
    /// Its slot.
    pub slot: usize,
    /// How many windows the slot has had before.
    pub turn: u64,
    /// How many ranks have come to the slot before, and with those that come to this window.
    pub come: Range<u64>,
}

/// What the accesses of a file have come to so far: the same at all ranks.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct PoolState {
    windows: u64,
    /// Windows of each slot, and ranks that have come to it.
    slots: Vec<(u64, u64)>,
}

impl PoolState {
    /// No access yet, of memory of so many slots.
    pub fn new(slots: usize) -> PoolState {
        PoolState { windows: 0, slots: vec![(0, 0); slots] }
    }
}

/// The windows of an access, in the order of the file.
#[derive(Clone, Debug)]
pub struct PoolWalk {
    spans: Arc<[AccessSpan]>,
    /// What is left.
    rest: Range<u64>,
    window_bytes: u64,
    /// Slots that are used in turn.
    slots: usize,
    next_slot: usize,
    state: PoolState,
}

impl PoolWalk {
    /// Those of ranks with these spans. A window has `most_bytes` at most, which is a multiple of `align`, and begins at one.
    pub fn new(
        spans: &Arc<[AccessSpan]>,
        (most_bytes, align): (u64, u64),
        slots: usize,
        state: &PoolState,
    ) -> PoolWalk {
        let rest = whole(spans);
        let slots = slots.clamp(1, state.slots.len().max(1));
        // All slots are used a few times, so that copies and the file overlap.
        let wanted = ((rest.end - rest.start) / (4 * slots as u64)).max(WINDOW_BYTES_MIN);
        let window_bytes = wanted.next_multiple_of(align.max(1)).min(most_bytes);
        PoolWalk { spans: spans.clone(), rest, window_bytes, slots, next_slot: 0, state: state.clone() }
    }

    /// What comes after those that were walked through.
    pub fn into_state(self) -> PoolState {
        self.state
    }
}

impl Iterator for PoolWalk {
    type Item = PoolWindow;

    /// The next window to which any rank comes.
    fn next(&mut self) -> Option<PoolWindow> {
        while !self.rest.is_empty() {
            let start = self.rest.start;
            let end = (start / self.window_bytes + 1) * self.window_bytes;
            let range = start..end.min(self.rest.end);
            self.rest.start = range.end;
            let comers = self.spans.iter().filter(|span| span.meets(&range)).count() as u64;
            if comers == 0 {
                continue;
            }
            let slot = self.next_slot;
            self.next_slot = (slot + 1) % self.slots;
            let (turns, come) = &mut self.state.slots[slot];
            let window = PoolWindow {
                number: self.state.windows,
                range,
                slot,
                turn: *turns,
                come: *come..*come + comers,
            };
            (*turns, *come) = (*turns + 1, *come + comers);
            self.state.windows += 1;
            return Some(window);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random_spans(random: &mut fastrand::Rng) -> Arc<[AccessSpan]> {
        (0..random.u64(1..6))
            .map(|_| {
                let start = random.u64(0..9 << 20);
                let end = start + random.u64(0..3 << 20);
                AccessSpan { start, end, bytes: (end - start) / 2, piece: 100 }
            })
            .collect()
    }

    #[test]
    fn windows_cover_every_span_once_and_in_order() {
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..1_000 {
            let spans = random_spans(&mut random);
            let align = 1 << random.u32(0..14);
            let most = align * random.u64(1..200);
            let walk = PoolWalk::new(&spans, (most, align), random.usize(1..9), &PoolState::new(8));
            let mut next = 0;
            for window in walk {
                let range = &window.range;
                assert!(range.start >= next && range.end - range.start <= most, "{window:?}");
                assert!(range.start == whole(&spans).start || range.start.is_multiple_of(align));
                // What lies between two windows is nobody's.
                assert!(range.start == next || !spans.iter().any(|span| span.meets(&(next..range.start))));
                next = range.end;
            }
            assert!(!spans.iter().any(|span| span.meets(&(next..u64::MAX))));
        }
    }

    #[test]
    fn slots_count_on_from_one_access_to_the_next() {
        let mut random = fastrand::Rng::with_seed(6);
        let mut state = PoolState::new(5);
        let (mut turns, mut come, mut number) = ([0; 5], [0; 5], 0);
        for _ in 0..50 {
            let spans = random_spans(&mut random);
            let mut walk = PoolWalk::new(&spans, (128 << 10, 4096), random.usize(1..6), &state);
            for window in walk.by_ref() {
                let comers = spans.iter().filter(|span| span.meets(&window.range)).count() as u64;
                assert_eq!((window.number, window.turn), (number, turns[window.slot]));
                assert_eq!(window.come, come[window.slot]..come[window.slot] + comers);
                (number, turns[window.slot]) = (number + 1, turns[window.slot] + 1);
                come[window.slot] += comers;
            }
            state = walk.into_state();
        }
    }
}

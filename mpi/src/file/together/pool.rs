//! The memory of windows that all ranks of a host share.

use std::sync::atomic::{AtomicU64, Ordering};
use tern_io::Cover;
use tern_mem::UserBuf;
use tern_shm::{JobMemory, Reservation, SharedRange};

/// Slots of one rank's memory at most; with two, one is copied while the other is with the file.
pub(super) const SLOTS_MAX: usize = 4;
/// Bytes of a window at most: what was copied is still in a second-level cache when the file takes it.
pub(super) const WINDOW_BYTES_MAX: u64 = 512 << 10;

/// Words of the first memory, each in a line of its own: windows that somebody has taken to read or write, and ranks that do so now.
pub(super) const TAKEN: usize = 0;
pub(super) const BUSY: usize = 64;
/// Words of each memory, one for each slot: windows that were read or written, ranks that have come, where the file ends in a window that
/// was read.
pub(super) const DONE: usize = 128;
pub(super) const COME: usize = DONE + 64 * SLOTS_MAX;
pub(super) const END: usize = COME + 64 * SLOTS_MAX;
/// Behind the words, the windows; behind those, their bits.
const WINDOWS: usize = 4096;
const _: () = assert!(END + 64 * SLOTS_MAX <= WINDOWS);

/// Bytes of one rank's memory.
pub(super) fn bytes(window_bytes: usize, slots: usize) -> usize {
    bits_at(window_bytes, slots, slots)
}

/// Where the bits of a slot's window begin. They are words, and a window may have any length that a hint asks for.
fn bits_at(window_bytes: usize, slots: usize, slot: usize) -> usize {
    WINDOWS
        + (slots * window_bytes).next_multiple_of(size_of::<u64>())
        + slot * 8 * Cover::words(window_bytes)
}

/// The memory of all ranks that give some.
pub(super) struct WindowPool {
    ranges: Vec<SharedRange>,
    pub(super) window_bytes: usize,
    /// Slots of each.
    slots: usize,
    /// What this rank gives back in the end.
    _own: Option<Reservation>,
}

impl WindowPool {
    /// Maps it, if that can be done.
    pub(super) fn map(
        memory: &JobMemory,
        places: Vec<u64>,
        (window_bytes, slots): (usize, usize),
        own: Option<Reservation>,
    ) -> Option<WindowPool> {
        let map = |place: u64| memory.map(place, bytes(window_bytes, slots)).ok();
        let ranges = places.into_iter().map(map).collect::<Option<Vec<_>>>()?;
        Some(WindowPool { ranges, window_bytes, slots, _own: own })
    }

    /// Slots in all.
    pub(super) fn slots(&self) -> usize {
        self.ranges.len() * self.slots
    }

    /// The memory of a slot, and its number there. Slots that are used one after the other are in different memories.
    pub(super) fn place(&self, slot: usize) -> (&SharedRange, usize) {
        (&self.ranges[slot % self.ranges.len()], slot / self.ranges.len())
    }

    pub(super) fn word(&self, first: usize, slot: usize) -> &AtomicU64 {
        let (range, number) = self.place(slot);
        range.word(first + 64 * number)
    }

    pub(super) fn common(&self, word: usize) -> &AtomicU64 {
        self.ranges[0].word(word)
    }

    /// The first bytes of a slot.
    pub(super) fn buffer(&self, slot: usize, len: usize) -> UserBuf {
        assert!(len <= self.window_bytes, "{len} bytes in a window of {}", self.window_bytes);
        let (range, number) = self.place(slot);
        let base = range.at(WINDOWS + number * self.window_bytes, len);
        // SAFETY: within the mapping, which lives as long as the file's facts, which every user of the buffer holds. By the counters,
        // nobody copies to or from a slot while it is with the file, and ranks have different bytes of it.
        unsafe { UserBuf::contiguous(base, len) }
    }

    pub(super) fn cover(&self, slot: usize) -> Cover<'_> {
        let words = Cover::words(self.window_bytes);
        let (range, number) = self.place(slot);
        let first = range.at(bits_at(self.window_bytes, self.slots, number), 8 * words).cast::<AtomicU64>();
        // SAFETY: within the mapping, aligned as `bits_at` and the mapping are, initialized by the system; atomics may be shared.
        Cover::of(unsafe { std::slice::from_raw_parts(first, words) }, self.window_bytes)
    }

    /// Takes one of the places of those who read or write, of which there are so many.
    pub(super) fn begin_work(&self, most: u64) -> bool {
        let more = |busy: u64| (busy < most).then_some(busy + 1);
        self.common(BUSY).fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).is_ok()
    }

    pub(super) fn end_work(&self) {
        self.common(BUSY).fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_aligned_behind_windows_of_any_length() {
        for (window_bytes, slots) in [(32219, 2), (4096, 4), (1111, 3), (1, 1)] {
            for slot in 0..slots {
                let at = bits_at(window_bytes, slots, slot);
                assert!(at.is_multiple_of(8) && at >= WINDOWS + slots * window_bytes);
                assert!(at + 8 * Cover::words(window_bytes) <= bytes(window_bytes, slots));
            }
        }
    }
}

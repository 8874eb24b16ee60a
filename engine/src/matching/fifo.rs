//! A queue in one block of memory: what is usual is at the front, and taking from there is a few instructions.

/// First in, first out; also from the middle, near the front.
#[derive(Debug)]
pub(super) struct Fifo<T> {
    /// A power of two of entries; those that are not in the queue are of the past.
    entries: Vec<T>,
    /// Number of the first entry, counted from the beginning of time.
    head: usize,
    len: usize,
}

impl<T> Default for Fifo<T> {
    fn default() -> Self {
        Fifo { entries: Vec::new(), head: 0, len: 0 }
    }
}

/// Few at first: of a million ranks in one simulator, most never need more.
const CAPACITY_MIN: usize = 4;

impl<T: Copy> Fifo<T> {
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn slot(&self, at: usize) -> usize {
        self.head.wrapping_add(at) & self.entries.len().wrapping_sub(1)
    }

    #[inline(always)]
    pub(super) fn push(&mut self, entry: T) {
        if self.len == self.entries.len() {
            self.grow(entry);
        }
        let slot = self.slot(self.len);
        if let Some(free) = self.entries.get_mut(slot) {
            *free = entry;
            self.len += 1;
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, any: T) {
        let mut entries: Vec<T> = self.iter().copied().collect();
        entries.resize((2 * self.len).max(CAPACITY_MIN), any);
        (self.entries, self.head) = (entries, 0);
    }

    #[inline(always)]
    pub(super) fn front(&self) -> Option<&T> {
        if self.len == 0 { None } else { self.entries.get(self.slot(0)) }
    }

    /// The front is gone, if there was one.
    #[inline(always)]
    pub(super) fn pop_front(&mut self) {
        if self.len > 0 {
            self.head = self.head.wrapping_add(1);
            self.len -= 1;
        }
    }

    /// Entry `at`, which is there.
    pub(super) fn get(&self, at: usize) -> &T {
        &self.entries[self.slot(at)]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len).map(|at| self.get(at))
    }

    /// Where the first entry that is as asked lies, if it is among the first `within`.
    pub(super) fn position(&self, within: usize, is: impl Fn(&T) -> bool) -> Option<usize> {
        self.iter().take(within).position(is)
    }

    /// Takes out entry `at`, which is there; those on its shorter side move up.
    pub(super) fn remove(&mut self, at: usize) -> T {
        let entry = self.entries[self.slot(at)];
        if at > self.len / 2 {
            for at in at + 1..self.len {
                let (from, to) = (self.slot(at), self.slot(at - 1));
                self.entries[to] = self.entries[from];
            }
            self.len -= 1;
            return entry;
        }
        for at in (0..at).rev() {
            let (from, to) = (self.slot(at), self.slot(at + 1));
            self.entries[to] = self.entries[from];
        }
        self.pop_front();
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn it_is_the_queue_of_the_standard_library() {
        let (mut fifo, mut model) = (Fifo::default(), VecDeque::new());
        for step in 0u32..10_000 {
            match step.wrapping_mul(2_654_435_761) >> 28 {
                0..8 => {
                    fifo.push(step);
                    model.push_back(step);
                }
                8..13 => {
                    fifo.pop_front();
                    model.pop_front();
                }
                at if model.len() > at as usize => {
                    assert_eq!(fifo.remove(at as usize), model.remove(at as usize).unwrap());
                }
                _ => {}
            }
            assert_eq!((fifo.len(), fifo.front()), (model.len(), model.front()));
        }
        assert!(fifo.iter().eq(model.iter()));
        assert!((0..model.len()).all(|at| fifo.get(at) == &model[at]));
    }
}

//! Deadlines of many owners: each has one, which may move.

use crate::{NEVER, Nanos};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A heap in which an entry may be out of date: each owner knows which of its entries counts.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Nanos, u32)>>,
    /// The earliest entry of each owner.
    set: Vec<Nanos>,
}

impl Timers {
    /// Sees to it that this owner is called by `at`; it may be called earlier.
    pub(crate) fn call_by(&mut self, owner: u32, at: Nanos) {
        let index = owner as usize;
        if index >= self.set.len() {
            self.set.resize(index + 1, NEVER);
        }
        if at < self.set[index] {
            self.set[index] = at;
            self.heap.push(Reverse((at, owner)));
            self.sweep();
        }
    }

    /// Without entries that do not count, once they are most.
    fn sweep(&mut self) {
        if self.heap.len() > 64 + 4 * self.set.len() {
            let set = &self.set;
            self.heap.retain(|Reverse((at, owner))| set[*owner as usize] == *at);
        }
    }

    /// An owner whose time has come, and whose entry is gone.
    pub(crate) fn pop(&mut self, now: Nanos) -> Option<u32> {
        while let Some(&Reverse((at, owner))) = self.heap.peek() {
            let counts = self.set[owner as usize] == at;
            if counts && at > now {
                return None;
            }
            self.heap.pop();
            if counts {
                self.set[owner as usize] = NEVER;
                return Some(owner);
            }
        }
        None
    }

    /// When the next owner is to be called, and which.
    pub(crate) fn next(&mut self) -> Option<(Nanos, u32)> {
        while let Some(&Reverse((at, owner))) = self.heap.peek() {
            if self.set[owner as usize] == at {
                return Some((at, owner));
            }
            self.heap.pop();
        }
        None
    }

    /// An owner has nothing to be called for.
    pub(crate) fn forget(&mut self, owner: u32) {
        self.set[owner as usize] = NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_called_once_at_its_earliest_time() {
        let mut timers = Timers::default();
        timers.call_by(3, 50);
        timers.call_by(1, 40);
        timers.call_by(3, 20);
        timers.call_by(3, 90);
        assert_eq!(timers.next(), Some((20, 3)));
        assert_eq!((timers.pop(10), timers.pop(20), timers.pop(30)), (None, Some(3), None));
        assert_eq!((timers.pop(60), timers.pop(60), timers.next()), (Some(1), None, None));
    }

    #[test]
    fn who_is_forgotten_is_not_called() {
        let mut timers = Timers::default();
        timers.call_by(3, 20);
        timers.call_by(1, 40);
        timers.forget(3);
        assert_eq!(timers.next(), Some((40, 1)));
        timers.call_by(3, 50);
        assert_eq!((timers.pop(60), timers.pop(60), timers.pop(60)), (Some(1), Some(3), None));
    }

    #[test]
    fn entries_that_do_not_count_are_bounded() {
        let mut timers = Timers::default();
        for round in 0..10_000 {
            timers.call_by(0, 20_000 - round);
        }
        assert!(timers.heap.len() <= 69, "{}", timers.heap.len());
        assert_eq!(timers.pop(20_000), Some(0));
    }
}
